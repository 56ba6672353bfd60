/* Programs that use libcurl themselves, before or after this library does. Each one is a separate process. */
#include "child.h"
#include "support.h"

#include <curl/curl.h>

enum { BUFFER = 65536 }; /* The size that this library also sets, whose memory comes from elsewhere. */

static long allocations;

static void *count_malloc(size_t size) {
    allocations++;
    return malloc(size);
}

static void *count_realloc(void *memory, size_t size) {
    allocations++;
    return realloc(memory, size);
}

static char *count_strdup(const char *text) {
    allocations++;
    return strdup(text);
}

static void *count_calloc(size_t count, size_t size) {
    allocations++;
    return calloc(count, size);
}

static size_t count_bytes(char *data, size_t size, size_t count, void *user_data) {
    (void)data;
    *(size_t *)user_data += size * count;
    return size * count;
}

static void check_ours(void) {
    ntapi_client *client = client_of("fault");
    ntapi_response *response = perform(client, "ok", NULL);
    assert_int_equal(ntapi_response_status(response), 200);
    ntapi_response_free(response);
    ntapi_client_free(client);
}

static void check_theirs(void) {
    char url[256];
    snprintf(url, sizeof url, "%s/ok", server("fault"));
    CURL *easy = curl_easy_init();
    size_t bytes = 0;
    long status = 0;
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)BUFFER);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, count_bytes);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &bytes);
    assert_int_equal(curl_easy_perform(easy), CURLE_OK);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    assert_int_equal(status, 200);
    assert_true(bytes > 0);
    /* Allocates, resizes and frees memory of exactly these sizes with the program's own allocator. */
    char *long_text = malloc(BUFFER + 1);
    assert_non_null(long_text);
    memset(long_text, 'x', BUFFER);
    long_text[BUFFER] = 0;
    for (int length = BUFFER; length >= BUFFER - 2; length--) {
        long_text[length] = 0;
        char *escaped = curl_easy_escape(easy, long_text, 0);
        assert_non_null(escaped);
        assert_string_equal(escaped, long_text);
        curl_free(escaped);
    }
    free(long_text);
    curl_easy_cleanup(easy);
}

static int child(const char *order) {
    if (strcmp(order, "first") == 0) {
        assert_int_equal(
            curl_global_init_mem(CURL_GLOBAL_DEFAULT, count_malloc, free, count_realloc, count_strdup, count_calloc),
            CURLE_OK);
        check_theirs();
        long before = allocations;
        check_ours();
        assert_true(before > 0 && allocations > before);
        check_theirs();
    } else {
        check_ours();
        assert_int_equal(curl_global_init(CURL_GLOBAL_DEFAULT), CURLE_OK);
        check_theirs();
        check_ours();
    }
    curl_global_cleanup();
    check_ours();
    return 0;
}

static void a_program_that_sets_up_libcurl_first_keeps_its_memory(void **state) {
    (void)state;
    assert_int_equal(run_child((const char *[]){"first", NULL}, NULL), 0);
}

static void a_program_that_uses_libcurl_later_is_not_disturbed(void **state) {
    (void)state;
    assert_int_equal(run_child((const char *[]){"later", NULL}, NULL), 0);
}

int main(int argc, char **argv) {
    if (argc == 2)
        return child(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_that_sets_up_libcurl_first_keeps_its_memory),
        cmocka_unit_test(a_program_that_uses_libcurl_later_is_not_disturbed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
