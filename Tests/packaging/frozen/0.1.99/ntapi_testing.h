/* Written by check_frozen.py. */
#ifndef NTAPI_TESTING_H
#define NTAPI_TESTING_H
#include "ntapi.h"
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ntapi_stub ntapi_stub;
typedef struct ntapi_stub_rule ntapi_stub_rule;
typedef struct ntapi_recorder ntapi_recorder;
typedef struct ntapi_manual_clock ntapi_manual_clock;
typedef enum ntapi_stub_fault {
    NTAPI_STUB_FAULT_NONE = 0,
    NTAPI_STUB_FAULT_NO_CONNECTION = 1,
    NTAPI_STUB_FAULT_NO_INTERNET = 2,
    NTAPI_STUB_FAULT_UNKNOWN_HOST = 3,
    NTAPI_STUB_FAULT_UNTRUSTED_CERTIFICATE = 4,
    NTAPI_STUB_FAULT_TIMEOUT = 5,
    NTAPI_STUB_FAULT_SILENCE = 6,
    NTAPI_STUB_FAULT_CONNECTION_LOST = 7
} ntapi_stub_fault;
typedef struct ntapi_stub_request {
    size_t size;
    const char *method;
    const char *url;
    const ntapi_headers *headers;
    const char *body;
    size_t length;
    bool is_matched;
} ntapi_stub_request;
typedef struct ntapi_stub_answer {
    size_t size;
    int status;
    const char *const *headers;
    const char *body;
    size_t length;
    const ntapi_json *json;
    const char *content_type;
    double delay;
    size_t piece_size;
    double piece_delay;
    ntapi_stub_fault fault;
    int64_t fault_after;
} ntapi_stub_answer;
typedef bool (*ntapi_stub_match_fn)(void *user_data, const ntapi_stub_request *request);
typedef void (*ntapi_stub_answer_fn)(void *user_data, const ntapi_stub_request *request, ntapi_stub_rule *reply);
NTAPI_NEW ntapi_stub *ntapi_stub_create(void);
void ntapi_stub_free(ntapi_stub *stub);
NTAPI_NEW ntapi_stub *ntapi_stub_open_recording(const char *path, bool any_origin, bool repeats_last,
                                                ntapi_error **error);
ntapi_status ntapi_client_set_stub(ntapi_client *client, ntapi_stub *stub);
NTAPI_NEW ntapi_stub_rule *ntapi_stub_on(ntapi_stub *stub, const char *method, const char *url);
void ntapi_stub_rule_free(ntapi_stub_rule *rule);
ntapi_status ntapi_stub_rule_body_json(ntapi_stub_rule *rule, const ntapi_json *json);
ntapi_status ntapi_stub_rule_body_contains(ntapi_stub_rule *rule, const char *text);
ntapi_status ntapi_stub_rule_match(ntapi_stub_rule *rule, ntapi_stub_match_fn match, void *user_data,
                                   ntapi_destroy_fn destroy);
ntapi_status ntapi_stub_rule_answer(ntapi_stub_rule *rule, const ntapi_stub_answer *answer, ntapi_error **error);
ntapi_status ntapi_stub_rule_answer_with(ntapi_stub_rule *rule, ntapi_stub_answer_fn answer, void *user_data,
                                         ntapi_destroy_fn destroy);
ntapi_status ntapi_stub_rule_use_up(ntapi_stub_rule *rule);
size_t ntapi_stub_rule_call_count(const ntapi_stub_rule *rule);
size_t ntapi_stub_request_count(const ntapi_stub *stub);
const ntapi_stub_request *ntapi_stub_get_request(const ntapi_stub *stub, size_t index);
ntapi_status ntapi_stub_verify(const ntapi_stub *stub, ntapi_error **error);
ntapi_status ntapi_stub_forget_requests(ntapi_stub *stub);
NTAPI_NEW ntapi_recorder *ntapi_recorder_create(const char *path);
void ntapi_recorder_free(ntapi_recorder *recorder);
ntapi_status ntapi_recorder_add_secret(ntapi_recorder *recorder, const char *name);
ntapi_status ntapi_client_set_recorder(ntapi_client *client, ntapi_recorder *recorder);
size_t ntapi_recorder_count(const ntapi_recorder *recorder);
ntapi_status ntapi_recorder_save(ntapi_recorder *recorder, ntapi_error **error);
NTAPI_NEW ntapi_manual_clock *ntapi_manual_clock_create(double calendar);
void ntapi_manual_clock_free(ntapi_manual_clock *clock);
ntapi_status ntapi_client_set_clock(ntapi_client *client, ntapi_manual_clock *clock);
ntapi_status ntapi_manual_clock_advance(ntapi_manual_clock *clock, double seconds);
double ntapi_manual_clock_elapsed(const ntapi_manual_clock *clock);
size_t ntapi_manual_clock_sleepers(const ntapi_manual_clock *clock);
double ntapi_manual_clock_next_wake(const ntapi_manual_clock *clock);
ntapi_status ntapi_manual_clock_wait_for_sleepers(ntapi_manual_clock *clock, size_t count, double timeout);
typedef enum ntapi_handle_kind {
    NTAPI_HANDLE_KIND_ANY = 0,
    NTAPI_HANDLE_KIND_REQUEST = 1,
    NTAPI_HANDLE_KIND_RESPONSE = 2,
    NTAPI_HANDLE_KIND_CLIENT = 3,
    NTAPI_HANDLE_KIND_ARGS = 4,
    NTAPI_HANDLE_KIND_ERROR = 5,
    NTAPI_HANDLE_KIND_JSON = 6,
    NTAPI_HANDLE_KIND_JSON_ITERATOR = 7,
    NTAPI_HANDLE_KIND_CLASS = 8,
    NTAPI_HANDLE_KIND_CONFIGURATION = 9,
    NTAPI_HANDLE_KIND_MAILBOX = 10,
    NTAPI_HANDLE_KIND_EXECUTOR = 11,
    NTAPI_HANDLE_KIND_JOB = 12,
    NTAPI_HANDLE_KIND_DATA = 13,
    NTAPI_HANDLE_KIND_DECODED = 14,
    NTAPI_HANDLE_KIND_INTERCEPTION = 15,
    NTAPI_HANDLE_KIND_DECISION = 16,
    NTAPI_HANDLE_KIND_RATE_LIMITER = 17,
    NTAPI_HANDLE_KIND_AUTHENTICATOR = 18,
    NTAPI_HANDLE_KIND_REFRESH = 19,
    NTAPI_HANDLE_KIND_CACHE = 20,
    NTAPI_HANDLE_KIND_CREDENTIAL_STORAGE = 21,
    NTAPI_HANDLE_KIND_STUB = 22,
    NTAPI_HANDLE_KIND_STUB_RULE = 23,
    NTAPI_HANDLE_KIND_RECORDER = 24,
    NTAPI_HANDLE_KIND_MANUAL_CLOCK = 25,
    NTAPI_HANDLE_KIND_HEADERS = 26,
    NTAPI_HANDLE_KIND_INTERCEPTOR = 27
} ntapi_handle_kind;
size_t ntapi_live_handles(ntapi_handle_kind kind);
#ifdef __cplusplus
}
#endif
#endif
