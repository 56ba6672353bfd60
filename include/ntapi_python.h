/*
 * ntapi_python.h - what the Python package `ntapi` needs beside ntapi.h: JSON made into values of CPython, and the
 * functions that each request calls as functions of CPython's own. Private: it is not installed, and may change in any
 * version. The calling thread must hold Python's global lock.
 */
#ifndef NTAPI_PYTHON_H
#define NTAPI_PYTHON_H

#include "ntapi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ===== 1. Functions of CPython ==================================================================================== */

/** The bytes of the room for keys in an ntapi_python. */
#define NTAPI_PYTHON_KEYS_SIZE 32768

/** Objects and functions of CPython's C API, by their names there. */
typedef struct ntapi_python {
    void *none;                                                 /* Py_None, borrowed; so are the next two */
    void *yes;                                                  /* Py_True */
    void *no;                                                   /* Py_False */
    void (*retain)(void *object);                               /* Py_IncRef */
    void (*release)(void *object);                              /* Py_DecRef */
    void *(*make_int)(int64_t value);                           /* PyLong_FromLongLong */
    void *(*parse_int)(const char *text, char **end, int base); /* PyLong_FromString */
    void *(*make_float)(double value);                          /* PyFloat_FromDouble */
    void *(*make_text)(const char *bytes, ptrdiff_t length, const char *how); /* PyUnicode_DecodeUTF8 */
    void *(*make_list)(ptrdiff_t count);                                      /* PyList_New */
    int (*set_item)(void *list, ptrdiff_t index, void *item);                 /* PyList_SetItem */
    void *(*make_dict)(void);                                                 /* PyDict_New */
    int (*set_member)(void *dict, void *key, void *value);                    /* PyDict_SetItem */
    void *(*new_text)(ptrdiff_t length, uint32_t largest); /* PyUnicode_New; may be NULL, as the next may be 0 */
    ptrdiff_t text_offset; /* where the letters of an ASCII text are in its object: sys.getsizeof("") - 1 */
    /* NTAPI_PYTHON_KEYS_SIZE bytes, aligned for a pointer, zeros at first: the room owns strings of keys for later
     * calls of one thread at a time. NULL keeps none. */
    void *keys;
    /* For ntapi_python_function alone: */
    void *(*make_function)(void *definition, void *self, void *module); /* PyCFunction_NewEx */
    void *(*read_address)(void *integer);                               /* PyLong_AsVoidPtr */
    char *(*read_bytes)(void *bytes);                                   /* PyBytes_AsString */
    void *(*error)(void);                                               /* PyErr_Occurred */
    void *(*unlock)(void);                                              /* PyEval_SaveThread */
    void (*lock)(void *thread);                                         /* PyEval_RestoreThread */
} ntapi_python;

/* ===== 2. Values and functions ==================================================================================== */

/** The JSON of a response's body, or a document that was parsed from text, in values of CPython. Takes a third of
 *  the time of json.loads. Integers of any size are exact.
 *  @param python borrowed for the call.
 *  @returns a new reference of Python's. NULL without JSON, for JSON that a hook has parsed or that was built value by
 *  value, when a function is missing, and when one has failed, which has then set Python's exception. */
void *ntapi_response_json_python(const ntapi_response *response, const ntapi_python *python);
void *ntapi_json_python(const ntapi_json *json, const ntapi_python *python);

/** A function of the library as one of CPython's own, which costs a fraction of a call through ctypes. It takes what
 *  the C function takes: bytes for a text, and for any other pointer its address as an int, or None for NULL. It
 *  returns an address or a status as an int. Python's global lock is released meanwhile, except while values are made.
 *  @param python borrowed for the call; the functions that are called later are those of the first call in the process.
 *  @param name "ntapi_response_free", "ntapi_response_json_python", "ntapi_json_python", "ntapi_client_begin_event",
 *  "ntapi_client_perform_watching", or "ntapi_args_json_text", which exists only here: it takes args, JSON text and its
 *  length, and sets the text's value as the body, as ntapi_args_json does.
 *  @returns a new reference of Python's; NULL for another name, and when a function is missing or fails. */
void *ntapi_python_function(const ntapi_python *python, const char *name);

#ifdef __cplusplus
}
#endif

#endif /* NTAPI_PYTHON_H */
