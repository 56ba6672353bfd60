/*
 * ntapi.h - NTApi, a client for JSON web APIs. Link with -lntapi.
 *
 * A client (ntapi_client) begins requests (ntapi_request) from a command, which is a path below its base URL, and an
 * ordered list of args (ntapi_args). Each request ends in exactly one response (ntapi_response), which has the data,
 * the JSON, the headers and the error, if there is one:
 *
 *     ntapi_client *client = ntapi_client_create(NULL, "https://api.example.com/v1");
 *     ntapi_args *args = ntapi_args_create();
 *     ntapi_args_url(args, "q", "London");
 *     ntapi_response *response = ntapi_client_perform(client, "cities", args);
 *     if (ntapi_response_error(response) == NULL)
 *         puts(ntapi_response_data(response, NULL));
 *     else
 *         puts(ntapi_error_message(ntapi_response_error(response)));
 *     ntapi_response_free(response);
 *     ntapi_args_free(args);
 *     ntapi_client_free(client);
 *
 * perform waits for the response; ntapi_client_begin gives it to a handler.
 *
 * CONTENTS
 *   1. Library
 *   2. Errors
 *   3. JSON
 *   4. Headers
 *   5. Args
 *   6. Defaults and classes
 *   7. Clients
 *   8. Requests
 *   9. Responses
 *   10. Threads: mailboxes and executors
 *   11. Streams
 *   12. Events: programs that pull
 *   13. JSON as structs
 *   14. Logging
 *   15. Built requests
 *   16. Interceptors
 *   17. Decisions
 *   18. Hooks
 *   19. Retries and rate limits
 *   20. Credentials that expire
 *   21. Sessions: configurations
 *   22. Sessions: cookies
 *   23. Sessions: cache
 *   24. Sessions: stored credentials
 *   25. Sessions: background transfers
 *   26. Observers
 *
 * The rules below hold for every function. Comments say only what differs from them.
 *
 * THREADS. Any thread may call any function, also in a callback. A function blocks only if its comment says so.
 *
 * HANDLERS run where their request says: on the main thread (the default), on a background worker, on the thread that
 * began the request, on your executor, or in your mailbox. Linux has no run loop. So the main thread and the beginning
 * thread run handlers only in ntapi_mailbox_run, ntapi_client_perform, ntapi_request_wait and drains. A handler may
 * itself wait. Then other handlers run inside it, at most 16 inside one another. From there on, a wait runs only the
 * handlers of its own request, a drain returns at once, and ntapi_mailbox_run only waits for its stop.
 *
 * THE PROMISE. Every begun request calls its response handler exactly once, also after an error, a cancel, a timeout
 * or a close: on the thread that was asked for, or on a worker if that thread has ended. No other callback of the
 * request runs after it. The `end` of its interceptors and the `destroy` of its other callbacks run before it.
 *
 * OWNERSHIP has four words:
 *   new       you own it. End a handle with the _free function of its type, a text (char *) with ntapi_text_free;
 *   borrowed  the library owns it. The comment says until when you may use it;
 *   copied    the library keeps a copy. You may free or change yours when the call returns;
 *   takes     the library owns it from this call on, also when the call fails.
 * Parameters: texts and bytes are copied unless a comment says otherwise. A handle that a function keeps stays yours,
 * too: free it when you like. Results: a handle is new unless the comment says borrowed. A const char * of an object
 * is borrowed until the object is freed; a char * is new. What is borrowed never changes: what may change is returned
 * as new. NTAPI_NEW marks each function whose result is new.
 *
 * WRONG HANDLES do no harm. A call with NULL, a freed handle or a handle of another type returns
 * NTAPI_STATUS_INVALID_ARGUMENT, NULL, 0, false or the zero of its enum; a few functions return something else, as
 * their comments say. Free handles in any order, on any thread, in any callback: a running request keeps what it needs.
 * A _free function ignores NULL and never blocks, except ntapi_response_free for a background event (section 25).
 *
 * STRINGS are UTF-8. They come in NUL-terminated, or as pointer and length, and go out NUL-terminated. A parameter may
 * be NULL only if its comment says what NULL means.
 *
 * STATUS. A function that returns ntapi_status returns NTAPI_STATUS_OK, or NTAPI_STATUS_INVALID_ARGUMENT for a wrong
 * handle, a text that is not UTF-8, or a value out of range. Comments name other statuses. An `ntapi_error **error`
 * gets a new error when the function fails. You may pass NULL.
 *
 * CALLBACKS get the user_data that they were registered with. The handles and texts that they get are borrowed for the
 * call unless the comment says otherwise. A callback has to return. A longjmp or a C++ exception out of it is
 * undefined, because the library then keeps locks and memory.
 *
 * DESTROY frees user_data. It may be NULL. It runs exactly once, on any thread, after the last call, also when the
 * registration fails. The callbacks of a request end with the request, even if you keep its handle: the `destroy` of
 * its response handler runs after that handler, and every other one runs before it.
 *
 * EXIT AND FORK. When the process exits, running requests have two seconds to finish, or those of the default
 * exitTimeout. Then they are cancelled. A forked child may use its parent's handles, but cannot wait for the parent's
 * requests: they and their callbacks stay with the parent.
 *
 * UNITS. Times are seconds as double, sizes are bytes, and indexes begin at 0.
 *
 * GROWTH. Later versions add functions, members at the end of structs, and constants to enums. So each struct begins
 * with `size`. In a struct that you fill, set it to sizeof the struct: 0 is refused. If your header is newer than the
 * library, leave members 0 that the library does not know: it refuses a struct that asks for what it cannot do. In a
 * struct that the library fills or lends, `size` says how many bytes the library knows. A switch over an enum needs a
 * default. The 0 of an enum that a function returns means none; of ntapi_status it is OK.
 */
#ifndef NTAPI_H
#define NTAPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#if __cplusplus >= 201103L
#include <type_traits>
#endif
extern "C" {
#endif

#define NTAPI_VERSION_MAJOR 0
#define NTAPI_VERSION_MINOR 2
#define NTAPI_VERSION_PATCH 0
/* The version as one number that grows, for the preprocessor: 1.2.3 is 1002003. */
#define NTAPI_VERSION_NUMBER (NTAPI_VERSION_MAJOR * 1000000 + NTAPI_VERSION_MINOR * 1000 + NTAPI_VERSION_PATCH)

/* What the compiler is told about a function: nothing if you define NTAPI_ATTRIBUTE(attribute) as nothing before. */
#ifndef NTAPI_ATTRIBUTE
#ifdef __GNUC__
#define NTAPI_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define NTAPI_ATTRIBUTE(attribute)
#endif
#endif
/* The result is new: free it, or it leaks. */
#define NTAPI_NEW NTAPI_ATTRIBUTE(warn_unused_result)
/* Look at the status: after a failure a request is sent without what was meant, or is not sent at all. */
#define NTAPI_CHECKED NTAPI_ATTRIBUTE(warn_unused_result)
/* The function will be removed in the next major version. */
#define NTAPI_DEPRECATED(instead) NTAPI_ATTRIBUTE(deprecated(instead))

typedef struct ntapi_json ntapi_json;                             /* a JSON document: section 3 */
typedef struct ntapi_json_iterator ntapi_json_iterator;           /* a walk through a JSON document: section 3 */
typedef struct ntapi_headers ntapi_headers;                       /* header lines: section 4 */
typedef struct ntapi_error ntapi_error;                           /* what went wrong: section 2 */
typedef struct ntapi_args ntapi_args;                             /* what is in a request: section 5 */
typedef struct ntapi_class ntapi_class;                           /* a named place for defaults: section 6 */
typedef struct ntapi_defaults ntapi_defaults;                     /* named values: section 6 */
typedef struct ntapi_configuration ntapi_configuration;           /* the settings of a session: section 21 */
typedef struct ntapi_cookie_storage ntapi_cookie_storage;         /* cookies: section 22 */
typedef struct ntapi_cache ntapi_cache;                           /* stored responses: section 23 */
typedef struct ntapi_credential_storage ntapi_credential_storage; /* stored users and passwords: section 24 */
typedef struct ntapi_client ntapi_client;                         /* begins requests to one web API: section 7 */
typedef struct ntapi_http_request ntapi_http_request;             /* a built request, ready to be sent: section 15 */
typedef struct ntapi_request ntapi_request;                       /* a request that was begun or made: section 8 */
typedef struct ntapi_response ntapi_response;                     /* how a request ended: section 9 */
typedef struct ntapi_data ntapi_data;                             /* a piece of a body: section 12 */
typedef struct ntapi_decoded ntapi_decoded;                       /* what a filled struct points to: section 13 */
typedef struct ntapi_decision ntapi_decision;                     /* a question that a request waits for: section 17 */
typedef struct ntapi_interceptor ntapi_interceptor;               /* sees requests and answers pass: section 16 */
typedef struct ntapi_interception ntapi_interception;             /* a request or its answer on its way: section 16 */
typedef struct ntapi_observer ntapi_observer;                     /* hears what happens to requests: section 26 */
typedef struct ntapi_authenticator ntapi_authenticator;           /* renews tokens that expire: section 20 */
typedef struct ntapi_refresh ntapi_refresh;                       /* one renewal of a token: section 20 */
typedef struct ntapi_rate_limiter ntapi_rate_limiter;             /* spaces requests out: section 19 */
typedef struct ntapi_mailbox ntapi_mailbox;                       /* callbacks that wait for a thread: section 10 */
typedef struct ntapi_executor ntapi_executor;                     /* your queue or loop: section 10 */
typedef struct ntapi_job ntapi_job;                               /* one callback for an executor: section 10 */

/** The result of a call that can fail. It says what the caller can do. */
typedef enum ntapi_status {
    NTAPI_STATUS_OK = 0,
    NTAPI_STATUS_INVALID_ARGUMENT = 1, /* a NULL, wrong or freed handle, or a bad value: fix the call */
    NTAPI_STATUS_INVALID_STATE = 2,    /* too late or too early for this call, for example a second resume */
    NTAPI_STATUS_TIMED_OUT = 3         /* the time to wait is over: call again */
} ntapi_status;

/** Frees a callback's user data. */
typedef void (*ntapi_destroy_fn)(void *user_data);

/* ===== 1. Library ================================================================================================= */

/** The library's version, "MAJOR.MINOR.PATCH", borrowed forever. */
const char *ntapi_version(void);

/** The versions of the library, of the libcurl that it has loaded and of libcurl's own libraries, for log lines and bug
 *  reports: "ntapi/0.2.0 libcurl/8.22.0 OpenSSL/3.5.7 zlib/1.2.13". Borrowed forever. */
const char *ntapi_version_text(void);

/** Waits until every begun request of the process has called its handler, and runs the calling thread's mailbox
 *  meanwhile. In a callback it does not wait for that callback's own request.
 *  @param timeout seconds at most; negative waits forever.
 *  @returns how many requests are left; 0 when all are done, and the files of cookies and caches are written. */
size_t ntapi_drain(double timeout);

/** Frees a text that was returned as new. NULL is ignored. */
void ntapi_text_free(char *text);

/** One line about a handle of any type, for logs and debuggers: its type, and what matters of its state. Secrets are
 *  redacted, and the words may change. NULL, a freed handle and any other pointer have a line, too.
 *  @returns the text, new; never NULL. */
NTAPI_NEW char *ntapi_describe(const void *handle);

/* ===== 2. Errors ================================================================================================== */

/** Where an error comes from. */
typedef enum ntapi_error_domain {
    NTAPI_ERROR_DOMAIN_NONE = 0,
    NTAPI_ERROR_DOMAIN_REQUEST = 1,  /* the request could not be built or sent: fix the call */
    NTAPI_ERROR_DOMAIN_NETWORK = 2,  /* no answer, or an incomplete one */
    NTAPI_ERROR_DOMAIN_HTTP = 3,     /* the status is 300 or above */
    NTAPI_ERROR_DOMAIN_JSON = 4,     /* the body is not JSON */
    NTAPI_ERROR_DOMAIN_SERVICE = 5,  /* the service reports it in its own fields (hook map_service_error) */
    NTAPI_ERROR_DOMAIN_CANCELLED = 6 /* cancelled by the caller */
} ntapi_error_domain;

/** What went wrong, for a switch or a static table. The quotes show the code's name, which ntapi_error_code_name
 *  returns and ntapi_error_create takes. */
typedef enum ntapi_code {
    NTAPI_CODE_NONE = 0,                /* no error */
    NTAPI_CODE_CUSTOM = 1,              /* your own code: ntapi_error_code_name says which */
    NTAPI_CODE_NETWORK = 2,             /* "network": the connection failed, broke, or spoke no HTTP */
    NTAPI_CODE_NO_INTERNET = 3,         /* "no internet": the machine is offline */
    NTAPI_CODE_TIMEOUT = 4,             /* "timeout": the clock in ntapi_error_details says which */
    NTAPI_CODE_TLS = 5,                 /* "TLS": the handshake failed, or the certificate was not accepted */
    NTAPI_CODE_INVALID_JSON = 6,        /* "invalid JSON": the body is not JSON */
    NTAPI_CODE_UNEXPECTED_JSON = 7,     /* "unexpected JSON": the JSON does not fit the struct */
    NTAPI_CODE_HTTP_ERROR = 8,          /* "HTTP error": a status of 300 or above */
    NTAPI_CODE_NOT_CACHED = 9,          /* "not cached": NTAPI_CACHE_POLICY_RETURN_CACHED_DONT_LOAD */
    NTAPI_CODE_TOO_MANY_REDIRECTS = 10, /* "too many redirects" */
    NTAPI_CODE_AUTHENTICATION = 11,     /* "authentication failed": the token could not be refreshed */
    NTAPI_CODE_DETACHED = 12,           /* "detached": a background transfer continues in the next process */
    NTAPI_CODE_CANCELLED = 13,          /* "request cancelled": by the caller */
    NTAPI_CODE_INVALID_REQUEST = 14,    /* "invalid request": the request could not be built: fix the call */
    NTAPI_CODE_RESPONSE_TOO_LARGE = 15, /* "response too large" */
    NTAPI_CODE_NO_STUB = 16,            /* "no stub": no rule of a stub matches */
    NTAPI_CODE_GENERIC = 17,            /* "generic" */
    NTAPI_CODE_NOT_ALLOWED = 18,        /* "not allowed": by the connection policy; nothing was sent */
    NTAPI_CODE_CIRCUIT_OPEN = 19,       /* "circuit open": by the circuit breaker; nothing was sent */
    NTAPI_CODE_STORE_FAILED = 20        /* "store failed": that of a shared limit or token; may be retried */
} ntapi_code;

/** The kind of a network failure. */
typedef enum ntapi_failure {
    NTAPI_FAILURE_NONE = 0,
    NTAPI_FAILURE_NAME_LOOKUP = 1, /* the host's name was not found */
    NTAPI_FAILURE_REFUSED = 2,     /* nobody listens at the address */
    NTAPI_FAILURE_UNREACHABLE = 3, /* no connection for another reason: no route, or this machine is offline */
    NTAPI_FAILURE_PROXY = 4,       /* the proxy's name was not found, or the proxy refused */
    NTAPI_FAILURE_TLS = 5,         /* the TLS handshake failed, or the certificate was not accepted */
    NTAPI_FAILURE_RESET = 6,       /* the connection broke before the answer was complete */
    NTAPI_FAILURE_NO_ANSWER = 7,   /* the server closed the connection without an answer */
    NTAPI_FAILURE_CUT_SHORT = 8,   /* the server closed the connection in the middle of the answer */
    NTAPI_FAILURE_NOT_HTTP = 9,    /* the answer is not HTTP, or breaks its rules */
    NTAPI_FAILURE_DECODING = 10,   /* the body cannot be decompressed, or a part of it is missing */
    NTAPI_FAILURE_OTHER = 11
} ntapi_failure;

/** The five clocks of a timeout. */
typedef enum ntapi_clock {
    NTAPI_CLOCK_NONE = 0,
    NTAPI_CLOCK_IDLE = 1,    /* how long no byte may move */
    NTAPI_CLOCK_CONNECT = 2, /* name look-up, connection and TLS handshake */
    NTAPI_CLOCK_QUEUE = 3,   /* waiting for a free connection to the host */
    NTAPI_CLOCK_ATTEMPT = 4, /* one exchange with one server; each redirect starts another */
    NTAPI_CLOCK_TOTAL = 5    /* the whole request, everything included */
} ntapi_clock;

/** Makes an error, for a hook or an interceptor.
 *  @param domain usually NTAPI_ERROR_DOMAIN_SERVICE.
 *  @param code the code's name, built-in or your own; NULL is "generic".
 *  @param message for people; NULL is the code's name.
 *  @param is_retryable whether the same request may succeed later, and is safe to repeat. Your program may read it. A
 *  retry policy does so only for an error with which an ATTEMPT interceptor fails (section 19). */
NTAPI_NEW ntapi_error *ntapi_error_create(ntapi_error_domain domain, const char *code, const char *message,
                                          bool is_retryable);

/** Makes another handle to an error, to keep it longer than what has lent it. */
NTAPI_NEW ntapi_error *ntapi_error_retain(const ntapi_error *error);
void ntapi_error_free(ntapi_error *error);

/** The code, which is NTAPI_CODE_CUSTOM for your own; and its name. Equal names are one pointer, borrowed forever.
 *  register returns that pointer: ntapi_error_code_name(error) == ntapi_code_register("404"). */
ntapi_code ntapi_error_code(const ntapi_error *error);
const char *ntapi_error_code_name(const ntapi_error *error);
const char *ntapi_code_register(const char *name);

/** What happened and what to do about it, for people. */
const char *ntapi_error_message(const ntapi_error *error);

/** More about an error than its code and message. */
typedef struct ntapi_error_details {
    size_t size; /* of this struct */
    ntapi_error_domain domain;
    int http_status;       /* of the answer; 0 when there was none */
    ntapi_failure failure; /* the kind of network failure */
    int transport_code;    /* the CURLcode of libcurl; 0 when the transport did not fail */
    ntapi_clock clock;     /* the clock that ran out */
    bool is_retryable;     /* sending the same request again may help, and is safe */
    double retry_after;    /* how many seconds the server asks to wait (Retry-After); negative when it did not say */
    /** What the server said in application/problem+json (RFC 9457); NULL when the answer was none. An object with type
     *  (at least "about:blank"), title, status, detail, instance and any others, without those of a wrong type:
     *  ntapi_json_string(problem, "title") is NULL when there is none. Borrowed until the error is freed. */
    const ntapi_json *problem;
} ntapi_error_details;

/** The details, borrowed until the error is freed.
 *  @returns never NULL: for a wrong handle the details of no error. */
const ntapi_error_details *ntapi_error_get_details(const ntapi_error *error);

/* ===== 3. JSON ==================================================================================================== */
/*
 * A path names a value in a document: keys separated by dots, indexes in brackets, keys with other characters in
 * brackets and quotes: list[0].name, headers["X-Y"]. "" or NULL is the whole document. Documents never change.
 *
 * A byte order mark is skipped; \u0000 in a string is kept (ntapi_json_string_length); integers beyond 64 bits are of
 * the type double, and keep their digits in the text; of duplicate keys the last wins. More than 2,048 levels, numbers
 * beyond double, lone surrogates and bytes that are not UTF-8 are errors. For json_t * of jansson see ntapi_jansson.h.
 */

typedef enum ntapi_json_type {
    NTAPI_JSON_TYPE_ABSENT = 0, /* nothing at that path, or the path is malformed */
    NTAPI_JSON_TYPE_NULL = 1,
    NTAPI_JSON_TYPE_BOOL = 2,
    NTAPI_JSON_TYPE_INT = 3,
    NTAPI_JSON_TYPE_DOUBLE = 4,
    NTAPI_JSON_TYPE_STRING = 5,
    NTAPI_JSON_TYPE_ARRAY = 6,
    NTAPI_JSON_TYPE_OBJECT = 7
} ntapi_json_type;

/** Parses a text of any JSON value.
 *  @param error its message has the line, column and byte.
 *  @returns NULL when the text is not JSON. */
NTAPI_NEW ntapi_json *ntapi_json_parse(const char *text, size_t length, ntapi_error **error);

/** Makes a JSON string. */
NTAPI_NEW ntapi_json *ntapi_json_create_string(const char *value);
void ntapi_json_free(ntapi_json *json);

ntapi_json_type ntapi_json_get_type(const ntapi_json *json, const char *path);

/** The string at a path, or NULL; its length is more than strlen when it contains NUL. */
const char *ntapi_json_string(const ntapi_json *json, const char *path);
size_t ntapi_json_string_length(const ntapi_json *json, const char *path);

/** The value at a path, or fallback when nothing of that type is there. A double with an integral value in range counts
 *  as an integer, and an integer as a double. */
int64_t ntapi_json_int(const ntapi_json *json, const char *path, int64_t fallback);
double ntapi_json_double(const ntapi_json *json, const char *path, double fallback);
bool ntapi_json_bool(const ntapi_json *json, const char *path, bool fallback);

/** How many elements the array, or members the object, at a path has; 0 for any other value. */
size_t ntapi_json_count(const ntapi_json *json, const char *path);

/** Walks through the elements of the array, or the members of the object, at a path, in order:
 *
 *      ntapi_json_iterator *cities = ntapi_json_iterate(json, "list");
 *      for (const ntapi_json *city; (city = ntapi_json_next(cities, NULL)) != NULL;)
 *          puts(ntapi_json_string(city, "name"));
 *      ntapi_json_iterator_free(cities);
 *
 *  The iterator keeps the document. For a value without children, next returns NULL.
 *  @param key receives the member's key, borrowed until the document is freed, or NULL for an element; may be NULL.
 *  @returns iterate: NULL when nothing is at the path. next: the value, borrowed until the next call with iterator or
 *  until iterator is freed; NULL after the last. */
NTAPI_NEW ntapi_json_iterator *ntapi_json_iterate(const ntapi_json *json, const char *path);
const ntapi_json *ntapi_json_next(ntapi_json_iterator *iterator, const char **key);
void ntapi_json_iterator_free(ntapi_json_iterator *iterator);

/** The value at a path as a document that outlives the one it came from; NULL when nothing is there. */
NTAPI_NEW ntapi_json *ntapi_json_get(const ntapi_json *json, const char *path);

/** The document as compact JSON text. Doubles are written with one precision, 15 to 17 digits: the lowest with which
 *  all of them read back the same. Numbers of more digits and integers beyond 64 bits have all of theirs. */
const char *ntapi_json_text(const ntapi_json *json);

/* ===== 4. Headers ================================================================================================= */
/*
 * Header lines of a request or a response, as they were when they were asked for: they never change. Bytes that are
 * not UTF-8 are passed on as they came.
 */

/** Frees header lines that were returned as new, and so their texts. */
void ntapi_headers_free(ntapi_headers *headers);

/** The value of a header, whose name may be in any case. Several values of one name are joined with ", "; of
 *  Set-Cookie you get the first one. NULL when there is none. */
const char *ntapi_headers_get(const ntapi_headers *headers, const char *name);

/** The text behind the status in the status line that the lines came with, such as "Not Found"; "" when there is none,
 *  as over HTTP/2, or when the lines are those of a request. */
const char *ntapi_headers_reason_phrase(const ntapi_headers *headers);

/** The lines in order, repeats included:
 *
 *      const char *name, *value;
 *      for (size_t i = 0; (value = ntapi_headers_at(headers, i, &name)) != NULL; i++)
 *          printf("%s: %s\n", name, value);
 *
 *  @param name receives the name, or NULL beyond the last line; may be NULL.
 *  @returns the value; NULL beyond the last line. */
const char *ntapi_headers_at(const ntapi_headers *headers, size_t index, const char **name);

/* ===== 5. Args ==================================================================================================== */
/*
 * Args are applied in order when a request is begun: those of the client, then those of the request. Single-valued args
 * (method, timeout, base URL, cache policy, option) override earlier ones. Mistakes that can only be seen then (two
 * kinds of body, CR or LF in a header) end the request with NTAPI_CODE_INVALID_REQUEST.
 *
 * A request has one kind of body. With a body the default method is POST.
 *
 * NULL as the value leaves the arg out: the call does nothing and returns NTAPI_STATUS_OK. Comments name exceptions.
 * Args for threads are in section 10, for interceptors in section 16, for retries and rate limits in section 19.
 */

/** How the cache of a session may be used. */
typedef enum ntapi_cache_policy {
    NTAPI_CACHE_POLICY_NONE = 0,                    /* no policy: it cannot be set */
    NTAPI_CACHE_POLICY_PROTOCOL = 1,                /* as the headers say (RFC 9111) */
    NTAPI_CACHE_POLICY_RELOAD_IGNORING_CACHE = 2,   /* ask the server, and store its answer */
    NTAPI_CACHE_POLICY_RETURN_CACHED_ELSE_LOAD = 3, /* a stored response of any age; else ask the server */
    NTAPI_CACHE_POLICY_RETURN_CACHED_DONT_LOAD = 4, /* the same; else NTAPI_CODE_NOT_CACHED, with the status 504 */
    NTAPI_CACHE_POLICY_RELOAD_REVALIDATING = 5,     /* ask the server whether the stored response is still valid */
    NTAPI_CACHE_POLICY_NO_STORE = 6                 /* neither read nor write the cache */
} ntapi_cache_policy;

/* The built-in options. Any other name is your own, for your hooks; a misspelled built-in name is refused. */
#define NTAPI_OPTION_RAW_DATA "raw_data" /* parse no JSON, except of an HTTP error */
/* A status of 300 or above is not an error. Refused redirects, too many redirects and "not cached" still are. */
#define NTAPI_OPTION_IGNORE_HTTP_ERRORS "ignore_http_errors"
/* Do not verify the server's certificate. */
#define NTAPI_OPTION_ALLOW_INVALID_CERTIFICATE "allow_invalid_certificate"
#define NTAPI_OPTION_MAXIMUM_RESPONSE_SIZE "maximum_response_size" /* bytes of the decoded body: "1000000" */
#define NTAPI_OPTION_MAXIMUM_REDIRECTS "maximum_redirects"         /* "20" by default; "0" follows none */
#define NTAPI_OPTION_BYPASS_AUTHENTICATION "bypass_authentication" /* send no token of the client's authenticator */
/* Whether a stream of events connects again when its connection ended: by default a GET does, a POST does not. */
#define NTAPI_OPTION_RECONNECT "reconnect"
/* After how many connections in a row without an event a stream fails; never by default. */
#define NTAPI_OPTION_MAXIMUM_FAILURES "maximum_failures"
#define NTAPI_OPTION_HTTP_VERSION "http_version" /* "1.0", "1.1"; "2" is offered; negotiated by default */
/* One exchange with the server and nothing around it, for a library that does the rest itself. The request has the
 * headers that its args give and the framing of its body, and none of the client's. The answer is what the server sent:
 * no redirect is followed, nothing is decompressed or parsed, no status is an error, and no challenge is answered.
 * Cookies, cache, retries and authenticator are not used. Timeouts, proxy, certificates, rate limit, interceptors, stub
 * and recorder are used as always. */
#define NTAPI_OPTION_PLAIN_EXCHANGE "plain_exchange"

/** Makes an empty list. Several threads may use a list at once. A function that appends and returns
 *  NTAPI_STATUS_INVALID_ARGUMENT leaves its mistake in the list: a request with it fails with
 *  NTAPI_CODE_INVALID_REQUEST and the function's name, so that no request is sent without what you wanted. */
NTAPI_NEW ntapi_args *ntapi_args_create(void);
void ntapi_args_free(ntapi_args *args);

size_t ntapi_args_count(const ntapi_args *args);

/** Appends all args of another list. */
ntapi_status ntapi_args_append(ntapi_args *args, const ntapi_args *other);

/** Appends args written as JSON, all or none: [["url","q","London"],["url","cnt",20],["timeout",5]].
 *
 *  The first element of each is its kind: the end of its function's name. A value of null leaves the arg out.
 *
 *      url, path, form           name, value
 *      url_default               name; or name, key
 *      header, add_header        name, value
 *      base_url, method          text
 *      json                      any value
 *      data                      {"base64" or "text", "content_type"}
 *      file                      {"path", "content_type"}
 *      multipart                 name, text
 *      multipart_data            name, {"base64" or "text", "filename" or "extension", "content_type"}
 *      multipart_file            name, {"path", "filename", "content_type"}
 *      bearer                    token
 *      basic_auth, digest_auth   user, password
 *      timeout                   seconds; or seconds, and "idle", "connect", "queue", "attempt" or "total"
 *      retry                     as NTAPI_DEFAULT_RETRY
 *      idempotency_key           nothing; or text
 *      cache_policy              "protocol", "reload_ignoring_cache", "return_cached_else_load",
 *                                "return_cached_dont_load", "reload_revalidating" or "no_store"
 *      option                    name; or name, value
 *      download                  path; or nothing, for a temporary file
 *      resume                    text
 *      response_thread, upload_progress_thread, download_progress_thread, data_thread
 *                                "main", "background" or "current"
 *
 *  @param error names the arg, or the line, column and byte where the text is not JSON. */
ntapi_status ntapi_args_append_json(ntapi_args *args, const char *text, size_t length, ntapi_error **error);

/** Marks the arg that was appended last as secret. It is printed as "<redacted>". A redirect to another origin drops
 *  secret headers, and ntapi_args_base_url the secret args of the client. Authorization, Cookie and names like
 *  password, token and api_key are always secret.
 *  @returns NTAPI_STATUS_INVALID_STATE when the list is empty. */
NTAPI_CHECKED ntapi_status ntapi_args_mark_secret(ntapi_args *args);

/** Appends a query pair; name and value are percent-encoded. A double is sent as the shortest text that reads back
 *  as the same number; infinity and NaN are errors when the request is begun. */
ntapi_status ntapi_args_url(ntapi_args *args, const char *name, const char *value);
ntapi_status ntapi_args_url_int(ntapi_args *args, const char *name, int64_t value);
ntapi_status ntapi_args_url_double(ntapi_args *args, const char *name, double value);
ntapi_status ntapi_args_url_bool(ntapi_args *args, const char *name, bool value);

/* Other names of these. */
#define ntapi_args_query ntapi_args_url
#define ntapi_args_query_int ntapi_args_url_int
#define ntapi_args_query_double ntapi_args_url_double
#define ntapi_args_query_bool ntapi_args_url_bool

/** Appends a query pair whose value is a default of the client when the request is made; without one, no pair.
 *  @param key the default's name; NULL is the same as name. */
ntapi_status ntapi_args_url_default(ntapi_args *args, const char *name, const char *key);

/** Fills {name} in the command, percent-encoded: a value never adds a segment or a query. {name*} takes many segments,
 *  "docs/a.md": its slashes stay. A value that makes a segment "." or ".." is an error of the request: servers read
 *  these as steps to another path, however they are encoded. A {name} that nothing fills is an error, too. */
ntapi_status ntapi_args_path(ntapi_args *args, const char *name, const char *value);
ntapi_status ntapi_args_path_int(ntapi_args *args, const char *name, int64_t value);
ntapi_status ntapi_args_path_double(ntapi_args *args, const char *name, double value);
ntapi_status ntapi_args_path_bool(ntapi_args *args, const char *name, bool value);

/** Appends an application/x-www-form-urlencoded pair. */
ntapi_status ntapi_args_form(ntapi_args *args, const char *name, const char *value);
ntapi_status ntapi_args_form_int(ntapi_args *args, const char *name, int64_t value);
ntapi_status ntapi_args_form_double(ntapi_args *args, const char *name, double value);
ntapi_status ntapi_args_form_bool(ntapi_args *args, const char *name, bool value);

/** Appends a part of a multipart/form-data body: a text, bytes, or a file that is streamed from disk.
 *  @param path must be a readable regular file when the request is begun, as long as its size says (not in /proc).
 *  @param filename the file name to send. NULL is "NAME.bin" for bytes, and the path's last component for a file; ""
 *  sends none, which makes it a field.
 *  @param content_type NULL is derived from filename by libcurl; without a filename there is none. */
ntapi_status ntapi_args_multipart(ntapi_args *args, const char *name, const char *value);
NTAPI_CHECKED ntapi_status ntapi_args_multipart_data(ntapi_args *args, const char *name, const void *bytes,
                                                     size_t length, const char *filename, const char *content_type);
ntapi_status ntapi_args_multipart_file(ntapi_args *args, const char *name, const char *path, const char *filename,
                                       const char *content_type);

/** Sets bytes, or a file that is streamed from disk, as the body.
 *  @param path must be a readable regular file when the request is begun, as long as its size says (not in /proc).
 *  @param content_type NULL is application/octet-stream. */
NTAPI_CHECKED ntapi_status ntapi_args_data(ntapi_args *args, const void *bytes, size_t length,
                                           const char *content_type);
ntapi_status ntapi_args_file(ntapi_args *args, const char *path, const char *content_type);

/** Sets a JSON value as the body, application/json. JSON that you have as text needs no parsing: set it with
 *  ntapi_args_data and the content type "application/json". */
ntapi_status ntapi_args_json(ntapi_args *args, const ntapi_json *value);

/** Appends a member of a JSON object. The members together are the body, application/json. The last of a name wins. */
ntapi_status ntapi_args_member(ntapi_args *args, const char *name, const char *value);
ntapi_status ntapi_args_member_int(ntapi_args *args, const char *name, int64_t value);
ntapi_status ntapi_args_member_double(ntapi_args *args, const char *name, double value);
ntapi_status ntapi_args_member_bool(ntapi_args *args, const char *name, bool value);
ntapi_status ntapi_args_member_json(ntapi_args *args, const char *name, const ntapi_json *value);

/** Fills a buffer with the next bytes of a body: returns how many, 0 at the end, negative to fail the request. Runs
 *  on a background worker, one call at a time, never after the response handler. May block. */
typedef ptrdiff_t (*ntapi_read_fn)(void *user_data, void *buffer, size_t capacity);

/** Starts a streamed body again from its beginning, for a redirect or a retry; returns whether it could. */
typedef bool (*ntapi_rewind_fn)(void *user_data);

/** Sets a stream as the body, read while it is sent, with constant memory. A list with a stream can begin one request.
 *  @param rewind NULL when the stream cannot be read again: a redirect or retry that needs it then fails.
 *  @param length the whole length; negative when unknown (sent chunked).
 *  @param content_type NULL is application/octet-stream. */
ntapi_status ntapi_args_stream(ntapi_args *args, ntapi_read_fn read, ntapi_rewind_fn rewind, int64_t length,
                               const char *content_type, void *user_data, ntapi_destroy_fn destroy);

/** Writes the body of a successful response to a file, with constant memory. The data goes to a temporary file beside
 *  it, which replaces an older file when it is complete. The body of an error stays in the response.
 *  @param path in a folder that exists and can be written to. NULL asks for a temporary file that only the user can
 *  read: ntapi_response_temporary_file. */
ntapi_status ntapi_args_download(ntapi_args *args, const char *path);

/** Continues a download that was cancelled or failed, in this process or another. URL and file stay the same; pass
 *  headers and credentials again. If the server's file has changed, the download starts over.
 *  @param resume_data what ntapi_response_resume_data or ntapi_request_resume_data returned. Any other text fails the
 *  request with an error that says why. It decides which URL is requested and which file is replaced: keep it where
 *  only those can write whom you trust. */
ntapi_status ntapi_args_resume(ntapi_args *args, const char *resume_data);

/** Replaces base URL and command, for example by the link to the next page (ntapi_response_link). The url args of
 *  client and request are added to its query, except those of the client that it has already.
 *
 *  If the URL is on another origin than the client's base URL, the client's secrets are not sent: neither its secret
 *  args (ntapi_args_mark_secret) nor secret headers of NTAPI_DEFAULT_ADDITIONAL_HEADERS. Args of the request are sent
 *  to any origin. */
ntapi_status ntapi_args_base_url(ntapi_args *args, const char *url);

/** Any method token of RFC 9110, sent as given. */
ntapi_status ntapi_args_method(ntapi_args *args, const char *method);

/** Sets a header: the last one of a name wins. add_header adds another line of that name. "" sends an empty header. */
ntapi_status ntapi_args_header(ntapi_args *args, const char *name, const char *value);
ntapi_status ntapi_args_add_header(ntapi_args *args, const char *name, const char *value);

/** Sets the Authorization header: HTTP Basic (RFC 7617), or a bearer token (RFC 6750).
 *  @param user may be empty; no colon. */
ntapi_status ntapi_args_basic_auth(ntapi_args *args, const char *user, const char *password);
ntapi_status ntapi_args_bearer(ntapi_args *args, const char *token);

/** Answers the server's Digest challenge (RFC 7616: MD5, SHA-256, SHA-512-256); the password itself is never sent. Each
 *  request is sent twice: first without credentials and body, to receive a nonce, and then with both. The error is
 *  NTAPI_CODE_AUTHENTICATION if no challenge can be answered, because of its algorithm, for example. If there are
 *  several auth args, or an Authorization header, the last one counts. */
ntapi_status ntapi_args_digest_auth(ntapi_args *args, const char *user, const char *password);

/** Sets one of the five timeouts; NTAPI_CLOCK_IDLE is the request timeout.
 *  @param seconds above 0, or the request fails; infinity switches the clock off. */
ntapi_status ntapi_args_timeout(ntapi_args *args, ntapi_clock clock, double seconds);

ntapi_status ntapi_args_cache_policy(ntapi_args *args, ntapi_cache_policy policy);

/** Sends the header Idempotency-Key, the same for all attempts: it tells the server that a request is a repeat.
 *  @param key NULL is a random UUID for each request whose method is not idempotent by itself; "" is an error. */
ntapi_status ntapi_args_idempotency_key(ntapi_args *args, const char *key);

/** Sets an option. get_option is for hooks: NULL when the option is not set.
 *  @param value "" for an option that is only on or off. */
ntapi_status ntapi_args_option(ntapi_args *args, const char *name, const char *value);
NTAPI_NEW char *ntapi_args_get_option(const ntapi_args *args, const char *name);

/* ===== 6. Defaults and classes ==================================================================================== */
/*
 * A default is a named value, set globally, for a class or for one client. It is looked up in this order: client, its
 * session's configuration, class, parent classes, global. The names below have a meaning, in snake case too:
 * request_timeout. Any other name is yours. A misspelled name, such as requestTimout, makes every request fail with an
 * error that names the right one. A comment below has the type and, after the semicolon, what holds when it is not set.
 */
#define NTAPI_DEFAULT_BASE_URL "baseUrl"                                       /* string */
#define NTAPI_DEFAULT_LOG_FLAGS "logFlags"                                     /* integer: NTAPI_LOG_... with | */
#define NTAPI_DEFAULT_REQUEST_TIMEOUT "requestTimeout"                         /* seconds, idle clock; 60 */
#define NTAPI_DEFAULT_CONNECT_TIMEOUT "connectTimeout"                         /* seconds; 30 */
#define NTAPI_DEFAULT_QUEUE_TIMEOUT "queueTimeout"                             /* seconds; none */
#define NTAPI_DEFAULT_ATTEMPT_TIMEOUT "attemptTimeout"                         /* seconds; none */
#define NTAPI_DEFAULT_RESOURCE_TIMEOUT "resourceTimeout"                       /* seconds, total clock; 7 days */
#define NTAPI_DEFAULT_EXIT_TIMEOUT "exitTimeout"                               /* seconds when the process exits; 2 */
#define NTAPI_DEFAULT_USER_AGENT "userAgent"                                   /* string; "ntapi/VERSION" */
#define NTAPI_DEFAULT_MAXIMUM_RESPONSE_SIZE "maximumResponseSize"              /* bytes; none */
#define NTAPI_DEFAULT_MAXIMUM_REDIRECTS "maximumRedirects"                     /* count; 20 */
#define NTAPI_DEFAULT_MAXIMUM_CONNECTIONS_PER_HOST "maximumConnectionsPerHost" /* count; 64 */
#define NTAPI_DEFAULT_MAXIMUM_CONNECTIONS "maximumConnections"                 /* count, to all hosts together; none */
#define NTAPI_DEFAULT_NETWORK_THREADS "networkThreads"                         /* count; 1 (global, set first) */
#define NTAPI_DEFAULT_NETWORK_INTERFACE "networkInterface" /* "eth0", "127.0.0.2", "if!eth0", "host!127.0.0.2" */
#define NTAPI_DEFAULT_ALLOWS_CELLULAR_ACCESS "allowsCellularAccess" /* boolean; true */
#define NTAPI_DEFAULT_CONNECTION_POLICY "connectionPolicy"          /* "public", or an object of rules; everywhere */
#define NTAPI_DEFAULT_UNIX_SOCKET "unixSocket"                      /* path of the socket for all requests; none */
#define NTAPI_DEFAULT_RESOLVE "resolve"                             /* "HOST:PORT:ADDRESS,...", or a list of these */
#define NTAPI_DEFAULT_CONNECT_TO "connectTo"                        /* "HOST:PORT:HOST:PORT", or a list of these */
#define NTAPI_DEFAULT_DNS_OVER_HTTPS "dnsOverHttps"                 /* https URL of a resolver; the system's */
#define NTAPI_DEFAULT_HTTP_VERSION "httpVersion"                    /* "1.0", "1.1", "2" */
#define NTAPI_DEFAULT_DECOMPRESSION "decompression"                 /* boolean; true */
#define NTAPI_DEFAULT_ADDITIONAL_HEADERS "additionalHeaders"        /* object: names and strings, or lists of these */
#define NTAPI_DEFAULT_PROXY "proxy"                                 /* URL; "" for none; from the environment */
#define NTAPI_DEFAULT_PROXY_USER "proxyUser"                        /* string */
#define NTAPI_DEFAULT_PROXY_PASSWORD "proxyPassword"                /* string */
#define NTAPI_DEFAULT_PROXY_EXCEPTIONS "proxyExceptions"            /* host names: a list, or separated by commas */
#define NTAPI_DEFAULT_USER "user"                                   /* string, for when the server asks */
#define NTAPI_DEFAULT_PASSWORD "password"                           /* string */
#define NTAPI_DEFAULT_CA_FILE "caFile"                              /* PEM file instead of the system's store */
#define NTAPI_DEFAULT_TLS_MINIMUM_VERSION "tlsMinimumVersion"       /* "1.2", "1.3"; "1.2" */
#define NTAPI_DEFAULT_CLIENT_CERTIFICATE "clientCertificate"        /* PEM file */
#define NTAPI_DEFAULT_CLIENT_CERTIFICATE_ORIGINS "clientCertificateOrigins" /* URLs of other origins that see it */
#define NTAPI_DEFAULT_CLIENT_KEY "clientKey"                                /* PEM file; that of the certificate */
#define NTAPI_DEFAULT_CLIENT_KEY_PASSWORD "clientKeyPassword"               /* string */
#define NTAPI_DEFAULT_PINNED_PUBLIC_KEYS "pinnedPublicKeys"                 /* "sha256//BASE64", or a list of these */
#define NTAPI_DEFAULT_COOKIE_ACCEPT_POLICY "cookieAcceptPolicy"   /* "always", "never", "only_from_main_document" */
#define NTAPI_DEFAULT_SENDS_COOKIES "sendsCookies"                /* boolean; true */
#define NTAPI_DEFAULT_APPLICATION_NAME "applicationName"          /* names the folder of cookies; the program's file */
#define NTAPI_DEFAULT_CACHE_POLICY "cachePolicy"                  /* "protocol", "reload_ignoring_cache", ... */
#define NTAPI_DEFAULT_USES_CACHE "usesCache"                      /* boolean; true */
#define NTAPI_DEFAULT_CACHE_MEMORY_CAPACITY "cacheMemoryCapacity" /* bytes; 16 MiB */
#define NTAPI_DEFAULT_CACHE_DISK_CAPACITY "cacheDiskCapacity"     /* bytes; 128 MiB, 0 is memory only */
#define NTAPI_DEFAULT_CACHE_FOLDER "cacheFolder"                  /* absolute path; below the XDG cache directory */
#define NTAPI_DEFAULT_RETRY "retry"          /* true, false, or an object with members of ntapi_retry_policy; false */
#define NTAPI_DEFAULT_RATE_LIMIT "rateLimit" /* {"requests", "seconds", "burst", "maximum_pause"} */
/** true, false, or an object with some of {"failure_rate", "minimum_calls", "window_seconds", "open_seconds", "probes",
 *  "statuses", "network_errors"}: see section 19; false */
#define NTAPI_DEFAULT_CIRCUIT_BREAKER "circuitBreaker"

/** Makes a class: a named place for defaults, which inherits those of its parent. Clients and subclasses keep it.
 *  @param parent NULL is none. */
NTAPI_NEW ntapi_class *ntapi_class_create(const char *name, ntapi_class *parent);
void ntapi_class_free(ntapi_class *class_handle);

/** The defaults for all clients (borrowed forever), of a class or of a client (borrowed until that is freed). */
ntapi_defaults *ntapi_defaults_global(void);
ntapi_defaults *ntapi_class_defaults(ntapi_class *class_handle);
ntapi_defaults *ntapi_client_defaults(ntapi_client *client);

/** Sets a default. A value of NULL removes it. An integral number reads back as an integer; infinity and NaN are
 *  refused. After a mistake, requests that inherit the default fail until it is set or removed. */
NTAPI_CHECKED ntapi_status ntapi_defaults_set(ntapi_defaults *defaults, const char *key, const ntapi_json *value);
NTAPI_CHECKED ntapi_status ntapi_defaults_set_string(ntapi_defaults *defaults, const char *key, const char *value);
NTAPI_CHECKED ntapi_status ntapi_defaults_set_number(ntapi_defaults *defaults, const char *key, double value);
NTAPI_CHECKED ntapi_status ntapi_defaults_set_bool(ntapi_defaults *defaults, const char *key, bool value);

/** Makes a default dynamic: the provider is asked at each look-up, on the thread that looks up. It returns a new value,
 *  which the library takes, or NULL.
 *  @param provider NULL removes the default. */
typedef ntapi_json *(*ntapi_provider_fn)(void *user_data, const char *key);
NTAPI_CHECKED ntapi_status ntapi_defaults_set_provider(ntapi_defaults *defaults, const char *key,
                                                       ntapi_provider_fn provider, void *user_data,
                                                       ntapi_destroy_fn destroy);

/** Looks a default up: here, then where it inherits from. NULL when it is set nowhere. */
NTAPI_NEW ntapi_json *ntapi_defaults_get(const ntapi_defaults *defaults, const char *key);

/* ===== 7. Clients ================================================================================================= */

/** Makes a client. Freeing its handle does not end its requests. With a configuration it is a session (section 21).
 *  @param class_handle NULL is the base class.
 *  @param base_url NULL looks up the default baseUrl at each request.
 *  @param configuration copied: later changes have no effect; NULL is none. With one, this waits for the disk. */
NTAPI_NEW ntapi_client *ntapi_client_create(ntapi_class *class_handle, const char *base_url);
NTAPI_NEW ntapi_client *ntapi_client_create_with_configuration(ntapi_class *class_handle, const char *base_url,
                                                               const ntapi_configuration *configuration);
void ntapi_client_free(ntapi_client *client);

/** Ends a client: no new request can be begun. These do not wait for handlers (ntapi_client_drain does), and a second
 *  call does nothing. When the last handler has returned, the hook session_invalidated is called. close and
 *  invalidate_and_cancel wait until the files of the cache are written; after a drain, nothing more is stored.
 *    close                  cancels what runs; each handler is called once with NTAPI_CODE_CANCELLED. The transfers
 *                           of a background session are kept instead (NTAPI_CODE_DETACHED); the session can be
 *                           opened again when their handlers have returned;
 *    finish_and_invalidate  lets the requests that were made finish. You may still resume those that were not resumed
 *                           yet; the session ends after them, or when they are freed;
 *    invalidate_and_cancel  cancels what runs, also the transfers of a background session and those that were restored
 *                           and not resumed. */
ntapi_status ntapi_client_close(ntapi_client *client);
ntapi_status ntapi_client_finish_and_invalidate(ntapi_client *client);
ntapi_status ntapi_client_invalidate_and_cancel(ntapi_client *client);

/** Cancels every request of the client; new ones may be begun. One that was not resumed yet ends when it is resumed. */
ntapi_status ntapi_client_cancel_all(ntapi_client *client);

/** As ntapi_drain, for the requests of this client.
 *  @returns how many requests are left; SIZE_MAX for a wrong handle. */
size_t ntapi_client_drain(ntapi_client *client, double timeout);

/** Sets the client's own args, which come before those of each request. Secret ones are for the origin of its base URL
 *  (ntapi_args_base_url).
 *  @param args copied; NULL removes them. */
NTAPI_CHECKED ntapi_status ntapi_client_set_args(ntapi_client *client, const ntapi_args *args);

/** A copy of the client's own args: change it, and set it again. */
NTAPI_NEW ntapi_args *ntapi_client_args(const ntapi_client *client);

/** The base URL of a request that is made now, with the default baseUrl; NULL when there is none. */
NTAPI_NEW char *ntapi_client_base_url(const ntapi_client *client);

/* ===== 8. Requests ================================================================================================ */

typedef enum ntapi_request_state {
    NTAPI_REQUEST_STATE_NONE = 0,      /* not a request */
    NTAPI_REQUEST_STATE_SUSPENDED = 1, /* created and not yet resumed, or suspended since */
    NTAPI_REQUEST_STATE_RUNNING = 2,   /* until its handler is called */
    NTAPI_REQUEST_STATE_COMPLETED = 3,
    NTAPI_REQUEST_STATE_CANCELLED = 4 /* cancelled by the caller; the handler gets NTAPI_CODE_CANCELLED */
} ntapi_request_state;

/** Receives the response, exactly once, as the last callback of the request. */
typedef void (*ntapi_response_fn)(void *user_data, const ntapi_response *response);

/** Receives progress: bytes so far, and bytes expected, -1 while unknown. The first call has 0 bytes, as soon as the
 *  total is known; in the last one both are equal. A handler that is slower than the network gets the latest values. */
typedef void (*ntapi_progress_fn)(void *user_data, int64_t bytes, int64_t total);

/** Begins a request. The handler is never called inside this call. The request keeps the client.
 *  @param command the path below the base URL; may contain {name} (ntapi_args_path); NULL is "".
 *  @param args copied; NULL is none.
 *  @param handler NULL when ntapi_request_wait is enough. */
NTAPI_NEW ntapi_request *ntapi_client_begin(ntapi_client *client, const char *command, const ntapi_args *args,
                                            ntapi_response_fn handler, void *user_data, ntapi_destroy_fn destroy);

/** Makes a suspended request, so that handlers can be set before ntapi_request_resume. Its current thread
 *  (NTAPI_THREAD_CURRENT) is the one that calls this. Command and args as in ntapi_client_begin. */
NTAPI_NEW ntapi_request *ntapi_client_create_request(ntapi_client *client, const char *command, const ntapi_args *args);

/** Performs a request, waits for its response, and runs the calling thread's mailbox meanwhile.
 *  @returns never NULL: for a wrong handle or text a response with NTAPI_CODE_INVALID_REQUEST. */
NTAPI_NEW ntapi_response *ntapi_client_perform(ntapi_client *client, const char *command, const ntapi_args *args);

/** Frees a handle. A begun request continues; one that was never resumed ends without a call of its handler. */
void ntapi_request_free(ntapi_request *request);

/** Sets handlers of a request that was created suspended; NULL is none. The hook `started` may still set those of
 *  progress. All return NTAPI_STATUS_INVALID_STATE after resume. */
ntapi_status ntapi_request_set_handler(ntapi_request *request, ntapi_response_fn handler, void *user_data,
                                       ntapi_destroy_fn destroy);
ntapi_status ntapi_request_set_upload_progress(ntapi_request *request, ntapi_progress_fn handler, void *user_data,
                                               ntapi_destroy_fn destroy);
ntapi_status ntapi_request_set_download_progress(ntapi_request *request, ntapi_progress_fn handler, void *user_data,
                                                 ntapi_destroy_fn destroy);

/** Starts a request that was created suspended, or continues one that was suspended since.
 *  @returns NTAPI_STATUS_INVALID_STATE when it is not suspended, or was cancelled. */
ntapi_status ntapi_request_resume(ntapi_request *request);

/** Suspends a request that runs: no byte is sent or received, and no timeout runs. Handlers may still be called for
 *  what was received before. The connection is kept; if the server closes it meanwhile, the request fails after resume.
 *  A request that was not sent yet gives up its connection. From the fourth time on it keeps it; its head may be sent.
 *  @returns NTAPI_STATUS_INVALID_STATE when it does not run. */
ntapi_status ntapi_request_suspend(ntapi_request *request);

/** Cancels a request, also one that was never resumed. Its handler gets NTAPI_CODE_CANCELLED, or the response if that
 *  came first. Does not wait.
 *  @returns NTAPI_STATUS_INVALID_STATE when it has ended already. */
ntapi_status ntapi_request_cancel(ntapi_request *request);

/** Waits until the request's handler has returned, and runs the calling thread's mailbox meanwhile.
 *  @param timeout seconds at most; negative waits forever.
 *  @returns NTAPI_STATUS_TIMED_OUT; NTAPI_STATUS_INVALID_STATE when it was never resumed, when its own handler calls
 *  this, or when it belongs to the process that forked this one. */
ntapi_status ntapi_request_wait(ntapi_request *request, double timeout);

/** The response; NULL while there is none. */
NTAPI_NEW ntapi_response *ntapi_request_response(const ntapi_request *request);

ntapi_request_state ntapi_request_get_state(const ntapi_request *request);

/** The number of the request in its client, from 1. */
uint64_t ntapi_request_identifier(const ntapi_request *request);

/** Your own text about the request. Setting NULL removes it; NULL is returned when there is none. */
NTAPI_NEW char *ntapi_request_description(const ntapi_request *request);
ntapi_status ntapi_request_set_description(ntapi_request *request, const char *description);

/** The priority among the requests that wait for a connection to the same host: 0 (last) to 1 (first), 0.5 unless
 *  set. To have an effect, it must be set before resume. */
double ntapi_request_priority(const ntapi_request *request);
ntapi_status ntapi_request_set_priority(ntapi_request *request, double priority);

/** The numbers of a request as a JSON object, as they are now. Times are seconds.
 *
 *  `progress` has what the handlers of progress report, in bytes of bodies: `bytesSent`, `bytesExpectedToSend`,
 *  `bytesReceived` (as they came over the wire), `bytesExpectedToReceive` (as the server announced), and
 *  `bytesDecoded` (received, after decompression). What is expected is null while it is unknown.
 *
 *  When there is a response, the object has also `startTime` and `endTime` (since 1970-01-01 00:00 UTC), `elapsed`, by
 *  a clock that never jumps, `redirects` (followed), `retries` (attempts after the first, for any reason), `queued`
 *  (how long it waited for a connection or a rate limit), the other numbers of the last exchange, and `transactions`.
 *
 *  That is an array of the exchanges, at most the last 65: a redirect, a challenge or another attempt is one more. Each
 *  has `method`, `url`, `status` (0 without an answer), `startTime`, `error` (its message, null for a complete answer),
 *  `queued`, and the numbers of an exchange. These are, from its start, `nameLookup`, `connect`, `tls` (0 without TLS),
 *  `firstByte` and `total`; `bytesSent`, `bytesReceived` and `bytesDecoded`; `httpVersion` (1.0, 1.1, 2 or 3; 0 when
 *  there was no answer); and the booleans `connectionReused` and `fromCache`. */
NTAPI_NEW ntapi_json *ntapi_request_metrics(const ntapi_request *request);

/** Status, version of HTTP (1.0, 1.1, 2 or 3) and headers of the response whose body is being received now by a data
 *  handler or into a file. Before, they return 0, 0 and no lines. */
int ntapi_request_received_status(const ntapi_request *request);
double ntapi_request_received_http_version(const ntapi_request *request);
NTAPI_NEW ntapi_headers *ntapi_request_received_headers(const ntapi_request *request);

/** What a later request can continue from with ntapi_args_resume, if the download ended now. For a program that may be
 *  killed. One line of JSON; NULL when there is nothing to continue from. */
NTAPI_NEW char *ntapi_request_resume_data(const ntapi_request *request);

/** The request as a curl command for a shell, secrets redacted. A stream, and bytes beyond 64 KiB that are not text,
 *  have a placeholder. NULL when the request could not be built. */
const char *ntapi_request_curl_command(const ntapi_request *request);

/* ===== 9. Responses =============================================================================================== */
/*
 * Interceptions and decisions lend responses that are not finished. These have only a status, headers, data, JSON and
 * perhaps an error.
 */

/** Where a response came from. */
typedef enum ntapi_source {
    NTAPI_SOURCE_NONE = 0, /* not finished, or not a response */
    NTAPI_SOURCE_NETWORK = 1,
    NTAPI_SOURCE_CACHE = 2,          /* from the cache, without asking the server */
    NTAPI_SOURCE_VALIDATED_CACHE = 3 /* from the cache, after the server has said that it is still valid (304) */
} ntapi_source;

/** Makes another handle to a response, for example to keep it beyond its handler. */
NTAPI_NEW ntapi_response *ntapi_response_retain(const ntapi_response *response);
void ntapi_response_free(ntapi_response *response);

/** What went wrong, borrowed until the response is freed; NULL when all is well. For a wrong handle an error with
 *  NTAPI_CODE_INVALID_REQUEST, borrowed forever. */
const ntapi_error *ntapi_response_error(const ntapi_response *response);

/** The HTTP status; 0 when there was no answer. */
int ntapi_response_status(const ntapi_response *response);

/** The headers, borrowed until the response is freed. */
const ntapi_headers *ntapi_response_headers(const ntapi_response *response);

/** The fields that came behind the body (RFC 9110, 6.5), nearly always none; borrowed until the response is freed. */
const ntapi_headers *ntapi_response_trailers(const ntapi_response *response);

/** The URL that answered, after redirects. redacted_url is the same for logs, with passwords and secret values
 *  redacted. "" when the request could not be built. */
const char *ntapi_response_url(const ntapi_response *response);
const char *ntapi_response_redacted_url(const ntapi_response *response);

/** The absolute URL of a Link header (RFC 8288), for ntapi_args_base_url: "next" is that of the next page. NULL when
 *  there is none, or it is not http or https.
 *  @param relation such as "next", "prev", "last", in any case. */
const char *ntapi_response_link(const ntapi_response *response, const char *relation);

/** The args of the request for the next page, if a Link header names one ("next"); its command is "". NULL on the last
 *  page. A request with them fails if the link leads to another origin, where the credentials do not belong.
 *  @param args those of this page's request, without which the next one has only the link; NULL is none. Those of the
 *  URL are left out, because the link has them. */
NTAPI_NEW ntapi_args *ntapi_response_next_page(const ntapi_response *response, const ntapi_args *args);

/** The body as it was received, decompressed, NUL-terminated; never NULL for a response.
 *  @param length receives its bytes; may be NULL. */
const char *ntapi_response_data(const ntapi_response *response, size_t *length);

/** The body as JSON, borrowed until the response is freed; NULL without JSON, and with NTAPI_OPTION_RAW_DATA unless the
 *  status is an error. The prefix text is the text before the JSON, such as a PHP warning; NULL when there was none. */
const ntapi_json *ntapi_response_json(const ntapi_response *response);
const char *ntapi_response_prefix_text(const ntapi_response *response);

/** The file that the body was written to (ntapi_args_download); NULL when it was not, for example after an error. A
 *  temporary file exists until the last handles of the response and of its request are freed, but not beyond the
 *  process: move it to keep it. */
const char *ntapi_response_file(const ntapi_response *response);
const char *ntapi_response_temporary_file(const ntapi_response *response);

/** What a later request can continue from with ntapi_args_resume, when a download was cancelled or failed. One line of
 *  JSON; NULL when there is nothing to continue from. The unfinished file stays until a request continues, or until
 *  it is discarded. A text that names a file of another kind is no resume data, and nothing is removed. */
const char *ntapi_response_resume_data(const ntapi_response *response);
ntapi_status ntapi_resume_data_discard(const char *resume_data);

/** The request that the response answers, borrowed until the response is freed. */
ntapi_request *ntapi_response_request(const ntapi_response *response);

ntapi_source ntapi_response_get_source(const ntapi_response *response);

/** How many seconds the request took, by a clock that never jumps; ntapi_request_metrics has all other numbers. */
double ntapi_response_elapsed(const ntapi_response *response);

/* ===== 10. Threads: mailboxes and executors ======================================================================= */

/** Where a handler runs. */
typedef enum ntapi_thread {
    NTAPI_THREAD_MAIN = 0,       /* the process's main thread, when it runs its mailbox. The default */
    NTAPI_THREAD_BACKGROUND = 1, /* a worker thread of the library */
    NTAPI_THREAD_CURRENT = 2     /* the thread that begins the request, when it runs its mailbox */
} ntapi_thread;

/** The handlers of a request. */
typedef enum ntapi_handler {
    NTAPI_HANDLER_RESPONSE = 1,
    NTAPI_HANDLER_UPLOAD_PROGRESS = 2,
    NTAPI_HANDLER_DOWNLOAD_PROGRESS = 4,
    NTAPI_HANDLER_DATA = 8,      /* runs where the response handler does, unless set */
    NTAPI_HANDLER_DECISION = 16, /* runs where the response handler does, unless set */
    NTAPI_HANDLER_ALL = 31
} ntapi_handler;
typedef int ntapi_handlers; /* ntapi_handler values with | */

/** Args that set where handlers run: on a thread, on your executor, or when a mailbox is drained. The request keeps the
 *  executor; a mailbox is not kept (ntapi_mailbox_free). */
ntapi_status ntapi_args_thread(ntapi_args *args, ntapi_handlers handlers, ntapi_thread thread);
ntapi_status ntapi_args_executor(ntapi_args *args, ntapi_handlers handlers, ntapi_executor *executor);
ntapi_status ntapi_args_mailbox(ntapi_args *args, ntapi_handlers handlers, ntapi_mailbox *mailbox);

/** A mailbox holds callbacks until a thread runs them. create makes one that belongs to no thread: one thread at a time
 *  may run, drain or take from it. main and current return another handle to the mailbox of the main thread and of the
 *  calling thread: only that thread may run, drain or take from it. What is delivered to a created mailbox after its
 *  last handle is freed runs on a background worker. */
NTAPI_NEW ntapi_mailbox *ntapi_mailbox_create(void);
NTAPI_NEW ntapi_mailbox *ntapi_mailbox_main(void);
NTAPI_NEW ntapi_mailbox *ntapi_mailbox_current(void);
void ntapi_mailbox_free(ntapi_mailbox *mailbox);

/** A file descriptor that is readable while callbacks wait, for poll, epoll, GLib, libuv or asyncio. Watch it for
 *  reading (level-triggered) and call ntapi_mailbox_drain; never read or close it.
 *  @returns the descriptor, valid until the mailbox is freed, or its thread ends; -1 when none is left. */
int ntapi_mailbox_fd(const ntapi_mailbox *mailbox);

/** Runs every callback that waits, and does not wait for more.
 *  @returns how many ran; 0 when the mailbox belongs to another thread. */
size_t ntapi_mailbox_drain(ntapi_mailbox *mailbox);

/** Runs callbacks as they arrive, for a time or until stopped.
 *  @param timeout seconds; negative: until ntapi_mailbox_stop; 0: what waits now.
 *  @returns NTAPI_STATUS_OK when stopped; NTAPI_STATUS_TIMED_OUT; NTAPI_STATUS_INVALID_STATE when the mailbox
 *  belongs to another thread, or when a callback has forked this process. */
ntapi_status ntapi_mailbox_run(ntapi_mailbox *mailbox, double timeout);

/** Ends the innermost run after its current callback. Without one, the next run ends at once. Each call ends one. */
ntapi_status ntapi_mailbox_stop(ntapi_mailbox *mailbox);

/** Hands a job to your queue or loop, which must call ntapi_job_run once, on any thread. Must not block. */
typedef void (*ntapi_submit_fn)(void *user_data, ntapi_job *job);

/** An executor makes your queue or loop a place for handlers. Requests that use it keep it. ntapi_job_run takes the
 *  job, and runs the handler on the calling thread, which may be inside submit. */
NTAPI_NEW ntapi_executor *ntapi_executor_create(ntapi_submit_fn submit, void *user_data, ntapi_destroy_fn destroy);
void ntapi_executor_free(ntapi_executor *executor);
void ntapi_job_run(ntapi_job *job);

/* ===== 11. Streams ================================================================================================ */
/*
 * A request with a data handler does not keep the body of a successful response in memory. The handler is called with
 * one piece after the other, decompressed; while it is behind, the network waits, so that memory stays bounded. The
 * response handler follows the last piece. The body of an error is in the response, as always. Such a request uses
 * HTTP/1.1 unless NTAPI_OPTION_HTTP_VERSION says otherwise.
 */

/** An event of a stream of server-sent events (WHATWG HTML, 9.2). Texts are NUL-terminated UTF-8. */
typedef struct ntapi_server_event {
    size_t size;               /* of this struct */
    const char *type;          /* "message" unless the server names one */
    const char *data;          /* its lines of data, joined by line feeds */
    size_t length;             /* of data: it may contain NUL */
    const char *last_event_id; /* the identifier of the last event that had one, this or an earlier one; or "" */
} ntapi_server_event;

/** Receives a piece of the body: from 1 byte to 320 KB. */
typedef void (*ntapi_data_fn)(void *user_data, const char *bytes, size_t length);

/** Receives a JSON value of a body that has one in each line; and an event of a stream of events. */
typedef void (*ntapi_json_fn)(void *user_data, const ntapi_json *value);
typedef void (*ntapi_server_event_fn)(void *user_data, const ntapi_server_event *event);

/** Sets the data handler of a request that was created suspended, in one of three formats. The last one set counts;
 *  NULL is none. All return NTAPI_STATUS_INVALID_STATE after resume.
 *
 *  JSON lines (JSON Lines, NDJSON, RFC 7464): a line that is not JSON ends the request with NTAPI_CODE_INVALID_JSON,
 *  one that is longer than NTAPI_OPTION_MAXIMUM_RESPONSE_SIZE, or 16 MiB, with NTAPI_CODE_RESPONSE_TOO_LARGE.
 *
 *  Server-sent events: when the connection ends, the request connects again, with Last-Event-ID, after the time that
 *  the server asks for, and after growing pauses while it fails. It ends when the server answers with 204, with an HTTP
 *  error other than 5xx or with something that is not a stream of events, or when it is cancelled. A POST connects
 *  again only with NTAPI_OPTION_RECONNECT. To continue from an earlier event, send the header Last-Event-ID. */
ntapi_status ntapi_request_set_data_handler(ntapi_request *request, ntapi_data_fn handler, void *user_data,
                                            ntapi_destroy_fn destroy);
ntapi_status ntapi_request_set_json_lines_handler(ntapi_request *request, ntapi_json_fn handler, void *user_data,
                                                  ntapi_destroy_fn destroy);
ntapi_status ntapi_request_set_server_event_handler(ntapi_request *request, ntapi_server_event_fn handler,
                                                    void *user_data, ntapi_destroy_fn destroy);

/* ===== 12. Events: programs that pull ============================================================================= */
/*
 * A program that cannot be called on other threads pulls: its requests deliver events, which it takes from a mailbox.
 */

/** What a response has in addition to its data. */
typedef enum ntapi_content {
    NTAPI_CONTENT_JSON = 1,       /* ntapi_response_json is not NULL */
    NTAPI_CONTENT_PREFIX_TEXT = 2 /* ntapi_response_prefix_text is not NULL */
} ntapi_content;
typedef int ntapi_contents; /* ntapi_content values with | */

/** What ntapi_mailbox_take returns. Members that belong to other handlers are 0. The last five are what most callers
 *  read from a response, because each call costs a binding time. */
typedef struct ntapi_event {
    size_t size;              /* of this struct, as far as the library has filled it */
    ntapi_handler handler;    /* exactly one of them */
    void *user_data;          /* as given with the request */
    ntapi_response *response; /* NTAPI_HANDLER_RESPONSE: new */
    int64_t bytes;            /* progress: bytes so far */
    int64_t total;            /* progress: bytes expected, -1 while unknown */
    ntapi_data *data;         /* NTAPI_HANDLER_DATA: a piece of the body, new */
    ntapi_decision *decision; /* NTAPI_HANDLER_DECISION: new; answer it */
    const ntapi_error *error; /* as ntapi_response_error: borrowed until the response is freed; NULL when all is well */
    const char *body;         /* as ntapi_response_data; or the bytes of the piece, decompressed: borrowed until the
                                 response or the piece is freed */
    size_t length;            /* of body */
    int status;               /* as ntapi_response_status */
    ntapi_contents contents;
} ntapi_event;

/** Makes a request that was created suspended deliver events instead of callbacks. Its args must name a mailbox for
 *  those handlers (ntapi_args_mailbox, or a thread whose mailbox is taken from).
 *  @param handlers with NTAPI_HANDLER_DATA the body is not in the response, and with NTAPI_HANDLER_DECISION the
 *  request waits for answers: so set only what you take.
 *  @param user_data given back in each event.
 *  @returns NTAPI_STATUS_INVALID_STATE after resume. */
NTAPI_CHECKED ntapi_status ntapi_request_set_events(ntapi_request *request, ntapi_handlers handlers, void *user_data);

/** Begins a request whose response is delivered as an event: create_request, ntapi_args_mailbox, set_events and
 *  resume in one call. Command and args as in ntapi_client_begin.
 *  @param mailbox where the event goes, whatever the args say.
 *  @returns the request, borrowed until its event is taken; NULL for a wrong handle. */
ntapi_request *ntapi_client_begin_event(ntapi_client *client, const char *command, const ntapi_args *args,
                                        ntapi_mailbox *mailbox, void *user_data);

/** Takes events that wait in the mailbox. Callbacks of other requests that wait there are run on the way.
 *  @param events room for capacity events.
 *  @param size sizeof(ntapi_event).
 *  @returns how many were stored; 0 when none waits. */
size_t ntapi_mailbox_take(ntapi_mailbox *mailbox, ntapi_event *events, size_t size, size_t capacity);

/** How a request that delivers events reads the pieces of a body. */
typedef enum ntapi_data_format {
    NTAPI_DATA_FORMAT_BYTES = 0,
    NTAPI_DATA_FORMAT_JSON_LINES = 1,   /* take the values with ntapi_data_next_json */
    NTAPI_DATA_FORMAT_SERVER_EVENTS = 2 /* take the events with ntapi_data_next_server_event */
} ntapi_data_format;

/** Sets the format. The rules of section 11 hold: the request connects again, and ends with an error when the body
 *  is not of that format. The first piece of an answer may be empty: it comes as soon as the head is there.
 *  @returns NTAPI_STATUS_INVALID_STATE after resume. */
NTAPI_CHECKED ntapi_status ntapi_request_set_data_format(ntapi_request *request, ntapi_data_format format);

/** The next value or event that ends in a piece, borrowed until the next such call with data or until it is freed;
 *  NULL when there are no more. One thread at a time. */
const ntapi_json *ntapi_data_next_json(ntapi_data *data);
const ntapi_server_event *ntapi_data_next_server_event(ntapi_data *data);

/** Frees a piece, which ends its handling. Then the next piece comes, and after the last one the response. The response
 *  of a cancelled request does not wait for this. */
void ntapi_data_free(ntapi_data *data);

/* ===== 13. JSON as structs ======================================================================================== */
/*
 * A table of fields names the members of a struct in the JSON, and one call fills the struct:
 *
 *     struct city {
 *         int64_t id;
 *         const char *name;
 *         double temperature;
 *     };
 *     static const ntapi_field city_fields[] = {
 *         NTAPI_FIELD_INT(struct city, id, "id", NTAPI_FIELD_FLAG_REQUIRED),
 *         NTAPI_FIELD_STRING(struct city, name, "name", NTAPI_FIELD_FLAG_REQUIRED),
 *         NTAPI_FIELD_DOUBLE(struct city, temperature, "main.temp", NTAPI_FIELD_FLAG_OPTIONAL),
 *         NTAPI_FIELD_END,
 *     };
 *
 *     struct city city = {0};
 *     ntapi_error *error = NULL;
 *     ntapi_decoded *decoded = ntapi_response_decode(response, city_fields, &city, sizeof city, &error);
 *     ...
 *     ntapi_decoded_free(decoded);     (also frees the strings and arrays of city)
 *
 * Paths are those of section 3; "" is the value itself, for example an array at the top. Members are integers of any
 * size, float or double, bool, const char *, structs, and pointers to the elements of arrays, each with a size_t for
 * their count. Numbers must fit the declared type: 3.0 fits an int, 300 does not fit an int8_t. A required value that
 * is absent or null is an error; an optional one leaves the member as it was. Members of the JSON that the table does
 * not name are ignored. In C11, C++11 and later, the compiler refuses a macro of another type.
 */

/** What a member is. */
typedef enum ntapi_field_kind {
    NTAPI_FIELD_KIND_BOOL = 1,
    NTAPI_FIELD_KIND_INT = 2,    /* signed, of 8 to 64 bits */
    NTAPI_FIELD_KIND_UINT = 3,   /* unsigned, of 8 to 64 bits */
    NTAPI_FIELD_KIND_DOUBLE = 4, /* float or double */
    NTAPI_FIELD_KIND_STRING = 5, /* const char *, NUL-terminated; a string that contains NUL is an error */
    NTAPI_FIELD_KIND_URL = 6,    /* const char *, an absolute http or https URL */
    NTAPI_FIELD_KIND_DATE = 7,   /* double, seconds since 1970-01-01 00:00 UTC */
    NTAPI_FIELD_KIND_OBJECT = 8, /* a struct */
    NTAPI_FIELD_KIND_ARRAY = 9   /* a pointer to the first element, NULL when there is none, and a size_t */
} ntapi_field_kind;

/** Whether a value must be there, and what else is accepted. */
typedef enum ntapi_field_flag {
    NTAPI_FIELD_FLAG_REQUIRED = 0,
    NTAPI_FIELD_FLAG_OPTIONAL = 1,         /* absent or null leaves the member as it was; in elements of arrays, zero */
    NTAPI_FIELD_FLAG_NUMBER_IN_STRING = 2, /* a string such as "5.0" is accepted as a number */
    NTAPI_FIELD_FLAG_LOOSE_BOOLEAN = 4     /* 1 and 0, "true", "false", "1" and "0" are accepted as booleans */
} ntapi_field_flag;
typedef int ntapi_field_flags; /* ntapi_field_flag values with | */

/** How a date is written; several are tried in this order. */
typedef enum ntapi_date_format {
    NTAPI_DATE_FORMAT_ISO8601 = 1,      /* text: "2013-11-20T10:00:00+01:00", "2013-11-20"; UTC without a zone */
    NTAPI_DATE_FORMAT_SECONDS = 2,      /* a number of seconds since 1970 */
    NTAPI_DATE_FORMAT_MILLISECONDS = 4, /* a number of milliseconds since 1970 */
    NTAPI_DATE_FORMAT_HTTP = 8          /* text of RFC 9110, 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT" */
} ntapi_date_format;
typedef int ntapi_date_formats; /* ntapi_date_format values with | */

/** A service's own format of dates, as functions that read and write its text. */
typedef struct ntapi_custom_date_format {
    size_t size;      /* of this struct */
    const char *name; /* for messages: "20 Nov 2013" */
    /** Reads seconds since 1970 from a text; returns false when it is not a date. */
    bool (*read)(void *user_data, const char *text, double *seconds);
    /** Writes seconds since 1970, with a NUL, into room for capacity bytes; returns false when it cannot. */
    bool (*write)(void *user_data, double seconds, char *text, size_t capacity);
    void *user_data; /* for both */
} ntapi_custom_date_format;

/** A member of a struct, and where its value is in the JSON. The macros below fill it in. */
typedef struct ntapi_field {
    size_t size; /* of this struct; 0 ends a table */
    ntapi_field_kind kind;
    ntapi_field_flags flags;
    const char *path;
    size_t offset; /* of the member */
    size_t length; /* of the member */
    const struct ntapi_field *fields;
    ntapi_date_formats dates;
    ntapi_field_kind element;
    size_t element_length;
    size_t count_offset;
    const ntapi_custom_date_format *date_format; /* in place of dates; NULL for none */
} ntapi_field;

/* The kinds that fit the type of a member, each as the bit 1 << kind. In C99 no compiler can check them. */
#if defined(__cplusplus) && __cplusplus >= 201103L
extern "C++" {
template <ntapi_field_kind kind, typename place, typename count> struct ntapi_field_check {
    typedef typename std::remove_cv<typename std::remove_reference<place>::type>::type member;
    typedef typename std::remove_cv<typename std::remove_pointer<member>::type>::type target;
    static constexpr bool is_bool = std::is_same<member, bool>::value, is_double = std::is_same<member, double>::value;
    static constexpr bool is_any = std::is_enum<member>::value || std::is_same<member, char>::value;
    static constexpr bool is_int = is_any || (std::is_integral<member>::value && std::is_signed<member>::value);
    static constexpr bool is_uint = is_any || (std::is_unsigned<member>::value && !is_bool);
    static constexpr bool is_text = std::is_pointer<member>::value && std::is_same<target, char>::value;
    static constexpr int kinds = is_bool << 1 | is_int << 2 | is_uint << 3 | is_double << 4 | is_double << 7 |
                                 is_text << 5 | is_text << 6 | std::is_same<member, float>::value << 4 |
                                 std::is_class<member>::value << 8;
    static_assert((kinds >> kind & 1) != 0, "this NTAPI_FIELD_KIND is not for a member of that type");
    static_assert(std::is_same<count, size_t>::value, "the count has to be a size_t");
};
}
#define NTAPI_FIELD_SIZE(kind, place, count)                                                                           \
    (sizeof(ntapi_field) + 0 * sizeof(ntapi_field_check<kind, decltype(place), decltype(count)>))
#elif defined(__GNUC__) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define NTAPI_FIELD_KINDS(place)                                                                                       \
    (_Generic((place), _Bool : 2, char : 12, signed char : 4, short : 4, int : 4, long : 4, long long : 4,             \
              unsigned char : 8, unsigned short : 8, unsigned : 8, unsigned long : 8, unsigned long long : 8,          \
              float : 16, double : 144, default : 0) |                                                                 \
     _Generic(&(place), char ** : 96, const char ** : 96, char *const * : 96, const char *const * : 96, default : 0) | \
     (__builtin_classify_type(place) == 12) << 8)
#define NTAPI_FIELD_SIZE(kind, place, count)                                                                           \
    (sizeof(ntapi_field) +                                                                                             \
     0 * sizeof(struct {                                                                                               \
         _Static_assert((NTAPI_FIELD_KINDS(place) >> (kind)&1) != 0, #kind " is not for a member of that type");       \
         _Static_assert(_Generic((count), size_t : 1, default : 0), "the count has to be a size_t");                   \
         char none;                                                                                                    \
     }))
#else
#define NTAPI_FIELD_SIZE(kind, place, count) sizeof(ntapi_field)
#endif

#define NTAPI_FIELD_OF(kind, type, member, path, flags, fields, dates, format)                                         \
    {                                                                                                                  \
        NTAPI_FIELD_SIZE(kind, ((type *)0)->member, sizeof 0), kind, flags, path, offsetof(type, member),              \
            sizeof(((type *)0)->member), fields, dates, NTAPI_FIELD_KIND_BOOL, 0, 0, format                            \
    }
#define NTAPI_FIELD_ELEMENTS(kind, type, member, count, path, flags, fields, dates)                                    \
    {                                                                                                                  \
        NTAPI_FIELD_SIZE(kind, *((type *)0)->member, ((type *)0)->count), NTAPI_FIELD_KIND_ARRAY, flags, path,         \
            offsetof(type, member), sizeof(((type *)0)->member), fields, dates, kind, sizeof(*((type *)0)->member),    \
            offsetof(type, count), NULL                                                                                \
    }

/* A member of a struct by its type, its name, the path of its value and its flags. */
#define NTAPI_FIELD_BOOL(type, member, path, flags)                                                                    \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_BOOL, type, member, path, flags, NULL, 0, NULL)
#define NTAPI_FIELD_INT(type, member, path, flags)                                                                     \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_INT, type, member, path, flags, NULL, 0, NULL)
#define NTAPI_FIELD_UINT(type, member, path, flags)                                                                    \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_UINT, type, member, path, flags, NULL, 0, NULL)
#define NTAPI_FIELD_DOUBLE(type, member, path, flags)                                                                  \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_DOUBLE, type, member, path, flags, NULL, 0, NULL)
#define NTAPI_FIELD_STRING(type, member, path, flags)                                                                  \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_STRING, type, member, path, flags, NULL, 0, NULL)
#define NTAPI_FIELD_URL(type, member, path, flags)                                                                     \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_URL, type, member, path, flags, NULL, 0, NULL)
#define NTAPI_FIELD_DATE(type, member, path, flags, formats)                                                           \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_DATE, type, member, path, flags, NULL, formats, NULL)
/* A date in a service's own format, by its ntapi_custom_date_format. */
#define NTAPI_FIELD_CUSTOM_DATE(type, member, path, flags, format)                                                     \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_DATE, type, member, path, flags, NULL, 0, format)
/* A struct in the struct, by its own table. */
#define NTAPI_FIELD_OBJECT(type, member, path, flags, fields)                                                          \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_OBJECT, type, member, path, flags, fields, 0, NULL)
/* A pointer to structs, by their table; `count` is the size_t member that counts them. */
#define NTAPI_FIELD_ARRAY(type, member, count, path, flags, fields)                                                    \
    NTAPI_FIELD_ELEMENTS(NTAPI_FIELD_KIND_OBJECT, type, member, count, path, flags, fields, 0)
/* A pointer to scalars of a kind, such as NTAPI_FIELD_KIND_STRING. */
#define NTAPI_FIELD_ARRAY_OF(kind, type, member, count, path, flags)                                                   \
    NTAPI_FIELD_ELEMENTS(kind, type, member, count, path, flags, NULL, 0)
/* The last of a table. */
#define NTAPI_FIELD_END                                                                                                \
    { 0, NTAPI_FIELD_KIND_BOOL, 0, NULL, 0, 0, NULL, 0, NTAPI_FIELD_KIND_BOOL, 0, 0, NULL }

/** Fills a struct from a JSON document, or from the JSON of a response. When the call fails, the struct does not
 *  change. The body of an error is read, too: ntapi_response_error says whether there is an error.
 *  @param fields the table; it and out are borrowed for the call.
 *  @param size sizeof *out.
 *  @param error NTAPI_CODE_UNEXPECTED_JSON, with the path, what was expected there and what was found;
 *  NTAPI_CODE_INVALID_REQUEST for a mistake in the table. For an error response that does not fit, its own error.
 *  @returns the owner of what the struct's pointers point to: free it when you no longer use them. NULL on failure. */
NTAPI_NEW ntapi_decoded *ntapi_json_decode(const ntapi_json *json, const ntapi_field *fields, void *out, size_t size,
                                           ntapi_error **error);
NTAPI_NEW ntapi_decoded *ntapi_response_decode(const ntapi_response *response, const ntapi_field *fields, void *out,
                                               size_t size, ntapi_error **error);
void ntapi_decoded_free(ntapi_decoded *decoded);

/** Makes JSON from a struct, for ntapi_args_json, with the same table. Paths make the objects and arrays that they
 *  need. A date is written in the first of its formats. An optional member is left out when it is empty: a pointer that
 *  is NULL, a double or date that is NaN.
 *  @param error NTAPI_CODE_INVALID_REQUEST, with the path and what cannot be written there (a required NULL, NaN, text
 *  that is not UTF-8, a wrong URL), or the mistake in the table.
 *  @returns NULL on failure. */
NTAPI_NEW ntapi_json *ntapi_json_encode(const ntapi_field *fields, const void *from, size_t size, ntapi_error **error);

/* ===== 14. Logging ================================================================================================ */

/** Levels of a log line. */
typedef enum ntapi_log {
    NTAPI_LOG_NONE = 0,
    NTAPI_LOG_DEBUG = 1, /* headers and bodies, truncated */
    NTAPI_LOG_INFO = 2,  /* one line when a request starts and one when it ends */
    NTAPI_LOG_WARN = 4,
    NTAPI_LOG_ERROR = 8,
    NTAPI_LOG_ALL = 15
} ntapi_log;
typedef int ntapi_log_flags; /* ntapi_log values with | */

/** Receives a log line, secrets already redacted, on any thread but the network thread. Return soon: that thread waits.
 *  The lines of a request come before its handler is called. */
typedef void (*ntapi_log_fn)(void *user_data, ntapi_log level, const char *message);

/** Sets where the process's log lines go: to a function (NULL: to standard error, the default), or to syslog(3), which
 *  systemd's journal reads, too. The last call counts.
 *  @param name the start of each line; NULL is the program's name. */
void ntapi_log_set_sink(ntapi_log_fn sink, void *user_data, ntapi_destroy_fn destroy);
ntapi_status ntapi_log_use_syslog(const char *name);

/** Sets what is logged. The flags of a client come first, then the default logFlags, then those of the process
 *  (warnings and errors unless set). client_log_flags returns the flags that a client uses.
 *  @param flags for requests that are made from now on. */
void ntapi_log_set_flags(ntapi_log_flags flags);
ntapi_status ntapi_client_set_log_flags(ntapi_client *client, ntapi_log_flags flags);
ntapi_log_flags ntapi_client_log_flags(const ntapi_client *client);

/** Logs a line about a request, with its number, where the client's own lines go.
 *  @param level a level that the client's flags leave out is not logged; that is not an error.
 *  @param message is not redacted, so put no secrets in it. */
ntapi_status ntapi_request_log(const ntapi_request *request, ntapi_log level, const char *message);

/* ===== 15. Built requests ========================================================================================= */
/*
 * A built request is what will be sent. The hook build_request, interceptors (section 16) and decisions about redirects
 * (section 17) lend one. It may be changed until these return or are answered, so what it returns is new. A setter that
 * returns NTAPI_STATUS_INVALID_ARGUMENT changes nothing and fails the request, unless it then sets a right value.
 */

/** What a body is. */
typedef enum ntapi_body_kind {
    NTAPI_BODY_KIND_NONE = 0,
    NTAPI_BODY_KIND_BYTES = 1, /* also of the args data, json and form */
    NTAPI_BODY_KIND_MULTIPART = 2,
    NTAPI_BODY_KIND_FILE = 3,
    NTAPI_BODY_KIND_STREAM = 4
} ntapi_body_kind;

NTAPI_NEW char *ntapi_http_request_method(const ntapi_http_request *http_request);
NTAPI_CHECKED ntapi_status ntapi_http_request_set_method(ntapi_http_request *http_request, const char *method);

/** The URL with its query; http or https. A URL of another origin removes what belongs to the one before: credentials,
 *  tokens, secret headers, Cookie, Host, Idempotency-Key. Set what the other origin may see after the URL. */
NTAPI_NEW char *ntapi_http_request_url(const ntapi_http_request *http_request);
NTAPI_CHECKED ntapi_status ntapi_http_request_set_url(ntapi_http_request *http_request, const char *url);

/** The headers; set replaces every line of a name, and a value of NULL removes them. A secret header is redacted in
 *  logs and recordings and not sent to another origin, and the cache gives the answer to nobody else. */
NTAPI_NEW ntapi_headers *ntapi_http_request_headers(const ntapi_http_request *http_request);
NTAPI_CHECKED ntapi_status ntapi_http_request_set_header(ntapi_http_request *http_request, const char *name,
                                                         const char *value);
NTAPI_CHECKED ntapi_status ntapi_http_request_set_secret_header(ntapi_http_request *http_request, const char *name,
                                                                const char *value);

/** The body: its bytes, NUL-terminated, or NULL for another kind. set_body replaces a body of any kind, NULL removes
 *  it; Content-Type does not change.
 *  @param length receives how many; may be NULL. */
ntapi_body_kind ntapi_http_request_get_body_kind(const ntapi_http_request *http_request);
NTAPI_NEW char *ntapi_http_request_body(const ntapi_http_request *http_request, size_t *length);
NTAPI_CHECKED ntapi_status ntapi_http_request_set_body(ntapi_http_request *http_request, const void *bytes,
                                                       size_t length);

/** A timeout in seconds; negative for none, and for a wrong handle. Setting a negative or infinite one removes it. */
double ntapi_http_request_timeout(const ntapi_http_request *http_request, ntapi_clock clock);
NTAPI_CHECKED ntapi_status ntapi_http_request_set_timeout(ntapi_http_request *http_request, ntapi_clock clock,
                                                          double seconds);

ntapi_cache_policy ntapi_http_request_cache_policy(const ntapi_http_request *http_request);
NTAPI_CHECKED ntapi_status ntapi_http_request_set_cache_policy(ntapi_http_request *http_request,
                                                               ntapi_cache_policy policy);

/** An option's value, "" for one without a value, NULL when it is not set. Setting "" switches it on, NULL removes it.
 *  A change has an effect only in the hook build_request. A redirect has the options of its request, and headers that
 *  an option has set stay. A wrong value of a built-in option fails the request. */
NTAPI_NEW char *ntapi_http_request_option(const ntapi_http_request *http_request, const char *name);
NTAPI_CHECKED ntapi_status ntapi_http_request_set_option(ntapi_http_request *http_request, const char *name,
                                                         const char *value);

/** The priority from 0 (last) to 1 (first), as ntapi_request_set_priority. It counts in the hook build_request only. */
double ntapi_http_request_priority(const ntapi_http_request *http_request);
ntapi_status ntapi_http_request_set_priority(ntapi_http_request *http_request, double priority);

/* ===== 16. Interceptors =========================================================================================== */
/*
 * An interceptor sees a request on its way out and its answer on the way back. It may change the request, answer it
 * without the network, make it fail, delay it, or send it again. There are two scopes:
 *   CALL     around the whole request: once for each, before redirects, retries, credentials and the cache. It sees the
 *            final answer before that is parsed.
 *   ATTEMPT  around each exchange with a server: every redirect, retry and repeat passes it again; an answer from the
 *            cache does not. It comes last before the network, so that signatures are fresh; stubs and recorders see
 *            the request as it has changed it. When it changes method, URL or credentials, the answer is not cached.
 * Interceptors of one scope nest: those of the class are outside, then those of the configuration, of the client and of
 * the args; in each group the first added is the outermost. A request uses those that exist when it begins.
 *
 * A passage is one way of a request through an interceptor:
 *   1. intercept is called with an interception that has no response.
 *   2. It is answered, in the call or later, on any thread, with one of
 *        proceed   the request continues; the interceptor does not see the answer;
 *        send      the request continues, and step 3 follows;
 *        respond   this is the answer; nothing is sent;
 *        fail      the request fails with this error.
 *   3. intercept is called with an interception that has the response, or an error in its place. Here
 *        proceed   lets it pass;
 *        send      sends the request again; step 3 follows once more, as often as you like;
 *        respond, fail  replace it.
 * When the body goes to a data handler, a stream or a file, step 3 of an ATTEMPT comes when the head has arrived,
 * before the body. There send, fail and respond end the exchange, and its body is dropped; respond with a status
 * below 300 and no body replaces only the head, and the server's body follows. The body of any other respond goes where
 * the server's would have gone. Outer interceptors see the answer as the inner ones have changed it. An interception
 * that is freed without an answer proceeds; after an answer that was refused (NTAPI_STATUS_INVALID_ARGUMENT), it fails.
 *
 * All calls run on background workers and may block; this delays no other request. If you answer on the thread of the
 * call, the request continues when the call returns; on another thread, it continues at once, so two calls, even of one
 * passage, may run at the same time. All return before the request's response handler runs.
 * Time in interceptors counts for the request's total timeout. `destroy` runs when the interceptor is freed, nothing
 * that it was added to has it any more, and all requests that use it have ended; in the last of them before its
 * response handler.
 */

/** Where an interceptor runs on a request's way. */
typedef enum ntapi_interceptor_scope {
    NTAPI_INTERCEPTOR_SCOPE_CALL = 0,
    NTAPI_INTERCEPTOR_SCOPE_ATTEMPT = 1
} ntapi_interceptor_scope;

/** Called when a request or its answer passes.
 *  @param interception new: keep it until you answer it, then free it. */
typedef void (*ntapi_intercept_fn)(void *user_data, ntapi_interception *interception);

/** Called when the passage with this identifier is over before the interceptor has answered: the request was cancelled,
 *  timed out, or failed elsewhere. Answers are too late now. Called at most once for a passage, after its calls of
 *  intercept have returned, not before the first, and never after the request's response handler. */
typedef void (*ntapi_interceptor_end_fn)(void *user_data, uint64_t identifier);

/** Makes an interceptor, for any number of clients, classes, configurations and args, which keep it.
 *  Without intercept, or with a wrong scope, it fails every request that it is for.
 *  @param end may be NULL. */
NTAPI_NEW ntapi_interceptor *ntapi_interceptor_create(ntapi_interceptor_scope scope, ntapi_intercept_fn intercept,
                                                      ntapi_interceptor_end_fn end, void *user_data,
                                                      ntapi_destroy_fn destroy);
void ntapi_interceptor_free(ntapi_interceptor *interceptor);

/** Adds an interceptor inside the existing ones: to a client, or to all clients of a class and its subclasses, for
 *  requests begun from now on; to a configuration, for clients made from now on; or to one request.
 *  @param interceptor NULL leaves the arg out; the other three refuse it. After a freed one, every request that it was
 *  for fails. */
NTAPI_CHECKED ntapi_status ntapi_client_add_interceptor(ntapi_client *client, ntapi_interceptor *interceptor);
NTAPI_CHECKED ntapi_status ntapi_class_add_interceptor(ntapi_class *class_handle, ntapi_interceptor *interceptor);
NTAPI_CHECKED ntapi_status ntapi_configuration_add_interceptor(ntapi_configuration *configuration,
                                                               ntapi_interceptor *interceptor);
ntapi_status ntapi_args_interceptor(ntapi_args *args, ntapi_interceptor *interceptor);

/** Removes an interceptor, for requests begun or clients made from now on: the last one if it was added several times.
 *  @returns NTAPI_STATUS_INVALID_STATE when it is not there. */
ntapi_status ntapi_client_remove_interceptor(ntapi_client *client, ntapi_interceptor *interceptor);
ntapi_status ntapi_class_remove_interceptor(ntapi_class *class_handle, ntapi_interceptor *interceptor);
ntapi_status ntapi_configuration_remove_interceptor(ntapi_configuration *configuration, ntapi_interceptor *interceptor);
ntapi_status ntapi_args_remove_interceptor(ntapi_args *args, ntapi_interceptor *interceptor);

void ntapi_interception_free(ntapi_interception *interception);

/** What an interceptor knows about a passage. */
typedef struct ntapi_passage {
    size_t size;         /* of this struct */
    uint64_t identifier; /* from 1: the same for a request and its answers, and for no other passage of the process */
    int number;          /* how often the request has passed interceptors of this scope, from 1; of an attempt: which
                            exchange it is */
    const char *reason;  /* why the request passes: "first"; "redirect"; "retry"; "credentials" (with another token,
                            password or certificate); "reconnect" (a stream of events); "range" (the next part of a
                            file, or all of it again); "reload" (the cache could not use the server's answer);
                            "interceptor" (one sends it again). More may come */
    bool is_own_origin;  /* the request goes to the origin of its client's base URL. A redirect may lead elsewhere: add
                            no secret there */
} ntapi_passage;

/** The passage, borrowed until the interception is freed.
 *  @returns never NULL: for a wrong handle all members but size are zero. */
const ntapi_passage *ntapi_interception_passage(const ntapi_interception *interception);

/** The request of the client, borrowed until the interception is freed. */
ntapi_request *ntapi_interception_request(const ntapi_interception *interception);

/** The built request that will be sent; on the way back, the one that was answered. Borrowed until the interception is
 *  freed. It may be changed: send, and proceed in step 2, use the changed request. */
ntapi_http_request *ntapi_interception_http_request(const ntapi_interception *interception);

/** The answer, not finished (section 9), borrowed until the interception is freed; NULL in step 2. If there was no
 *  answer, it has the error instead. A status of 300 or above is not an error here. The body is empty when it went to a
 *  data handler or into a file. */
const ntapi_response *ntapi_interception_response(const ntapi_interception *interception);

/** The answers of steps 2 and 3. A body from a stream is rewound before it is sent again; where that is not
 *  possible, the answer is an error.
 *  @param status from 200 to 999.
 *  @param headers lines "name: value", and NULL after the last; NULL for none.
 *  @param error copied; NULL is NTAPI_CODE_GENERIC.
 *  @returns NTAPI_STATUS_INVALID_STATE when it was answered before, or the passage is over. */
ntapi_status ntapi_interception_proceed(ntapi_interception *interception);
ntapi_status ntapi_interception_send(ntapi_interception *interception);
ntapi_status ntapi_interception_respond(ntapi_interception *interception, int status, const char *const *headers,
                                        const void *body, size_t length);
ntapi_status ntapi_interception_fail(ntapi_interception *interception, const ntapi_error *error);

/* ===== 17. Decisions ============================================================================================== */
/*
 * A decision is a question that a request waits for. Answer it once, in the callback or later, on any thread. One
 * that is freed without an answer proceeds, and so does one whose request is cancelled or out of time. All answers
 * return NTAPI_STATUS_INVALID_STATE when the decision was answered before, or is of a kind that has no such answer.
 */

/** What is asked. */
typedef enum ntapi_decision_kind {
    NTAPI_DECISION_KIND_NONE = 0,
    NTAPI_DECISION_KIND_REDIRECT = 1,  /* whether a redirect is followed, and how */
    NTAPI_DECISION_KIND_RESPONSE = 2,  /* whether a response is received, now that its head is there, and into a file */
    NTAPI_DECISION_KIND_CHALLENGE = 4, /* for a user and password, or whether a certificate is trusted */
    NTAPI_DECISION_KIND_RETRY = 8,     /* whether an attempt that failed is followed by another */
    NTAPI_DECISION_KIND_CACHE = 16,    /* whether a response is stored in the cache, and where */
    NTAPI_DECISION_KIND_ALL = 31
} ntapi_decision_kind;
typedef int ntapi_decision_kinds; /* ntapi_decision_kind values with | */

/** Gets a decision. The hook of a client runs on a background worker, the handler of a request where its args say.
 *  @param decision new: keep it until you answer it, then free it. */
typedef void (*ntapi_decide_fn)(void *user_data, ntapi_decision *decision);

/** Sets the handler that gets a request's decisions, in place of the client's hook.
 *  @param kinds the client's hook is asked about the others. Unknown ones cancel the request.
 *  @param handler NULL for none.
 *  @returns NTAPI_STATUS_INVALID_STATE after resume. */
NTAPI_CHECKED ntapi_status ntapi_request_set_decision_handler(ntapi_request *request, ntapi_decision_kinds kinds,
                                                              ntapi_decide_fn handler, void *user_data,
                                                              ntapi_destroy_fn destroy);

void ntapi_decision_free(ntapi_decision *decision);

/** Exactly one kind. */
ntapi_decision_kind ntapi_decision_get_kind(const ntapi_decision *decision);

/** The request that waits; and the response that the question is about, or NULL. It has no body yet; for a retry it is
 *  the whole response of the attempt. Both are borrowed until the decision is freed. */
ntapi_request *ntapi_decision_request(const ntapi_decision *decision);
const ntapi_response *ntapi_decision_response(const ntapi_decision *decision);

/** Redirect: the request that would follow it, without secrets if it leads to another origin. It may be changed, and
 *  proceed sends it as it is then. Borrowed until the decision is freed; NULL for other kinds. */
ntapi_http_request *ntapi_decision_http_request(const ntapi_decision *decision);

/** Retry: how many attempts were made; and how many seconds the policy would wait, negative when it would not repeat.
 *  For other kinds: 0 attempts, and a negative wait. */
int ntapi_decision_attempt(const ntapi_decision *decision);
double ntapi_decision_wait(const ntapi_decision *decision);

/** Who asks in a challenge. */
typedef enum ntapi_challenge_kind {
    NTAPI_CHALLENGE_KIND_SERVER = 1,     /* the server wants a user and a password (401) */
    NTAPI_CHALLENGE_KIND_PROXY = 2,      /* the proxy does (407) */
    NTAPI_CHALLENGE_KIND_CERTIFICATE = 3 /* the server's certificate cannot be verified */
} ntapi_challenge_kind;

/** How a server asks for a credential. */
typedef enum ntapi_authentication {
    NTAPI_AUTHENTICATION_BASIC = 1,
    NTAPI_AUTHENTICATION_DIGEST = 2
} ntapi_authentication;

/** Where a credential is valid: a server, or a proxy. */
typedef struct ntapi_protection_space {
    size_t size;        /* of this struct */
    const char *scheme; /* "http" or "https"; of a proxy, that of the connection to it */
    const char *host;
    int port;
    const char *realm; /* the part of the server; NULL when the server names none. It has no meaning for a proxy */
    ntapi_authentication authentication;
    bool is_proxy;
} ntapi_protection_space;

/** What is asked for. */
typedef struct ntapi_challenge {
    size_t size; /* of this struct */
    ntapi_challenge_kind kind;
    const char *host;                /* that the request goes to */
    int port;                        /* that the request goes to */
    const char *scheme;              /* "Basic", which shows the password to eavesdroppers unless it is https, "Digest",
                                        or NULL */
    const char *realm;               /* the part of the server; NULL when the server does not say */
    int failures;                    /* how many answers were wrong; after a few the response is received as it is */
    const char *reason;              /* why the certificate was not accepted; which proxy asks */
    const char *const *certificates; /* the chain that the server has shown, in PEM, its own first */
    size_t certificate_count;
    const ntapi_protection_space *space; /* where a credential is valid; NULL for a certificate */
} ntapi_challenge;

/** Challenge: what is asked for, borrowed until the decision is freed; NULL for other kinds. */
const ntapi_challenge *ntapi_decision_challenge(const ntapi_decision *decision);

/** Answers of every kind. proceed: the redirect is followed, the response is received, the challenge stays unanswered,
 *  the retry policy decides, the response is stored as proposed. cancel: the request ends with NTAPI_CODE_CANCELLED. */
ntapi_status ntapi_decision_proceed(ntapi_decision *decision);
ntapi_status ntapi_decision_cancel(ntapi_decision *decision);

/** Redirect: it is not followed, and its response is the request's, with an HTTP error. Retry: there is no other
 *  attempt. Cache: the response is not stored. */
ntapi_status ntapi_decision_refuse(ntapi_decision *decision);

/** Response: the body is written to a file, as with ntapi_args_download.
 *  @param path NULL is a temporary file. */
NTAPI_CHECKED ntapi_status ntapi_decision_download(ntapi_decision *decision, const char *path);

/** Retry: the request is sent again after this many seconds, from 0, whatever its policy says about status and wait,
 *  but not after its total timeout. */
NTAPI_CHECKED ntapi_status ntapi_decision_retry(ntapi_decision *decision, double seconds);

/** How long an answer to a challenge is remembered. */
typedef enum ntapi_persistence {
    NTAPI_PERSISTENCE_NONE = 0,        /* for this request alone */
    NTAPI_PERSISTENCE_FOR_SESSION = 1, /* the client's other requests to the same space use it, until it fails */
    NTAPI_PERSISTENCE_PERMANENT = 2    /* in the client's credential storage, once the server has accepted it; without
                                          a storage as FOR_SESSION */
} ntapi_persistence;

/** Challenge of a server or proxy: the credential to use. If it is wrong, the decision is asked again.
 *  @param user no control characters, and no colon where the scheme is Basic.
 *  @param password no control characters. */
NTAPI_CHECKED ntapi_status ntapi_decision_use_credential(ntapi_decision *decision, const char *user,
                                                         const char *password, ntapi_persistence persistence);

/** Challenge about a certificate: it is trusted, and the request is sent only to a server that shows it.
 *  @param for_session whether the client's other requests to the same host and port trust it, too. */
ntapi_status ntapi_decision_trust(ntapi_decision *decision, bool for_session);

/** Where a response is stored. */
typedef enum ntapi_storage {
    NTAPI_STORAGE_NONE = 0,
    NTAPI_STORAGE_MEMORY = 1, /* until the process ends */
    NTAPI_STORAGE_DISK = 2    /* on disk and in memory */
} ntapi_storage;

/** Cache: where the response is stored if the decision proceeds; and an answer: keep it in memory and never on disk. */
ntapi_storage ntapi_decision_get_storage(const ntapi_decision *decision);
ntapi_status ntapi_decision_store_in_memory(ntapi_decision *decision);

/* ===== 18. Hooks ================================================================================================== */
/*
 * Hooks are a client's callbacks for all of its requests. Unless said otherwise they run on a background worker, and in
 * ntapi_client_perform on the calling thread.
 */

/** Adjusts the args of a request before they are applied, on the thread that begins it. */
typedef void (*ntapi_build_args_fn)(void *user_data, const char *command, ntapi_args *args);

/** Adjusts the built request, on the thread that begins it. */
typedef void (*ntapi_build_request_fn)(void *user_data, ntapi_http_request *http_request);

/** A request starts; on the thread that begins or resumes it. */
typedef void (*ntapi_started_fn)(void *user_data, ntapi_request *request);

/** An interim answer has come before the answer itself, such as 103 (early hints); not 100 and 101. The response waits
 *  until the hook has returned. Always on a background worker. */
typedef void (*ntapi_information_fn)(void *user_data, ntapi_request *request, int status, const ntapi_headers *headers);

/** Some of a body was sent, or received: bytes so far, and in all, negative while unknown. Runs where the request's own
 *  handler of that progress runs, just before it. */
typedef void (*ntapi_progressed_fn)(void *user_data, ntapi_request *request, int64_t bytes, int64_t total);

/** A piece of the body of a successful response, decompressed. Runs where the request's own data handler runs, just
 *  before it; the network waits meanwhile. It only watches: the response still has the body, unless the request has
 *  a data handler. A request that is sent again shows its body from the beginning. What is written into a file is
 *  not shown. Requests use HTTP/1.1 unless NTAPI_OPTION_HTTP_VERSION says otherwise. */
typedef void (*ntapi_data_received_fn)(void *user_data, ntapi_request *request, const void *bytes, size_t length);

/** Parses a body in place of the library. Returns a new document, which the library takes, or NULL: the response
 *  then gets *error, if it is set to a new error, and no JSON. ntapi_json_parse takes some 30 times as long as the
 *  library. */
typedef ntapi_json *(*ntapi_parse_json_fn)(void *user_data, const void *bytes, size_t length, ntapi_error **error);

/** Makes an error from the service's own error fields: returns a new error, which the library takes, or NULL for none.
 *  Runs for every response that has JSON, also with an HTTP error, but not after a network error. */
typedef ntapi_error *(*ntapi_map_service_error_fn)(void *user_data, const ntapi_response *response);

/** Sees every error that a request ends with, of any domain: returns a new error to replace it, which the library
 *  takes, or NULL to keep it. Runs once for a request, after retries and redirects, and before the log, the hook
 *  completed and the handlers, which see the new error. If it has no HTTP status or Retry-After, it takes
 *  over those of the old one. */
typedef ntapi_error *(*ntapi_map_error_fn)(void *user_data, const ntapi_error *error, const ntapi_response *response);

/** The metrics of a request are complete (JSON as ntapi_request_metrics), before the hook completed and the handler. */
typedef void (*ntapi_metrics_collected_fn)(void *user_data, ntapi_request *request, const ntapi_json *metrics);
typedef void (*ntapi_completed_fn)(void *user_data, ntapi_request *request, const ntapi_response *response);

/** Receives the client's log lines in place of the process's sink. As ntapi_log_fn. */
typedef void (*ntapi_write_log_fn)(void *user_data, ntapi_log level, const char *message);

/** The client was closed or invalidated, and the last of its handlers has returned. Called once. */
typedef void (*ntapi_session_invalidated_fn)(void *user_data);

/** The hooks of a client, NULL for those not needed: {.size = sizeof(ntapi_hooks), .completed = completed}. */
typedef struct ntapi_hooks {
    size_t size; /* of this struct */
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
    ntapi_decision_kinds decisions; /* what decide is asked about */
} ntapi_hooks;

/** Sets the client's hooks. Running requests use the new hooks from their next hook on. While the last call was
 *  refused, every new request fails with NTAPI_CODE_INVALID_REQUEST and what is wrong.
 *  @param hooks copied; NULL removes them. */
NTAPI_CHECKED ntapi_status ntapi_client_set_hooks(ntapi_client *client, const ntapi_hooks *hooks, void *user_data,
                                                  ntapi_destroy_fn destroy);

/** Gives the errors of an HTTP status a code of your own in place of NTAPI_CODE_HTTP_ERROR, such as "no such city" for
 *  404; otherwise they are unchanged. The hooks that map errors run afterwards. Applies to answers from now on.
 *  @param http_status 300 or above: others are never errors.
 *  @param code the code's name; NULL removes the entry. */
NTAPI_CHECKED ntapi_status ntapi_client_set_error_code(ntapi_client *client, int http_status, const char *code);

/* ===== 19. Retries and rate limits ================================================================================ */
/*
 * A retry policy sends a failed request again if the reason may pass and the request may be sent twice: its method is
 * idempotent (RFC 9110, 9.2.2), it has an idempotency key, or it certainly never reached the server. A body from a
 * stream without rewind is not repeated, and neither is a request whose data handler has received a part of the body. A
 * download continues where it broke off. The wait is random, from 0 to a bound that doubles each time, and not shorter
 * than the server's Retry-After or retry-after-ms; no wait begins that would end after the total timeout. The server's
 * header x-should-retry, true or false, decides in place of the statuses. The error that remains says why there was no
 * other attempt. Hooks see a request once, however many attempts it takes.
 *
 * A budget keeps repeats from overloading a server that is failing: with 0.2, at most one fifth of the client's running
 * requests to an origin are repeats. A request whose policy has a budget counts from its start to its end, and is a
 * repeat once it waits for another attempt.
 *
 * An error that an ATTEMPT interceptor fails with counts as a network error if its domain is NTAPI_ERROR_DOMAIN_NETWORK
 * and it is retryable (ntapi_error_create). The errors of hooks have no effect on retries.
 *
 * A rate limiter starts at most a number of requests in a number of seconds. Others wait, by priority and then in
 * order, and may be suspended and cancelled meanwhile. One that would have to wait beyond its total or queue timeout
 * fails at once with NTAPI_CODE_TIMEOUT. All requests wait when a 429 or 503 has Retry-After, or when an answer says by
 * RateLimit or X-RateLimit-Remaining that nothing is left.
 *
 * A circuit breaker (NTAPI_DEFAULT_CIRCUIT_BREAKER) stops the requests of a client to an origin that fails: when the
 * share failure_rate (0.5) of at least minimum_calls (20) exchanges within window_seconds (10) has failed, the circuit
 * opens for open_seconds (30). Requests then fail at once with NTAPI_CODE_CIRCUIT_OPEN, and retry_after says for how
 * long. After that, probes (3) requests try the server; when all of them succeed, the circuit is closed. Failures are
 * the statuses (500, 502, 503, 504) and, with network_errors (true), failed connections and timeouts.
 */

/** A retry policy. Start from NTAPI_RETRY_POLICY_INIT, whose values are in parentheses. */
typedef struct ntapi_retry_policy {
    size_t size;                /* of this struct */
    int attempts;               /* how often it is sent at most: 1, which repeats nothing, to 1000 (4) */
    double base;                /* seconds: the first wait is from 0 to this (0.5) */
    double cap;                 /* seconds: no bound is larger (30) */
    double maximum_retry_after; /* seconds: after a longer Retry-After the answer is delivered at once (60) */
    const int *statuses;        /* which are repeated, each from 400 to 999 (NULL: 408, 425, 429, 500, 502, 503, 504) */
    size_t status_count;        /* (0) */
    bool network_errors;        /* also after broken connections, and timeouts other than the total one (true) */
    double budget;              /* from 0 to 1: the share of the client's requests that may be repeated at a time; 0 is
                                 * no bound (0) */
    int budget_minimum;         /* how many may be repeated whatever the budget says (3) */
    const char *attempt_header; /* the header with the number of the attempt, from 1; NULL sends none (NULL) */
} ntapi_retry_policy;
#define NTAPI_RETRY_POLICY_INIT                                                                                        \
    { sizeof(ntapi_retry_policy), 4, 0.5, 30, 60, NULL, 0, true, 0, 3, NULL }

/** Sets the request's policy, in place of the default NTAPI_DEFAULT_RETRY.
 *  @param policy copied; NULL leaves the arg out. */
ntapi_status ntapi_args_retry(ntapi_args *args, const ntapi_retry_policy *policy);

/** Makes a rate limiter. Clients that use it share the limit. Each exchange with a server counts: redirects, repeats
 *  with other credentials and retries, too.
 *  @param requests how many requests may start in this many seconds, evenly spaced; both above 0.
 *  @param burst how many may start at once after a pause; 1 for no burst.
 *  @param maximum_pause for how many seconds at most a server may stop all requests; 0 is never, 60 is usual.
 *  @returns NULL for numbers that make no sense. */
NTAPI_NEW ntapi_rate_limiter *ntapi_rate_limiter_create(double requests, double seconds, int burst,
                                                        double maximum_pause);
void ntapi_rate_limiter_free(ntapi_rate_limiter *limiter);

/** Starts no request for this many seconds from now; does not shorten a longer pause. */
NTAPI_CHECKED ntapi_status ntapi_rate_limiter_pause(ntapi_rate_limiter *limiter, double seconds);

/** How many requests wait now. */
size_t ntapi_rate_limiter_waiting(const ntapi_rate_limiter *limiter);

/** Sets the limiter of a client, in place of the default NTAPI_DEFAULT_RATE_LIMIT, for requests made from now on; or of
 *  one request, in place of the client's. Clients, args and requests keep the limiter.
 *  @param limiter NULL removes the limiter of a client, or leaves the arg out. */
NTAPI_CHECKED ntapi_status ntapi_client_set_rate_limiter(ntapi_client *client, ntapi_rate_limiter *limiter);
ntapi_status ntapi_args_rate_limiter(ntapi_args *args, ntapi_rate_limiter *limiter);

/* ===== 20. Credentials that expire ================================================================================ */
/*
 * An authenticator adds a token to a client's requests, and refreshes it once for all requests that need a new one. A
 * request that is rejected because its token has expired waits for the refresh and is sent once more; the second answer
 * is delivered. A failed refresh fails all waiting requests, with one error (NTAPI_CODE_AUTHENTICATION), and new ones
 * for a second. While a request waits, its idle and total timeouts run, and it may be cancelled; the refresh continues.
 *
 * The token goes to the origin of the client's base URL and to the origins of the options. A request that has that
 * header already, or NTAPI_OPTION_BYPASS_AUTHENTICATION, is sent without the token, and so are requests that the
 * refresh callback begins before it returns.
 */

/** Gets another token. May block, make requests and wait for them.
 *  @param refresh new: answer it, at once or later, on any thread. */
typedef void (*ntapi_refresh_fn)(void *user_data, ntapi_refresh *refresh);

/** The options of an authenticator; 0 and NULL are the defaults:
 *
 *      ntapi_authenticator_options options = {.size = sizeof options, .timeout = 5}; */
typedef struct ntapi_authenticator_options {
    size_t size;         /* of this struct */
    const char *header;  /* that carries the token; NULL is "Authorization" */
    const char *scheme;  /* the word before the token; NULL is "Bearer", "" is none */
    const int *statuses; /* statuses that mean an expired token, each from 100 to 999; NULL is 401. A challenge that
                            names another reason (RFC 6750, 3.1) is respected */
    size_t status_count;
    const char *const *origins; /* http or https URLs of other servers that may see the token; paths do not matter */
    size_t origin_count;
    double timeout; /* seconds that a refresh may take; 0 is 30. A later token is still used */
} ntapi_authenticator_options;

/** Makes an authenticator, for one client or several, which keep it. refresh runs on a background worker, or where
 *  ntapi_authenticator_set_mailbox says.
 *  @param options copied; NULL is the defaults.
 *  @param error says which option is wrong.
 *  @returns NULL when an option is wrong. */
NTAPI_NEW ntapi_authenticator *ntapi_authenticator_create(const ntapi_authenticator_options *options,
                                                          ntapi_refresh_fn refresh, void *user_data,
                                                          ntapi_destroy_fn destroy, ntapi_error **error);
void ntapi_authenticator_free(ntapi_authenticator *authenticator);

/** Sets a client's authenticator, for requests begun from now on; NULL removes it. */
NTAPI_CHECKED ntapi_status ntapi_client_set_authenticator(ntapi_client *client, ntapi_authenticator *authenticator);

/** Uses a token from now on, also for waiting requests. ntapi_authenticator_token returns the one in use, valid or not.
 *  @param token NULL makes the next request ask for one.
 *  @param lifetime seconds for which it is valid, negative when unknown. It is refreshed before its end. */
NTAPI_CHECKED ntapi_status ntapi_authenticator_set_token(ntapi_authenticator *authenticator, const char *token,
                                                         double lifetime);
NTAPI_NEW char *ntapi_authenticator_token(ntapi_authenticator *authenticator);

/** Makes refresh run when a mailbox is drained.
 *  @param mailbox not kept (ntapi_mailbox_free); NULL goes back to a background worker. */
NTAPI_CHECKED ntapi_status ntapi_authenticator_set_mailbox(ntapi_authenticator *authenticator, ntapi_mailbox *mailbox);

/** The token that has expired, or will soon, borrowed until refresh is answered or freed; NULL when there was none. */
const char *ntapi_refresh_token(const ntapi_refresh *refresh);

/** The answer that rejected the token, new; NULL when no server was asked yet. */
NTAPI_NEW ntapi_response *ntapi_refresh_response(const ntapi_refresh *refresh);

/** The client whose request needs the token, for the requests of the refresh. Borrowed until refresh is answered or
 *  freed. It is another handle than yours, but both have the same ntapi_client_defaults. */
ntapi_client *ntapi_refresh_client(const ntapi_refresh *refresh);

/** Answers, which take refresh. Freeing it without an answer is a failure.
 *    succeed  sends every request that waits with this token (lifetime as in set_token). A token that cannot stand in a
 *             header fails the refresh, and returns NTAPI_STATUS_INVALID_ARGUMENT;
 *    fail     ends every waiting request with an error that contains this one; NULL gives no reason;
 *    decline  the response does not mean that the token has expired: it is delivered. Without a response: there is no
 *             token, and the requests that wait fail. */
ntapi_status ntapi_refresh_succeed(ntapi_refresh *refresh, const char *token, double lifetime);
ntapi_status ntapi_refresh_fail(ntapi_refresh *refresh, const ntapi_error *error);
ntapi_status ntapi_refresh_decline(ntapi_refresh *refresh);
void ntapi_refresh_free(ntapi_refresh *refresh);

/* ===== 21. Sessions: configurations =============================================================================== */
/*
 * A client that is made with a configuration is a session. The configuration has a kind and settings: defaults with the
 * names of section 6, set in ntapi_configuration_defaults. The client has a copy of them.
 */

/** What a session stores, and for how long. */
typedef enum ntapi_session_kind {
    NTAPI_SESSION_KIND_NONE = 0,      /* a client without a configuration */
    NTAPI_SESSION_KIND_DEFAULT = 1,   /* cookies and cache are kept on disk, below the XDG directories */
    NTAPI_SESSION_KIND_EPHEMERAL = 2, /* nothing is ever written */
    NTAPI_SESSION_KIND_BACKGROUND = 3 /* transfers survive the process */
} ntapi_session_kind;

/** Makes a configuration.
 *  @param identifier names a background session in the program; NULL for the other kinds.
 *  @returns NULL when kind or identifier is wrong. */
NTAPI_NEW ntapi_configuration *ntapi_configuration_create(ntapi_session_kind kind, const char *identifier);
void ntapi_configuration_free(ntapi_configuration *configuration);

/** The settings, which inherit nothing, borrowed until the configuration is freed. */
ntapi_defaults *ntapi_configuration_defaults(const ntapi_configuration *configuration);

/* ===== 22. Sessions: cookies ====================================================================================== */
/*
 * A session keeps the cookies that servers set and sends them, by the rules of RFC 6265 and with the public suffix
 * list. Default and background sessions share the storage of the program, on disk; each ephemeral session has its
 * own in memory. A request's own Cookie header is sent unchanged; stored cookies are not added.
 *
 * A cookie in JSON is an object: name, value, domain, path ("/"), expires (seconds since 1970; absent if the cookie
 * ends with the session and is not written to disk), secure, httpOnly, includesSubdomains (false). A domain that begins
 * with a dot includes its subdomains.
 */

/** The cookies of a client, borrowed until the client is freed; NULL without a configuration. */
ntapi_cookie_storage *ntapi_client_cookies(const ntapi_client *client);

/** The cookies that have not expired, as an array.
 *  @param url those that would be sent to this URL; NULL is all. */
NTAPI_NEW ntapi_json *ntapi_cookie_storage_get(const ntapi_cookie_storage *storage, const char *url);

/** Sets a cookie; it replaces one with the same name, domain and path. An expired cookie deletes it.
 *  @param cookie with its name, value and domain at least. */
NTAPI_CHECKED ntapi_status ntapi_cookie_storage_set(ntapi_cookie_storage *storage, const ntapi_json *cookie,
                                                    ntapi_error **error);

/** Deletes cookies, or all; if there are none, this is not an error.
 *  @param domain NULL is any domain.
 *  @param path NULL is any path. */
NTAPI_CHECKED ntapi_status ntapi_cookie_storage_delete(ntapi_cookie_storage *storage, const char *name,
                                                       const char *domain, const char *path);
ntapi_status ntapi_cookie_storage_clear(ntapi_cookie_storage *storage);

/** Writes changes to disk now, and blocks meanwhile. Without this call it happens half a second later, when a client is
 *  drained or closed, and when the process exits.
 *  @returns NTAPI_STATUS_INVALID_STATE when it could not be written. */
ntapi_status ntapi_cookie_storage_save(ntapi_cookie_storage *storage, ntapi_error **error);

/* ===== 23. Sessions: cache ======================================================================================== */
/*
 * A session has a private HTTP cache (RFC 9111): responses to GET whose headers allow it are kept, and answer later
 * requests while they are fresh or the server confirms them. An ephemeral session has its cache in memory; a default
 * session also on disk, shared with the other sessions and processes of the program. A background session and a client
 * without a configuration have none. Downloads and streams bypass it. A condition (If-None-Match, If-Modified-Since)
 * or a Range of the caller is answered from a fresh response with 304, 206 or 416; where the cache cannot judge it,
 * the server answers, and that is not stored.
 */

/** Makes a cache, to be shared by sessions.
 *  @param memory_capacity how many bytes responses may take in memory.
 *  @param disk_capacity how many on disk.
 *  @param folder the absolute path of a folder for this alone, made when it is missing; NULL is memory only.
 *  @returns NULL when a capacity is negative or the path is not absolute. */
NTAPI_NEW ntapi_cache *ntapi_cache_create(int64_t memory_capacity, int64_t disk_capacity, const char *folder);
void ntapi_cache_free(ntapi_cache *cache);

/** Sets the cache of the clients that are made with a configuration from now on, except background sessions.
 *  @param cache kept by the configuration; NULL, the default, gives each client the cache of its kind. After a wrong
 *  handle, the requests of these clients fail. */
NTAPI_CHECKED ntapi_status ntapi_configuration_set_cache(ntapi_configuration *configuration, ntapi_cache *cache);

/** The cache of a client, borrowed until the client is freed; NULL when it has none. */
ntapi_cache *ntapi_client_cache(const ntapi_client *client);

/* These wait for the disk. */

/** Removes every response, or those for a URL; if there are none, this is not an error. */
ntapi_status ntapi_cache_clear(ntapi_cache *cache);
NTAPI_CHECKED ntapi_status ntapi_cache_remove(ntapi_cache *cache, const char *url);

/** How many bytes responses may take, and how many they take now: roughly, in memory; on disk, together with other
 *  processes.
 *  @param storage NTAPI_STORAGE_MEMORY or NTAPI_STORAGE_DISK. */
int64_t ntapi_cache_capacity(const ntapi_cache *cache, ntapi_storage storage);
int64_t ntapi_cache_usage(const ntapi_cache *cache, ntapi_storage storage);

/** Waits until every stored response is on disk. Without this call it happens soon, when a client is drained, and when
 *  the process exits.
 *  @returns NTAPI_STATUS_INVALID_STATE when a response that was stored since the last call could not be written. */
ntapi_status ntapi_cache_save(ntapi_cache *cache, ntapi_error **error);

/* ===== 24. Sessions: stored credentials =========================================================================== */
/*
 * A credential storage has users and passwords by protection space. A session that is asked for a credential (401, 407)
 * looks there before it asks its program. Nothing is sent before a server asks. A credential that the server refuses
 * stays in the storage, counts as one of the challenge's failures, and the program is asked.
 *
 * Default and background configurations have the storage of the program, in a file that only the user can read (0600),
 * beside the cookies; an ephemeral configuration has its own in memory. A client without a configuration has none.
 *
 * Functions with `error` block. They return NTAPI_STATUS_INVALID_STATE when the file cannot be read or written.
 */

/** Makes a storage, or returns a handle to that of the program. Configurations and clients keep it.
 *  @param file the absolute path of its file, made when something is set; the passwords are plain text. NULL keeps
 *  all in memory.
 *  @returns NULL when the path is not absolute. */
NTAPI_NEW ntapi_credential_storage *ntapi_credential_storage_create(const char *file);
NTAPI_NEW ntapi_credential_storage *ntapi_credential_storage_shared(void);
void ntapi_credential_storage_free(ntapi_credential_storage *storage);

/** Sets the storage of the clients that are made with a configuration from now on; NULL is none. After a wrong handle,
 *  the requests of these clients fail. */
NTAPI_CHECKED ntapi_status ntapi_configuration_set_credential_storage(ntapi_configuration *configuration,
                                                                      ntapi_credential_storage *storage);

/** The storage of a client, borrowed until the client is freed; NULL when it has none. */
ntapi_credential_storage *ntapi_client_credential_storage(const ntapi_client *client);

/** Sets a credential; it replaces one with the same user. The first one of a space is its default, which requests use;
 *  set_default makes this one the default.
 *  @param user no control characters, and no colon for NTAPI_AUTHENTICATION_BASIC.
 *  @param password no control characters. */
NTAPI_CHECKED ntapi_status ntapi_credential_storage_set(ntapi_credential_storage *storage,
                                                        const ntapi_protection_space *space, const char *user,
                                                        const char *password, ntapi_error **error);
NTAPI_CHECKED ntapi_status ntapi_credential_storage_set_default(ntapi_credential_storage *storage,
                                                                const ntapi_protection_space *space, const char *user,
                                                                const char *password, ntapi_error **error);

/** The credentials as an array of objects, the default of a space first: scheme, host, port, realm (or null),
 *  authentication ("basic", "digest"), isProxy, user and password.
 *  @param space NULL is all.
 *  @returns NULL after an error. */
NTAPI_NEW ntapi_json *ntapi_credential_storage_get(const ntapi_credential_storage *storage,
                                                   const ntapi_protection_space *space, ntapi_error **error);

/** Removes credentials of a space, or all; if there are none, this is not an error.
 *  @param user NULL is every user. */
NTAPI_CHECKED ntapi_status ntapi_credential_storage_remove(ntapi_credential_storage *storage,
                                                           const ntapi_protection_space *space, const char *user,
                                                           ntapi_error **error);
ntapi_status ntapi_credential_storage_clear(ntapi_credential_storage *storage, ntapi_error **error);

/* ===== 25. Sessions: background transfers ========================================================================= */
/*
 * A client with a configuration of the kind NTAPI_SESSION_KIND_BACKGROUND makes transfers that outlive the process:
 * downloads into a file (ntapi_args_download, ntapi_args_resume; no body) and uploads from a file (ntapi_args_file).
 * Its other requests fail with NTAPI_CODE_INVALID_REQUEST.
 *
 * ntapi_request_resume returns when the transfer is recorded on disk, with its headers and so with its credentials, in
 * a folder for the user alone: $XDG_STATE_HOME/ntapi/background, or ~/.local/state/ntapi/background. The record is
 * removed when the handler has returned. When a process ends earlier, in any way, the transfer is a restored request of
 * the next client with the same identifier. Only one process at a time can have a session open.
 *
 * ntapi_client_close, and the normal end of a process, detach running transfers: their handlers are called with
 * NTAPI_CODE_DETACHED, and the transfers wait for the next process. ntapi_request_cancel and ntapi_client_cancel_all
 * end them.
 */

/** Why a background session cannot be used: another process, which the message names, has it open. Each of its requests
 *  ends with this error. NULL when the session can be used, and for other clients; for a wrong handle an error with
 *  NTAPI_CODE_INVALID_REQUEST. */
NTAPI_NEW ntapi_error *ntapi_client_background_error(const ntapi_client *client);

/** The transfers that an earlier process left and that were not resumed yet, by priority and then by age, oldest first.
 *  Each is suspended, with its old identifier, description and command: set its handlers, then resume it. A download
 *  continues where it stopped. An upload is sent again from its beginning when its method is idempotent; otherwise it
 *  ends with a network error, because its result is unknown. A transfer that ended before its handler had returned is
 *  not sent again: its handler gets the recorded outcome.
 *  @param args where the handlers run (section 10); other args have no effect; NULL is none.
 *  @param requests receives new handles; NULL only counts.
 *  @param capacity how many there is room for.
 *  @returns how many there are, which may be more than capacity. */
size_t ntapi_client_restored_requests(ntapi_client *client, const ntapi_args *args, ntapi_request **requests,
                                      size_t capacity);

/** Resumes all of these, in order, with one handler, which is never called inside this call. Waits for the disk.
 *  @param handler NULL ignores the responses. ntapi_response_request returns the request of each.
 *  @returns how many were resumed. */
size_t ntapi_client_resume_restored_requests(ntapi_client *client, const ntapi_args *args, ntapi_response_fn handler,
                                             void *user_data, ntapi_destroy_fn destroy);

/** Whether an earlier process may have seen this outcome: the process ended before its handler had returned. */
bool ntapi_response_was_delivered_before(const ntapi_response *response);

/** For a response that was taken from a mailbox as an event: begin_delivery before you handle it, and acknowledge
 *  afterwards; freeing it does that, too. If the process ends in between, was_delivered_before is true in the next one.
 *  Handlers need neither. Both wait for the disk.
 *  @param response as it came with the event.
 *  @returns NTAPI_STATUS_INVALID_STATE when it is not from an event of a background session. */
ntapi_status ntapi_response_begin_delivery(ntapi_response *response);
ntapi_status ntapi_response_acknowledge(ntapi_response *response);

/* ===== 26. Observers ============================================================================================== */
/*
 * An observer hears what happens to requests, as it happens: for traces, metrics and statistics.
 *
 * The calls for one request come one after the other, in order: BEGUN first and ENDED last, each once, before the
 * response handler. What has begun also ends. They come where the event happens: BEGUN on the thread that resumes the
 * request, the others there or on a background worker, never on the network's thread. The request goes on when the call
 * returns. Requests of the cache itself, which validate a stale response in the background, are not observed.
 */

/** What an observer hears of. More may come. */
typedef enum ntapi_observed {
    NTAPI_OBSERVED_NONE = 0,
    NTAPI_OBSERVED_BEGUN = 1,          /* a request begins. Keep what you know of your caller in context */
    NTAPI_OBSERVED_WAIT_BEGINS = 2,    /* it waits */
    NTAPI_OBSERVED_WAIT_ENDS = 4,      /* it waits no longer */
    NTAPI_OBSERVED_ATTEMPT_BEGINS = 8, /* it is about to be sent to a server: ntapi_observation_add_header */
    NTAPI_OBSERVED_ATTEMPT_ENDS = 16,  /* its answer has arrived to the last byte, or the attempt has failed */
    NTAPI_OBSERVED_CACHE = 32,         /* the cache has looked for a response */
    NTAPI_OBSERVED_CIRCUIT = 64,       /* a circuit breaker has opened, closed, or refused the request */
    NTAPI_OBSERVED_ENDED = 128,        /* the outcome is final: free context */
    NTAPI_OBSERVED_ALL = 255
} ntapi_observed;
typedef int ntapi_observed_events; /* ntapi_observed values with | */

/** An event. Everything in it is borrowed until the call returns. Members that the comment does not name for an event
 *  are zero in it. URLs and headers are as they are sent, with secrets. */
typedef struct ntapi_observation {
    size_t size;              /* of this struct */
    ntapi_observed event;     /* exactly one */
    int status;               /* ATTEMPT_ENDS, ENDED: 0 without an answer */
    void *context;            /* yours: what you put here in BEGUN is here in the request's other events */
    const char *request;      /* its name in log lines, such as "12.3", unique in the process */
    const char *command;      /* as it was given, with its {names} */
    const char *method;       /* ATTEMPT_BEGINS, ATTEMPT_ENDS: as it is sent; BEGUN, ENDED: as it was built, or NULL */
    const char *url;          /* the same */
    const char *wait;         /* WAIT_BEGINS, WAIT_ENDS: "connection" (the limit of connections to its server is
                                    reached), "rate_limit", "token", "decision", "pause" (before another attempt) */
    const char *reason;       /* ATTEMPT_BEGINS, ATTEMPT_ENDS: why it is sent, as in ntapi_passage */
    int attempt;              /* ATTEMPT_BEGINS, ATTEMPT_ENDS: from 1 */
    int port;                 /* ATTEMPT_ENDS: what was connected to, the server or the proxy */
    const char *address;      /* the same, in numbers, or the path of a Unix socket; "" without a connection */
    const char *outcome;      /* CACHE: "hit", "stale", "validated", "miss"; CIRCUIT: "opened", "closed", "refused" */
    const char *origin;       /* CIRCUIT: of the server, such as "https://example.org:443" */
    const ntapi_error *error; /* ATTEMPT_ENDS: why there is no complete answer; ENDED: of the response; or NULL */
    const ntapi_headers *headers; /* ATTEMPT_BEGINS: of the request; ATTEMPT_ENDS, ENDED: of the answer */
    double seconds;               /* WAIT_ENDS, ATTEMPT_ENDS, ENDED: how long it took */
    double http_version;          /* this and all that follow: ATTEMPT_ENDS, of the attempt; ENDED, of the request.
                                    1.0, 1.1, 2 or 3; 0 without an answer */
    double queued;                /* seconds that it waited for a connection; ENDED: and for the rate limit */
    double name_lookup;           /* seconds from the start of the exchange until the name was resolved */
    double connect;               /* the same until the connection was established */
    double tls;                   /* the same until the TLS handshake was done; 0 without TLS */
    double first_byte;            /* the same until the first byte of the answer */
    double total;                 /* the same until the end */
    int64_t bytes_sent;           /* of the body */
    int64_t bytes_received;       /* of the body, before decompression */
    int64_t bytes_decoded;        /* of the body, after decompression */
    bool connection_reused;       /* it used a connection that was already open */
    void *added;                  /* for the library; do not change it */
} ntapi_observation;

/** Called with each event that was chosen. */
typedef void (*ntapi_observe_fn)(void *user_data, ntapi_observation *observed);

/** Makes an observer, for any number of clients.
 *  `destroy` runs when it is freed, no client has it any more, and the requests that it has heard of have ended.
 *  @param events those that are not chosen cost nothing.
 *  @returns NULL without observe, or for wrong events. */
NTAPI_NEW ntapi_observer *ntapi_observer_create(ntapi_observed_events events, ntapi_observe_fn observe, void *user_data,
                                                ntapi_destroy_fn destroy);
void ntapi_observer_free(ntapi_observer *observer);

/** Adds an observer to a client, or to all clients, which come first. It hears of requests made from now on. */
NTAPI_CHECKED ntapi_status ntapi_client_add_observer(ntapi_client *client, ntapi_observer *observer);
NTAPI_CHECKED ntapi_status ntapi_add_observer(ntapi_observer *observer);

/** Removes an observer. It still hears of requests that it already knows.
 *  @returns NTAPI_STATUS_INVALID_STATE when it is not there. */
ntapi_status ntapi_client_remove_observer(ntapi_client *client, ntapi_observer *observer);
ntapi_status ntapi_remove_observer(ntapi_observer *observer);

/** In ATTEMPT_BEGINS: adds a header to this attempt, in place of others with this name. It is not part of a signature
 *  that an interceptor has made.
 *  @returns NTAPI_STATUS_INVALID_STATE in other events. */
NTAPI_CHECKED ntapi_status ntapi_observation_add_header(ntapi_observation *observed, const char *name,
                                                        const char *value);

/** The header traceparent (W3C Trace Context) of a new span, for programs without a tracing library: add it to an
 *  attempt, or keep it as the parent of one.
 *  @param parent the header that came with the work that the span is a part of; NULL, or an invalid one, begins a new
 *         trace, which is sampled.
 *  @returns 55 characters, new, with random identifiers. */
NTAPI_NEW char *ntapi_traceparent(const char *parent);

#ifdef __cplusplus
}
#endif

#endif /* NTAPI_H */
