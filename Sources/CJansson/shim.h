/* jansson, with the variadic and macro parts that Swift cannot import as typed static-inline wrappers. */
#ifndef NTAPI_CJANSSON_SHIM_H
#define NTAPI_CJANSSON_SHIM_H

#include <jansson.h>
#include <locale.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

/* A "C" locale for cjansson_load; NULL when there is no memory, which cjansson_load bears. Never freed. */
static inline void *cjansson_new_locale(void) {
    return (void *)newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/*
 * json_loadb in the given locale. jansson reads doubles with strtod after asking localeconv for the decimal point, and
 * asserts that the two agreed. A host that calls setlocale meanwhile, or has a decimal point of two bytes, would abort
 * the process there. The locale of the calling thread alone is changed, and put back.
 */
static inline json_t *cjansson_load(const char *bytes, size_t length, size_t flags, json_error_t *error, void *locale) {
    locale_t before = uselocale((locale_t)locale);
    json_t *value = json_loadb(bytes, length, flags, error);
    uselocale(before);
    return value;
}

/* json_error_code under other names: Swift sees a function and a type of that one name. */
static inline _Bool cjansson_is_numeric_overflow(const json_error_t *error) {
    return json_error_code(error) == json_error_numeric_overflow;
}

static inline _Bool cjansson_is_stack_overflow(const json_error_t *error) {
    return json_error_code(error) == json_error_stack_overflow;
}

/* The error's message, NUL-terminated. Swift imports the array as a tuple of 160 elements. */
static inline const char *cjansson_error_text(const json_error_t *error) {
    return error->text;
}

#endif
