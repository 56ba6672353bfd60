/* Written by check_frozen.py. */
#ifndef NTAPI_H
#define NTAPI_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define NTAPI_VERSION_MAJOR 0
#define NTAPI_VERSION_MINOR 2
#define NTAPI_VERSION_PATCH 0
#define NTAPI_VERSION_NUMBER (NTAPI_VERSION_MAJOR * 1000000 + NTAPI_VERSION_MINOR * 1000 + NTAPI_VERSION_PATCH)
#ifndef NTAPI_ATTRIBUTE
#ifdef __GNUC__
#define NTAPI_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define NTAPI_ATTRIBUTE(attribute)
#endif
#endif
#define NTAPI_NEW NTAPI_ATTRIBUTE(warn_unused_result)
#define NTAPI_DEPRECATED(instead) NTAPI_ATTRIBUTE(deprecated(instead))
typedef struct ntapi_json ntapi_json;
typedef struct ntapi_json_iterator ntapi_json_iterator;
typedef struct ntapi_headers ntapi_headers;
typedef struct ntapi_error ntapi_error;
typedef struct ntapi_args ntapi_args;
typedef struct ntapi_class ntapi_class;
typedef struct ntapi_defaults ntapi_defaults;
typedef struct ntapi_configuration ntapi_configuration;
typedef struct ntapi_cookie_storage ntapi_cookie_storage;
typedef struct ntapi_cache ntapi_cache;
typedef struct ntapi_credential_storage ntapi_credential_storage;
typedef struct ntapi_client ntapi_client;
typedef struct ntapi_http_request ntapi_http_request;
typedef struct ntapi_request ntapi_request;
typedef struct ntapi_response ntapi_response;
typedef struct ntapi_data ntapi_data;
typedef struct ntapi_decoded ntapi_decoded;
typedef struct ntapi_decision ntapi_decision;
typedef struct ntapi_interceptor ntapi_interceptor;
typedef struct ntapi_interception ntapi_interception;
typedef struct ntapi_authenticator ntapi_authenticator;
typedef struct ntapi_refresh ntapi_refresh;
typedef struct ntapi_rate_limiter ntapi_rate_limiter;
typedef struct ntapi_mailbox ntapi_mailbox;
typedef struct ntapi_executor ntapi_executor;
typedef struct ntapi_job ntapi_job;
typedef enum ntapi_status {
    NTAPI_STATUS_OK = 0,
    NTAPI_STATUS_INVALID_ARGUMENT = 1,
    NTAPI_STATUS_INVALID_STATE = 2,
    NTAPI_STATUS_TIMED_OUT = 3
} ntapi_status;
typedef void (*ntapi_destroy_fn)(void *user_data);
const char *ntapi_version(void);
size_t ntapi_drain(double timeout);
void ntapi_text_free(char *text);
NTAPI_NEW char *ntapi_describe(const void *handle);
typedef enum ntapi_error_domain {
    NTAPI_ERROR_DOMAIN_NONE = 0,
    NTAPI_ERROR_DOMAIN_REQUEST = 1,
    NTAPI_ERROR_DOMAIN_NETWORK = 2,
    NTAPI_ERROR_DOMAIN_HTTP = 3,
    NTAPI_ERROR_DOMAIN_JSON = 4,
    NTAPI_ERROR_DOMAIN_SERVICE = 5,
    NTAPI_ERROR_DOMAIN_CANCELLED = 6
} ntapi_error_domain;
typedef enum ntapi_code {
    NTAPI_CODE_NONE = 0,
    NTAPI_CODE_CUSTOM = 1,
    NTAPI_CODE_NETWORK = 2,
    NTAPI_CODE_NO_INTERNET = 3,
    NTAPI_CODE_TIMEOUT = 4,
    NTAPI_CODE_TLS = 5,
    NTAPI_CODE_INVALID_JSON = 6,
    NTAPI_CODE_UNEXPECTED_JSON = 7,
    NTAPI_CODE_HTTP_ERROR = 8,
    NTAPI_CODE_NOT_CACHED = 9,
    NTAPI_CODE_TOO_MANY_REDIRECTS = 10,
    NTAPI_CODE_AUTHENTICATION = 11,
    NTAPI_CODE_DETACHED = 12,
    NTAPI_CODE_CANCELLED = 13,
    NTAPI_CODE_INVALID_REQUEST = 14,
    NTAPI_CODE_RESPONSE_TOO_LARGE = 15,
    NTAPI_CODE_NO_STUB = 16,
    NTAPI_CODE_GENERIC = 17
} ntapi_code;
typedef enum ntapi_failure {
    NTAPI_FAILURE_NONE = 0,
    NTAPI_FAILURE_NAME_LOOKUP = 1,
    NTAPI_FAILURE_REFUSED = 2,
    NTAPI_FAILURE_UNREACHABLE = 3,
    NTAPI_FAILURE_PROXY = 4,
    NTAPI_FAILURE_TLS = 5,
    NTAPI_FAILURE_RESET = 6,
    NTAPI_FAILURE_NO_ANSWER = 7,
    NTAPI_FAILURE_CUT_SHORT = 8,
    NTAPI_FAILURE_NOT_HTTP = 9,
    NTAPI_FAILURE_DECODING = 10,
    NTAPI_FAILURE_OTHER = 11
} ntapi_failure;
typedef enum ntapi_clock {
    NTAPI_CLOCK_NONE = 0,
    NTAPI_CLOCK_IDLE = 1,
    NTAPI_CLOCK_CONNECT = 2,
    NTAPI_CLOCK_QUEUE = 3,
    NTAPI_CLOCK_ATTEMPT = 4,
    NTAPI_CLOCK_TOTAL = 5
} ntapi_clock;
NTAPI_NEW ntapi_error *ntapi_error_create(ntapi_error_domain domain, const char *code, const char *message,
                                          bool is_retryable);
NTAPI_NEW ntapi_error *ntapi_error_retain(const ntapi_error *error);
void ntapi_error_free(ntapi_error *error);
ntapi_code ntapi_error_code(const ntapi_error *error);
const char *ntapi_error_code_name(const ntapi_error *error);
const char *ntapi_code_register(const char *name);
const char *ntapi_error_message(const ntapi_error *error);
typedef struct ntapi_error_details {
    size_t size;
    ntapi_error_domain domain;
    int http_status;
    ntapi_failure failure;
    int transport_code;
    ntapi_clock clock;
    bool is_retryable;
    double retry_after;
} ntapi_error_details;
const ntapi_error_details *ntapi_error_get_details(const ntapi_error *error);
typedef enum ntapi_json_type {
    NTAPI_JSON_TYPE_ABSENT = 0,
    NTAPI_JSON_TYPE_NULL = 1,
    NTAPI_JSON_TYPE_BOOL = 2,
    NTAPI_JSON_TYPE_INT = 3,
    NTAPI_JSON_TYPE_DOUBLE = 4,
    NTAPI_JSON_TYPE_STRING = 5,
    NTAPI_JSON_TYPE_ARRAY = 6,
    NTAPI_JSON_TYPE_OBJECT = 7
} ntapi_json_type;
NTAPI_NEW ntapi_json *ntapi_json_parse(const char *text, size_t length, ntapi_error **error);
NTAPI_NEW ntapi_json *ntapi_json_create_string(const char *value);
void ntapi_json_free(ntapi_json *json);
ntapi_json_type ntapi_json_get_type(const ntapi_json *json, const char *path);
const char *ntapi_json_string(const ntapi_json *json, const char *path);
size_t ntapi_json_string_length(const ntapi_json *json, const char *path);
int64_t ntapi_json_int(const ntapi_json *json, const char *path, int64_t fallback);
double ntapi_json_double(const ntapi_json *json, const char *path, double fallback);
bool ntapi_json_bool(const ntapi_json *json, const char *path, bool fallback);
size_t ntapi_json_count(const ntapi_json *json, const char *path);
NTAPI_NEW ntapi_json_iterator *ntapi_json_iterate(const ntapi_json *json, const char *path);
const ntapi_json *ntapi_json_next(ntapi_json_iterator *iterator, const char **key);
void ntapi_json_iterator_free(ntapi_json_iterator *iterator);
NTAPI_NEW ntapi_json *ntapi_json_get(const ntapi_json *json, const char *path);
const char *ntapi_json_text(const ntapi_json *json);
void ntapi_headers_free(ntapi_headers *headers);
const char *ntapi_headers_get(const ntapi_headers *headers, const char *name);
const char *ntapi_headers_at(const ntapi_headers *headers, size_t index, const char **name);
typedef enum ntapi_cache_policy {
    NTAPI_CACHE_POLICY_NONE = 0,
    NTAPI_CACHE_POLICY_PROTOCOL = 1,
    NTAPI_CACHE_POLICY_RELOAD_IGNORING_CACHE = 2,
    NTAPI_CACHE_POLICY_RETURN_CACHED_ELSE_LOAD = 3,
    NTAPI_CACHE_POLICY_RETURN_CACHED_DONT_LOAD = 4,
    NTAPI_CACHE_POLICY_RELOAD_REVALIDATING = 5,
    NTAPI_CACHE_POLICY_NO_STORE = 6
} ntapi_cache_policy;
#define NTAPI_OPTION_RAW_DATA "raw_data"
#define NTAPI_OPTION_IGNORE_HTTP_ERRORS "ignore_http_errors"
#define NTAPI_OPTION_ALLOW_INVALID_CERTIFICATE "allow_invalid_certificate"
#define NTAPI_OPTION_MAXIMUM_RESPONSE_SIZE "maximum_response_size"
#define NTAPI_OPTION_MAXIMUM_REDIRECTS "maximum_redirects"
#define NTAPI_OPTION_BYPASS_AUTHENTICATION "bypass_authentication"
#define NTAPI_OPTION_RECONNECT "reconnect"
#define NTAPI_OPTION_MAXIMUM_FAILURES "maximum_failures"
#define NTAPI_OPTION_HTTP_VERSION "http_version"
NTAPI_NEW ntapi_args *ntapi_args_create(void);
void ntapi_args_free(ntapi_args *args);
size_t ntapi_args_count(const ntapi_args *args);
ntapi_status ntapi_args_append(ntapi_args *args, const ntapi_args *other);
ntapi_status ntapi_args_append_json(ntapi_args *args, const char *text, size_t length, ntapi_error **error);
ntapi_status ntapi_args_mark_secret(ntapi_args *args);
ntapi_status ntapi_args_url(ntapi_args *args, const char *name, const char *value);
ntapi_status ntapi_args_url_int(ntapi_args *args, const char *name, int64_t value);
ntapi_status ntapi_args_url_double(ntapi_args *args, const char *name, double value);
ntapi_status ntapi_args_url_bool(ntapi_args *args, const char *name, bool value);
ntapi_status ntapi_args_url_default(ntapi_args *args, const char *name, const char *key);
ntapi_status ntapi_args_path(ntapi_args *args, const char *name, const char *value);
ntapi_status ntapi_args_path_int(ntapi_args *args, const char *name, int64_t value);
ntapi_status ntapi_args_path_double(ntapi_args *args, const char *name, double value);
ntapi_status ntapi_args_path_bool(ntapi_args *args, const char *name, bool value);
ntapi_status ntapi_args_form(ntapi_args *args, const char *name, const char *value);
ntapi_status ntapi_args_form_int(ntapi_args *args, const char *name, int64_t value);
ntapi_status ntapi_args_form_double(ntapi_args *args, const char *name, double value);
ntapi_status ntapi_args_form_bool(ntapi_args *args, const char *name, bool value);
ntapi_status ntapi_args_multipart(ntapi_args *args, const char *name, const char *value);
ntapi_status ntapi_args_multipart_data(ntapi_args *args, const char *name, const void *bytes, size_t length,
                                       const char *filename, const char *content_type);
ntapi_status ntapi_args_multipart_file(ntapi_args *args, const char *name, const char *path, const char *filename,
                                       const char *content_type);
ntapi_status ntapi_args_data(ntapi_args *args, const void *bytes, size_t length, const char *content_type);
ntapi_status ntapi_args_file(ntapi_args *args, const char *path, const char *content_type);
ntapi_status ntapi_args_json(ntapi_args *args, const ntapi_json *value);
typedef ptrdiff_t (*ntapi_read_fn)(void *user_data, void *buffer, size_t capacity);
typedef bool (*ntapi_rewind_fn)(void *user_data);
ntapi_status ntapi_args_stream(ntapi_args *args, ntapi_read_fn read, ntapi_rewind_fn rewind, int64_t length,
                               const char *content_type, void *user_data, ntapi_destroy_fn destroy);
ntapi_status ntapi_args_download(ntapi_args *args, const char *path);
ntapi_status ntapi_args_resume(ntapi_args *args, const char *resume_data);
ntapi_status ntapi_args_base_url(ntapi_args *args, const char *url);
ntapi_status ntapi_args_method(ntapi_args *args, const char *method);
ntapi_status ntapi_args_header(ntapi_args *args, const char *name, const char *value);
ntapi_status ntapi_args_add_header(ntapi_args *args, const char *name, const char *value);
ntapi_status ntapi_args_basic_auth(ntapi_args *args, const char *user, const char *password);
ntapi_status ntapi_args_bearer(ntapi_args *args, const char *token);
ntapi_status ntapi_args_digest_auth(ntapi_args *args, const char *user, const char *password);
ntapi_status ntapi_args_timeout(ntapi_args *args, ntapi_clock clock, double seconds);
ntapi_status ntapi_args_cache_policy(ntapi_args *args, ntapi_cache_policy policy);
ntapi_status ntapi_args_idempotency_key(ntapi_args *args, const char *key);
ntapi_status ntapi_args_option(ntapi_args *args, const char *name, const char *value);
NTAPI_NEW char *ntapi_args_get_option(const ntapi_args *args, const char *name);
#define NTAPI_DEFAULT_BASE_URL "baseUrl"
#define NTAPI_DEFAULT_LOG_FLAGS "logFlags"
#define NTAPI_DEFAULT_REQUEST_TIMEOUT "requestTimeout"
#define NTAPI_DEFAULT_CONNECT_TIMEOUT "connectTimeout"
#define NTAPI_DEFAULT_QUEUE_TIMEOUT "queueTimeout"
#define NTAPI_DEFAULT_ATTEMPT_TIMEOUT "attemptTimeout"
#define NTAPI_DEFAULT_RESOURCE_TIMEOUT "resourceTimeout"
#define NTAPI_DEFAULT_EXIT_TIMEOUT "exitTimeout"
#define NTAPI_DEFAULT_USER_AGENT "userAgent"
#define NTAPI_DEFAULT_MAXIMUM_RESPONSE_SIZE "maximumResponseSize"
#define NTAPI_DEFAULT_MAXIMUM_REDIRECTS "maximumRedirects"
#define NTAPI_DEFAULT_MAXIMUM_CONNECTIONS_PER_HOST "maximumConnectionsPerHost"
#define NTAPI_DEFAULT_MAXIMUM_CONNECTIONS "maximumConnections"
#define NTAPI_DEFAULT_NETWORK_THREADS "networkThreads"
#define NTAPI_DEFAULT_NETWORK_INTERFACE "networkInterface"
#define NTAPI_DEFAULT_ALLOWS_CELLULAR_ACCESS "allowsCellularAccess"
#define NTAPI_DEFAULT_HTTP_VERSION "httpVersion"
#define NTAPI_DEFAULT_DECOMPRESSION "decompression"
#define NTAPI_DEFAULT_ADDITIONAL_HEADERS "additionalHeaders"
#define NTAPI_DEFAULT_PROXY "proxy"
#define NTAPI_DEFAULT_PROXY_USER "proxyUser"
#define NTAPI_DEFAULT_PROXY_PASSWORD "proxyPassword"
#define NTAPI_DEFAULT_PROXY_EXCEPTIONS "proxyExceptions"
#define NTAPI_DEFAULT_USER "user"
#define NTAPI_DEFAULT_PASSWORD "password"
#define NTAPI_DEFAULT_CA_FILE "caFile"
#define NTAPI_DEFAULT_TLS_MINIMUM_VERSION "tlsMinimumVersion"
#define NTAPI_DEFAULT_CLIENT_CERTIFICATE "clientCertificate"
#define NTAPI_DEFAULT_CLIENT_CERTIFICATE_ORIGINS "clientCertificateOrigins"
#define NTAPI_DEFAULT_CLIENT_KEY "clientKey"
#define NTAPI_DEFAULT_CLIENT_KEY_PASSWORD "clientKeyPassword"
#define NTAPI_DEFAULT_PINNED_PUBLIC_KEYS "pinnedPublicKeys"
#define NTAPI_DEFAULT_COOKIE_ACCEPT_POLICY "cookieAcceptPolicy"
#define NTAPI_DEFAULT_SENDS_COOKIES "sendsCookies"
#define NTAPI_DEFAULT_APPLICATION_NAME "applicationName"
#define NTAPI_DEFAULT_CACHE_POLICY "cachePolicy"
#define NTAPI_DEFAULT_USES_CACHE "usesCache"
#define NTAPI_DEFAULT_CACHE_MEMORY_CAPACITY "cacheMemoryCapacity"
#define NTAPI_DEFAULT_CACHE_DISK_CAPACITY "cacheDiskCapacity"
#define NTAPI_DEFAULT_CACHE_FOLDER "cacheFolder"
#define NTAPI_DEFAULT_RETRY "retry"
#define NTAPI_DEFAULT_RATE_LIMIT "rateLimit"
NTAPI_NEW ntapi_class *ntapi_class_create(const char *name, ntapi_class *parent);
void ntapi_class_free(ntapi_class *class_handle);
ntapi_defaults *ntapi_defaults_global(void);
ntapi_defaults *ntapi_class_defaults(ntapi_class *class_handle);
ntapi_defaults *ntapi_client_defaults(ntapi_client *client);
ntapi_status ntapi_defaults_set(ntapi_defaults *defaults, const char *key, const ntapi_json *value);
ntapi_status ntapi_defaults_set_string(ntapi_defaults *defaults, const char *key, const char *value);
ntapi_status ntapi_defaults_set_number(ntapi_defaults *defaults, const char *key, double value);
ntapi_status ntapi_defaults_set_bool(ntapi_defaults *defaults, const char *key, bool value);
typedef ntapi_json *(*ntapi_provider_fn)(void *user_data, const char *key);
ntapi_status ntapi_defaults_set_provider(ntapi_defaults *defaults, const char *key, ntapi_provider_fn provider,
                                         void *user_data, ntapi_destroy_fn destroy);
NTAPI_NEW ntapi_json *ntapi_defaults_get(const ntapi_defaults *defaults, const char *key);
NTAPI_NEW ntapi_client *ntapi_client_create(ntapi_class *class_handle, const char *base_url);
NTAPI_NEW ntapi_client *ntapi_client_create_with_configuration(ntapi_class *class_handle, const char *base_url,
                                                               const ntapi_configuration *configuration);
void ntapi_client_free(ntapi_client *client);
ntapi_status ntapi_client_close(ntapi_client *client);
ntapi_status ntapi_client_finish_and_invalidate(ntapi_client *client);
ntapi_status ntapi_client_invalidate_and_cancel(ntapi_client *client);
ntapi_status ntapi_client_cancel_all(ntapi_client *client);
size_t ntapi_client_drain(ntapi_client *client, double timeout);
ntapi_status ntapi_client_set_args(ntapi_client *client, const ntapi_args *args);
NTAPI_NEW ntapi_args *ntapi_client_args(const ntapi_client *client);
NTAPI_NEW char *ntapi_client_base_url(const ntapi_client *client);
typedef enum ntapi_request_state {
    NTAPI_REQUEST_STATE_NONE = 0,
    NTAPI_REQUEST_STATE_SUSPENDED = 1,
    NTAPI_REQUEST_STATE_RUNNING = 2,
    NTAPI_REQUEST_STATE_COMPLETED = 3,
    NTAPI_REQUEST_STATE_CANCELLED = 4
} ntapi_request_state;
typedef void (*ntapi_response_fn)(void *user_data, const ntapi_response *response);
typedef void (*ntapi_progress_fn)(void *user_data, int64_t bytes, int64_t total);
NTAPI_NEW ntapi_request *ntapi_client_begin(ntapi_client *client, const char *command, const ntapi_args *args,
                                            ntapi_response_fn handler, void *user_data, ntapi_destroy_fn destroy);
NTAPI_NEW ntapi_request *ntapi_client_create_request(ntapi_client *client, const char *command, const ntapi_args *args);
NTAPI_NEW ntapi_response *ntapi_client_perform(ntapi_client *client, const char *command, const ntapi_args *args);
void ntapi_request_free(ntapi_request *request);
ntapi_status ntapi_request_set_handler(ntapi_request *request, ntapi_response_fn handler, void *user_data,
                                       ntapi_destroy_fn destroy);
ntapi_status ntapi_request_set_upload_progress(ntapi_request *request, ntapi_progress_fn handler, void *user_data,
                                               ntapi_destroy_fn destroy);
ntapi_status ntapi_request_set_download_progress(ntapi_request *request, ntapi_progress_fn handler, void *user_data,
                                                 ntapi_destroy_fn destroy);
ntapi_status ntapi_request_resume(ntapi_request *request);
ntapi_status ntapi_request_suspend(ntapi_request *request);
ntapi_status ntapi_request_cancel(ntapi_request *request);
ntapi_status ntapi_request_wait(ntapi_request *request, double timeout);
NTAPI_NEW ntapi_response *ntapi_request_response(const ntapi_request *request);
ntapi_request_state ntapi_request_get_state(const ntapi_request *request);
uint64_t ntapi_request_identifier(const ntapi_request *request);
NTAPI_NEW char *ntapi_request_description(const ntapi_request *request);
ntapi_status ntapi_request_set_description(ntapi_request *request, const char *description);
double ntapi_request_priority(const ntapi_request *request);
ntapi_status ntapi_request_set_priority(ntapi_request *request, double priority);
NTAPI_NEW ntapi_json *ntapi_request_metrics(const ntapi_request *request);
int ntapi_request_received_status(const ntapi_request *request);
NTAPI_NEW ntapi_headers *ntapi_request_received_headers(const ntapi_request *request);
NTAPI_NEW char *ntapi_request_resume_data(const ntapi_request *request);
const char *ntapi_request_curl_command(const ntapi_request *request);
typedef enum ntapi_source {
    NTAPI_SOURCE_NONE = 0,
    NTAPI_SOURCE_NETWORK = 1,
    NTAPI_SOURCE_CACHE = 2,
    NTAPI_SOURCE_VALIDATED_CACHE = 3
} ntapi_source;
NTAPI_NEW ntapi_response *ntapi_response_retain(const ntapi_response *response);
void ntapi_response_free(ntapi_response *response);
const ntapi_error *ntapi_response_error(const ntapi_response *response);
int ntapi_response_status(const ntapi_response *response);
const ntapi_headers *ntapi_response_headers(const ntapi_response *response);
const char *ntapi_response_url(const ntapi_response *response);
const char *ntapi_response_redacted_url(const ntapi_response *response);
const char *ntapi_response_link(const ntapi_response *response, const char *relation);
const char *ntapi_response_data(const ntapi_response *response, size_t *length);
const ntapi_json *ntapi_response_json(const ntapi_response *response);
const char *ntapi_response_prefix_text(const ntapi_response *response);
const char *ntapi_response_file(const ntapi_response *response);
const char *ntapi_response_temporary_file(const ntapi_response *response);
const char *ntapi_response_resume_data(const ntapi_response *response);
ntapi_status ntapi_resume_data_discard(const char *resume_data);
ntapi_request *ntapi_response_request(const ntapi_response *response);
ntapi_source ntapi_response_get_source(const ntapi_response *response);
double ntapi_response_elapsed(const ntapi_response *response);
typedef enum ntapi_thread {
    NTAPI_THREAD_MAIN = 0,
    NTAPI_THREAD_BACKGROUND = 1,
    NTAPI_THREAD_CURRENT = 2
} ntapi_thread;
typedef enum ntapi_handler {
    NTAPI_HANDLER_RESPONSE = 1,
    NTAPI_HANDLER_UPLOAD_PROGRESS = 2,
    NTAPI_HANDLER_DOWNLOAD_PROGRESS = 4,
    NTAPI_HANDLER_DATA = 8,
    NTAPI_HANDLER_DECISION = 16,
    NTAPI_HANDLER_ALL = 31
} ntapi_handler;
ntapi_status ntapi_args_thread(ntapi_args *args, int handlers, ntapi_thread thread);
ntapi_status ntapi_args_executor(ntapi_args *args, int handlers, ntapi_executor *executor);
ntapi_status ntapi_args_mailbox(ntapi_args *args, int handlers, ntapi_mailbox *mailbox);
NTAPI_NEW ntapi_mailbox *ntapi_mailbox_create(void);
NTAPI_NEW ntapi_mailbox *ntapi_mailbox_main(void);
NTAPI_NEW ntapi_mailbox *ntapi_mailbox_current(void);
void ntapi_mailbox_free(ntapi_mailbox *mailbox);
int ntapi_mailbox_fd(const ntapi_mailbox *mailbox);
size_t ntapi_mailbox_drain(ntapi_mailbox *mailbox);
ntapi_status ntapi_mailbox_run(ntapi_mailbox *mailbox, double timeout);
ntapi_status ntapi_mailbox_stop(ntapi_mailbox *mailbox);
typedef void (*ntapi_submit_fn)(void *user_data, ntapi_job *job);
NTAPI_NEW ntapi_executor *ntapi_executor_create(ntapi_submit_fn submit, void *user_data, ntapi_destroy_fn destroy);
void ntapi_executor_free(ntapi_executor *executor);
void ntapi_job_run(ntapi_job *job);
typedef struct ntapi_server_event {
    size_t size;
    const char *type;
    const char *data;
    size_t length;
    const char *last_event_id;
} ntapi_server_event;
typedef void (*ntapi_data_fn)(void *user_data, const char *bytes, size_t length);
typedef void (*ntapi_json_fn)(void *user_data, const ntapi_json *value);
typedef void (*ntapi_server_event_fn)(void *user_data, const ntapi_server_event *event);
ntapi_status ntapi_request_set_data_handler(ntapi_request *request, ntapi_data_fn handler, void *user_data,
                                            ntapi_destroy_fn destroy);
ntapi_status ntapi_request_set_json_lines_handler(ntapi_request *request, ntapi_json_fn handler, void *user_data,
                                                  ntapi_destroy_fn destroy);
ntapi_status ntapi_request_set_server_event_handler(ntapi_request *request, ntapi_server_event_fn handler,
                                                    void *user_data, ntapi_destroy_fn destroy);
typedef enum ntapi_content {
    NTAPI_CONTENT_JSON = 1,
    NTAPI_CONTENT_PREFIX_TEXT = 2
} ntapi_content;
typedef struct ntapi_event {
    size_t size;
    ntapi_handler handler;
    void *user_data;
    ntapi_response *response;
    int64_t bytes;
    int64_t total;
    ntapi_data *data;
    ntapi_decision *decision;
    const ntapi_error *error;
    const char *body;
    size_t length;
    int status;
    int contents;
} ntapi_event;
ntapi_status ntapi_request_set_events(ntapi_request *request, int handlers, void *user_data);
ntapi_request *ntapi_client_begin_event(ntapi_client *client, const char *command, const ntapi_args *args,
                                        ntapi_mailbox *mailbox, void *user_data);
size_t ntapi_mailbox_take(ntapi_mailbox *mailbox, ntapi_event *events, size_t size, size_t capacity);
typedef enum ntapi_data_format {
    NTAPI_DATA_FORMAT_BYTES = 0,
    NTAPI_DATA_FORMAT_JSON_LINES = 1,
    NTAPI_DATA_FORMAT_SERVER_EVENTS = 2
} ntapi_data_format;
ntapi_status ntapi_request_set_data_format(ntapi_request *request, ntapi_data_format format);
const ntapi_json *ntapi_data_next_json(ntapi_data *data);
const ntapi_server_event *ntapi_data_next_server_event(ntapi_data *data);
void ntapi_data_free(ntapi_data *data);
typedef enum ntapi_field_kind {
    NTAPI_FIELD_KIND_BOOL = 1,
    NTAPI_FIELD_KIND_INT = 2,
    NTAPI_FIELD_KIND_UINT = 3,
    NTAPI_FIELD_KIND_DOUBLE = 4,
    NTAPI_FIELD_KIND_STRING = 5,
    NTAPI_FIELD_KIND_URL = 6,
    NTAPI_FIELD_KIND_DATE = 7,
    NTAPI_FIELD_KIND_OBJECT = 8,
    NTAPI_FIELD_KIND_ARRAY = 9
} ntapi_field_kind;
typedef enum ntapi_field_flag {
    NTAPI_FIELD_FLAG_REQUIRED = 0,
    NTAPI_FIELD_FLAG_OPTIONAL = 1,
    NTAPI_FIELD_FLAG_NUMBER_IN_STRING = 2,
    NTAPI_FIELD_FLAG_LOOSE_BOOLEAN = 4
} ntapi_field_flag;
typedef enum ntapi_date_format {
    NTAPI_DATE_FORMAT_ISO8601 = 1,
    NTAPI_DATE_FORMAT_SECONDS = 2,
    NTAPI_DATE_FORMAT_MILLISECONDS = 4,
    NTAPI_DATE_FORMAT_HTTP = 8
} ntapi_date_format;
typedef struct ntapi_custom_date_format {
    size_t size;
    const char *name;
    bool (*read)(void *user_data, const char *text, double *seconds);
    bool (*write)(void *user_data, double seconds, char *text, size_t capacity);
    void *user_data;
} ntapi_custom_date_format;
typedef struct ntapi_field {
    size_t size;
    ntapi_field_kind kind;
    int flags;
    const char *path;
    size_t offset;
    size_t length;
    const struct ntapi_field *fields;
    int dates;
    ntapi_field_kind element;
    size_t element_length;
    size_t count_offset;
    const ntapi_custom_date_format *date_format;
} ntapi_field;
#define NTAPI_FIELD_OF(kind, type, member, path, flags, fields, dates) \
    { \
        sizeof(ntapi_field), kind, flags, path, offsetof(type, member), sizeof(((type *)0)->member), fields, dates, \
            NTAPI_FIELD_KIND_BOOL, 0, 0, NULL \
    }
#define NTAPI_FIELD_ELEMENTS(kind, type, member, count, path, flags, fields, dates) \
    { \
        sizeof(ntapi_field), NTAPI_FIELD_KIND_ARRAY, flags, path, offsetof(type, member), sizeof(((type *)0)->member), \
            fields, dates, kind, sizeof(*((type *)0)->member), offsetof(type, count), NULL \
    }
#define NTAPI_FIELD_BOOL(type, member, path, flags) \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_BOOL, type, member, path, flags, NULL, 0)
#define NTAPI_FIELD_INT(type, member, path, flags) \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_INT, type, member, path, flags, NULL, 0)
#define NTAPI_FIELD_UINT(type, member, path, flags) \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_UINT, type, member, path, flags, NULL, 0)
#define NTAPI_FIELD_DOUBLE(type, member, path, flags) \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_DOUBLE, type, member, path, flags, NULL, 0)
#define NTAPI_FIELD_STRING(type, member, path, flags) \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_STRING, type, member, path, flags, NULL, 0)
#define NTAPI_FIELD_URL(type, member, path, flags) \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_URL, type, member, path, flags, NULL, 0)
#define NTAPI_FIELD_DATE(type, member, path, flags, formats) \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_DATE, type, member, path, flags, NULL, formats)
#define NTAPI_FIELD_CUSTOM_DATE(type, member, path, flags, format) \
    { \
        sizeof(ntapi_field), NTAPI_FIELD_KIND_DATE, flags, path, offsetof(type, member), sizeof(((type *)0)->member), \
            NULL, 0, NTAPI_FIELD_KIND_BOOL, 0, 0, format \
    }
#define NTAPI_FIELD_OBJECT(type, member, path, flags, fields) \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_OBJECT, type, member, path, flags, fields, 0)
#define NTAPI_FIELD_ARRAY(type, member, count, path, flags, fields) \
    NTAPI_FIELD_ELEMENTS(NTAPI_FIELD_KIND_OBJECT, type, member, count, path, flags, fields, 0)
#define NTAPI_FIELD_ARRAY_OF(kind, type, member, count, path, flags) \
    NTAPI_FIELD_ELEMENTS(kind, type, member, count, path, flags, NULL, 0)
#define NTAPI_FIELD_END \
    { 0, NTAPI_FIELD_KIND_BOOL, 0, NULL, 0, 0, NULL, 0, NTAPI_FIELD_KIND_BOOL, 0, 0, NULL }
NTAPI_NEW ntapi_decoded *ntapi_json_decode(const ntapi_json *json, const ntapi_field *fields, void *out, size_t size,
                                           ntapi_error **error);
NTAPI_NEW ntapi_decoded *ntapi_response_decode(const ntapi_response *response, const ntapi_field *fields, void *out,
                                               size_t size, ntapi_error **error);
void ntapi_decoded_free(ntapi_decoded *decoded);
NTAPI_NEW ntapi_json *ntapi_json_encode(const ntapi_field *fields, const void *from, size_t size, ntapi_error **error);
typedef enum ntapi_log {
    NTAPI_LOG_NONE = 0,
    NTAPI_LOG_DEBUG = 1,
    NTAPI_LOG_INFO = 2,
    NTAPI_LOG_WARN = 4,
    NTAPI_LOG_ERROR = 8,
    NTAPI_LOG_ALL = 15
} ntapi_log;
typedef void (*ntapi_log_fn)(void *user_data, ntapi_log level, const char *message);
void ntapi_log_set_sink(ntapi_log_fn sink, void *user_data, ntapi_destroy_fn destroy);
ntapi_status ntapi_log_use_syslog(const char *name);
void ntapi_log_set_flags(int flags);
ntapi_status ntapi_client_set_log_flags(ntapi_client *client, int flags);
int ntapi_client_log_flags(const ntapi_client *client);
ntapi_status ntapi_request_log(const ntapi_request *request, ntapi_log level, const char *message);
typedef enum ntapi_body_kind {
    NTAPI_BODY_KIND_NONE = 0,
    NTAPI_BODY_KIND_BYTES = 1,
    NTAPI_BODY_KIND_MULTIPART = 2,
    NTAPI_BODY_KIND_FILE = 3,
    NTAPI_BODY_KIND_STREAM = 4
} ntapi_body_kind;
NTAPI_NEW char *ntapi_http_request_method(const ntapi_http_request *http_request);
ntapi_status ntapi_http_request_set_method(ntapi_http_request *http_request, const char *method);
NTAPI_NEW char *ntapi_http_request_url(const ntapi_http_request *http_request);
ntapi_status ntapi_http_request_set_url(ntapi_http_request *http_request, const char *url);
NTAPI_NEW ntapi_headers *ntapi_http_request_headers(const ntapi_http_request *http_request);
ntapi_status ntapi_http_request_set_header(ntapi_http_request *http_request, const char *name, const char *value);
ntapi_status ntapi_http_request_set_secret_header(ntapi_http_request *http_request, const char *name,
                                                  const char *value);
ntapi_body_kind ntapi_http_request_get_body_kind(const ntapi_http_request *http_request);
NTAPI_NEW char *ntapi_http_request_body(const ntapi_http_request *http_request, size_t *length);
ntapi_status ntapi_http_request_set_body(ntapi_http_request *http_request, const void *bytes, size_t length);
double ntapi_http_request_timeout(const ntapi_http_request *http_request, ntapi_clock clock);
ntapi_status ntapi_http_request_set_timeout(ntapi_http_request *http_request, ntapi_clock clock, double seconds);
ntapi_cache_policy ntapi_http_request_cache_policy(const ntapi_http_request *http_request);
ntapi_status ntapi_http_request_set_cache_policy(ntapi_http_request *http_request, ntapi_cache_policy policy);
NTAPI_NEW char *ntapi_http_request_option(const ntapi_http_request *http_request, const char *name);
ntapi_status ntapi_http_request_set_option(ntapi_http_request *http_request, const char *name, const char *value);
double ntapi_http_request_priority(const ntapi_http_request *http_request);
ntapi_status ntapi_http_request_set_priority(ntapi_http_request *http_request, double priority);
typedef enum ntapi_interceptor_scope {
    NTAPI_INTERCEPTOR_SCOPE_CALL = 0,
    NTAPI_INTERCEPTOR_SCOPE_ATTEMPT = 1
} ntapi_interceptor_scope;
typedef void (*ntapi_intercept_fn)(void *user_data, ntapi_interception *interception);
typedef void (*ntapi_interceptor_end_fn)(void *user_data, uint64_t identifier);
NTAPI_NEW ntapi_interceptor *ntapi_interceptor_create(ntapi_interceptor_scope scope, ntapi_intercept_fn intercept,
                                                      ntapi_interceptor_end_fn end, void *user_data,
                                                      ntapi_destroy_fn destroy);
void ntapi_interceptor_free(ntapi_interceptor *interceptor);
ntapi_status ntapi_client_add_interceptor(ntapi_client *client, ntapi_interceptor *interceptor);
ntapi_status ntapi_class_add_interceptor(ntapi_class *class_handle, ntapi_interceptor *interceptor);
ntapi_status ntapi_configuration_add_interceptor(ntapi_configuration *configuration, ntapi_interceptor *interceptor);
ntapi_status ntapi_args_interceptor(ntapi_args *args, ntapi_interceptor *interceptor);
ntapi_status ntapi_client_remove_interceptor(ntapi_client *client, ntapi_interceptor *interceptor);
ntapi_status ntapi_class_remove_interceptor(ntapi_class *class_handle, ntapi_interceptor *interceptor);
ntapi_status ntapi_configuration_remove_interceptor(ntapi_configuration *configuration, ntapi_interceptor *interceptor);
ntapi_status ntapi_args_remove_interceptor(ntapi_args *args, ntapi_interceptor *interceptor);
void ntapi_interception_free(ntapi_interception *interception);
typedef struct ntapi_passage {
    size_t size;
    uint64_t identifier;
    int number;
    const char *reason;
    bool is_own_origin;
} ntapi_passage;
const ntapi_passage *ntapi_interception_passage(const ntapi_interception *interception);
ntapi_request *ntapi_interception_request(const ntapi_interception *interception);
ntapi_http_request *ntapi_interception_http_request(const ntapi_interception *interception);
const ntapi_response *ntapi_interception_response(const ntapi_interception *interception);
ntapi_status ntapi_interception_proceed(ntapi_interception *interception);
ntapi_status ntapi_interception_send(ntapi_interception *interception);
ntapi_status ntapi_interception_respond(ntapi_interception *interception, int status, const char *const *headers,
                                        const void *body, size_t length);
ntapi_status ntapi_interception_fail(ntapi_interception *interception, const ntapi_error *error);
typedef enum ntapi_decision_kind {
    NTAPI_DECISION_KIND_NONE = 0,
    NTAPI_DECISION_KIND_REDIRECT = 1,
    NTAPI_DECISION_KIND_RESPONSE = 2,
    NTAPI_DECISION_KIND_CHALLENGE = 4,
    NTAPI_DECISION_KIND_RETRY = 8,
    NTAPI_DECISION_KIND_CACHE = 16,
    NTAPI_DECISION_KIND_ALL = 31
} ntapi_decision_kind;
typedef void (*ntapi_decide_fn)(void *user_data, ntapi_decision *decision);
ntapi_status ntapi_request_set_decision_handler(ntapi_request *request, int kinds, ntapi_decide_fn handler,
                                                void *user_data, ntapi_destroy_fn destroy);
void ntapi_decision_free(ntapi_decision *decision);
ntapi_decision_kind ntapi_decision_get_kind(const ntapi_decision *decision);
ntapi_request *ntapi_decision_request(const ntapi_decision *decision);
const ntapi_response *ntapi_decision_response(const ntapi_decision *decision);
ntapi_http_request *ntapi_decision_http_request(const ntapi_decision *decision);
int ntapi_decision_attempt(const ntapi_decision *decision);
double ntapi_decision_wait(const ntapi_decision *decision);
typedef enum ntapi_challenge_kind {
    NTAPI_CHALLENGE_KIND_SERVER = 1,
    NTAPI_CHALLENGE_KIND_PROXY = 2,
    NTAPI_CHALLENGE_KIND_CERTIFICATE = 3
} ntapi_challenge_kind;
typedef enum ntapi_authentication {
    NTAPI_AUTHENTICATION_BASIC = 1,
    NTAPI_AUTHENTICATION_DIGEST = 2
} ntapi_authentication;
typedef struct ntapi_protection_space {
    size_t size;
    const char *scheme;
    const char *host;
    int port;
    const char *realm;
    ntapi_authentication authentication;
    bool is_proxy;
} ntapi_protection_space;
typedef struct ntapi_challenge {
    size_t size;
    ntapi_challenge_kind kind;
    const char *host;
    int port;
    const char *scheme;
    const char *realm;
    int failures;
    const char *reason;
    const char *const *certificates;
    size_t certificate_count;
    const ntapi_protection_space *space;
} ntapi_challenge;
const ntapi_challenge *ntapi_decision_challenge(const ntapi_decision *decision);
ntapi_status ntapi_decision_proceed(ntapi_decision *decision);
ntapi_status ntapi_decision_cancel(ntapi_decision *decision);
ntapi_status ntapi_decision_refuse(ntapi_decision *decision);
ntapi_status ntapi_decision_download(ntapi_decision *decision, const char *path);
ntapi_status ntapi_decision_retry(ntapi_decision *decision, double seconds);
typedef enum ntapi_persistence {
    NTAPI_PERSISTENCE_NONE = 0,
    NTAPI_PERSISTENCE_FOR_SESSION = 1,
    NTAPI_PERSISTENCE_PERMANENT = 2
} ntapi_persistence;
ntapi_status ntapi_decision_use_credential(ntapi_decision *decision, const char *user, const char *password,
                                           ntapi_persistence persistence);
ntapi_status ntapi_decision_trust(ntapi_decision *decision, bool for_session);
typedef enum ntapi_storage {
    NTAPI_STORAGE_NONE = 0,
    NTAPI_STORAGE_MEMORY = 1,
    NTAPI_STORAGE_DISK = 2
} ntapi_storage;
ntapi_storage ntapi_decision_get_storage(const ntapi_decision *decision);
ntapi_status ntapi_decision_store_in_memory(ntapi_decision *decision);
typedef void (*ntapi_build_args_fn)(void *user_data, const char *command, ntapi_args *args);
typedef void (*ntapi_build_request_fn)(void *user_data, ntapi_http_request *http_request);
typedef void (*ntapi_started_fn)(void *user_data, ntapi_request *request);
typedef void (*ntapi_information_fn)(void *user_data, ntapi_request *request, int status, const ntapi_headers *headers);
typedef void (*ntapi_progressed_fn)(void *user_data, ntapi_request *request, int64_t bytes, int64_t total);
typedef void (*ntapi_data_received_fn)(void *user_data, ntapi_request *request, const void *bytes, size_t length);
typedef ntapi_json *(*ntapi_parse_json_fn)(void *user_data, const void *bytes, size_t length, ntapi_error **error);
typedef ntapi_error *(*ntapi_map_service_error_fn)(void *user_data, const ntapi_response *response);
typedef ntapi_error *(*ntapi_map_error_fn)(void *user_data, const ntapi_error *error, const ntapi_response *response);
typedef void (*ntapi_metrics_collected_fn)(void *user_data, ntapi_request *request, const ntapi_json *metrics);
typedef void (*ntapi_completed_fn)(void *user_data, ntapi_request *request, const ntapi_response *response);
typedef void (*ntapi_write_log_fn)(void *user_data, ntapi_log level, const char *message);
typedef void (*ntapi_session_invalidated_fn)(void *user_data);
typedef struct ntapi_hooks {
    size_t size;
    ntapi_build_args_fn build_args;
    ntapi_build_request_fn build_request;
    ntapi_started_fn started;
    ntapi_information_fn information;
    ntapi_metrics_collected_fn metrics_collected;
    ntapi_progressed_fn upload_progressed;
    ntapi_progressed_fn download_progressed;
    ntapi_data_received_fn data_received;
    ntapi_session_invalidated_fn session_invalidated;
    ntapi_completed_fn completed;
    ntapi_parse_json_fn parse_json;
    ntapi_write_log_fn write_log;
    ntapi_map_service_error_fn map_service_error;
    ntapi_map_error_fn map_error;
    ntapi_decide_fn decide;
    int decisions;
} ntapi_hooks;
ntapi_status ntapi_client_set_hooks(ntapi_client *client, const ntapi_hooks *hooks, void *user_data,
                                    ntapi_destroy_fn destroy);
typedef struct ntapi_retry_policy {
    size_t size;
    int attempts;
    double base;
    double cap;
    double maximum_retry_after;
    const int *statuses;
    size_t status_count;
    bool network_errors;
} ntapi_retry_policy;
#define NTAPI_RETRY_POLICY_INIT \
    { sizeof(ntapi_retry_policy), 4, 0.5, 30, 60, NULL, 0, true }
ntapi_status ntapi_args_retry(ntapi_args *args, const ntapi_retry_policy *policy);
NTAPI_NEW ntapi_rate_limiter *ntapi_rate_limiter_create(double requests, double seconds, int burst,
                                                        double maximum_pause);
void ntapi_rate_limiter_free(ntapi_rate_limiter *limiter);
ntapi_status ntapi_rate_limiter_pause(ntapi_rate_limiter *limiter, double seconds);
size_t ntapi_rate_limiter_waiting(const ntapi_rate_limiter *limiter);
ntapi_status ntapi_client_set_rate_limiter(ntapi_client *client, ntapi_rate_limiter *limiter);
ntapi_status ntapi_args_rate_limiter(ntapi_args *args, ntapi_rate_limiter *limiter);
typedef void (*ntapi_refresh_fn)(void *user_data, ntapi_refresh *refresh);
typedef struct ntapi_authenticator_options {
    size_t size;
    const char *header;
    const char *scheme;
    const int *statuses;
    size_t status_count;
    const char *const *origins;
    size_t origin_count;
    double timeout;
} ntapi_authenticator_options;
NTAPI_NEW ntapi_authenticator *ntapi_authenticator_create(const ntapi_authenticator_options *options,
                                                          ntapi_refresh_fn refresh, void *user_data,
                                                          ntapi_destroy_fn destroy, ntapi_error **error);
void ntapi_authenticator_free(ntapi_authenticator *authenticator);
ntapi_status ntapi_client_set_authenticator(ntapi_client *client, ntapi_authenticator *authenticator);
ntapi_status ntapi_authenticator_set_token(ntapi_authenticator *authenticator, const char *token, double lifetime);
NTAPI_NEW char *ntapi_authenticator_token(ntapi_authenticator *authenticator);
ntapi_status ntapi_authenticator_set_mailbox(ntapi_authenticator *authenticator, ntapi_mailbox *mailbox);
const char *ntapi_refresh_token(const ntapi_refresh *refresh);
NTAPI_NEW ntapi_response *ntapi_refresh_response(const ntapi_refresh *refresh);
ntapi_client *ntapi_refresh_client(const ntapi_refresh *refresh);
ntapi_status ntapi_refresh_succeed(ntapi_refresh *refresh, const char *token, double lifetime);
ntapi_status ntapi_refresh_fail(ntapi_refresh *refresh, const ntapi_error *error);
ntapi_status ntapi_refresh_decline(ntapi_refresh *refresh);
void ntapi_refresh_free(ntapi_refresh *refresh);
typedef enum ntapi_session_kind {
    NTAPI_SESSION_KIND_NONE = 0,
    NTAPI_SESSION_KIND_DEFAULT = 1,
    NTAPI_SESSION_KIND_EPHEMERAL = 2,
    NTAPI_SESSION_KIND_BACKGROUND = 3
} ntapi_session_kind;
NTAPI_NEW ntapi_configuration *ntapi_configuration_create(ntapi_session_kind kind, const char *identifier);
void ntapi_configuration_free(ntapi_configuration *configuration);
ntapi_defaults *ntapi_configuration_defaults(const ntapi_configuration *configuration);
ntapi_cookie_storage *ntapi_client_cookies(const ntapi_client *client);
NTAPI_NEW ntapi_json *ntapi_cookie_storage_get(const ntapi_cookie_storage *storage, const char *url);
ntapi_status ntapi_cookie_storage_set(ntapi_cookie_storage *storage, const ntapi_json *cookie, ntapi_error **error);
ntapi_status ntapi_cookie_storage_delete(ntapi_cookie_storage *storage, const char *name, const char *domain,
                                         const char *path);
ntapi_status ntapi_cookie_storage_clear(ntapi_cookie_storage *storage);
ntapi_status ntapi_cookie_storage_save(ntapi_cookie_storage *storage, ntapi_error **error);
NTAPI_NEW ntapi_cache *ntapi_cache_create(int64_t memory_capacity, int64_t disk_capacity, const char *folder);
void ntapi_cache_free(ntapi_cache *cache);
ntapi_status ntapi_configuration_set_cache(ntapi_configuration *configuration, ntapi_cache *cache);
ntapi_cache *ntapi_client_cache(const ntapi_client *client);
ntapi_status ntapi_cache_clear(ntapi_cache *cache);
ntapi_status ntapi_cache_remove(ntapi_cache *cache, const char *url);
int64_t ntapi_cache_capacity(const ntapi_cache *cache, ntapi_storage storage);
int64_t ntapi_cache_usage(const ntapi_cache *cache, ntapi_storage storage);
ntapi_status ntapi_cache_save(ntapi_cache *cache, ntapi_error **error);
NTAPI_NEW ntapi_credential_storage *ntapi_credential_storage_create(const char *file);
NTAPI_NEW ntapi_credential_storage *ntapi_credential_storage_shared(void);
void ntapi_credential_storage_free(ntapi_credential_storage *storage);
ntapi_status ntapi_configuration_set_credential_storage(ntapi_configuration *configuration,
                                                        ntapi_credential_storage *storage);
ntapi_credential_storage *ntapi_client_credential_storage(const ntapi_client *client);
ntapi_status ntapi_credential_storage_set(ntapi_credential_storage *storage, const ntapi_protection_space *space,
                                          const char *user, const char *password, ntapi_error **error);
ntapi_status ntapi_credential_storage_set_default(ntapi_credential_storage *storage,
                                                  const ntapi_protection_space *space, const char *user,
                                                  const char *password, ntapi_error **error);
NTAPI_NEW ntapi_json *ntapi_credential_storage_get(const ntapi_credential_storage *storage,
                                                   const ntapi_protection_space *space, ntapi_error **error);
ntapi_status ntapi_credential_storage_remove(ntapi_credential_storage *storage, const ntapi_protection_space *space,
                                             const char *user, ntapi_error **error);
ntapi_status ntapi_credential_storage_clear(ntapi_credential_storage *storage, ntapi_error **error);
NTAPI_NEW ntapi_error *ntapi_client_background_error(const ntapi_client *client);
size_t ntapi_client_restored_requests(ntapi_client *client, const ntapi_args *args, ntapi_request **requests,
                                      size_t capacity);
size_t ntapi_client_resume_restored_requests(ntapi_client *client, const ntapi_args *args, ntapi_response_fn handler,
                                             void *user_data, ntapi_destroy_fn destroy);
bool ntapi_response_was_delivered_before(const ntapi_response *response);
ntapi_status ntapi_response_begin_delivery(ntapi_response *response);
ntapi_status ntapi_response_acknowledge(ntapi_response *response);
#ifdef __cplusplus
}
#endif
#endif
