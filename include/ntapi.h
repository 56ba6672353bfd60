/*
 * ntapi.h - NTApi, a client for JSON web APIs. Link with -lntapi.
 *
 * THE SHAPE. A client (ntapi_client) begins requests (ntapi_request) from a command (a path below its base URL) and
 * an ordered list of args (ntapi_args). Each request ends in exactly one response (ntapi_response), which carries the
 * data, the JSON, the headers and the error, if any.
 *
 * THREADS. Every function may be called from any thread, and from any callback, unless its comment says otherwise.
 * Handlers run where the request asked: the main thread (the default), a background worker, the thread that began the
 * request, an executor of yours, or a mailbox of yours. Linux has no run loop, so the main thread and the beginning
 * thread receive callbacks only while they run their mailbox or block in ntapi_client_perform,
 * ntapi_request_wait or a drain.
 *
 * THE PROMISE. Every begun request calls its response handler exactly once, on the thread asked for, and no other
 * callback of that request runs after it. That holds for errors, cancel, timeouts, close and thread exit too.
 *
 * OWNERSHIP, in four words used by every comment:
 *   new       the caller owns it and ends it with the type's _free function, a text with ntapi_text_free;
 *   borrowed  the library owns it; the comment says until when it may be used;
 *   copied    the library keeps a copy; the caller's own is free to go when the call returns;
 *   takes     the library owns it from this call on, also when the call fails.
 *
 * HANDLES are checked: NULL, a handle of another type and a handle already freed are answered with
 * NTAPI_STATUS_INVALID_ARGUMENT, NULL or 0, and with an error where that would look like success; never with a crash.
 * Freeing NULL does nothing. Handles may be freed in any order, from any thread, in any callback, and no _free blocks:
 * a running request keeps what it needs.
 *
 * STRINGS are UTF-8. They come in NUL-terminated, or as pointer and length, and are copied. They go out
 * NUL-terminated: borrowed (const char *) where they cannot change as long as they are lent, else new (char *), so that
 * any thread may ask for them while another one changes them. A NULL value suppresses an arg: it is then as if the call
 * had not been made.
 *
 * CALLBACKS get the user_data they were registered with; its destroy function (it may be NULL) runs exactly once,
 * after the last call, also when the registration fails. Times are seconds as double, sizes are bytes.
 */
#ifndef NTAPI_H
#define NTAPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Library
 * --------------------------------------------------------------------------------------------------------- */

#define NTAPI_VERSION_MAJOR 0
#define NTAPI_VERSION_MINOR 1
#define NTAPI_VERSION_PATCH 0

/** What a call returns when it can fail: few values, by what the caller can do about it. */
typedef enum ntapi_status {
    NTAPI_STATUS_OK = 0,               /* done */
    NTAPI_STATUS_INVALID_ARGUMENT = 1, /* a NULL, wrong or freed handle, or a bad value: fix the call */
    NTAPI_STATUS_INVALID_STATE = 2,    /* too late or too early for this call, for example a second resume */
    NTAPI_STATUS_TIMED_OUT = 3,        /* the time given to a wait ran out: call again */
    NTAPI_STATUS_INTERRUPTED = 4       /* a wait looked up: see what it was for, and call again */
} ntapi_status;

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
typedef struct ntapi_interception ntapi_interception;
typedef struct ntapi_authenticator ntapi_authenticator;
typedef struct ntapi_refresh ntapi_refresh;
typedef struct ntapi_rate_limiter ntapi_rate_limiter;
typedef struct ntapi_mailbox ntapi_mailbox;
typedef struct ntapi_executor ntapi_executor;
typedef struct ntapi_job ntapi_job;
typedef struct ntapi_manual_clock ntapi_manual_clock;
typedef struct ntapi_stub ntapi_stub;
typedef struct ntapi_stub_rule ntapi_stub_rule;
typedef struct ntapi_stub_answer ntapi_stub_answer;
typedef struct ntapi_recorder ntapi_recorder;

/** Ends the life of a callback's user data. Runs exactly once, on any thread. */
typedef void (*ntapi_destroy_fn)(void *user_data);

/** The library's version, "MAJOR.MINOR.PATCH".
 *  @returns text, borrowed for ever.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_version(void);

/** Waits until every begun request of the process has called its handler; runs the calling thread's mailbox meanwhile.
 *  @param timeout seconds at most; negative for ever.
 *  @returns how many requests are left; 0 when all are done.
 *  @threads any; from callbacks: yes, the calling callback's own request is not waited for.
 *  @since 0.1 */
size_t ntapi_drain(double timeout);

/** Frees a text that a function returned as new: a char *, not a const char *.
 *  @param text takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_text_free(char *text);

/** What a handle of any type is, for logs and debuggers: its type, and what matters of its state. Secrets are redacted.
 *  @param handle the handle, borrowed for the call.
 *  @returns text, new, in words that may change; never NULL: it also says that a handle is NULL, freed or none.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
char *ntapi_describe(const void *handle);

/** The value of a header; several of a name are joined with ", " (Set-Cookie: the first).
 *  @param headers the headers.
 *  @param name the name, in any case, borrowed for the call.
 *  @returns text, borrowed as long as headers; NULL when there is none.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_headers_get(const ntapi_headers *headers, const char *name);

/** How many header lines there are, repeats counted.
 *  @param headers the headers.
 *  @returns the count; 0 for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
size_t ntapi_headers_count(const ntapi_headers *headers);

/** The name of a header line, as it was written.
 *  @param headers the headers.
 *  @param index from 0.
 *  @returns text, borrowed as long as headers; NULL beyond the last.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_headers_name(const ntapi_headers *headers, size_t index);

/** The value of a header line.
 *  @param headers the headers.
 *  @param index from 0.
 *  @returns text, borrowed as long as headers; NULL beyond the last.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_headers_value(const ntapi_headers *headers, size_t index);

/* ---- Errors
 * ---------------------------------------------------------------------------------------------------------- */

/** Where an error comes from. */
typedef enum ntapi_error_domain {
    NTAPI_ERROR_DOMAIN_NONE = 0,
    NTAPI_ERROR_DOMAIN_REQUEST = 1,  /* the request could not be built or sent: fix the call */
    NTAPI_ERROR_DOMAIN_NETWORK = 2,  /* no answer, or not a whole one */
    NTAPI_ERROR_DOMAIN_HTTP = 3,     /* the answer's status is 300 or above */
    NTAPI_ERROR_DOMAIN_JSON = 4,     /* the body is not JSON */
    NTAPI_ERROR_DOMAIN_SERVICE = 5,  /* the service says so in its own fields (map service error hook) */
    NTAPI_ERROR_DOMAIN_CANCELLED = 6 /* cancelled by the caller */
} ntapi_error_domain;

/** What kind of failure of the network an error is about. */
typedef enum ntapi_failure {
    NTAPI_FAILURE_NONE = 0,
    NTAPI_FAILURE_NAME_LOOKUP = 1, /* the host's name was not found */
    NTAPI_FAILURE_REFUSED = 2,     /* nobody listens at the address */
    NTAPI_FAILURE_UNREACHABLE = 3, /* no connection for another reason: no route, or this machine is offline */
    NTAPI_FAILURE_PROXY = 4,       /* the proxy's name was not found, or the proxy refused */
    NTAPI_FAILURE_TLS = 5,         /* the TLS handshake failed, or the certificate was not accepted */
    NTAPI_FAILURE_RESET = 6,       /* the connection broke before the answer was whole */
    NTAPI_FAILURE_NO_ANSWER = 7,   /* the server closed the connection without an answer */
    NTAPI_FAILURE_CUT_SHORT = 8,   /* the server closed the connection in the middle of the answer */
    NTAPI_FAILURE_NOT_HTTP = 9,    /* the answer is not HTTP, or breaks its rules */
    NTAPI_FAILURE_DECODING = 10,   /* the body cannot be decompressed, or is not all that was compressed */
    NTAPI_FAILURE_OTHER = 11       /* anything else */
} ntapi_failure;

/** Interns an error code: equal names give the same pointer, so codes compare with ==.
 *  @param name the code's text, copied on first use.
 *  @returns the code, borrowed for ever; NULL when name is NULL or not UTF-8.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_code_register(const char *name);

/** The built-in codes, and in quotes their names. */
typedef enum ntapi_code {
    NTAPI_CODE_NONE = 0,                /* no error */
    NTAPI_CODE_CUSTOM = 1,              /* a code of your own: ntapi_error_code_name */
    NTAPI_CODE_NETWORK = 2,             /* "network" */
    NTAPI_CODE_NO_INTERNET = 3,         /* "no internet" */
    NTAPI_CODE_TIMEOUT = 4,             /* "timeout" */
    NTAPI_CODE_TLS = 5,                 /* "TLS" */
    NTAPI_CODE_INVALID_JSON = 6,        /* "invalid JSON" */
    NTAPI_CODE_UNEXPECTED_JSON = 7,     /* "unexpected JSON" */
    NTAPI_CODE_HTTP_ERROR = 8,          /* "HTTP error" */
    NTAPI_CODE_NOT_CACHED = 9,          /* "not cached" */
    NTAPI_CODE_TOO_MANY_REDIRECTS = 10, /* "too many redirects" */
    NTAPI_CODE_AUTHENTICATION = 11,     /* "authentication failed" */
    NTAPI_CODE_DETACHED = 12,           /* "detached" */
    NTAPI_CODE_CANCELLED = 13,          /* "request cancelled" */
    NTAPI_CODE_INVALID_REQUEST = 14,    /* "invalid request" */
    NTAPI_CODE_RESPONSE_TOO_LARGE = 15, /* "response too large" */
    NTAPI_CODE_NO_STUB = 16,            /* "no stub" */
    NTAPI_CODE_GENERIC = 17             /* "generic" */
} ntapi_code;

/** Makes an error, for a hook to return.
 *  @param domain where it comes from; usually NTAPI_ERROR_DOMAIN_SERVICE.
 *  @param code the code's text, copied; registered when it is not yet; NULL is "generic".
 *  @param message for people, copied; NULL is the code's text.
 *  @returns the error, new; NULL when a text is not UTF-8.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_error *ntapi_error_create(ntapi_error_domain domain, const char *code, const char *message);

/** Frees an error.
 *  @param error takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_error_free(ntapi_error *error);

/** Where the error comes from.
 *  @param error the error.
 *  @returns its domain; NTAPI_ERROR_DOMAIN_NONE for NULL.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_error_domain ntapi_error_get_domain(const ntapi_error *error);

/** The error's code.
 *  @param error the error.
 *  @returns the code; NTAPI_CODE_CUSTOM when it is none of the built-in ones, NTAPI_CODE_NONE for NULL.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_code ntapi_error_code(const ntapi_error *error);

/** The name of the error's code, interned: it compares with == against ntapi_code_register(...).
 *  @param error the error.
 *  @returns the name, borrowed for ever; NULL for NULL.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_error_code_name(const ntapi_error *error);

/** What happened and what to do about it, for people.
 *  @param error the error.
 *  @returns text, borrowed until the error is freed; NULL for NULL.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_error_message(const ntapi_error *error);

/** The HTTP status that came with the error.
 *  @param error the error.
 *  @returns the status, or 0 when there was no answer.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
int ntapi_error_http_status(const ntapi_error *error);

/** The transport's own code: a CURLcode of libcurl.
 *  @param error the error.
 *  @returns the code, or 0 when the transport did not fail.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
int ntapi_error_transport_code(const ntapi_error *error);

/** Whether sending the same request again may help.
 *  @param error the error.
 *  @returns true for passing faults that are safe to send again, false otherwise.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
bool ntapi_error_is_retryable(const ntapi_error *error);

/** The seconds after which the server asks to come again (Retry-After), counted from its answer.
 *  @param error the error.
 *  @returns seconds; negative when the server did not say, and for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
double ntapi_error_retry_after(const ntapi_error *error);

/** Which of the five clocks ran out.
 *  @param error the error.
 *  @returns the ntapi_clock; -1 when none ran out, and for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
int ntapi_error_clock(const ntapi_error *error);

/** What kind of failure of the network it was.
 *  @param error the error.
 *  @returns the kind; NTAPI_FAILURE_NONE when the network did not fail, and for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_failure ntapi_error_failure(const ntapi_error *error);

/* ---- JSON
 * ------------------------------------------------------------------------------------------------------------ */
/*
 * A path names a value inside a JSON document: keys separated by dots, indexes in brackets, keys with other characters
 * quoted: list[0].name, headers["X-Y"]. "" or NULL is the whole document. JSON documents never change.
 * A byte order mark is skipped; \u0000 in a string is kept (see ntapi_json_string_length); integers beyond 64 bits
 * become doubles; the last of duplicate keys wins; nesting beyond 2,048 levels, numbers beyond double, lone surrogates
 * and bytes that are not UTF-8 are errors. Programs that use jansson find the way to its trees in ntapi_jansson.h.
 * jansson reads the text that a program hands in and writes what it takes out; the bodies of responses, which may be
 * large, are parsed without it, some 30 times as fast.
 */

/** The type of a JSON value. */
typedef enum ntapi_json_type {
    NTAPI_JSON_TYPE_ABSENT = 0, /* no value at that path */
    NTAPI_JSON_TYPE_NULL = 1,
    NTAPI_JSON_TYPE_BOOL = 2,
    NTAPI_JSON_TYPE_INT = 3,
    NTAPI_JSON_TYPE_DOUBLE = 4,
    NTAPI_JSON_TYPE_STRING = 5,
    NTAPI_JSON_TYPE_ARRAY = 6,
    NTAPI_JSON_TYPE_OBJECT = 7
} ntapi_json_type;

/** Parses JSON text with jansson's loader.
 *  What jansson cannot read by the rules above is read without it: integers beyond 64 bits, and more than 256 levels.
 *  @param text the text, copied; any JSON value is allowed at the top.
 *  @param length its bytes.
 *  @param error where to put the error, new, when NULL is returned; may be NULL. Its message has the line, column and
 * byte, and jansson's words.
 *  @returns the document, new; NULL when it is not JSON.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_json *ntapi_json_parse(const char *text, size_t length, ntapi_error **error);

/** Makes a JSON string.
 *  @param value the text, copied.
 *  @returns the value, new; NULL when value is NULL or not UTF-8.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_json *ntapi_json_create_string(const char *value);

/** Frees a JSON document or value.
 *  @param json takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_json_free(ntapi_json *json);

/** The type of the value at a path.
 *  @param json the document.
 *  @param path the path, borrowed for the call.
 *  @returns the type; NTAPI_JSON_TYPE_ABSENT when nothing is there or the path is malformed.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_json_type ntapi_json_get_type(const ntapi_json *json, const char *path);

/** The string at a path.
 *  @param json the document.
 *  @param path the path, borrowed for the call.
 *  @returns the text, borrowed until json is freed; NULL when there is no string there.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_json_string(const ntapi_json *json, const char *path);

/** The length of the string at a path; more than strlen when the string contains NUL.
 *  @param json the document.
 *  @param path the path, borrowed for the call.
 *  @returns bytes; 0 when there is no string there.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
size_t ntapi_json_string_length(const ntapi_json *json, const char *path);

/** The integer at a path; a double with an integral value in range counts.
 *  @param json the document.
 *  @param path the path, borrowed for the call.
 *  @param fallback what to return when there is no integer there.
 *  @returns the integer, or fallback.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
int64_t ntapi_json_int(const ntapi_json *json, const char *path, int64_t fallback);

/** The number at a path, integer or double.
 *  @param json the document.
 *  @param path the path, borrowed for the call.
 *  @param fallback what to return when there is no number there.
 *  @returns the number, or fallback.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
double ntapi_json_double(const ntapi_json *json, const char *path, double fallback);

/** The boolean at a path.
 *  @param json the document.
 *  @param path the path, borrowed for the call.
 *  @param fallback what to return when there is no boolean there.
 *  @returns the boolean, or fallback.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
bool ntapi_json_bool(const ntapi_json *json, const char *path, bool fallback);

/** How many elements the array, or members the object, at a path has.
 *  @param json the document.
 *  @param path the path, borrowed for the call.
 *  @returns the count; 0 for anything else.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
size_t ntapi_json_count(const ntapi_json *json, const char *path);

/** Begins to walk through the elements of the array, or the members of the object, at a path.
 *  @param json the document; the iterator keeps it.
 *  @param path the path, borrowed for the call.
 *  @returns the iterator, new; NULL when nothing is at the path. A value that has no children has none to walk through.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_json_iterator *ntapi_json_iterate(const ntapi_json *json, const char *path);

/** The next element or member.
 *  @param iterator the iterator.
 *  @param key where to put the member's key, borrowed until json is freed, or NULL for an element; may be NULL.
 *  @returns the value, borrowed until the next call with iterator or until it is freed; NULL when there are no more.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const ntapi_json *ntapi_json_next(ntapi_json_iterator *iterator, const char **key);

/** Frees an iterator.
 *  @param iterator takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_json_iterator_free(ntapi_json_iterator *iterator);

/** The value at a path as a document of its own, which outlives the one it came from.
 *  @param json the document.
 *  @param path the path, borrowed for the call.
 *  @returns the value, new; NULL when nothing is there.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_json *ntapi_json_get(const ntapi_json *json, const char *path);

/** The document as compact JSON text, written by jansson's dumper; beyond 256 levels without it.
 *  Reals have up to the same number of digits, the fewest from 15 to 17 with which each of them reads back the same.
 *  @param json the document.
 *  @returns text, borrowed until json is freed; NULL for NULL.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_json_text(const ntapi_json *json);

/* ---- Threads: mailboxes and executors
 * -------------------------------------------------------------------------------- */

/** Where a handler runs. */
typedef enum ntapi_thread {
    NTAPI_THREAD_MAIN = 0,       /* the process's main thread, when it runs its mailbox. The default */
    NTAPI_THREAD_BACKGROUND = 1, /* a worker thread of the library */
    NTAPI_THREAD_CURRENT = 2     /* the thread that begins the request, when it runs its mailbox */
} ntapi_thread;

/** Which of a request's handlers is meant; may be combined with |. */
typedef enum ntapi_handler {
    NTAPI_HANDLER_RESPONSE = 1,
    NTAPI_HANDLER_UPLOAD_PROGRESS = 2,
    NTAPI_HANDLER_DOWNLOAD_PROGRESS = 4,
    NTAPI_HANDLER_DATA = 8,      /* runs where the response handler does, unless said */
    NTAPI_HANDLER_DECISION = 16, /* runs where the response handler does, unless said */
    NTAPI_HANDLER_ALL = 31       /* for ntapi_request_set_events only if pieces are freed and decisions answered */
} ntapi_handler;

/** What a response holds beside its data; combined with |. */
typedef enum ntapi_content {
    NTAPI_CONTENT_JSON = 1,       /* ntapi_response_json is not NULL */
    NTAPI_CONTENT_PREFIX_TEXT = 2 /* ntapi_response_prefix_text is not NULL */
} ntapi_content;

/** What most callers ask a response for, told with it: for bindings, to which each call is dear. */
typedef struct ntapi_summary {
    const ntapi_error *error; /* as ntapi_response_error: borrowed until the response is freed; NULL when all is well */
    const char *data;         /* as ntapi_response_data: NUL-terminated, borrowed until the response is freed */
    size_t length;            /* its bytes */
    int status;               /* as ntapi_response_status */
    int contents;             /* ntapi_content values, with | */
} ntapi_summary;

/** What ntapi_mailbox_take hands over for a request that was set to deliver events (ntapi_request_set_events). */
typedef struct ntapi_event {
    ntapi_handler handler;    /* exactly one of them */
    void *user_data;          /* as given to ntapi_request_set_events */
    ntapi_response *response; /* for NTAPI_HANDLER_RESPONSE: new, free it; else NULL */
    int64_t bytes;            /* for progress: bytes so far */
    int64_t total;            /* for progress: bytes expected, -1 while unknown */
    ntapi_data *data;         /* for NTAPI_HANDLER_DATA: a piece of the body, new, free it; else NULL */
    ntapi_decision *decision; /* for NTAPI_HANDLER_DECISION: new, answer it and free it; else NULL */
    ntapi_summary summary;    /* for NTAPI_HANDLER_RESPONSE: of the response; for NTAPI_HANDLER_DATA: data and length of
                               * the    piece, borrowed until it is freed; else zeros */
} ntapi_event;

/** Makes a mailbox that belongs to no thread: whoever drains it runs its callbacks.
 *  @returns the mailbox, new.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_mailbox *ntapi_mailbox_create(void);

/** The mailbox of the process's main thread.
 *  @returns the mailbox, new (another handle to the same mailbox).
 *  @threads any; only the main thread may run, drain or take from it.
 *  @since 0.1 */
ntapi_mailbox *ntapi_mailbox_main(void);

/** The mailbox of the calling thread.
 *  @returns the mailbox, new (another handle to the same mailbox).
 *  @threads any; only the calling thread may run, drain or take from it.
 *  @since 0.1 */
ntapi_mailbox *ntapi_mailbox_current(void);

/** Frees a handle to a mailbox.
 *  What is delivered to a mailbox of ntapi_mailbox_create after its last handle is freed runs on a background worker.
 *  @param mailbox takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_mailbox_free(ntapi_mailbox *mailbox);

/** A file descriptor that is readable while callbacks wait in the mailbox: add it to poll, epoll, GLib, libuv, asyncio.
 *  Watch it for reading (level-triggered) and call ntapi_mailbox_drain when it is ready; never read or close it.
 *  @param mailbox the mailbox.
 *  @returns the descriptor, borrowed until the mailbox is freed (a thread's own: until the thread ends); -1 for NULL.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
int ntapi_mailbox_fd(const ntapi_mailbox *mailbox);

/** Runs every callback that waits in the mailbox and returns at once when there is none.
 *  @param mailbox the mailbox.
 *  @returns how many callbacks ran; 0 when the mailbox belongs to another thread.
 *  @threads the mailbox's own; a mailbox of ntapi_mailbox_create: one thread at a time; from callbacks: yes.
 *  @since 0.1 */
size_t ntapi_mailbox_drain(ntapi_mailbox *mailbox);

/** Runs callbacks as they arrive, for a time or until stopped.
 *  @param mailbox the mailbox.
 *  @param timeout seconds; negative: until ntapi_mailbox_stop; 0: what waits now, as ntapi_mailbox_drain.
 *  @returns NTAPI_STATUS_OK when stopped, NTAPI_STATUS_TIMED_OUT when the time is over, NTAPI_STATUS_INVALID_ARGUMENT
 *  for a wrong handle, NTAPI_STATUS_INVALID_STATE when the mailbox belongs to another thread, or when this process
 *  was forked by a callback that ran.
 *  @threads the mailbox's own; a mailbox of ntapi_mailbox_create: one thread at a time; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_mailbox_run(ntapi_mailbox *mailbox, double timeout);

/** Ends the innermost ntapi_mailbox_run of the mailbox after its current callback, or the next; two calls end two.
 *  @param mailbox the mailbox.
 *  @returns NTAPI_STATUS_OK, or NTAPI_STATUS_INVALID_ARGUMENT for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_mailbox_stop(ntapi_mailbox *mailbox);

/** Takes events that wait in the mailbox, many in a call: the pull style, which needs no callback. Callbacks of
 * requests without ntapi_request_set_events that wait there too are run on the way.
 *  @param mailbox the mailbox.
 *  @param events room for capacity events.
 *  @param capacity how many at most.
 *  @returns how many were stored; 0 when none waits. Each stored response, piece of data and decision is new.
 *  @threads the mailbox's own; a mailbox of ntapi_mailbox_create: one thread at a time; from callbacks: yes.
 *  @since 0.1 */
size_t ntapi_mailbox_take(ntapi_mailbox *mailbox, ntapi_event *events, size_t capacity);

/** The bytes of a piece of a body, decompressed.
 *  @param data the piece.
 *  @param length where to put how many they are; may be NULL.
 *  @returns the bytes, borrowed until data is freed; NULL for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_data_bytes(const ntapi_data *data, size_t *length);

/** What the pieces of a body are read as, by a request that delivers events (ntapi_request_set_data_format). */
typedef enum ntapi_data_format {
    NTAPI_DATA_FORMAT_BYTES = 0,
    NTAPI_DATA_FORMAT_JSON_LINES = 1,   /* a JSON value in each line */
    NTAPI_DATA_FORMAT_SERVER_EVENTS = 2 /* server-sent events (WHATWG HTML, 9.2) */
} ntapi_data_format;

/** An event of a stream of server-sent events. Texts are NUL-terminated UTF-8. */
typedef struct ntapi_server_event {
    const char *type;          /* "message" where the server did not say */
    const char *data;          /* its lines of data, joined by line feeds */
    size_t length;             /* of data, in bytes: it may contain NUL */
    const char *last_event_id; /* the identifier of the last event that had one, this or an earlier one; or "" */
} ntapi_server_event;

/** The next JSON value that ends in a piece of a body, of a request with NTAPI_DATA_FORMAT_JSON_LINES.
 *  @param data the piece.
 *  @returns the value, borrowed until the next such call with data or until it is freed; NULL when there are no more.
 *  @threads any, one at a time; from callbacks: yes.
 *  @since 0.1 */
const ntapi_json *ntapi_data_next_json(ntapi_data *data);

/** The next event that ends in a piece of a body, of a request with NTAPI_DATA_FORMAT_SERVER_EVENTS.
 *  @param data the piece.
 *  @param event where to put it. Its texts are borrowed until the next such call with data or until that is freed.
 *  @returns whether there was one; false when there are no more, and for a wrong handle or event NULL.
 *  @threads any, one at a time; from callbacks: yes.
 *  @since 0.1 */
bool ntapi_data_next_server_event(ntapi_data *data, ntapi_server_event *event);

/** Frees a piece of a body: it is handled. The next piece of its request follows, and after the last one the response.
 * The response of a request that is cancelled does not wait for that.
 *  @param data takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_data_free(ntapi_data *data);

/** Gives a job to your queue or loop, which must call ntapi_job_run(job) once, on the thread it likes. Must not block.
 */
typedef void (*ntapi_submit_fn)(void *user_data, ntapi_job *job);

/** Makes an executor: your own queue or loop as a place for handlers.
 *  @param submit called with each job, from threads of the library.
 *  @param user_data given to submit.
 *  @param destroy ends user_data after the last submit; may be NULL.
 *  @returns the executor, new; NULL when submit is NULL (destroy has then been called).
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_executor *ntapi_executor_create(ntapi_submit_fn submit, void *user_data, ntapi_destroy_fn destroy);

/** Frees an executor; requests that use it keep it, as long as they or their responses are kept.
 *  @param executor takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_executor_free(ntapi_executor *executor);

/** Runs a handler that an executor was given. A second call with the same job does nothing.
 *  @param job takes.
 *  @threads any: the handler runs here; from callbacks: yes, also inside submit itself.
 *  @since 0.1 */
void ntapi_job_run(ntapi_job *job);

/* ---- Args
 * ------------------------------------------------------------------------------------------------------------ */
/*
 * Args are applied in order, when a request is begun: those of the client, then those of the request. Single-valued
 * args (method, timeout, base URL, cache policy, option) override earlier ones. Mistakes that can only be seen then
 * (two kinds of body, CR or LF in a header) end the request with an "invalid request" error.
 * Every ntapi_args_ function that appends returns NTAPI_STATUS_OK, also when a NULL value suppressed the arg, or
 * NTAPI_STATUS_INVALID_ARGUMENT for a wrong handle or text that is not UTF-8.
 */

/** The five clocks of a timeout. */
typedef enum ntapi_clock {
    NTAPI_CLOCK_IDLE = 0,    /* no byte has moved for so long */
    NTAPI_CLOCK_CONNECT = 1, /* name look-up, connection and TLS handshake */
    NTAPI_CLOCK_QUEUE = 2,   /* waiting for a free connection to the host */
    NTAPI_CLOCK_ATTEMPT = 3, /* one exchange with one server; each redirect starts another */
    NTAPI_CLOCK_TOTAL = 4    /* the whole request, everything included */
} ntapi_clock;

/** How a cache may be used; takes effect with a client that has a cache. */
typedef enum ntapi_cache_policy {
    NTAPI_CACHE_POLICY_PROTOCOL = 0,                /* as the headers say (RFC 9111) */
    NTAPI_CACHE_POLICY_RELOAD_IGNORING_CACHE = 1,   /* the server is asked; what it answers is stored */
    NTAPI_CACHE_POLICY_RETURN_CACHED_ELSE_LOAD = 2, /* what is stored, however old; else the server is asked */
    NTAPI_CACHE_POLICY_RETURN_CACHED_DONT_LOAD = 3, /* the same; else NTAPI_CODE_NOT_CACHED, with the status 504 */
    NTAPI_CACHE_POLICY_RELOAD_REVALIDATING = 4,     /* the server is asked whether what is stored still holds */
    NTAPI_CACHE_POLICY_NO_STORE = 5                 /* the cache is neither read nor written */
} ntapi_cache_policy;

/* Names of the built-in options; any other name is the user's own, which hooks can read. */
#define NTAPI_OPTION_RAW_DATA "raw_data" /* do not parse the body, save an HTTP error's, as JSON */
/* statuses from 300 are no errors; a refused redirect, too many redirects and "not cached" still are */
#define NTAPI_OPTION_IGNORE_HTTP_ERRORS "ignore_http_errors"
#define NTAPI_OPTION_ALLOW_INVALID_CERTIFICATE                                                                         \
    "allow_invalid_certificate"                                    /* do not verify the server's certificate           \
                                                                    */
#define NTAPI_OPTION_MAXIMUM_RESPONSE_SIZE "maximum_response_size" /* bytes of the decoded body; "1000000" */
#define NTAPI_OPTION_MAXIMUM_REDIRECTS "maximum_redirects"         /* "20" by default; "0" follows none */
#define NTAPI_OPTION_BYPASS_AUTHENTICATION "bypass_authentication" /* go without the client's authenticator */
/* whether a stream of server-sent events is gone on with when its connection ends: of a GET yes, of a POST no */
#define NTAPI_OPTION_RECONNECT "reconnect"
/* after how many connections in a row that brought nothing such a stream fails; never by default */
#define NTAPI_OPTION_MAXIMUM_FAILURES "maximum_failures"
#define NTAPI_OPTION_HTTP_VERSION "http_version" /* "1.0", "1.1"; "2" is offered; negotiated by default */

/** Makes an empty list of args.
 *  @returns the list, new.
 *  @threads any; a list is safe to use from several threads; from callbacks: yes.
 *  @since 0.1 */
ntapi_args *ntapi_args_create(void);

/** Frees a list of args.
 *  @param args takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_args_free(ntapi_args *args);

/** How many args the list has.
 *  @param args the list.
 *  @returns the count.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
size_t ntapi_args_count(const ntapi_args *args);

/** Appends the args written as JSON, all or none: [["url","q","London"],["url","cnt",20],["timeout",5]].
 *  The first element of each is the kind, named as the function: url, url_default (name, or name and key), path, form,
 * multipart (name, text), multipart_data (name, {"base64","extension"} or {"base64","filename","content_type"}; a
 * filename of "" sends none, and "text" may stand for "base64"),
 * multipart_file (name,
 * {"path","filename", "content_type"}), data ({"text"} or {"base64"}, "content_type"), json (any value), file
 * ({"path","content_type"}), download (path), resume (text), base_url, header, add_header, basic_auth (user, password),
 * digest_auth (user, password), bearer, timeout (seconds, clock: "idle", "connect", "queue", "attempt", "total"),
 * method, retry (true, false or an object as ntapi_retry_policy_json has it), idempotency_key (nothing, or a text),
 * cache_policy ("protocol", "reload_ignoring_cache", "return_cached_else_load", "return_cached_dont_load",
 * "reload_revalidating", "no_store"), option (name, or name and value), response_thread, upload_progress_thread,
 * download_progress_thread and data_thread ("main", "background", "current"). A null value suppresses the arg.
 *  The kind download without a value writes to a temporary file.
 *  @param args the list.
 *  @param text the JSON, copied; jansson reads it.
 *  @param length its bytes.
 *  @param error where to put the error, new, which names the arg, or the line, column and byte where the text is not
 * JSON; may be NULL.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_append_json(ntapi_args *args, const char *text, size_t length, ntapi_error **error);

/** Appends all args of another list.
 *  @param args the list to extend.
 *  @param other the list to copy from.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_append(ntapi_args *args, const ntapi_args *other);

/** Marks the arg appended last as secret: it is printed as "<redacted>" and a secret header never follows a redirect to
 *  another origin. Authorization, Cookie and names such as password, token, api_key are secret by themselves.
 *  @param args the list.
 *  @returns NTAPI_STATUS_OK, or NTAPI_STATUS_INVALID_STATE when the list is empty.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_mark_secret(ntapi_args *args);

/** Appends a query pair; name and value are percent-encoded.
 *  @param args the list.
 *  @param name the name, copied.
 *  @param value the value, copied; NULL suppresses.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_url(ntapi_args *args, const char *name, const char *value);

/** Appends a query pair with an integer value.
 *  @param args the list.
 *  @param name the name, copied.
 *  @param value the value.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_url_int(ntapi_args *args, const char *name, int64_t value);

/** Appends a query pair with a number, in the shortest text that reads back as the same number.
 *  @param args the list.
 *  @param name the name, copied.
 *  @param value the value; infinity and NaN are errors when the request is begun.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_url_double(ntapi_args *args, const char *name, double value);

/** Appends a query pair with "true" or "false".
 *  @param args the list.
 *  @param name the name, copied.
 *  @param value the value.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_url_bool(ntapi_args *args, const char *name, bool value);

/** Appends a query pair whose value is a default of the client, looked up when the request is made; none without one.
 *  @param args the list.
 *  @param name the name, copied.
 *  @param key the default's name, copied; NULL is the same as name.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_url_default(ntapi_args *args, const char *name, const char *key);

/** Fills {name} in the command, percent-encoded: a value never adds a segment or a query.
 *  Fills {name*} with a path of many segments, "docs/a.md", too: its slashes stay. A value that makes a segment "." or
 *  ".." (also between slashes or backslashes of its own) is the request's error NTAPI_CODE_INVALID_REQUEST: servers
 * read these as steps to another path, however they are encoded.
 *  @param args the list.
 *  @param name the name between the braces, copied.
 *  @param value the value, copied; NULL suppresses (an unfilled {name} is then an error).
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_path(ntapi_args *args, const char *name, const char *value);

/** Fills {name} in the command with an integer.
 *  @param args the list.
 *  @param name the name, copied.
 *  @param value the value.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_path_int(ntapi_args *args, const char *name, int64_t value);

/** Fills {name} in the command with a number.
 *  @param args the list.
 *  @param name the name, copied.
 *  @param value the value.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_path_double(ntapi_args *args, const char *name, double value);

/** Fills {name} in the command with "true" or "false".
 *  @param args the list.
 *  @param name the name, copied.
 *  @param value the value.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_path_bool(ntapi_args *args, const char *name, bool value);

/** Appends an application/x-www-form-urlencoded pair; the default method becomes POST.
 *  @param args the list.
 *  @param name the name, copied.
 *  @param value the value, copied; NULL suppresses.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_form(ntapi_args *args, const char *name, const char *value);

/** Appends a form pair with an integer.
 *  @param args the list.
 *  @param name the name, copied.
 *  @param value the value.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_form_int(ntapi_args *args, const char *name, int64_t value);

/** Appends a form pair with a number.
 *  @param args the list.
 *  @param name the name, copied.
 *  @param value the value.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_form_double(ntapi_args *args, const char *name, double value);

/** Appends a form pair with "true" or "false".
 *  @param args the list.
 *  @param name the name, copied.
 *  @param value the value.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_form_bool(ntapi_args *args, const char *name, bool value);

/** Appends a multipart/form-data text part; the default method becomes POST.
 *  @param args the list.
 *  @param name the part's name, copied.
 *  @param value the text, copied; NULL suppresses.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_multipart(ntapi_args *args, const char *name, const char *value);

/** Appends bytes as a multipart part.
 *  @param args the list.
 *  @param name the part's name, copied.
 *  @param bytes the content, copied; NULL suppresses.
 *  @param length its bytes.
 *  @param filename the file name to send, copied; NULL is "NAME.bin", and "" sends none: a field and no file.
 *  @param content_type its content type, copied; NULL is derived from filename by libcurl, without one there is none.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_multipart_data(ntapi_args *args, const char *name, const void *bytes, size_t length,
                                       const char *filename, const char *content_type);

/** Appends a file as a multipart part, streamed from disk.
 *  @param args the list.
 *  @param name the part's name, copied.
 *  @param path the file's path, copied; NULL suppresses. It must be a readable regular file when the request is begun.
 *  @param filename the file name to send, copied; NULL is the path's last component.
 *  @param content_type its content type, copied; NULL is derived from filename by libcurl.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_multipart_file(ntapi_args *args, const char *name, const char *path, const char *filename,
                                       const char *content_type);

/** Sets bytes as the body, untouched; at most once; the default method becomes POST.
 *  @param args the list.
 *  @param bytes the content, copied; NULL suppresses.
 *  @param length its bytes.
 *  @param content_type its content type, copied; NULL is application/octet-stream.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_data(ntapi_args *args, const void *bytes, size_t length, const char *content_type);

/** Sets a JSON value as the body, application/json; the default method becomes POST.
 *  @param args the list.
 *  @param value the value, copied; NULL suppresses.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_json(ntapi_args *args, const ntapi_json *value);

/** Writes the body of a successful response to a file, with constant memory, instead of keeping it in memory.
 *  The file appears under its name when it is whole, in the place of one that was there; until then the data is in a
 *  temporary file beside it. The body of an error stays in the response.
 *  @param args the list.
 *  @param path the file to make, copied, in a folder that exists and can be written to. NULL suppresses other args;
 * here it asks for a temporary file that only the user can read: ntapi_response_temporary_file.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_download(ntapi_args *args, const char *path);

/** Goes on with a download that was cancelled or failed, in this process or another, of any language.
 *  The URL and the file are those of the first time; headers and credentials are to be given again. The server's copy
 * is asked for by its validator: if it has changed, the download starts over.
 *  @param args the list.
 *  @param resume_data what ntapi_response_resume_data or ntapi_request_resume_data returned, copied; NULL suppresses.
 *  What is no resume data fails the request with an error that says why.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_resume(ntapi_args *args, const char *resume_data);

/** Sets a file as the body, streamed with constant memory; the default method becomes POST.
 *  @param args the list.
 *  @param path the file's path, copied; NULL suppresses. It must be a readable regular file when the request is begun.
 *  @param content_type its content type, copied; NULL is application/octet-stream.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_file(ntapi_args *args, const char *path, const char *content_type);

/** Fills a buffer with the next bytes of a body: returns how many, 0 at the end, negative to fail the request.
 *  Called on a background worker, one call at a time, never after the response handler. It may block. */
typedef ptrdiff_t (*ntapi_read_fn)(void *user_data, void *buffer, size_t capacity);

/** Starts a streamed body again from its beginning, for a redirect or a retry: returns true when it could. */
typedef bool (*ntapi_rewind_fn)(void *user_data);

/** Sets a pulled stream as the body, sent with constant memory; the default method becomes POST.
 *  A list with a stream can begin one request.
 *  @param args the list.
 *  @param read the pull callback; NULL suppresses (destroy is called).
 *  @param rewind starts the stream again; NULL when the stream cannot be replayed: a redirect that needs it then fails.
 *  @param length the whole length in bytes; negative when unknown (sent chunked).
 *  @param content_type its content type, copied; NULL is application/octet-stream.
 *  @param user_data given to read and rewind.
 *  @param destroy ends user_data after the last call; may be NULL.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT (destroy has then been called).
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_stream(ntapi_args *args, ntapi_read_fn read, ntapi_rewind_fn rewind, int64_t length,
                               const char *content_type, void *user_data, ntapi_destroy_fn destroy);

/** Replaces the whole URL before the query, command included, for this request.
 *  @param args the list.
 *  @param url an http or https URL, copied; NULL suppresses.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_base_url(ntapi_args *args, const char *url);

/** Sets a header; the last one of a name wins. CR, LF or NUL anywhere ends the request with an error, never sent.
 *  @param args the list.
 *  @param name the header's name, copied.
 *  @param value the value, copied; NULL suppresses; "" sends an empty header.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_header(ntapi_args *args, const char *name, const char *value);

/** Appends one more header of a name beside those already there.
 *  @param args the list.
 *  @param name the header's name, copied.
 *  @param value the value, copied; NULL suppresses.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_add_header(ntapi_args *args, const char *name, const char *value);

/** Sets the Authorization header to HTTP Basic credentials (RFC 7617, UTF-8).
 *  @param args the list.
 *  @param user the user, copied, may be empty, no colon; NULL suppresses.
 *  @param password the password, copied, may be empty; NULL suppresses.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_basic_auth(ntapi_args *args, const char *user, const char *password);

/** Answers the server's Digest challenge (RFC 7616, UTF-8); the password itself is never sent.
 *  Each request is sent twice: without credentials and without its body, to be given a nonce, and then with both. In
 * the place of an Authorization header, whichever comes last.
 *  @param args the list.
 *  @param user the user, copied, may be empty; NULL suppresses.
 *  @param password the password, copied, may be empty; NULL suppresses.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_digest_auth(ntapi_args *args, const char *user, const char *password);

/** Sets the Authorization header to a bearer token (RFC 6750).
 *  @param args the list.
 *  @param token the token, copied; NULL suppresses.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_bearer(ntapi_args *args, const char *token);

/** Sets one of the five timeouts.
 *  @param args the list.
 *  @param clock which clock; NTAPI_CLOCK_IDLE is the request timeout.
 *  @param seconds above 0, fractions allowed; infinity switches the clock off.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_timeout(ntapi_args *args, ntapi_clock clock, double seconds);

/** When a request is sent again by itself. Start from NTAPI_RETRY_POLICY_INIT, which has the numbers in parentheses. */
typedef struct ntapi_retry_policy {
    size_t size;  /* of this struct, which may grow in later versions */
    int attempts; /* at most, the first included: from 1, which is never again, to 1000 (4) */
    double base;  /* seconds: the first wait is random, from 0 to this; the bound doubles each time (0.5) */
    double cap;   /* seconds: the largest bound (30) */
    double maximum_retry_after; /* seconds: a longer Retry-After is not waited for (60) */
    const int *statuses;        /* which are repeated, from 400 to 999; NULL: 408, 429, 500, 502, 503, 504 (NULL) */
    size_t status_count;        /* how many statuses */
    bool network_errors;        /* whether broken connections and timeouts other than the total one are, too (true) */
} ntapi_retry_policy;

#define NTAPI_RETRY_POLICY_INIT                                                                                        \
    { sizeof(ntapi_retry_policy), 4, 0.5, 30, 60, NULL, 0, true }

/** Sends the request again by itself when an attempt fails that another one may mend.
 *  In the place of the client's default NTAPI_DEFAULT_RETRY. What may not be sent twice is not.
 *  @param args the list.
 *  @param policy how, copied; NULL suppresses.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_retry(ntapi_args *args, const ntapi_retry_policy *policy);

/** Lets the request go in its turn of this limiter, in the place of the client's: for a method that has a limit of its
 * own.
 *  @param args the list.
 *  @param limiter the limiter, borrowed for the call, which args and requests keep; NULL suppresses.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_rate_limiter(ntapi_args *args, ntapi_rate_limiter *limiter);

/** Names the request with a header Idempotency-Key, the same for all attempts. Only where the method is not idempotent.
 *  @param args the list.
 *  @param key the key, copied, not empty; NULL is a random UUID for each request.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_idempotency_key(ntapi_args *args, const char *key);

/** Overrides the detected method.
 *  @param args the list.
 *  @param method any token of RFC 9110, copied, sent as given; NULL suppresses.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_method(ntapi_args *args, const char *method);

/** Sets the cache policy.
 *  @param args the list.
 *  @param policy the policy.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_cache_policy(ntapi_args *args, ntapi_cache_policy policy);

/** Sets an option that needs no value: NTAPI_OPTION_RAW_DATA and the like, or a name of your own.
 *  @param args the list.
 *  @param name the option's name, copied; NULL suppresses.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_option(ntapi_args *args, const char *name);

/** Sets an option with a value.
 *  @param args the list.
 *  @param name the option's name, copied.
 *  @param value the value, copied; NULL suppresses.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_option_value(ntapi_args *args, const char *name, const char *value);

/** The value of an option in the list, for hooks; "" for an option without a value.
 *  @param args the list.
 *  @param name the option's name, borrowed for the call.
 *  @returns text, new: end it with ntapi_text_free; NULL when not set.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
char *ntapi_args_get_option(const ntapi_args *args, const char *name);

/** Says where handlers run.
 *  @param args the list.
 *  @param handlers one of ntapi_handler, or several with |.
 *  @param thread where.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_thread(ntapi_args *args, int handlers, ntapi_thread thread);

/** Says that handlers run on an executor of yours.
 *  @param args the list.
 *  @param handlers one of ntapi_handler, or several with |.
 *  @param executor the executor, kept with the requests that use it. NULL suppresses.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_executor(ntapi_args *args, int handlers, ntapi_executor *executor);

/** Says that handlers run when a mailbox is drained.
 *  @param args the list.
 *  @param handlers one of ntapi_handler, or several with |.
 *  @param mailbox the mailbox, not kept: see ntapi_mailbox_free. NULL suppresses.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_mailbox(ntapi_args *args, int handlers, ntapi_mailbox *mailbox);

/* ---- Defaults
 * -------------------------------------------------------------------------------------------------------- */
/*
 * A default is a named value, set globally, for a class or for one client; look-up goes client, class, parent classes,
 * global. The names below have a meaning; snake case works, too: request_timeout. Any other name is yours. A name that
 * is nearly one of these makes every request fail: the error says which was probably meant.
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
#define NTAPI_DEFAULT_NETWORK_THREADS "networkThreads"                         /* count; 1 (global, set first) */
#define NTAPI_DEFAULT_ALLOWS_CELLULAR_ACCESS "allowsCellularAccess"            /* boolean; true */
#define NTAPI_DEFAULT_HTTP_VERSION "httpVersion"                               /* "1.0", "1.1", "2" */
#define NTAPI_DEFAULT_PROXY "proxy"                               /* URL; "" for none; from the environment */
#define NTAPI_DEFAULT_CA_FILE "caFile"                            /* PEM file instead of the system's store */
#define NTAPI_DEFAULT_DECOMPRESSION "decompression"               /* boolean; true */
#define NTAPI_DEFAULT_ADDITIONAL_HEADERS "additionalHeaders"      /* object: names and strings, or lists of these */
#define NTAPI_DEFAULT_CACHE_POLICY "cachePolicy"                  /* "protocol", "reload_ignoring_cache", ... */
#define NTAPI_DEFAULT_MAXIMUM_CONNECTIONS "maximumConnections"    /* count, to all hosts together; none */
#define NTAPI_DEFAULT_NETWORK_INTERFACE "networkInterface"        /* "eth0", "127.0.0.2", "if!eth0", "host!127.0.0.2" */
#define NTAPI_DEFAULT_PROXY_USER "proxyUser"                      /* string */
#define NTAPI_DEFAULT_PROXY_PASSWORD "proxyPassword"              /* string */
#define NTAPI_DEFAULT_PROXY_EXCEPTIONS "proxyExceptions"          /* host names: a list, or with commas in between */
#define NTAPI_DEFAULT_USER "user"                                 /* string, for when the server asks */
#define NTAPI_DEFAULT_PASSWORD "password"                         /* string */
#define NTAPI_DEFAULT_TLS_MINIMUM_VERSION "tlsMinimumVersion"     /* "1.2", "1.3"; "1.2" */
#define NTAPI_DEFAULT_CLIENT_CERTIFICATE "clientCertificate"      /* PEM file */
#define NTAPI_DEFAULT_CLIENT_KEY "clientKey"                      /* PEM file; that of the certificate */
#define NTAPI_DEFAULT_CLIENT_KEY_PASSWORD "clientKeyPassword"     /* string */
#define NTAPI_DEFAULT_PINNED_PUBLIC_KEYS "pinnedPublicKeys"       /* "sha256//BASE64", or a list of these */
#define NTAPI_DEFAULT_COOKIE_ACCEPT_POLICY "cookieAcceptPolicy"   /* "always", "never", "only_from_main_document" */
#define NTAPI_DEFAULT_SENDS_COOKIES "sendsCookies"                /* boolean; true */
#define NTAPI_DEFAULT_APPLICATION_NAME "applicationName"          /* names the folder of cookies; the program's file */
#define NTAPI_DEFAULT_USES_CACHE "usesCache"                      /* boolean; true */
#define NTAPI_DEFAULT_CACHE_MEMORY_CAPACITY "cacheMemoryCapacity" /* bytes; 16 MiB */
#define NTAPI_DEFAULT_CACHE_DISK_CAPACITY "cacheDiskCapacity"     /* bytes; 128 MiB, 0 is memory only */
#define NTAPI_DEFAULT_CACHE_FOLDER "cacheFolder"                  /* absolute path; below the XDG cache directory */
#define NTAPI_DEFAULT_RETRY "retry"          /* true, false, or as ntapi_retry_policy_json; false */
#define NTAPI_DEFAULT_RATE_LIMIT "rateLimit" /* {"requests", "seconds", "burst", "maximum_pause"} */

/** A provider of dynamic defaults, asked at each look-up: returns the value, new (the library takes it), or NULL. */
typedef ntapi_json *(*ntapi_provider_fn)(void *user_data, const char *key);

/** The global defaults.
 *  @returns the defaults, borrowed for ever.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_defaults *ntapi_defaults_global(void);

/** Makes a client class: a named place for defaults, which inherits those of its parent.
 *  @param name the class's name, copied.
 *  @param parent the class to inherit from; NULL is none. Kept alive by the new class.
 *  @returns the class, new; NULL when name is NULL.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_class *ntapi_class_create(const char *name, ntapi_class *parent);

/** Frees a handle to a class; its clients and subclasses keep the class.
 *  @param class_handle takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_class_free(ntapi_class *class_handle);

/** The defaults of a class.
 *  @param class_handle the class.
 *  @returns the defaults, borrowed until class_handle is freed; NULL for NULL.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_defaults *ntapi_class_defaults(ntapi_class *class_handle);

/** The defaults of one client.
 *  @param client the client.
 *  @returns the defaults, borrowed until client is freed; NULL for NULL.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_defaults *ntapi_client_defaults(ntapi_client *client);

/** Sets or removes a default.
 *  @param defaults where.
 *  @param key the name, copied.
 *  @param value the value, copied; NULL removes.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any, concurrently; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_defaults_set(ntapi_defaults *defaults, const char *key, const ntapi_json *value);

/** Sets or removes a string default.
 *  @param defaults where.
 *  @param key the name, copied.
 *  @param value the value, copied; NULL removes.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any, concurrently; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_defaults_set_string(ntapi_defaults *defaults, const char *key, const char *value);

/** Sets a number default; an integral value reads back as an integer.
 *  @param defaults where.
 *  @param key the name, copied.
 *  @param value the value; infinity and NaN are refused.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any, concurrently; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_defaults_set_number(ntapi_defaults *defaults, const char *key, double value);

/** Sets a boolean default.
 *  @param defaults where.
 *  @param key the name, copied.
 *  @param value the value.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any, concurrently; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_defaults_set_bool(ntapi_defaults *defaults, const char *key, bool value);

/** Makes a default dynamic: the provider is asked at each look-up, on the thread that looks up.
 *  @param defaults where.
 *  @param key the name, copied.
 *  @param provider the callback; NULL removes (destroy is called).
 *  @param user_data given to provider.
 *  @param destroy ends user_data once the default is replaced or removed and no look-up uses it; may be NULL.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT (destroy has then been called).
 *  @threads any, concurrently; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_defaults_set_provider(ntapi_defaults *defaults, const char *key, ntapi_provider_fn provider,
                                         void *user_data, ntapi_destroy_fn destroy);

/** Looks a default up: here, then in what it inherits from.
 *  @param defaults where to start.
 *  @param key the name, borrowed for the call.
 *  @returns the value, new; NULL when it is not set anywhere.
 *  @threads any, concurrently; from callbacks: yes.
 *  @since 0.1 */
ntapi_json *ntapi_defaults_get(const ntapi_defaults *defaults, const char *key);

/* ---- Logging
 * --------------------------------------------------------------------------------------------------------- */

/** Levels of a log line, and flags when combined with |. */
typedef enum ntapi_log {
    NTAPI_LOG_NONE = 0,
    NTAPI_LOG_DEBUG = 1, /* headers and bodies, truncated */
    NTAPI_LOG_INFO = 2,  /* one line when a request starts and one when it ends */
    NTAPI_LOG_WARN = 4,
    NTAPI_LOG_ERROR = 8,
    NTAPI_LOG_ALL = 15
} ntapi_log;

/** Receives a log line, secrets already redacted. Called from any thread but the network thread; must not block long.
 *  message is borrowed for the call. */
typedef void (*ntapi_log_fn)(void *user_data, ntapi_log level, const char *message);

/** Sets the process's log sink; standard error until then.
 *  @param sink the callback; NULL goes back to standard error.
 *  @param user_data given to sink.
 *  @param destroy ends user_data once the sink is replaced and its last call has returned; may be NULL.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_log_set_sink(ntapi_log_fn sink, void *user_data, ntapi_destroy_fn destroy);

/** Sends log lines to the system's log, syslog(3), which systemd's journal reads, too. Replaces the sink.
 *  @param name what the lines begin with, copied; NULL is the program's name.
 *  @returns NTAPI_STATUS_OK, or NTAPI_STATUS_INVALID_ARGUMENT when name is not UTF-8.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_log_use_syslog(const char *name);

/** Sets what is logged where neither a client nor the default logFlags says; at first warnings and errors.
 *  @param flags NTAPI_LOG_... with |; for requests made from now on.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_log_set_flags(int flags);

/* ---- Decisions
 * ------------------------------------------------------------------------------------------------------- */
/*
 * A decision is a question that a request waits for. It is answered once, at once or later, from any thread. One that
 * is freed without an answer is answered by what happens to a request that nobody asks about (proceed), and so is one
 * whose request is cancelled or out of time.
 */

/** What is asked; combined with | where kinds are chosen. */
typedef enum ntapi_decision_kind {
    NTAPI_DECISION_REDIRECT = 1, /* whether a redirect is followed, and how */
    NTAPI_DECISION_RESPONSE =
        2, /* whether a response is received, now that its head is there, and where its body goes */
    NTAPI_DECISION_CHALLENGE = 4, /* who asks, or whether a certificate is trusted: ntapi_decision_challenge */
    NTAPI_DECISION_RETRY = 8,     /* whether an attempt that failed is followed by another: ntapi_decision_response */
    NTAPI_DECISION_CACHE = 16,    /* whether a response is stored in the cache, and where: ntapi_decision_get_storage */
    NTAPI_DECISION_ALL = 31
} ntapi_decision_kind;

/** Is asked. The hook of a client (ntapi_hooks.decide) on a background worker; the handler of a request where its
 *  args say.
 *  @param user_data as registered.
 *  @param decision the question, new: keep it until you answer it, and free it. */
typedef void (*ntapi_decide_fn)(void *user_data, ntapi_decision *decision);

/** Frees a decision; one without an answer proceeds.
 *  @param decision takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_decision_free(ntapi_decision *decision);

/** What is asked.
 *  @param decision the decision.
 *  @returns exactly one kind; 0 for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_decision_kind ntapi_decision_get_kind(const ntapi_decision *decision);

/** The request that waits.
 *  @param decision the decision.
 *  @returns the request, borrowed until the decision is freed.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_request *ntapi_decision_request(const ntapi_decision *decision);

/** The status of the response that asks.
 *  @param decision the decision.
 *  @returns the status; 0 for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
int ntapi_decision_status(const ntapi_decision *decision);

/** The headers of the response that asks.
 *  @param decision the decision.
 *  @returns the headers, borrowed until the decision is freed; NULL when there is none.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const ntapi_headers *ntapi_decision_headers(const ntapi_decision *decision);

/** Of a redirect: the request that would follow it, with what must not leave its origin taken out.
 *  It may be changed with ntapi_http_request_set_...; ntapi_decision_proceed then sends it as it is.
 *  @param decision the decision.
 *  @returns the request, borrowed until the decision is freed; NULL for other kinds.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_http_request *ntapi_decision_http_request(const ntapi_decision *decision);

/** Answers: the redirect is followed, the response is received, it is stored as proposed.
 *  @param decision the decision.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE when it was answered before.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_decision_proceed(ntapi_decision *decision);

/** Answers: the request ends with "request cancelled".
 *  @param decision the decision.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE when it was answered before.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_decision_cancel(ntapi_decision *decision);

/** Answers: the redirect is not followed, or the response is not stored in the cache.
 *  A response that points elsewhere and is not followed is the request's, with its HTTP error.
 *  @param decision a decision about a redirect, or of the cache's.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE when it was answered before
 * or asks something else.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_decision_refuse(ntapi_decision *decision);

/** Answers: the body of the response is written to a file, as with ntapi_args_download.
 *  @param decision a decision about a response.
 *  @param path the file to make, copied; NULL is a temporary file, as there.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE when it was answered before
 * or asks something else.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_decision_download(ntapi_decision *decision, const char *path);

/* ---- Sessions: configurations
 * -------------------------------------------------------------------------------------------- */
/*
 * A client that is made with a configuration is a session. The configuration has a kind, and settings: defaults by the
 * names above, set with ntapi_defaults_set_... in ntapi_configuration_defaults(configuration). The client has a copy
 * of them, which is looked up after the client's own defaults and before those of its class.
 */

/** What a session keeps, and how long. */
typedef enum ntapi_session_kind {
    NTAPI_SESSION_KIND_NONE = 0,      /* no session: a client without a configuration */
    NTAPI_SESSION_KIND_DEFAULT = 1,   /* cookies and cache are kept on disk, below the XDG directories */
    NTAPI_SESSION_KIND_EPHEMERAL = 2, /* nothing is ever written */
    NTAPI_SESSION_KIND_BACKGROUND = 3 /* transfers survive the process */
} ntapi_session_kind;

/** Makes a configuration.
 *  @param kind its kind; not NTAPI_SESSION_KIND_NONE.
 *  @param identifier names a background session in the program, copied; NULL for the other kinds.
 *  @returns the configuration, new; NULL when kind or identifier is wrong.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_configuration *ntapi_configuration_create(ntapi_session_kind kind, const char *identifier);

/** Frees a configuration. Clients that were made with it have their copies.
 *  @param configuration takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_configuration_free(ntapi_configuration *configuration);

/** The settings of a configuration: defaults that inherit nothing.
 *  @param configuration the configuration.
 *  @returns the defaults, borrowed until the configuration is freed; NULL for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_defaults *ntapi_configuration_defaults(const ntapi_configuration *configuration);

/* ---- Sessions: cookies
 * --------------------------------------------------------------------------------------------------- */
/*
 * A session keeps the cookies that servers set and sends them, by the rules of RFC 6265 and with the public suffix
 * list. Default and background sessions share the storage of the program, which is kept on disk; each ephemeral session
 * has its own in memory. A cookie that a request sets itself, in a Cookie header, is sent as it is, and no other beside
 * it.
 *
 * A cookie in JSON is an object: name, value, domain, path ("/"), expires (seconds since 1970; absent until the session
 * ends, and then it is not written to disk), secure, httpOnly, includesSubdomains (false). A domain with a dot before
 * it includes its subdomains.
 */

/** The cookies of a client.
 *  @param client the client.
 *  @returns the storage, borrowed until the client is freed; NULL for a client without a configuration, and for a wrong
 *           handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_cookie_storage *ntapi_client_cookies(const ntapi_client *client);

/** The cookies that have not expired.
 *  @param storage the storage.
 *  @param url those that would be sent with a request for this URL, borrowed for the call; NULL is all.
 *  @returns an array of cookies, new; NULL when the handle or the URL is wrong.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_json *ntapi_cookie_storage_get(const ntapi_cookie_storage *storage, const char *url);

/** Sets a cookie, in the place of one with the same name, domain and path. One that has expired deletes that.
 *  @param storage the storage.
 *  @param cookie the cookie, with its name, value and domain at least; copied.
 *  @param error where to put the error, new, when it cannot be set; may be NULL.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_cookie_storage_set(ntapi_cookie_storage *storage, const ntapi_json *cookie, ntapi_error **error);

/** Deletes cookies; that there are none is no error.
 *  @param storage the storage.
 *  @param name their name, borrowed for the call.
 *  @param domain their domain, borrowed for the call; NULL is all.
 *  @param path their path, borrowed for the call; NULL is all.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_cookie_storage_delete(ntapi_cookie_storage *storage, const char *name, const char *domain,
                                         const char *path);

/** Deletes every cookie.
 *  @param storage the storage.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_cookie_storage_clear(ntapi_cookie_storage *storage);

/** Writes what has changed to disk now. It is done anyway: half a second later, when a client is drained or closed, and
 *  when the process exits.
 *  @param storage the storage.
 *  @param error receives the reason why it was not written, new; may be NULL.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_STATE when it was not written, or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes. Blocks while the file is written.
 *  @since 0.1 */
ntapi_status ntapi_cookie_storage_save(ntapi_cookie_storage *storage, ntapi_error **error);

/* ---- Sessions: cache
 * ----------------------------------------------------------------------------------------------------- */
/*
 * A session has a private HTTP cache after RFC 9111: responses to GET that their headers allow to be kept answer later
 * requests, as long as they are fresh or the server confirms them. An ephemeral session has its cache in memory, a
 * default session on disk, too, where it shares it with the other sessions and processes of the program. A background
 * session and a client without a configuration have none. Downloads and streams pass it by. A condition (If-None-Match,
 * If-Modified-Since) or a Range of the caller's is answered with 304, 206 or 416 by a fresh response; where the cache
 * cannot judge it, it goes to the server, whose answer is not stored.
 */

/** Where a response is kept. */
typedef enum ntapi_storage {
    NTAPI_STORAGE_NONE = 0,   /* nowhere */
    NTAPI_STORAGE_MEMORY = 1, /* in memory, until the process ends */
    NTAPI_STORAGE_DISK = 2    /* on disk and in memory */
} ntapi_storage;

/** Makes a cache, to be shared by sessions: ntapi_configuration_set_cache.
 *  @param memory_capacity how many bytes of memory responses may take.
 *  @param disk_capacity how many bytes of disk they may take.
 *  @param folder the absolute path of a folder for this alone, made when it is missing, copied; NULL is memory only.
 *  @returns the cache, new; NULL when a capacity is negative or the path is not absolute.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_cache *ntapi_cache_create(int64_t memory_capacity, int64_t disk_capacity, const char *folder);

/** Frees a handle to a cache; configurations and clients that have it keep it.
 *  @param cache takes; NULL does nothing. That of ntapi_client_cache is not to be freed.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_cache_free(ntapi_cache *cache);

/** Gives the clients that are made with a configuration from now on a cache, which others may use, too.
 *  @param configuration the configuration; background sessions do not use it.
 *  @param cache the cache, kept by the configuration; NULL, as at first, gives each client one of its kind.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_configuration_set_cache(ntapi_configuration *configuration, ntapi_cache *cache);

/** The cache of a client.
 *  @param client the client.
 *  @returns the cache, borrowed until the client is freed; NULL for a client that has none, and for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_cache *ntapi_client_cache(const ntapi_client *client);

/** Forgets every response.
 *  @param cache the cache.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes. Waits for the disk.
 *  @since 0.1 */
ntapi_status ntapi_cache_clear(ntapi_cache *cache);

/** Forgets the responses for a URL; that there are none is no error.
 *  @param cache the cache.
 *  @param url an http or https URL, borrowed for the call.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes. Waits for the disk.
 *  @since 0.1 */
ntapi_status ntapi_cache_remove(ntapi_cache *cache, const char *url);

/** How many bytes responses may take.
 *  @param cache the cache.
 *  @param storage NTAPI_STORAGE_MEMORY or NTAPI_STORAGE_DISK.
 *  @returns bytes; 0 for a cache without that, and for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
int64_t ntapi_cache_capacity(const ntapi_cache *cache, ntapi_storage storage);

/** How many bytes responses take now; on disk those of other processes included.
 *  @param cache the cache.
 *  @param storage NTAPI_STORAGE_MEMORY, about, or NTAPI_STORAGE_DISK.
 *  @returns bytes; 0 for a cache without that, and for a wrong handle.
 *  @threads any; from callbacks: yes. Waits for the disk.
 *  @since 0.1 */
int64_t ntapi_cache_usage(const ntapi_cache *cache, ntapi_storage storage);

/** Waits until what was stored is on disk. It is done anyway soon, when a client is drained, and when the process
 * exits.
 *  @param cache the cache.
 *  @param error receives the reason why something that was stored since the last call is not on disk, new; may be NULL.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_STATE when something was not written, or
 * NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes. Waits for the disk.
 *  @since 0.1 */
ntapi_status ntapi_cache_save(ntapi_cache *cache, ntapi_error **error);

/* ---- Sessions: credentials
 * ----------------------------------------------------------------------------------------------- */
/*
 * A credential storage has users and passwords by protection space: the scheme, host and port of a server, the realm
 * and the way of authentication that it asks for; or a proxy. A session that is asked for a credential (401, 407) looks
 * for one there before its program is asked. Nothing is sent before it is asked for. A credential that the server
 * refuses stays in the storage, and the program is asked, with one failure more.
 *
 * Default and background configurations have the storage of the program, in a file of the user's (0600) beside the
 * cookies; an ephemeral one has its own in memory, for the clients that are made with it. A client without a
 * configuration has none.
 */

/** How a server asks for a credential. */
typedef enum ntapi_authentication {
    NTAPI_AUTHENTICATION_BASIC = 1,
    NTAPI_AUTHENTICATION_DIGEST = 2
} ntapi_authentication;

/** Where a credential holds: a server, or a proxy. */
typedef struct ntapi_protection_space {
    const char *scheme; /* "http" or "https"; of a proxy, that of the connection to it */
    const char *host;
    int port;
    const char *realm; /* the part of the server; NULL when the server names none. It has no meaning for a proxy */
    ntapi_authentication authentication;
    bool is_proxy;
} ntapi_protection_space;

/** Makes a credential storage.
 *  @param file the absolute path of its file, copied, made when something is set. Only the user can read it (0600); the
 * passwords are plain text. NULL keeps all in memory.
 *  @returns the storage, new; NULL when the path is not absolute.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_credential_storage *ntapi_credential_storage_create(const char *file);

/** The credential storage of the program: its default and background configurations use it unless another one is set.
 *  @returns a handle to the storage, new.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_credential_storage *ntapi_credential_storage_shared(void);

/** Frees a handle to a credential storage; configurations and clients that have it keep it.
 *  @param storage takes; NULL does nothing. That of ntapi_client_credential_storage is not to be freed.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_credential_storage_free(ntapi_credential_storage *storage);

/** Sets a credential; it replaces one with the same user. The first one of a space is its default.
 *  @param storage the storage.
 *  @param space where it holds.
 *  @param user the user, copied; no control characters, and no colon for NTAPI_AUTHENTICATION_BASIC.
 *  @param password the password, copied; no control characters.
 *  @param error where to put the error, new, when it cannot be set; may be NULL.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_STATE when the file cannot be read or written, or
 *  NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes. Blocks while the file is written.
 *  @since 0.1 */
ntapi_status ntapi_credential_storage_set(ntapi_credential_storage *storage, const ntapi_protection_space *space,
                                          const char *user, const char *password, ntapi_error **error);

/** Sets a credential as ntapi_credential_storage_set does, and makes it the one that requests use.
 *  @param storage the storage.
 *  @param space where it holds.
 *  @param user the user, copied, as there.
 *  @param password the password, copied, as there.
 *  @param error where to put the error, new, when it cannot be set; may be NULL.
 *  @returns as ntapi_credential_storage_set.
 *  @threads any; from callbacks: yes. Blocks while the file is written.
 *  @since 0.1 */
ntapi_status ntapi_credential_storage_set_default(ntapi_credential_storage *storage,
                                                  const ntapi_protection_space *space, const char *user,
                                                  const char *password, ntapi_error **error);

/** The credentials: objects with the members of ntapi_protection_space (isProxy), and user and password. Within a space
 * the default comes first.
 *  @param storage the storage.
 *  @param space whose credentials; NULL is all.
 *  @param error where to put the error, new, when the file cannot be read or is damaged; may be NULL.
 *  @returns an array, new; NULL after an error, and for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_json *ntapi_credential_storage_get(const ntapi_credential_storage *storage, const ntapi_protection_space *space,
                                         ntapi_error **error);

/** Removes credentials; that there are none is no error.
 *  @param storage the storage.
 *  @param space where they hold.
 *  @param user the user, borrowed for the call; NULL is all.
 *  @param error where to put the error, new, when the file cannot be read or written; may be NULL.
 *  @returns as ntapi_credential_storage_set.
 *  @threads any; from callbacks: yes. Blocks while the file is written.
 *  @since 0.1 */
ntapi_status ntapi_credential_storage_remove(ntapi_credential_storage *storage, const ntapi_protection_space *space,
                                             const char *user, ntapi_error **error);

/** Removes every credential.
 *  @param storage the storage.
 *  @param error where to put the error, new, when the file cannot be read or written; may be NULL.
 *  @returns as ntapi_credential_storage_set.
 *  @threads any; from callbacks: yes. Blocks while the file is written.
 *  @since 0.1 */
ntapi_status ntapi_credential_storage_clear(ntapi_credential_storage *storage, ntapi_error **error);

/** Sets the credential storage of the clients that are made with a configuration from now on. Others may use it, too.
 *  @param configuration the configuration.
 *  @param storage the storage, kept by the configuration; NULL is none.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_configuration_set_credential_storage(ntapi_configuration *configuration,
                                                        ntapi_credential_storage *storage);

/** The credential storage of a client.
 *  @param client the client.
 *  @returns the storage, borrowed until the client is freed; NULL for a client that has none, and for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_credential_storage *ntapi_client_credential_storage(const ntapi_client *client);

/** Of a decision of kind NTAPI_DECISION_CACHE: where the response is stored unless another answer says so.
 *  @param decision the decision.
 *  @returns where; NTAPI_STORAGE_NONE for one of another kind.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_storage ntapi_decision_get_storage(const ntapi_decision *decision);

/** Answers: the response is stored in memory, and never written to disk.
 *  @param decision a decision of kind NTAPI_DECISION_CACHE.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE when it was answered before
 * or asks something else.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_decision_store_in_memory(ntapi_decision *decision);

/** What a decision of kind NTAPI_DECISION_CHALLENGE is about. */
typedef enum ntapi_challenge_kind {
    NTAPI_CHALLENGE_SERVER = 1, /* the server wants a user and a password (401) */
    NTAPI_CHALLENGE_PROXY = 2,  /* the proxy does (407) */
    NTAPI_CHALLENGE_CERTIFICATE =
        3 /* the server's certificate cannot be verified: whether it is trusted all the same */
} ntapi_challenge_kind;

/** What is asked for. */
typedef struct ntapi_challenge {
    ntapi_challenge_kind kind;
    const char *host;   /* that the request goes to */
    int port;           /* that the request goes to */
    const char *scheme; /* "Basic", which shows the password to whoever listens unless it is https, or "Digest" */
    const char *realm;  /* the part of the server; NULL when it is not told */
    int failures;       /* how many answers of this request were wrong; after a few the response is received as it is */
    const char *reason; /* why a certificate was not accepted; of a proxy's challenge, which proxy asks */
    const char *const *certificates; /* the chain that the server has shown, in PEM, its own first */
    size_t certificate_count;
    const ntapi_protection_space *space; /* where a credential for it holds; NULL for a certificate */
} ntapi_challenge;

/** What is asked for.
 *  @param decision the decision.
 *  @returns the challenge, borrowed until the decision is freed; NULL for a decision of another kind.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const ntapi_challenge *ntapi_decision_challenge(const ntapi_decision *decision);

/** How long an answer to a challenge is remembered. */
typedef enum ntapi_persistence {
    NTAPI_PERSISTENCE_NONE = 0,        /* for this request alone */
    NTAPI_PERSISTENCE_FOR_SESSION = 1, /* the client's other requests to the same space use it, too, until it fails */
    NTAPI_PERSISTENCE_PERMANENT = 2    /* stored in the client's credential storage, once the server has taken it */
} ntapi_persistence;

/** Answers a server's or a proxy's challenge: this user asks. If that was wrong, it is asked again.
 *  @param decision the decision.
 *  @param user the user, copied; no colon where the scheme is Basic, no control characters.
 *  @param password the password, copied; no control characters.
 *  @param persistence how long it is remembered; for a client without a credential storage, PERMANENT is FOR_SESSION.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE for one that was answered
 *  before or is no such challenge.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_decision_use_credential(ntapi_decision *decision, const char *user, const char *password,
                                           ntapi_persistence persistence);

/** Answers a challenge about a certificate: it is trusted. The request is sent to whoever shows it, and to nobody else.
 *  @param decision the decision.
 *  @param for_session whether the client's other requests to the same host and port trust it, too.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT for a wrong handle, or NTAPI_STATUS_INVALID_STATE for one
 *  that was answered before or is no such challenge.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_decision_trust(ntapi_decision *decision, bool for_session);

/** Of a retry: how many attempts were made.
 *  @param decision the decision.
 *  @returns the count; 0 of another kind, and for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
int ntapi_decision_attempt(const ntapi_decision *decision);

/** Of a retry: how long the request's policy would wait before the next attempt.
 *  @param decision the decision.
 *  @returns seconds; negative when it would let the response stand, of another kind, and for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
double ntapi_decision_wait(const ntapi_decision *decision);

/** Of a retry: what came of the attempt, with its error; its body and JSON can be read.
 *  @param decision the decision.
 *  @returns the response, new; NULL of another kind, and for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_response *ntapi_decision_response(const ntapi_decision *decision);

/** Of a retry: the request is sent again, whatever its policy says of the status and the wait.
 *  Not when that would be after the total timeout.
 *  @param decision the decision.
 *  @param seconds how long to wait before; from 0.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE when it was answered, or is
 * of another kind.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_decision_retry(ntapi_decision *decision, double seconds);

/* ---- Client and hooks
 * ------------------------------------------------------------------------------------------------ */

/** Makes a client.
 *  @param class_handle its class; NULL is the base class. Kept alive by the client.
 *  @param base_url the base URL, copied; NULL looks up the default baseUrl at each request.
 *  @returns the client, new; NULL when a handle or text is wrong.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_client *ntapi_client_create(ntapi_class *class_handle, const char *base_url);

/** Makes a client that is a session.
 *  @param class_handle its class; NULL is the base class. Kept alive by the client.
 *  @param base_url the base URL, copied; NULL looks up the default baseUrl at each request.
 *  @param configuration its kind and settings, copied: what is set later changes nothing; NULL is none, as in
 *         ntapi_client_create.
 *  @returns the client, new; NULL when a handle or text is wrong.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_client *ntapi_client_create_with_configuration(ntapi_class *class_handle, const char *base_url,
                                                     const ntapi_configuration *configuration);

/** Frees a handle to a client. Requests that run go on and call their handlers.
 *  @param client takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_client_free(ntapi_client *client);

/** Closes a client: cancels what runs (each handler is called once, with "request cancelled") and refuses new requests.
 *  The transfers of a background session are kept instead (NTAPI_CODE_DETACHED); it can be opened again when their
 *  handlers have returned.
 *  @param client the client.
 *  @returns NTAPI_STATUS_OK, also the second time, or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes. Does not wait: see ntapi_client_drain.
 *  @since 0.1 */
ntapi_status ntapi_client_close(ntapi_client *client);

/** Refuses new requests and lets those that were made go on.
 *  When the last handler has returned, the session is invalid (ntapi_hooks.session_invalidated). A suspended
 * request may be resumed until then.
 *  @param client the client.
 *  @returns NTAPI_STATUS_OK, also the second time, or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes. Does not wait: see ntapi_client_drain.
 *  @since 0.1 */
ntapi_status ntapi_client_finish_and_invalidate(ntapi_client *client);

/** Cancels what runs and refuses new requests; the transfers of a background session are given up.
 *  When the last handler has returned, the session is invalid (ntapi_hooks.session_invalidated). Restored
 *  transfers that were not resumed yet are given up, too; for other sessions this is ntapi_client_close.
 *  @param client the client.
 *  @returns NTAPI_STATUS_OK, also the second time, or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes. Does not wait: see ntapi_client_drain.
 *  @since 0.1 */
ntapi_status ntapi_client_invalidate_and_cancel(ntapi_client *client);

/** Cancels every request of the client; new ones may be begun.
 *  @param client the client.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_client_cancel_all(ntapi_client *client);

/** Waits until every begun request of the client has called its handler; runs the calling thread's mailbox meanwhile.
 *  @param client the client.
 *  @param timeout seconds at most; negative for ever.
 *  @returns how many requests are left; 0 when all are done; SIZE_MAX for a wrong handle.
 *  @threads any; from callbacks: yes, the calling callback's own request is not waited for.
 *  @since 0.1 */
size_t ntapi_client_drain(ntapi_client *client, double timeout);

/** Sets the client's own args, which come before those of each request.
 *  @param client the client.
 *  @param args the args, copied; NULL removes them.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_client_set_args(ntapi_client *client, const ntapi_args *args);

/** Sets the client's log flags; until then the default logFlags rules, and without one ntapi_log_set_flags.
 *  @param client the client.
 *  @param flags NTAPI_LOG_... with |.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_client_set_log_flags(ntapi_client *client, int flags);

/** What the client logs: its own flags, the default logFlags, or those of ntapi_log_set_flags.
 *  @param client the client.
 *  @returns NTAPI_LOG_... with |; 0 for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
int ntapi_client_log_flags(const ntapi_client *client);

/** Adjusts the args of a request before they are applied. Runs on the thread that begins the request. args: borrowed.
 */
typedef void (*ntapi_build_args_fn)(void *user_data, const char *command, ntapi_args *args);
/** Adjusts the built request. Runs on the thread that begins the request. http_request: borrowed for the call. */
typedef void (*ntapi_build_request_fn)(void *user_data, ntapi_http_request *http_request);
/** A request starts. Runs on the thread that begins or resumes it. request: borrowed for the call. */
typedef void (*ntapi_started_fn)(void *user_data, ntapi_request *request);
/** An interim answer has come, such as 103 (early hints), before the answer itself; not for 100 and 101. Runs on a
 * background worker; the response waits until it has returned. Both borrowed for the call. */
typedef void (*ntapi_information_fn)(void *user_data, ntapi_request *request, int status, const ntapi_headers *headers);
/** What a request took is known; the hook for completed requests follows. Runs on a background worker, in a perform on
 * its thread. Both borrowed for the call. metrics: as ntapi_response_request_metrics. */
typedef void (*ntapi_metrics_collected_fn)(void *user_data, ntapi_request *request, const ntapi_json *metrics);
/** Some of a body was sent, or received: bytes so far, and in all, negative while unknown. Runs where the request's own
 * handler of that progress runs, just before it. request: borrowed for the call. */
typedef void (*ntapi_progressed_fn)(void *user_data, ntapi_request *request, int64_t bytes, int64_t total);
/** A piece of the body of a successful response has come, decompressed. Runs where the request's own data handler runs,
 * just before it; the network waits meanwhile. It only watches: the response still holds the body, unless the
 * request has a data handler of its own. A request that is sent again after its connection broke shows its body from
 * the beginning; what is written into a file is not shown. Both borrowed for the call. */
typedef void (*ntapi_data_received_fn)(void *user_data, ntapi_request *request, const void *bytes, size_t length);
/** The client was closed or invalidated, and the last of its handlers has returned. Runs once, on a background worker.
 */
typedef void (*ntapi_session_invalidated_fn)(void *user_data);
/** A request has its response; its handler follows. Runs on a background worker, in a perform on its thread. Both
 * borrowed for the call. */
typedef void (*ntapi_completed_fn)(void *user_data, ntapi_request *request, const ntapi_response *response);
/** Parses a body instead of the library. Runs on a background worker, in a perform on its thread. Returns a new JSON
 * document (the library takes it), or NULL: with *error set to a new error the response gets that error, without it the
 * response has no JSON. ntapi_json_parse takes some 30 times as long as the library does. */
typedef ntapi_json *(*ntapi_parse_json_fn)(void *user_data, const void *bytes, size_t length, ntapi_error **error);
/** Receives the client's log lines instead of the process's sink. As ntapi_log_fn. */
typedef void (*ntapi_write_log_fn)(void *user_data, ntapi_log level, const char *message);
/** Turns a service's own error fields into an error: returns a new error (the library takes it), or NULL for none.
 *  Runs on a background worker (in a perform on its thread) for every response that has JSON and no error of the
 * network. response: borrowed; ntapi_response_decode reads the JSON of an HTTP error, too, while this runs. A wrong
 * handle is no error. */
typedef ntapi_error *(*ntapi_map_service_error_fn)(void *user_data, const ntapi_response *response);
/** Sees every error that a request ends with, of any domain, a cancelled request's too: returns a new error to replace
 * it (the library takes it), or NULL, which keeps it. Runs once for each request that ends with an error, on a
 * background worker (in a perform on its thread): after retries and redirects, and before the log, the hook for
 * completed requests and the handlers, which see the new error. Where it has no HTTP status or Retry-After, it gets
 * those of the old one. Both borrowed for the call; ntapi_response_decode reads the JSON of an error, too, while this
 * runs. A wrong handle is no error. */
typedef ntapi_error *(*ntapi_map_error_fn)(void *user_data, const ntapi_error *error, const ntapi_response *response);

/** The hooks of a client; NULL for what is not wanted: {.size = sizeof(ntapi_hooks), .completed = completed}. */
typedef struct ntapi_hooks {
    size_t size; /* of this struct, which may grow in later versions */
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
    int decisions; /* ntapi_decision_kind values that decide wants to be asked for, with | */
} ntapi_hooks;

/** Sets the client's hooks. Requests that run use the new ones from their next hook on.
 *  @param client the client.
 *  @param hooks the hooks, copied; NULL removes them.
 *  @param user_data given to each.
 *  @param destroy ends user_data after the last call; may be NULL.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT (destroy has then been called).
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_client_set_hooks(ntapi_client *client, const ntapi_hooks *hooks, void *user_data,
                                    ntapi_destroy_fn destroy);

/** The method of a built request.
 *  @param http_request the request, in its hook.
 *  @returns text, borrowed until the hook returns; NULL for a wrong handle.
 *  @threads the hook's own.
 *  @since 0.1 */
const char *ntapi_http_request_method(const ntapi_http_request *http_request);

/** Changes the method of a built request.
 *  @param http_request the request, in its hook.
 *  @param method a token of RFC 9110, copied.
 *  @returns NTAPI_STATUS_OK, or NTAPI_STATUS_INVALID_ARGUMENT when it is not one.
 *  @threads the hook's own.
 *  @since 0.1 */
ntapi_status ntapi_http_request_set_method(ntapi_http_request *http_request, const char *method);

/** The URL of a built request, with its query.
 *  @param http_request the request, in its hook.
 *  @returns text, borrowed until the hook returns; NULL for a wrong handle.
 *  @threads the hook's own.
 *  @since 0.1 */
const char *ntapi_http_request_url(const ntapi_http_request *http_request);

/** Changes the URL of a built request.
 *  @param http_request the request, in its hook.
 *  @param url an http or https URL, copied.
 *  @returns NTAPI_STATUS_OK, or NTAPI_STATUS_INVALID_ARGUMENT when it is not one.
 *  @threads the hook's own.
 *  @since 0.1 */
ntapi_status ntapi_http_request_set_url(ntapi_http_request *http_request, const char *url);

/** The headers of a built request.
 *  @param http_request the http_request.
 *  @returns the headers, borrowed until the http_request is freed; NULL when there is none.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const ntapi_headers *ntapi_http_request_headers(const ntapi_http_request *http_request);

/** Sets or removes a header of a built request.
 *  @param http_request the request, in its hook.
 *  @param name the header's name, copied.
 *  @param value the value, copied; NULL removes the header.
 *  @returns NTAPI_STATUS_OK, or NTAPI_STATUS_INVALID_ARGUMENT when name or value may not be sent.
 *  @threads the hook's own.
 *  @since 0.1 */
ntapi_status ntapi_http_request_set_header(ntapi_http_request *http_request, const char *name, const char *value);

/** Sets a header of a built request whose value is a secret.
 *  Logs and recordings redact it, a redirect to another origin goes without it, and the cache gives the answer to
 * nobody else.
 *  @param http_request the request, in its hook.
 *  @param name the header's name, copied.
 *  @param value the value, copied.
 *  @returns NTAPI_STATUS_OK, or NTAPI_STATUS_INVALID_ARGUMENT when name or value may not be sent.
 *  @threads the hook's own.
 *  @since 0.1 */
ntapi_status ntapi_http_request_set_secret_header(ntapi_http_request *http_request, const char *name,
                                                  const char *value);

/** What the body of a built request is. */
typedef enum ntapi_body_kind {
    NTAPI_BODY_KIND_NONE = 0,
    NTAPI_BODY_KIND_BYTES = 1, /* of the args data, json and form, too */
    NTAPI_BODY_KIND_MULTIPART = 2,
    NTAPI_BODY_KIND_FILE = 3,
    NTAPI_BODY_KIND_STREAM = 4
} ntapi_body_kind;

/** What the body of a built request is.
 *  @param http_request the request, in its hook.
 *  @returns the kind; NTAPI_BODY_KIND_NONE for a wrong handle, too.
 *  @threads the hook's own.
 *  @since 0.1 */
ntapi_body_kind ntapi_http_request_get_body_kind(const ntapi_http_request *http_request);

/** The bytes of the body of a built request.
 *  @param http_request the request, in its hook.
 *  @param length where to put how many they are; may be NULL.
 *  @returns the bytes, NUL-terminated, borrowed until the hook returns; NULL when the body is not
 * NTAPI_BODY_KIND_BYTES.
 *  @threads the hook's own.
 *  @since 0.1 */
const char *ntapi_http_request_body(const ntapi_http_request *http_request, size_t *length);

/** Puts bytes in place of the body of a built request. Content-Type stays as it is.
 *  @param http_request the request, in its hook.
 *  @param bytes the bytes, copied; NULL removes the body.
 *  @param length how many.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads the hook's own.
 *  @since 0.1 */
ntapi_status ntapi_http_request_set_body(ntapi_http_request *http_request, const void *bytes, size_t length);

/** A timeout of a built request.
 *  @param http_request the request, in its hook.
 *  @param clock which clock; NTAPI_CLOCK_IDLE is the request timeout.
 *  @returns seconds; negative for none, and for a wrong handle.
 *  @threads the hook's own.
 *  @since 0.1 */
double ntapi_http_request_timeout(const ntapi_http_request *http_request, ntapi_clock clock);

/** Changes a timeout of a built request.
 *  @param http_request the request, in its hook.
 *  @param clock which clock.
 *  @param seconds above 0; negative or infinite for none.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads the hook's own.
 *  @since 0.1 */
ntapi_status ntapi_http_request_set_timeout(ntapi_http_request *http_request, ntapi_clock clock, double seconds);

/** The cache policy of a built request.
 *  @param http_request the request, in its hook.
 *  @returns the policy; NTAPI_CACHE_POLICY_PROTOCOL for a wrong handle, too.
 *  @threads the hook's own.
 *  @since 0.1 */
ntapi_cache_policy ntapi_http_request_cache_policy(const ntapi_http_request *http_request);

/** Changes the cache policy of a built request.
 *  @param http_request the request, in its hook.
 *  @param policy the policy.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads the hook's own.
 *  @since 0.1 */
ntapi_status ntapi_http_request_set_cache_policy(ntapi_http_request *http_request, ntapi_cache_policy policy);

/** The value of an option of a built request.
 *  @param http_request the request, in its hook.
 *  @param name the option's name, borrowed for the call.
 *  @returns text, borrowed until the hook returns, "" for one that was set without a value; NULL when it is not set.
 *  @threads the hook's own.
 *  @since 0.1 */
const char *ntapi_http_request_option(const ntapi_http_request *http_request, const char *name);

/** Sets or removes an option of a built request. It counts in the hook build request; a redirect has those of its
 *  request. A wrong value of a built-in option makes an invalid request. Headers that were made of options stay.
 *  @param http_request the request, in its hook.
 *  @param name the option's name, copied.
 *  @param value the value, copied; "" switches it on; NULL removes it.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads the hook's own.
 *  @since 0.1 */
ntapi_status ntapi_http_request_set_option(ntapi_http_request *http_request, const char *name, const char *value);

/** The priority of a built request.
 *  @param http_request the request, in its hook.
 *  @returns from 0 (last) to 1 (first); 0 for a wrong handle.
 *  @threads the hook's own.
 *  @since 0.1 */
double ntapi_http_request_priority(const ntapi_http_request *http_request);

/** Changes the priority of a built request. It counts in the hook build request.
 *  @param http_request the request, in its hook.
 *  @param priority from 0 (last) to 1 (first), among requests that wait for a connection to the same host.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads the hook's own.
 *  @since 0.1 */
ntapi_status ntapi_http_request_set_priority(ntapi_http_request *http_request, double priority);

/** Makes a built request what another one is: method, URL, headers, body, timeouts and all.
 *  @param http_request the request, in its hook.
 *  @param other the other, in its own hook; copied.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads the hook's own.
 *  @since 0.1 */
ntapi_status ntapi_http_request_assign(ntapi_http_request *http_request, const ntapi_http_request *other);

/* ---- Credentials that expire
 * ------------------------------------------------------------------------------------------ */
/*
 * An authenticator gives a client's requests their token, and asks for another one once for all requests that wait for
 * it. A request that is rejected because its token has expired waits for the refresh, and is then sent once more; what
 * it gets then is delivered. A failed refresh fails all that wait, with one error (NTAPI_CODE_AUTHENTICATION), and
 * answers for a second for those that come next. While it waits, a request's idle and total timeouts run, and it may be
 * cancelled; the refresh goes on.
 *
 * The token goes to the origin of the client's base URL and to those of ntapi_authenticator_add_origin. A request with
 * that header of its own, or with NTAPI_OPTION_BYPASS_AUTHENTICATION, goes without; so does what the refresh callback
 * begins before it returns.
 */

/** Makes another token. May block, and may make requests and wait for them.
 *  @param user_data as registered.
 *  @param refresh the wish, new: answer it with ntapi_refresh_succeed, _fail or _decline, at once or later, on any
 *  thread. */
typedef void (*ntapi_refresh_fn)(void *user_data, ntapi_refresh *refresh);

/** Makes an authenticator. It may serve several clients.
 *  @param refresh called when a token is needed, on a background worker or where ntapi_authenticator_set_mailbox says.
 *  @param user_data given to refresh.
 *  @param destroy ends user_data after the last call; may be NULL.
 *  @returns the authenticator, new; NULL when refresh is NULL (destroy has then been called).
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_authenticator *ntapi_authenticator_create(ntapi_refresh_fn refresh, void *user_data, ntapi_destroy_fn destroy);

/** Frees a handle to an authenticator; its clients keep it.
 *  @param authenticator takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_authenticator_free(ntapi_authenticator *authenticator);

/** Uses a token from now on, also for the requests that wait.
 *  @param authenticator the authenticator.
 *  @param token the token, copied; NULL makes the next request ask for one.
 *  @param lifetime seconds for which it is good; negative when unknown. It is refreshed ahead of its end.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_authenticator_set_token(ntapi_authenticator *authenticator, const char *token, double lifetime);

/** The token that requests carry now, good or not.
 *  @param authenticator the authenticator.
 *  @returns text, new: end it with ntapi_text_free; NULL when there is none.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
char *ntapi_authenticator_token(ntapi_authenticator *authenticator);

/** Says which header carries the token; "Authorization" and "Bearer" until then.
 *  @param authenticator the authenticator.
 *  @param header the header's name, copied.
 *  @param scheme what stands before the token, copied; "" is nothing.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_authenticator_set_header(ntapi_authenticator *authenticator, const char *header, const char *scheme);

/** Says by which statuses a server says that the token has expired; 401 until then.
 *  A challenge that gives another reason (RFC 6750, 3.1: insufficient_scope, invalid_request) is believed.
 *  @param authenticator the authenticator.
 *  @param statuses the statuses, copied; each from 100 to 999.
 *  @param count how many; at least 1.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_authenticator_set_statuses(ntapi_authenticator *authenticator, const int *statuses, size_t count);

/** Names another server that may see the token, too.
 *  @param authenticator the authenticator.
 *  @param url an http or https URL, copied; its path does not matter.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_authenticator_add_origin(ntapi_authenticator *authenticator, const char *url);

/** Says how long a refresh may take; 30 s until then.
 *  @param authenticator the authenticator.
 *  @param seconds above 0. A token that comes later is still used.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_authenticator_set_timeout(ntapi_authenticator *authenticator, double seconds);

/** Says that the refresh callback runs when a mailbox is drained.
 *  @param authenticator the authenticator.
 *  @param mailbox the mailbox, not kept: see ntapi_mailbox_free. NULL goes back to a background worker.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_authenticator_set_mailbox(ntapi_authenticator *authenticator, ntapi_mailbox *mailbox);

/** Gives the client's requests credentials that expire. For requests begun from now on.
 *  @param client the client.
 *  @param authenticator the authenticator, kept by the client; NULL removes it.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_client_set_authenticator(ntapi_client *client, ntapi_authenticator *authenticator);

/** The token that has expired, or will soon.
 *  @param refresh the wish.
 *  @returns text, borrowed until refresh is answered or freed; NULL when there was none.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_refresh_token(const ntapi_refresh *refresh);

/** The server's answer that says so.
 *  @param refresh the wish.
 *  @returns the response, new; NULL when nobody was asked yet: there is no token, or its time is over.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_response *ntapi_refresh_response(const ntapi_refresh *refresh);

/** Sends every request that waits, once more or for the first time, with this token.
 *  @param refresh takes.
 *  @param token the token, copied. One that cannot stand in a header fails the refresh.
 *  @param lifetime seconds for which it is good; negative when unknown.
 *  @returns NTAPI_STATUS_OK, or NTAPI_STATUS_INVALID_ARGUMENT: the refresh has then failed.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_refresh_succeed(ntapi_refresh *refresh, const char *token, double lifetime);

/** Ends every request that waits with an error that tells of this one.
 *  @param refresh takes.
 *  @param error the reason, borrowed for the call; may be NULL.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_refresh_fail(ntapi_refresh *refresh, const ntapi_error *error);

/** Says that the response does not mean that the token has expired: it is delivered as it is.
 *  Without a response: there is no token to be had, and the requests that wait for one fail.
 *  @param refresh takes.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_refresh_decline(ntapi_refresh *refresh);

/** Frees a wish that was not answered: the refresh has failed.
 *  @param refresh takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_refresh_free(ntapi_refresh *refresh);

/* ---- Attempts and limits
 * ------------------------------------------------------------------------------------------------ */
/*
 * A retry policy (ntapi_args_retry, NTAPI_DEFAULT_RETRY) sends a request again that has failed for a reason that may
 * pass. Only what may be sent twice: with an idempotent method (RFC 9110, 9.2.2) or an idempotency key, or what surely
 * never reached the server; not with a body from a stream without rewind, and not when a data handler has got a part of
 * the body. A download goes on where it was. The wait is by lot, from 0 to a bound that doubles each time, and no
 * shorter than the server's Retry-After; one that would end after the total timeout is not begun. The error that is
 * left says why there was no other attempt. Hooks hear of a request once, however many attempts it takes.
 *
 * A rate limiter lets at most so many requests go in so many seconds; those that are too many wait for their turn, by
 * priority and then in order, and may be suspended and cancelled meanwhile. One that would have to wait beyond its
 * total or queue timeout fails at once with NTAPI_CODE_TIMEOUT.
 */

/** Makes a rate limiter. It may serve several clients, which then share the limit.
 *  Each exchange with a server counts: a redirect, a replay with other credentials and another attempt, too.
 *  @param requests how many, above 0.
 *  @param seconds in how many seconds, above 0. They go evenly.
 *  @param burst how many may go at once after a while in which none did; 1 is none more than usual.
 *  @returns the limiter, new; NULL for numbers that make no sense.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_rate_limiter *ntapi_rate_limiter_create(double requests, double seconds, int burst);

/** Frees a handle to a rate limiter; its clients keep it.
 *  @param limiter takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_rate_limiter_free(ntapi_rate_limiter *limiter);

/** Says for how long a 429 or 503 with Retry-After may hold up all.
 *  @param limiter the limiter.
 *  @param seconds at most; 0 never; 60 until then.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_rate_limiter_set_maximum_pause(ntapi_rate_limiter *limiter, double seconds);

/** Lets no request go for some time.
 *  @param limiter the limiter.
 *  @param seconds how long, from now; a longer pause that runs is not cut short.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_rate_limiter_pause(ntapi_rate_limiter *limiter, double seconds);

/** How many requests wait for their turn now.
 *  @param limiter the limiter.
 *  @returns the count; 0 for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
size_t ntapi_rate_limiter_waiting(const ntapi_rate_limiter *limiter);

/** Gives the client a rate limit, in the place of the default NTAPI_DEFAULT_RATE_LIMIT. For requests made from now on.
 *  @param client the client.
 *  @param limiter the limiter, kept by the client; NULL removes it.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_client_set_rate_limiter(ntapi_client *client, ntapi_rate_limiter *limiter);

/* ---- Interceptors
 * ---------------------------------------------------------------------------------------------------- */
/*
 * An interceptor stands on the way of a request. It looks at what is sent and at what comes back, and may change it,
 * answer it without the network, let it fail, hold it, or send it again. One for the CALL stands around the whole
 * request: once for each, before redirects, retries, credentials and the cache, and it sees the final answer before
 * that is parsed. One for the ATTEMPT stands around each exchange with a server: every redirect, retry and replay
 * passes it again, and what the cache answers does not. It comes last before the network, so that signatures are fresh;
 * stubs and recorders see what it made of the request. What it makes another request (method, URL, credentials) is not
 * cached.
 *
 * Several of one scope nest: those of the configuration are outside, then those of the client, then those of the args;
 * of each the first that was added is the outermost. A request uses those that there are when it begins.
 *
 * ONE PASSAGE of a request through an interceptor:
 *   1. The intercept function is called with an interception without a response.
 *   2. It is answered, in the call or later, from any thread, with one of
 *        proceed   the request goes on; the interceptor does not see its answer;
 *        send      the request goes on, and step 3 follows when its answer is there;
 *        respond   this is the answer; nothing is sent;
 *        fail      the request fails with this error.
 *   3. The intercept function is called with an interception that has the response, or the error in its place. Here
 *        proceed   lets the response pass;
 *        send      sends the request again; step 3 follows once more, as often as you like;
 *        respond   puts another answer in place of the response;
 *        fail      puts an error in place of the response.
 * Interceptors further out see what those inside made of it. An interception that is freed without an answer proceeds.
 * The request that is shown may be changed (ntapi_http_request_set_...), from any thread, until the answer; proceed in
 * step 2 and send in both steps send it as it then is. Its texts are borrowed until the interception is freed.
 *
 * The function for the end tells that a passage is over before the interceptor has let it go: the request was
 * cancelled, is out of time, or failed elsewhere. Answers come too late then. It is called at most once for a passage,
 * never before or during a call of its intercept function, and no call follows it. It need not be there.
 *
 * All calls run on background workers and may block, which holds up no other request; two calls, also of one passage,
 * may run at once when the first has answered before it returned. All of them return before the request's response
 * handler runs. What the interceptors of a request wait for counts towards its total timeout.
 * The destroy function runs when the client, the configuration, the args and all requests that use the interceptor are
 * gone, and its interceptions freed.
 */

/** Where an interceptor stands. */
typedef enum ntapi_interceptor_scope {
    NTAPI_INTERCEPTOR_CALL = 0,   /* around the whole request */
    NTAPI_INTERCEPTOR_ATTEMPT = 1 /* around each exchange with a server */
} ntapi_interceptor_scope;

/** A request passes, or its answer. Runs on a background worker, and may block.
 *  @param user_data as registered.
 *  @param interception what passes, new: keep it until you answer it, and free it. */
typedef void (*ntapi_intercept_fn)(void *user_data, ntapi_interception *interception);

/** A passage is over, and the interceptor has not let it go. Runs on a background worker.
 *  @param user_data as registered.
 *  @param passage as ntapi_interception_passage. */
typedef void (*ntapi_interceptor_end_fn)(void *user_data, uint64_t passage);

/** Adds an interceptor to a client, inside those it has. For requests begun from now on.
 *  @param client the client.
 *  @param scope where it stands.
 *  @param intercept what it does.
 *  @param end hears of passages that end early; may be missing.
 *  @param user_data for both functions.
 *  @param destroy ends user_data; may be missing.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_client_add_interceptor(ntapi_client *client, ntapi_interceptor_scope scope,
                                          ntapi_intercept_fn intercept, ntapi_interceptor_end_fn end, void *user_data,
                                          ntapi_destroy_fn destroy);

/** Replaces the interceptors that were added to a client, in one step. For requests begun from now on.
 *  @param client the client.
 *  @param args of these the interceptors count, in order; NULL is none.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_client_set_interceptors(ntapi_client *client, const ntapi_args *args);

/** Adds an interceptor to a configuration, inside those it has. For clients made from now on.
 *  @param configuration the configuration.
 *  @param scope where it stands.
 *  @param intercept what it does.
 *  @param end hears of passages that end early; may be missing.
 *  @param user_data for both functions.
 *  @param destroy ends user_data; may be missing.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_configuration_add_interceptor(ntapi_configuration *configuration, ntapi_interceptor_scope scope,
                                                 ntapi_intercept_fn intercept, ntapi_interceptor_end_fn end,
                                                 void *user_data, ntapi_destroy_fn destroy);

/** Lets an interceptor look at the request, inside those of the client.
 *  @param args the list.
 *  @param scope where it stands.
 *  @param intercept what it does; NULL suppresses.
 *  @param end hears of passages that end early; may be missing.
 *  @param user_data for both functions.
 *  @param destroy ends user_data; may be missing.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_args_interceptor(ntapi_args *args, ntapi_interceptor_scope scope, ntapi_intercept_fn intercept,
                                    ntapi_interceptor_end_fn end, void *user_data, ntapi_destroy_fn destroy);

/** Frees an interception; one without an answer proceeds, with the request as it was changed.
 *  @param interception takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_interception_free(ntapi_interception *interception);

/** The number of the passage: the same for a request and for its answers, and for no other passage of the process.
 *  @param interception the interception.
 *  @returns the number, from 1; 0 for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
uint64_t ntapi_interception_passage(const ntapi_interception *interception);

/** Whether it is the answer that passes.
 *  @param interception the interception.
 *  @returns true on the way back, also when there is an error in place of a response; false on the way to the server,
 *  and for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
bool ntapi_interception_has_response(const ntapi_interception *interception);

/** The request of the client that it is about.
 *  @param interception the interception.
 *  @returns the request, borrowed until the interception is freed; NULL for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_request *ntapi_interception_request(const ntapi_interception *interception);

/** The request that goes on; on the way back, the one that was answered.
 *  It may be changed with ntapi_http_request_set_...: proceed (before there is a response) and send take it as it is.
 *  @param interception the interception.
 *  @returns the request, borrowed until the interception is freed; NULL for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_http_request *ntapi_interception_http_request(const ntapi_interception *interception);

/** How often the request has passed interceptors of this scope. For the attempt: which exchange it is.
 *  @param interception the interception.
 *  @returns the number, from 1; 0 for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
int ntapi_interception_number(const ntapi_interception *interception);

/** Why the request passes.
 *  "first"; "redirect"; "retry"; "credentials" (with another token, password or certificate); "reconnect" (the next
 *  connection of a stream of events); "range" (for the next part of a file, or for all of it again); "reload" (the
 * cache could not use what the server said); "interceptor" (one sends it again). More may come.
 *  @param interception the interception.
 *  @returns text, borrowed until the interception is freed; NULL for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_interception_reason(const ntapi_interception *interception);

/** Whether the request goes to the origin of its client's base URL. A redirect may lead elsewhere: add nothing secret
 *  there.
 *  @param interception the interception.
 *  @returns true there; false elsewhere, and for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
bool ntapi_interception_is_own_origin(const ntapi_interception *interception);

/** The status of the response.
 *  @param interception the interception.
 *  @returns the status; 0 when there is no response.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
int ntapi_interception_status(const ntapi_interception *interception);

/** The headers of the response.
 *  @param interception the interception.
 *  @returns the headers, borrowed until the interception is freed; NULL when there is none.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const ntapi_headers *ntapi_interception_headers(const ntapi_interception *interception);

/** The body of the response, decompressed. Empty when it went elsewhere: to a data handler, or into a file.
 *  @param interception the interception.
 *  @param length where to put how many bytes they are; may be NULL.
 *  @returns the bytes, NUL-terminated, borrowed until the interception is freed; NULL when no answer passes.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_interception_body(const ntapi_interception *interception, size_t *length);

/** Why there is no whole response. A status of 300 or above is no error here.
 *  @param interception the interception.
 *  @returns the error, borrowed until the interception is freed; NULL when there is none.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const ntapi_error *ntapi_interception_error(const ntapi_interception *interception);

/** Answers: the request goes on as it is now, or the response passes.
 *  @param interception the interception.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE when it was answered before
 * or the passage is over.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_interception_proceed(ntapi_interception *interception);

/** Answers: the request is sent as it is now, and the interceptor sees its answer. On the way back that is once more.
 *  A body from a stream is rewound before it is sent again; where that cannot be, the answer is an error.
 *  @param interception the interception.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE when it was answered before
 * or the passage is over.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_interception_send(ntapi_interception *interception);

/** Answers: this is the response.
 *  @param interception the interception.
 *  @param status from 200 to 999.
 *  @param headers those of its args that set headers, copied, the others do not count; NULL is none.
 *  @param body the bytes, copied; may be NULL when length is 0.
 *  @param length how many.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE when it was answered before
 * or the passage is over.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_interception_respond(ntapi_interception *interception, int status, const ntapi_args *headers,
                                        const void *body, size_t length);

/** Answers: the request fails, unless an interceptor further out does something else about it.
 *  @param interception the interception.
 *  @param error why, copied (ntapi_error_create makes one); NULL is NTAPI_CODE_GENERIC.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE when it was answered before
 * or the passage is over.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_interception_fail(ntapi_interception *interception, const ntapi_error *error);

/* ---- Requests
 * -------------------------------------------------------------------------------------------------------- */

/** What ntapi_request_bytes can tell: bytes of bodies. */
typedef enum ntapi_bytes {
    NTAPI_BYTES_SENT = 0,
    NTAPI_BYTES_EXPECTED_TO_SEND = 1,    /* -1 while unknown */
    NTAPI_BYTES_RECEIVED = 2,            /* as they came over the wire */
    NTAPI_BYTES_EXPECTED_TO_RECEIVE = 3, /* that the server announced; -1 while unknown */
    NTAPI_BYTES_DECODED = 4              /* received, after decompression */
} ntapi_bytes;

/** The state of a request. */
typedef enum ntapi_request_state {
    NTAPI_REQUEST_STATE_NONE = 0,      /* not a request */
    NTAPI_REQUEST_STATE_SUSPENDED = 1, /* created and not yet resumed, or suspended since */
    NTAPI_REQUEST_STATE_RUNNING = 2,   /* until its handler is called */
    NTAPI_REQUEST_STATE_COMPLETED = 3,
    NTAPI_REQUEST_STATE_CANCELLED = 4 /* cancelled by the caller; the handler gets "request cancelled" */
} ntapi_request_state;

/** Receives the response of a request, exactly once, as the last of its callbacks. response: borrowed for the call. */
typedef void (*ntapi_response_fn)(void *user_data, const ntapi_response *response);

/** Receives progress: bytes so far and bytes expected (-1 while unknown). First 0 of total when the total is known,
 * last total of total; calls are coalesced to the latest when the handler is slower than the network. */
typedef void (*ntapi_progress_fn)(void *user_data, int64_t bytes, int64_t total);

/** Receives a piece of the body of a successful response, decompressed; 320 KB at most.
 *  @param user_data as registered.
 *  @param bytes the piece, borrowed for the call.
 *  @param length how many bytes it has; at least 1. */
typedef void (*ntapi_data_fn)(void *user_data, const char *bytes, size_t length);

/** Receives a JSON value of a body that has one in each line.
 *  @param user_data as registered.
 *  @param value the value, borrowed for the call. */
typedef void (*ntapi_json_fn)(void *user_data, const ntapi_json *value);

/** Receives an event of a stream of server-sent events.
 *  @param user_data as registered.
 *  @param event the event, borrowed for the call with its texts. */
typedef void (*ntapi_server_event_fn)(void *user_data, const ntapi_server_event *event);

/** Begins a request.
 *  @param client the client; the request keeps it alive.
 *  @param command the path below the base URL, copied; may contain {name}; NULL is "".
 *  @param args the args, copied; NULL is none.
 *  @param handler receives the response; NULL when only ntapi_request_wait is of interest.
 *  @param user_data given to handler.
 *  @param destroy ends user_data after the handler; may be NULL.
 *  @returns the request, new (freeing it does not end the request); NULL for a wrong handle (destroy has been called).
 *  @threads any; from callbacks: yes. The handler is never called inside this call.
 *  @since 0.1 */
ntapi_request *ntapi_client_begin(ntapi_client *client, const char *command, const ntapi_args *args,
                                  ntapi_response_fn handler, void *user_data, ntapi_destroy_fn destroy);

/** Makes a request that waits for ntapi_request_resume, so that handlers can be set first.
 *  @param client the client; the request keeps it alive.
 *  @param command the path below the base URL, copied; NULL is "".
 *  @param args the args, copied; NULL is none.
 *  @returns the request, new; NULL for a wrong handle.
 *  @threads any; from callbacks: yes. The thread that calls this is the request's "current" thread.
 *  @since 0.1 */
ntapi_request *ntapi_client_create_request(ntapi_client *client, const char *command, const ntapi_args *args);

/** Performs a request and waits for its response; runs the calling thread's mailbox meanwhile.
 *  @param client the client.
 *  @param command the path below the base URL, copied; NULL is "".
 *  @param args the args; NULL is none.
 *  @returns the response, new, whose error says what went wrong: for a wrong handle, too, and for a command that is not
 * UTF-8, NTAPI_CODE_INVALID_REQUEST.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_response *ntapi_client_perform(ntapi_client *client, const char *command, const ntapi_args *args);

/** Begins a request whose response comes as an event, to be taken from a mailbox.
 *  One call for ntapi_client_create_request, ntapi_args_mailbox, ntapi_request_set_events and ntapi_request_resume.
 *  @param client the client; the request keeps it alive.
 *  @param command the path below the base URL, copied; NULL is "".
 *  @param args the args, copied; NULL is none.
 *  @param mailbox where the response's event goes, whatever the args say.
 *  @param user_data given back in the event.
 *  @returns the request, borrowed until its event is taken, so that there is nothing to free; NULL for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_request *ntapi_client_begin_event(ntapi_client *client, const char *command, const ntapi_args *args,
                                        ntapi_mailbox *mailbox, void *user_data);

/** A wait that looks up: what it is to watch, which the caller sets, and what has come of it, which the call sets. */
typedef struct ntapi_watch {
    double timeout;           /* seconds at most; negative for ever */
    int descriptor;           /* looks up when this is readable; -1 watches none */
    ntapi_request *request;   /* new, when the request goes on: wait for it, or cancel it, and free it; else NULL */
    ntapi_response *response; /* new, when the request is done; else NULL */
    ntapi_summary summary;    /* of the response; zeros without one */
} ntapi_watch;

/** Performs a request and waits for its response, but looks up when something else wants the calling thread.
 *  For interpreters, whose own signal handlers run only between calls, and for threads that have a loop of their own.
 *  Runs no mailbox: watch a mailbox's descriptor to run it meanwhile. Args that say where handlers run have no effect.
 *  @param client the client.
 *  @param command the path below the base URL, copied; NULL is "".
 *  @param args the args; NULL is none.
 *  @param watch what to watch, and where to put the response, or the request when it goes on.
 *  @returns NTAPI_STATUS_OK with a response; with a request, to be given to ntapi_request_wait_watching,
 * NTAPI_STATUS_INTERRUPTED: by the descriptor, by a signal that this thread has handled, or because the time is over;
 * NTAPI_STATUS_INVALID_ARGUMENT with neither; NTAPI_STATUS_INVALID_STATE with a request that is another process's, when
 * a hook has forked this one.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_client_perform_watching(ntapi_client *client, const char *command, const ntapi_args *args,
                                           ntapi_watch *watch);

/** Goes on waiting for a request of ntapi_client_perform_watching.
 *  @param request the request; free it when it is done, or when nobody is to wait for it any more.
 *  @param watch what to watch, and where to put the response; its request is set to NULL.
 *  @returns NTAPI_STATUS_OK with a response, NTAPI_STATUS_INTERRUPTED, NTAPI_STATUS_INVALID_ARGUMENT, or
 * NTAPI_STATUS_INVALID_STATE when the request was begun otherwise or by the process that forked this one.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_request_wait_watching(ntapi_request *request, ntapi_watch *watch);

/** Frees a handle to a request; a begun request goes on and calls its handler. One never resumed ends without a call.
 *  @param request takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_request_free(ntapi_request *request);

/** Sets the response handler of a request that was created suspended.
 *  @param request the request.
 *  @param handler the callback; NULL for none.
 *  @param user_data given to handler.
 *  @param destroy ends user_data after the last call; may be NULL.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE after resume. In both error
 * cases destroy has been called.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_request_set_handler(ntapi_request *request, ntapi_response_fn handler, void *user_data,
                                       ntapi_destroy_fn destroy);

/** Sets the upload progress handler of a request that was created suspended; the hook for started requests may set it,
 *  too.
 *  @param request the request.
 *  @param handler the callback; NULL for none.
 *  @param user_data given to handler.
 *  @param destroy ends user_data after the last call; may be NULL.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE once the request is sent. In
 *  both error cases destroy has been called.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_request_set_upload_progress(ntapi_request *request, ntapi_progress_fn handler, void *user_data,
                                               ntapi_destroy_fn destroy);

/** Sets the download progress handler of a request that was created suspended; the hook for started requests may set
 * it, too.
 *  @param request the request.
 *  @param handler the callback; NULL for none.
 *  @param user_data given to handler.
 *  @param destroy ends user_data after the last call; may be NULL.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE once the request is sent. In
 *  both error cases destroy has been called.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_request_set_download_progress(ntapi_request *request, ntapi_progress_fn handler, void *user_data,
                                                 ntapi_destroy_fn destroy);

/** Sets the handler for the body of a successful response, which then is not kept in memory: a streaming data task.
 *  It is called with one piece after the other. While it is behind, the network waits, so that memory stays bounded.
 * The response handler follows the last piece. The body of an error is in the response, as ever. Over HTTP/1.1 unless
 *  NTAPI_OPTION_HTTP_VERSION says otherwise.
 *  @param request the request, created suspended.
 *  @param handler the callback; NULL for none.
 *  @param user_data given to handler.
 *  @param destroy ends user_data after the last call; may be NULL.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE after resume. In both error
 * cases destroy has been called.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_request_set_data_handler(ntapi_request *request, ntapi_data_fn handler, void *user_data,
                                            ntapi_destroy_fn destroy);

/** Sets the handler for the values of a body that has one in each line (JSON Lines, NDJSON, RFC 7464).
 *  It is called as the lines arrive, with one after the other; otherwise as that of ntapi_request_set_data_handler, in
 *  whose place it comes. A line that is no JSON ends the request with "invalid JSON", one that is longer than
 *  NTAPI_OPTION_MAXIMUM_RESPONSE_SIZE, or 16 MiB, with "response too large".
 *  @param request the request, created suspended.
 *  @param handler the callback; NULL for none.
 *  @param user_data given to handler.
 *  @param destroy ends user_data after the last call; may be NULL.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE after resume. In both error
 * cases destroy has been called.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_request_set_json_lines_handler(ntapi_request *request, ntapi_json_fn handler, void *user_data,
                                                  ntapi_destroy_fn destroy);

/** Sets the handler for the events of a stream of server-sent events (WHATWG HTML, 9.2).
 *  It is called as the events arrive, with one after the other; otherwise as that of ntapi_request_set_data_handler, in
 *  whose place it comes. When the connection ends, the request connects again, with Last-Event-ID, after the time that
 *  the server asks for, and after ever longer pauses while it fails: until the server answers with 204, with an HTTP
 *  error other than 5xx or with something that is no stream of events, or the request is cancelled. What a POST began
 *  is not gone on with unless NTAPI_OPTION_RECONNECT says so. To go on from an event of an earlier time, send the
 * header Last-Event-ID.
 *  @param request the request, created suspended.
 *  @param handler the callback; NULL for none.
 *  @param user_data given to handler.
 *  @param destroy ends user_data after the last call; may be NULL.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE after resume. In both error
 * cases destroy has been called.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_request_set_server_event_handler(ntapi_request *request, ntapi_server_event_fn handler,
                                                    void *user_data, ntapi_destroy_fn destroy);

/** Says what the pieces of the body are read as that a request delivers as events (ntapi_request_set_events).
 *  ntapi_data_next_json and ntapi_data_next_server_event then tell what is in a piece. The first piece of an answer
 *  may have no bytes: it comes as soon as the head is there (ntapi_request_received_status). As with a handler of that
 *  format, the request connects again, and ends with an error when the body makes no sense.
 *  @param request the request, created suspended.
 *  @param format what its body is.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE after resume.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_request_set_data_format(ntapi_request *request, ntapi_data_format format);

/** Sets the handler that is asked, in place of the client's hook, what the request is to do next.
 *  @param request the request, created suspended.
 *  @param kinds ntapi_decision_kind values that it wants to be asked for, with |; the client is asked for the others.
 *  @param handler the callback; NULL for none.
 *  @param user_data given to handler.
 *  @param destroy ends user_data after the last call; may be NULL.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE after resume. In both error
 * cases destroy has been called.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_request_set_decision_handler(ntapi_request *request, int kinds, ntapi_decide_fn handler,
                                                void *user_data, ntapi_destroy_fn destroy);

/** Says, after ntapi_request_set_events with NTAPI_HANDLER_DECISION, which decisions are delivered as events; all
 * unless said.
 *  @param request the request.
 *  @param kinds ntapi_decision_kind values, with |. 0 is none.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE after resume.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_request_set_decision_kinds(ntapi_request *request, int kinds);

/** Makes a request created suspended deliver events to be taken with ntapi_mailbox_take instead of callbacks.
 *  Its args must name a mailbox for those handlers (ntapi_args_mailbox, or a thread whose mailbox is taken from).
 *  @param request the request.
 *  @param handlers which of them, with |. NTAPI_HANDLER_DATA keeps the body out of the response, and
 *  NTAPI_HANDLER_DECISION lets the request wait for answers (see ntapi_request_set_decision_kinds): ask for what you
 * take.
 *  @param user_data given back in each event.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE after resume.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_request_set_events(ntapi_request *request, int handlers, void *user_data);

/** Starts a request that was created suspended, or lets one go on that was suspended since.
 *  @param request the request.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE when it is not suspended, or
 * was cancelled.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_request_resume(ntapi_request *request);

/** Suspends a request that runs, until ntapi_request_resume: no byte is sent or received, and no timeout runs.
 *  Handlers may still be called for what was received before. The connection is kept; a server may lose patience with
 *  it, and then the request fails once it is resumed.
 *  @param request the request.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE when it does not run, or is
 * suspended.
 *  @threads any; from callbacks: yes. Does not wait.
 *  @since 0.1 */
ntapi_status ntapi_request_suspend(ntapi_request *request);

/** Cancels a request: its handler gets "request cancelled", once. Too late is no error: the handler then gets the
 * response.
 *  @param request the request; one that was never resumed is cancelled too, and its handler is called.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE when it has ended already.
 *  @threads any; from callbacks: yes. Does not wait.
 *  @since 0.1 */
ntapi_status ntapi_request_cancel(ntapi_request *request);

/** Waits until a request's handler has returned; runs the calling thread's mailbox meanwhile.
 *  @param request the request.
 *  @param timeout seconds at most; negative for ever.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_TIMED_OUT, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE: it
 * was never resumed, its own handler is the caller, or it belongs to the process that forked this one, maybe in a
 * callback that ran meanwhile.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_request_wait(ntapi_request *request, double timeout);

/** The response of a request that has one.
 *  @param request the request.
 *  @returns the response, new; NULL while there is none.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_response *ntapi_request_response(const ntapi_request *request);

/** The state of a request.
 *  @param request the request.
 *  @returns the state; NTAPI_REQUEST_STATE_NONE for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_request_state ntapi_request_get_state(const ntapi_request *request);

/** How long a request may go on when the process exits, by the default exitTimeout. For bindings whose interpreter ends
 * before the process does.
 *  @param request the request.
 *  @returns seconds; 0 when it is suspended or read as a stream, and for a wrong handle.
 *  @threads any; from callbacks: yes. Asks the providers of defaults.
 *  @since 0.1 */
double ntapi_request_exit_timeout(const ntapi_request *request);

/** The identifier of a request, unique in its client, from 1.
 *  @param request the request.
 *  @returns the identifier; 0 for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
uint64_t ntapi_request_identifier(const ntapi_request *request);

/** The description of a request, a text of yours.
 *  @param request the request.
 *  @returns text, new: end it with ntapi_text_free; NULL when not set.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
char *ntapi_request_description(const ntapi_request *request);

/** Logs a line about a request as the library logs its own: where its client's lines go, with the request's number.
 *  @param request the request.
 *  @param level one of NTAPI_LOG_DEBUG to NTAPI_LOG_ERROR; what the client's log flags leave out is not logged.
 *  @param message the text, copied; written as it is, so without secrets.
 *  @returns NTAPI_STATUS_OK, also when it was left out, or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_request_log(const ntapi_request *request, ntapi_log level, const char *message);

/** Sets whether the response also holds a body that goes to a data handler or to events piece by piece; false at first.
 *  @param request the request, created suspended.
 *  @param keeps_body whether it does.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE after resume.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_request_set_keeps_body(ntapi_request *request, bool keeps_body);

/** Sets whether the library logs the error that the request ends with; true at first.
 *  A caller that replaces the error writes its own line with ntapi_request_log.
 *  @param request the request, created suspended.
 *  @param logs_error false leaves the line out.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_ARGUMENT, or NTAPI_STATUS_INVALID_STATE after resume.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_request_set_logs_error(ntapi_request *request, bool logs_error);

/** Sets the description of a request.
 *  @param request the request.
 *  @param description a text of yours, copied; NULL removes.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_request_set_description(ntapi_request *request, const char *description);

/** The priority of a request.
 *  @param request the request.
 *  @returns from 0 (last) to 1 (first); 0.5 unless set.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
double ntapi_request_priority(const ntapi_request *request);

/** Sets the priority among the requests that wait for a connection to the same host.
 *  @param request the request.
 *  @param priority from 0 (last) to 1 (first).
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes. Takes effect when set before resume.
 *  @since 0.1 */
ntapi_status ntapi_request_set_priority(ntapi_request *request, double priority);

/** How many bytes of bodies were sent and received so far, or are expected.
 *  @param request the request.
 *  @param bytes which.
 *  @returns the count.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
int64_t ntapi_request_bytes(const ntapi_request *request, ntapi_bytes bytes);

/** The status of the response whose body is being received by the data handler or into a file.
 *  @param request the request.
 *  @returns the status; 0 before.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
int ntapi_request_received_status(const ntapi_request *request);

/** The headers of the response that is being received.
 *  @param request the request.
 *  @returns the headers, borrowed until the request is freed; NULL when there is none.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const ntapi_headers *ntapi_request_received_headers(const ntapi_request *request);

/** What a later request can go on from with ntapi_args_resume, should the download end before it is whole.
 *  For a program that wants to be prepared for its own sudden end: save it when the request is suspended, say.
 *  @param request the request.
 *  @returns one line of JSON, new: end it with ntapi_text_free; NULL when there is nothing to go on from, or nothing
 * that could be trusted.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
char *ntapi_request_resume_data(const ntapi_request *request);

/** The request as a curl command line that sends the same when it is pasted into a shell, secrets redacted.
 *  Of a stream, and of bytes beyond 64 KiB that are no text, it has a placeholder.
 *  @param request the request.
 *  @returns text, borrowed until the request is freed; NULL when it could not be built.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_request_curl_command(const ntapi_request *request);

/* ---- Sessions: background transfers
 * --------------------------------------------------------------------------------------- */
/*
 * A client with a configuration of the kind NTAPI_SESSION_KIND_BACKGROUND makes transfers that outlive the process:
 * downloads into a file (ntapi_args_download, ntapi_args_resume; no body) and uploads from a file (ntapi_args_file).
 * Other requests of it fail with "invalid request".
 *
 * ntapi_request_resume returns when the transfer is recorded on disk, with its headers and so with its credentials, in
 * a folder for the user alone: $XDG_STATE_HOME/ntapi/background, or ~/.local/state/ntapi/background. The record goes
 * when the handler has returned. A process that ends before, in whatever way, leaves it to the next one that makes a
 * client with the same identifier and asks for the restored requests. Only one process at a time can have it open.
 *
 * ntapi_client_close, and the orderly end of a process, let go of transfers that run without ending them: their
 * handlers are called with NTAPI_CODE_DETACHED, and the transfers wait for the next process. ntapi_request_cancel and
 * ntapi_client_cancel_all end them.
 */

/** Why a background session cannot be used: another process has it open, which the message names.
 *  @param client the client.
 *  @returns the error that each request of it fails with, new; NULL when there is none, and for other clients. For a
 * wrong handle an error with NTAPI_CODE_INVALID_REQUEST.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_error *ntapi_client_background_error(const ntapi_client *client);

/** The transfers of a background session that a process before this one left, and that were not resumed yet.
 *
 *  Those of higher priority first, and of the same the older ones. Each is suspended: set its handlers, then resume it.
 *  It has the identifier, the description and the command that it was made with. A download goes on where it was. An
 *  upload is sent again from its beginning when its method is idempotent; otherwise it ends with a network error which
 *  says that its result is ambiguous. One that has ended, but whose handler had not returned, is not sent again: its
 *  handler gets what was recorded.
 *  @param client the client.
 *  @param args says where the handlers run (ntapi_args_thread and the like); others have no effect; NULL is none.
 *  @param requests is filled with requests, each new; NULL only counts.
 *  @param capacity how many there is room for.
 *  @returns how many there are, which may be more than were stored; 0 for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
size_t ntapi_client_restored_requests(ntapi_client *client, const ntapi_args *args, ntapi_request **requests,
                                      size_t capacity);

/** Resumes all transfers that a process before this one left, in order, with one handler.
 *  @param client the client.
 *  @param args says where the handler runs; NULL is none.
 *  @param handler receives each response; ntapi_response_request says which it is. NULL forgets what comes of them.
 *  @param user_data given to handler.
 *  @param destroy ends user_data after the last call, at once when there are none; may be NULL.
 *  @returns how many were resumed; 0 for a wrong handle.
 *  @threads any; from callbacks: yes. The handler is never called inside this call. Waits for the disk.
 *  @since 0.1 */
size_t ntapi_client_resume_restored_requests(ntapi_client *client, const ntapi_args *args, ntapi_response_fn handler,
                                             void *user_data, ntapi_destroy_fn destroy);

/** Whether a handler may have seen this outcome of a background transfer before: its process ended before it returned.
 *  @param response the response.
 *  @returns true or false; false for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
bool ntapi_response_was_delivered_before(const ntapi_response *response);

/** Says that the program begins to deal with the outcome of a background transfer, taken from a mailbox as an event.
 *
 *  Should the process end before ntapi_response_acknowledge, ntapi_response_was_delivered_before says so in the next
 * one. Taking the event does not say it, for many can be taken at once; a handler says it by being called.
 *  @param response the response, as it came with the event.
 *  @returns NTAPI_STATUS_OK; NTAPI_STATUS_INVALID_ARGUMENT; NTAPI_STATUS_INVALID_STATE when it is no event's of a
 *           background session.
 *  @threads any; from callbacks: yes. Waits for the disk.
 *  @since 0.1 */
ntapi_status ntapi_response_begin_delivery(ntapi_response *response);

/** Says that the outcome of a background transfer, which was taken from a mailbox as an event, has been dealt with.
 *
 *  Its record is removed: no other process is told of it. Freeing the response does the same; a handler does it by
 *  returning.
 *  @param response the response, as it came with the event.
 *  @returns NTAPI_STATUS_OK, also the second time; NTAPI_STATUS_INVALID_ARGUMENT; NTAPI_STATUS_INVALID_STATE when it is
 *           no event's of a background session.
 *  @threads any; from callbacks: yes. Waits for the disk.
 *  @since 0.1 */
ntapi_status ntapi_response_acknowledge(ntapi_response *response);

/* ---- Response
 * -------------------------------------------------------------------------------------------------------- */

/** Where a response came from. */
typedef enum ntapi_source {
    NTAPI_SOURCE_NETWORK = 0,        /* from the server, all of it */
    NTAPI_SOURCE_CACHE = 1,          /* from the cache, without a word to the server */
    NTAPI_SOURCE_VALIDATED_CACHE = 2 /* from the cache, after the server has said that it still holds (304) */
} ntapi_source;

/** What ntapi_response_metric can tell. */
typedef enum ntapi_metric {
    NTAPI_METRIC_NAME_LOOKUP = 0,        /* seconds from the start until the name was resolved */
    NTAPI_METRIC_CONNECT = 1,            /* seconds until the connection was there */
    NTAPI_METRIC_TLS = 2,                /* seconds until the TLS handshake was done; 0 without TLS */
    NTAPI_METRIC_FIRST_BYTE = 3,         /* seconds until the first byte of the response */
    NTAPI_METRIC_TOTAL = 4,              /* seconds of the last exchange, without the time it was queued */
    NTAPI_METRIC_QUEUED = 5,             /* seconds that it waited for a connection, or its turn under a rate limit */
    NTAPI_METRIC_REDIRECTS = 6,          /* redirects followed */
    NTAPI_METRIC_RETRIES = 7,            /* attempts beyond the first, whatever for */
    NTAPI_METRIC_BYTES_SENT = 8,         /* body bytes sent */
    NTAPI_METRIC_BYTES_RECEIVED = 9,     /* body bytes received over the wire */
    NTAPI_METRIC_HTTP_VERSION = 10,      /* 1.0, 1.1, 2 or 3; 0 when there was no answer */
    NTAPI_METRIC_CONNECTION_REUSED = 11, /* 1 when an open connection was used again, else 0 */
    NTAPI_METRIC_BYTES_DECODED = 12      /* body bytes received, after decompression */
} ntapi_metric;

/** Makes another handle to a response, for example to keep it beyond its handler.
 *  @param response the response.
 *  @returns the handle, new; NULL for NULL.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_response *ntapi_response_retain(const ntapi_response *response);

/** Frees a handle to a response.
 *  @param response takes; NULL does nothing. A response borrowed in a handler is not to be freed.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_response_free(ntapi_response *response);

/** What went wrong.
 *  @param response the response.
 *  @returns the error, borrowed until the response is freed; NULL when all is well. For a wrong handle, NULL too, an
 * error with NTAPI_CODE_INVALID_REQUEST, borrowed for ever.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const ntapi_error *ntapi_response_error(const ntapi_response *response);

/** Where the response came from: the network or the cache.
 *  @param response the response.
 *  @returns where; NTAPI_SOURCE_NETWORK for a wrong handle.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_source ntapi_response_get_source(const ntapi_response *response);

/** The body as it was received, decompressed.
 *  @param response the response.
 *  @param length where to put its bytes; may be NULL.
 *  @returns the bytes, NUL-terminated, borrowed until the response is freed; never NULL for a response.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_response_data(const ntapi_response *response, size_t *length);

/** The file that the body was written to, with ntapi_args_download.
 *  @param response the response.
 *  @returns its path, borrowed until the response is freed; NULL when it was not, because of an error, say.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_response_file(const ntapi_response *response);

/** The temporary file that the body was written to, with ntapi_args_download(args, NULL).
 *  It exists until the last handles of the response and of its request are freed: at least until the response handler
 * has returned, at most until the process exits. To keep the file, move it elsewhere.
 *  @param response the response.
 *  @returns its path, borrowed until the response is freed; NULL when there is none.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_response_temporary_file(const ntapi_response *response);

/** What a later request can go on from with ntapi_args_resume, when a download was cancelled or failed before it was
 * whole. With it the temporary file stays: go on, or call ntapi_resume_data_discard.
 *  @param response the response.
 *  @returns one line of JSON, borrowed until the response is freed; NULL when there is nothing to go on from, or
 * nothing that could be trusted.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_response_resume_data(const ntapi_response *response);

/** Removes the temporary file of a download that nobody will go on with.
 *  @param resume_data what ntapi_response_resume_data or ntapi_request_resume_data returned, borrowed for the call.
 *  @returns NTAPI_STATUS_OK, or NTAPI_STATUS_INVALID_ARGUMENT when it is no resume data.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_resume_data_discard(const char *resume_data);

/** The body as JSON.
 *  @param response the response.
 *  @returns the document, borrowed until the response is freed; NULL without JSON, and with NTAPI_OPTION_RAW_DATA
 * unless the status is an error.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const ntapi_json *ntapi_response_json(const ntapi_response *response);

/** The bytes of the room for keys in an ntapi_python. */
#define NTAPI_PYTHON_KEYS_SIZE 32768

/** What ntapi_response_json_python and ntapi_json_python make values with: the objects and functions of CPython's C API
 * that have these names.
 */
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
    void *keys; /* NTAPI_PYTHON_KEYS_SIZE bytes, aligned as for a pointer, at first zeros, where strings of keys are
                   kept for later calls, of one thread at a time: they are the room's from then on; NULL keeps none */
    /* For ntapi_python_function alone: */
    void *(*make_function)(void *definition, void *self, void *module); /* PyCFunction_NewEx */
    void *(*read_address)(void *integer);                               /* PyLong_AsVoidPtr */
    char *(*read_bytes)(void *bytes);                                   /* PyBytes_AsString */
    void *(*error)(void);                                               /* PyErr_Occurred */
    void *(*unlock)(void);                                              /* PyEval_SaveThread */
    void (*lock)(void *thread);                                         /* PyEval_RestoreThread */
} ntapi_python;

/** The body as JSON in values of CPython, made by its own functions.
 *  Costs a third of what json.loads costs. Integers of any size are exact.
 *  @param response the response.
 *  @param python the functions, for the call.
 *  @returns the value, a new reference of Python's; NULL without JSON, when a hook has parsed it, when a function is
 * missing, and when one has failed, which then has set Python's exception.
 *  @threads one that holds Python's global lock; from callbacks: yes.
 *  @since 0.1 */
void *ntapi_response_json_python(const ntapi_response *response, const ntapi_python *python);

/** A JSON document in values of CPython, as ntapi_response_json_python makes them.
 *  @param json the document, which was parsed from text.
 *  @param python the functions, for the call.
 *  @returns the value, a new reference of Python's; NULL for a document that was built value by value, when a function
 * is missing, and when one has failed, which then has set Python's exception.
 *  @threads one that holds Python's global lock; from callbacks: yes.
 *  @since 0.1 */
void *ntapi_json_python(const ntapi_json *json, const ntapi_python *python);

/** A function of the library as one of CPython's own, which costs a fraction of a call by way of ctypes.
 *  It takes what the C function takes: bytes for a text, and for any other pointer its address as an int, or None for
 * NULL. It returns an address or a status as an int. Python's global lock is released meanwhile, except while values
 * are made.
 *  @param python the functions, for the call; those that are called later are of the first call, for the whole process.
 *  @param name "ntapi_response_free", "ntapi_response_json_python", "ntapi_json_python", "ntapi_client_begin_event",
 * "ntapi_client_perform_watching" or "ntapi_args_json_text", borrowed for the call. The last is of these functions
 * only: it takes a list of args, JSON text and its bytes, and sets the text's value as the body, as ntapi_args_json
 * does.
 *  @returns the function, a new reference of Python's; NULL for another name, and when a function is missing or fails.
 *  @threads one that holds Python's global lock; from callbacks: yes.
 *  @since 0.1 */
void *ntapi_python_function(const ntapi_python *python, const char *name);

/** The text that came before the JSON (a PHP warning, say).
 *  @param response the response.
 *  @returns text, borrowed until the response is freed; NULL when there was none.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_response_prefix_text(const ntapi_response *response);

/** The HTTP status.
 *  @param response the response.
 *  @returns the status; 0 when there was no answer.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
int ntapi_response_status(const ntapi_response *response);

/** The URL that answered, after redirects.
 *  @param response the response.
 *  @returns text, borrowed until the response is freed; "" when the request could not be built.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_response_url(const ntapi_response *response);

/** The headers of the response.
 *  @param response the response.
 *  @returns the headers, borrowed until the response is freed; NULL when there is none.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const ntapi_headers *ntapi_response_headers(const ntapi_response *response);

/** The URL that answered as a log may show it: without passwords, and with secret values redacted.
 *  @param response the response.
 *  @returns text, borrowed until the response is freed; "" when the request could not be built.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_response_redacted_url(const ntapi_response *response);

/** The URL of a Link header (RFC 8288): that of the next page, say, for ntapi_args_base_url.
 *  @param response the response.
 *  @param relation such as "next", "prev", "last", in any case, borrowed for the call.
 *  @returns the absolute URL, borrowed until the response is freed; NULL when there is none, or none that can be asked
 * for.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const char *ntapi_response_link(const ntapi_response *response, const char *relation);

/** When the request started.
 *  @param response the response.
 *  @returns seconds since 1970-01-01 00:00 UTC.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
double ntapi_response_start_time(const ntapi_response *response);

/** When the request ended.
 *  @param response the response.
 *  @returns seconds since 1970-01-01 00:00 UTC.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
double ntapi_response_end_time(const ntapi_response *response);

/** How long the request took, by a clock that never jumps.
 *  @param response the response.
 *  @returns seconds.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
double ntapi_response_elapsed(const ntapi_response *response);

/** One of the response's metrics.
 *  @param response the response.
 *  @param metric which.
 *  @returns seconds, a count or bytes, as ntapi_metric says.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
double ntapi_response_metric(const ntapi_response *response, ntapi_metric metric);

/** What the request took, exchange by exchange: a redirect, a challenge or another attempt makes one more.
 *  @param response the response.
 *  @returns JSON, new; NULL for a wrong handle. An object of `startTime` (seconds since 1970), `elapsed` (seconds),
 *  `redirects`, `retries` and `transactions`, in order, at most the last 65: each has `method`, `url`, `status` (0
 * without an answer), `startTime`, `error` (its message, null when there was a whole answer) and, of this exchange
 * alone, the metrics of ntapi_metric as `nameLookup`, `connect`, `tls`, `firstByte`, `total`, `queued`, `bytesSent`,
 * `bytesReceived`, `bytesDecoded`, `httpVersion`, `connectionReused`, `fromCache` (booleans).
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_json *ntapi_response_request_metrics(const ntapi_response *response);

/** The request that the response answers.
 *  @param response the response.
 *  @returns the request, borrowed until the response is freed.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_request *ntapi_response_request(const ntapi_response *response);

/* ---- JSON as structs
 * -------------------------------------------------------------------------------------------------- */
/*
 * A table of fields says what the members of a struct are called in the JSON, and one call fills the struct:
 *
 *     struct city {
 *         int64_t id;
 *         const char *name;
 *         double temperature;
 *     };
 *     static const ntapi_field city_fields[] = {
 *         NTAPI_FIELD_INT(struct city, id, "id", NTAPI_FIELD_REQUIRED),
 *         NTAPI_FIELD_STRING(struct city, name, "name", NTAPI_FIELD_REQUIRED),
 *         NTAPI_FIELD_DOUBLE(struct city, temperature, "main.temp", NTAPI_FIELD_OPTIONAL),
 *         NTAPI_FIELD_END,
 *     };
 *
 *     struct city city = {0};
 *     ntapi_error *error = NULL;
 *     ntapi_decoded *decoded = ntapi_response_decode(response, city_fields, &city, sizeof city, &error);
 *     ...
 *     ntapi_decoded_free(decoded);     (the strings and arrays that city points to go with it)
 *
 * The paths are those of JSON documents; "" is the value itself, such as an array at the top. Members are any integers,
 * float or double, bool, const char *, structs, and pointers to the elements of arrays with a size_t beside them that
 * counts. Numbers arrive as declared: 3.0 fits an int, 300 no int8_t. A required value that is absent or null is an
 * error; an optional one leaves the member as it was. Members of the JSON that the table does not name are ignored.
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

/** Whether a value has to be there, and what is taken for one; combined with |. */
typedef enum ntapi_field_flags {
    NTAPI_FIELD_REQUIRED = 0,
    NTAPI_FIELD_OPTIONAL = 1,         /* absent or null leaves the member as it was; in elements of arrays, zero */
    NTAPI_FIELD_NUMBER_IN_STRING = 2, /* a string such as "5.0" is taken for a number */
    NTAPI_FIELD_LOOSE_BOOLEAN = 4     /* 1 and 0, "true", "false", "1" and "0" are taken for a boolean */
} ntapi_field_flags;

/** How a date is written; several, combined with |, are tried in this order. */
typedef enum ntapi_date_format {
    NTAPI_DATE_FORMAT_ISO8601 = 1,      /* text: "2013-11-20T10:00:00+01:00", "2013-11-20"; UTC without a zone */
    NTAPI_DATE_FORMAT_SECONDS = 2,      /* a number of seconds since 1970 */
    NTAPI_DATE_FORMAT_MILLISECONDS = 4, /* a number of milliseconds since 1970 */
    NTAPI_DATE_FORMAT_HTTP = 8          /* text of RFC 9110, 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT" */
} ntapi_date_format;

/** A format of dates of the service's own, as functions that read and write its text. */
typedef struct ntapi_custom_date_format {
    const char *name; /* for messages: "20 Nov 2013" */
    /** Makes seconds since 1970 of a text, which is borrowed for the call; returns false when it is no date. */
    bool (*read)(const char *text, double *seconds);
    /** Writes seconds since 1970, with a NUL, into room for size bytes; returns false when it cannot. */
    bool (*write)(double seconds, char *text, size_t size);
} ntapi_custom_date_format;

/** A member of a struct, and where its value is in the JSON. Made by the macros below, which know what is used for
 * what. */
typedef struct ntapi_field {
    size_t size; /* of this struct, which may grow in later versions; 0 ends a table */
    ntapi_field_kind kind;
    int flags; /* ntapi_field_flags */
    const char *path;
    size_t offset; /* of the member */
    size_t length; /* of the member */
    const struct ntapi_field *fields;
    int dates; /* ntapi_date_format */
    ntapi_field_kind element;
    size_t element_length;
    size_t count_offset;
    const ntapi_custom_date_format *date_format; /* in place of dates; NULL for none */
} ntapi_field;

#define NTAPI_FIELD_OF(kind, type, member, path, flags, fields, dates)                                                 \
    {                                                                                                                  \
        sizeof(ntapi_field), kind, flags, path, offsetof(type, member), sizeof(((type *)0)->member), fields, dates,    \
            NTAPI_FIELD_KIND_BOOL, 0, 0, NULL                                                                          \
    }
#define NTAPI_FIELD_ELEMENTS(kind, type, member, count, path, flags, fields, dates)                                    \
    {                                                                                                                  \
        sizeof(ntapi_field), NTAPI_FIELD_KIND_ARRAY, flags, path, offsetof(type, member), sizeof(((type *)0)->member), \
            fields, dates, kind, sizeof(*((type *)0)->member), offsetof(type, count), NULL                             \
    }

/* A member of a struct by its type, its name, the path of its value and its flags. */
#define NTAPI_FIELD_BOOL(type, member, path, flags)                                                                    \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_BOOL, type, member, path, flags, NULL, 0)
#define NTAPI_FIELD_INT(type, member, path, flags)                                                                     \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_INT, type, member, path, flags, NULL, 0)
#define NTAPI_FIELD_UINT(type, member, path, flags)                                                                    \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_UINT, type, member, path, flags, NULL, 0)
#define NTAPI_FIELD_DOUBLE(type, member, path, flags)                                                                  \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_DOUBLE, type, member, path, flags, NULL, 0)
#define NTAPI_FIELD_STRING(type, member, path, flags)                                                                  \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_STRING, type, member, path, flags, NULL, 0)
#define NTAPI_FIELD_URL(type, member, path, flags)                                                                     \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_URL, type, member, path, flags, NULL, 0)
#define NTAPI_FIELD_DATE(type, member, path, flags, formats)                                                           \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_DATE, type, member, path, flags, NULL, formats)
/* A date in a format of the service's own, by its ntapi_custom_date_format. */
#define NTAPI_FIELD_CUSTOM_DATE(type, member, path, flags, format)                                                     \
    {                                                                                                                  \
        sizeof(ntapi_field), NTAPI_FIELD_KIND_DATE, flags, path, offsetof(type, member), sizeof(((type *)0)->member),  \
            NULL, 0, NTAPI_FIELD_KIND_BOOL, 0, 0, format                                                               \
    }
/* A struct in the struct, by its own table. */
#define NTAPI_FIELD_OBJECT(type, member, path, flags, fields)                                                          \
    NTAPI_FIELD_OF(NTAPI_FIELD_KIND_OBJECT, type, member, path, flags, fields, 0)
/* A pointer to structs, by their table; `count` is the size_t member that says how many. */
#define NTAPI_FIELD_ARRAY(type, member, count, path, flags, fields)                                                    \
    NTAPI_FIELD_ELEMENTS(NTAPI_FIELD_KIND_OBJECT, type, member, count, path, flags, fields, 0)
/* A pointer to scalars of a kind, such as NTAPI_FIELD_KIND_STRING. */
#define NTAPI_FIELD_ARRAY_OF(kind, type, member, count, path, flags)                                                   \
    NTAPI_FIELD_ELEMENTS(kind, type, member, count, path, flags, NULL, 0)
/* The last of a table. */
#define NTAPI_FIELD_END                                                                                                \
    { 0, NTAPI_FIELD_KIND_BOOL, 0, NULL, 0, 0, NULL, 0, NTAPI_FIELD_KIND_BOOL, 0, 0, NULL }

/** Fills a struct with what a JSON document holds.
 *  @param json the document, borrowed for the call.
 *  @param fields the table, ended by NTAPI_FIELD_END; borrowed for the call.
 *  @param out the struct, borrowed for the call; it stays as it is when the call fails.
 *  @param size its bytes, sizeof *out.
 *  @param error where to put the error, new, when NULL is returned; may be NULL. Its code is NTAPI_CODE_UNEXPECTED_JSON
 * and its message names the path, what was expected there and what was found; "invalid request" for a mistake in the
 * table.
 *  @returns what the struct's pointers lead to, new: free it when the struct is not used any more. NULL on failure.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_decoded *ntapi_json_decode(const ntapi_json *json, const ntapi_field *fields, void *out, size_t size,
                                 ntapi_error **error);

/** Fills a struct with what the JSON of a response holds.
 *  @param response the response, borrowed for the call.
 *  @param fields the table, ended by NTAPI_FIELD_END; borrowed for the call.
 *  @param out the struct, borrowed for the call; it stays as it is when the call fails.
 *  @param size its bytes, sizeof *out.
 *  @param error where to put the error, new, when NULL is returned; may be NULL. The response's own error, if it has
 * one; else as for ntapi_json_decode.
 *  @returns what the struct's pointers lead to, new: free it when the struct is not used any more. NULL on failure.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_decoded *ntapi_response_decode(const ntapi_response *response, const ntapi_field *fields, void *out, size_t size,
                                     ntapi_error **error);

/** Makes JSON of a struct, for ntapi_args_json say: what is written and read by one table is the same.
 *  The paths make the objects and arrays that they lead through. A date is written in the first of its formats. What is
 * optional is left out when there is nothing in the member: a pointer that is NULL, a double or date that is NaN.
 *  @param fields the table, ended by NTAPI_FIELD_END; borrowed for the call.
 *  @param from the struct, borrowed for the call; nothing is borrowed of it afterwards.
 *  @param size its bytes, sizeof *from.
 *  @param error where to put the error, new, when NULL is returned; may be NULL. It is an "invalid request", whose
 * message names the path and what cannot be written there (a NULL that is required, NaN, text that is not UTF-8, no
 * URL), or the mistake in the table.
 *  @returns the document, new; NULL on failure.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_json *ntapi_json_encode(const ntapi_field *fields, const void *from, size_t size, ntapi_error **error);

/** Frees what a filled struct points to. The struct itself is the caller's.
 *  @param decoded takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_decoded_free(ntapi_decoded *decoded);

/* ---- Clocks for tests
 * -------------------------------------------------------------------------------------------------- */
/*
 * A manual clock stands still until it is advanced, so that a test waits for nothing. By it go the waits of the library
 * itself: between the attempts of a request and the connections of a stream of events, the delays of a stub, the
 * timeouts of a request that a stub answers, and those of credentials and decisions. What watches a socket goes by the
 * system's time. A clock belongs to the process that made it: a forked child makes one of its own.
 */

/** Makes a clock that stands still. It may serve several clients.
 *  @param calendar the time of the calendar at the beginning, in seconds since 1970-01-01 00:00 UTC; negative is the
 *  system's time now.
 *  @returns the clock, new; NULL when calendar is no number.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_manual_clock *ntapi_manual_clock_create(double calendar);

/** Frees a handle to a clock; its clients keep it.
 *  @param clock takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_manual_clock_free(ntapi_manual_clock *clock);

/** Lets a client's requests wait by this clock in place of the system's. For requests begun from now on.
 *  The client's authenticator goes by it, too.
 *  @param client the client.
 *  @param clock the clock, kept by the client; NULL is the system's.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_client_set_clock(ntapi_client *client, ntapi_manual_clock *clock);

/** Lets time pass. What is due by then goes on, in order, on background workers; this does not wait for it.
 *  Time jumps: what goes on sees the new time, and what it begins counts from that.
 *  @param clock the clock.
 *  @param seconds 0 or more.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_manual_clock_advance(ntapi_manual_clock *clock, double seconds);

/** How long the clock was advanced in all.
 *  @param clock the clock.
 *  @returns seconds; 0 when clock is none.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
double ntapi_manual_clock_elapsed(const ntapi_manual_clock *clock);

/** How many wait for time to pass, to go on then; what only waits to give up is not counted.
 *  @param clock the clock.
 *  @returns their number.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
size_t ntapi_manual_clock_sleepers(const ntapi_manual_clock *clock);

/** In how long the first of the sleepers goes on.
 *  @param clock the clock.
 *  @returns seconds; negative when there is none.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
double ntapi_manual_clock_next_wake(const ntapi_manual_clock *clock);

/** Waits until so many sleepers wait for time to pass, so that an advance finds them. Runs no mailbox.
 *  @param clock the clock.
 *  @param count how many.
 *  @param timeout seconds of the system's time at most; negative for ever.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_TIMED_OUT or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_manual_clock_wait_for_sleepers(ntapi_manual_clock *clock, size_t count, double timeout);

/* ---- Stubs
 * ------------------------------------------------------------------------------------------------------------- */
/*
 * A stub answers a client's requests in memory, in place of the network: for tests. All the rest is as with a server:
 * hooks, redirects, errors, downloads, streams, progress. No byte leaves the process. What libcurl does is not there:
 * cookies, Digest, proxies, TLS, decompression, HTTP/2.
 *
 * A rule says which requests are meant, and what they are answered with. Answers are given in the order in which they
 * were added; the last is given again and again, unless ntapi_stub_rule_use_up says otherwise. Of several rules that
 * match, the one that was added last answers. A request that none matches fails with NTAPI_CODE_NO_STUB, and the
 * message names those that come near.
 */

/** What goes wrong in the place of an answer, or in the middle of one. */
typedef enum ntapi_stub_fault {
    NTAPI_STUB_FAULT_NONE = 0,
    NTAPI_STUB_FAULT_NO_CONNECTION = 1,         /* nobody listens: NTAPI_CODE_NETWORK */
    NTAPI_STUB_FAULT_NO_INTERNET = 2,           /* the machine is offline: NTAPI_CODE_NO_INTERNET */
    NTAPI_STUB_FAULT_UNKNOWN_HOST = 3,          /* the name is not found: NTAPI_CODE_NETWORK */
    NTAPI_STUB_FAULT_UNTRUSTED_CERTIFICATE = 4, /* NTAPI_CODE_TLS */
    NTAPI_STUB_FAULT_TIMEOUT = 5,               /* the idle clock has run out, at once: NTAPI_CODE_TIMEOUT */
    NTAPI_STUB_FAULT_SILENCE = 6,               /* nothing comes: the request's own timeouts run out */
    NTAPI_STUB_FAULT_CONNECTION_LOST = 7        /* the connection breaks: NTAPI_CODE_NETWORK */
} ntapi_stub_fault;

/** A request that came to a stub. */
typedef struct ntapi_stub_request {
    const char *method;
    const char *url;
    const ntapi_headers *headers; /* but for what libcurl adds: Host, Content-Length, cookies */
    const char *body;             /* NUL-terminated */
    size_t length;                /* of the body, in bytes */
    bool is_matched;              /* whether a rule has matched it */
} ntapi_stub_request;

/** Whether a request is meant; called on a background worker, and may block.
 *  @param user_data as registered.
 *  @param request the request, borrowed for the call. */
typedef bool (*ntapi_stub_match_fn)(void *user_data, const ntapi_stub_request *request);

/** Makes an answer; called on a background worker, and may block.
 *  @param user_data as registered.
 *  @param request the request, borrowed for the call.
 *  @returns the answer, which the library takes; NULL is 200 without a body. */
typedef ntapi_stub_answer *(*ntapi_stub_answer_fn)(void *user_data, const ntapi_stub_request *request);

/** Makes a stub without rules. It may serve several clients.
 *  @returns the stub, new.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_stub *ntapi_stub_create(void);

/** Makes a stub that gives again what was recorded, in whichever language that was (see ntapi_recorder).
 *  A request is expected with the same method, URL and body; what was redacted may be anything, and headers are not
 *  compared. Of several that were the same, the answers come in the order of the recording.
 *  @param path the file, borrowed for the call.
 *  @param any_origin whether scheme, host and port of the URLs do not matter.
 *  @param repeats_last whether the last answer to a request is given again and again; otherwise one more than there
 *  were recorded is an error.
 *  @param error receives the reason, new, when there is one: which exchange of the file is wrong, and what; may be
 *  NULL.
 *  @returns the stub, new; NULL when the file is no recording.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_stub *ntapi_stub_open_recording(const char *path, bool any_origin, bool repeats_last, ntapi_error **error);

/** Frees a handle to a stub; its clients keep it.
 *  @param stub takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_stub_free(ntapi_stub *stub);

/** Lets a stub answer a client's requests in place of the network. For requests begun from now on.
 *  @param client the client.
 *  @param stub the stub, kept by the client; NULL is the network.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_client_set_stub(ntapi_client *client, ntapi_stub *stub);

/** Adds a rule, which answers 200 without a body until it is told otherwise.
 *  @param stub the stub.
 *  @param method the method, copied; NULL is any.
 *  @param url copied. "/notes" is the path, of any server; without the first slash the end of it;
 *  with "https://..." before, the server counts, too. A star is any characters within a segment of the path or a value
 *  of the query, two at the end of the path whatever follows. After a ?, pairs that have to be there. NULL is any.
 *  @returns the rule, new: a handle only, the stub keeps it.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_stub_rule *ntapi_stub_on(ntapi_stub *stub, const char *method, const char *url);

/** Frees a handle to a rule; its stub keeps it.
 *  @param rule takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_stub_rule_free(ntapi_stub_rule *rule);

/** Expects a body that is equal JSON, in place of what was expected of the body before.
 *  @param rule the rule.
 *  @param json the value, borrowed for the call.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_stub_rule_body_json(ntapi_stub_rule *rule, const ntapi_json *json);

/** Expects a body with a text somewhere in it, in place of what was expected of the body before.
 *  @param rule the rule.
 *  @param text copied.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_stub_rule_body_contains(ntapi_stub_rule *rule, const char *text);

/** Asks a function, too, whether a request is meant.
 *  @param rule the rule.
 *  @param match asked with all the rest being right.
 *  @param user_data given to match.
 *  @param destroy ends user_data after the last call; may be NULL.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_stub_rule_match(ntapi_stub_rule *rule, ntapi_stub_match_fn match, void *user_data,
                                   ntapi_destroy_fn destroy);

/** Adds an answer, for one request.
 *  @param rule the rule.
 *  @param answer copied.
 *  @returns NTAPI_STATUS_OK, or NTAPI_STATUS_INVALID_ARGUMENT, also for a status that no response has.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_stub_rule_answer(ntapi_stub_rule *rule, const ntapi_stub_answer *answer);

/** Adds an answer that is made when it is wanted.
 *  @param rule the rule.
 *  @param answer makes it.
 *  @param user_data given to answer.
 *  @param destroy ends user_data after the last call; may be NULL.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_stub_rule_answer_with(ntapi_stub_rule *rule, ntapi_stub_answer_fn answer, void *user_data,
                                         ntapi_destroy_fn destroy);

/** Says that the rule matches no more requests than it has answers.
 *  @param rule the rule.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_stub_rule_use_up(ntapi_stub_rule *rule);

/** How many requests the rule has matched.
 *  @param rule the rule.
 *  @returns their number.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
size_t ntapi_stub_rule_call_count(const ntapi_stub_rule *rule);

/** Makes an answer without headers and body.
 *  @param status from 200 to 999.
 *  @returns the answer, new; NULL for another status.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_stub_answer *ntapi_stub_answer_create(int status);

/** Frees an answer.
 *  @param answer takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_stub_answer_free(ntapi_stub_answer *answer);

/** Adds a header. Content-Length comes by itself.
 *  @param answer the answer.
 *  @param name copied.
 *  @param value copied.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_stub_answer_add_header(ntapi_stub_answer *answer, const char *name, const char *value);

/** Sets the body.
 *  @param answer the answer.
 *  @param bytes the bytes, copied; NULL only when length is 0.
 *  @param length how many.
 *  @param content_type the Content-Type where no header says it, copied; NULL is none.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_stub_answer_data(ntapi_stub_answer *answer, const void *bytes, size_t length,
                                    const char *content_type);

/** Sets the body to JSON, as application/json where no header says otherwise.
 *  @param answer the answer.
 *  @param json the value, borrowed for the call.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_stub_answer_json(ntapi_stub_answer *answer, const ntapi_json *json);

/** Lets the answer take its time.
 *  @param answer the answer.
 *  @param seconds of the client's clock before the answer; 0 or more.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_stub_answer_delay(ntapi_stub_answer *answer, double seconds);

/** Lets the body come in pieces.
 *  @param answer the answer.
 *  @param size the most bytes of a piece; 0 is no limit.
 *  @param seconds of the client's clock before each piece but the first; 0 or more.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_stub_answer_pieces(ntapi_stub_answer *answer, size_t size, double seconds);

/** Lets something go wrong.
 *  @param answer the answer.
 *  @param fault what.
 *  @param after of NTAPI_STUB_FAULT_CONNECTION_LOST: how many bytes of the body come before it; negative is in the
 * place of the answer.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_stub_answer_set_fault(ntapi_stub_answer *answer, ntapi_stub_fault fault, int64_t after);

/** How many requests came, those that no rule has matched, too.
 *  @param stub the stub.
 *  @returns their number.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
size_t ntapi_stub_request_count(const ntapi_stub *stub);

/** A request that came.
 *  @param stub the stub.
 *  @param index from 0, in the order in which they came.
 *  @returns the request, borrowed until ntapi_stub_forget_requests or until stub is freed; NULL when there is none.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
const ntapi_stub_request *ntapi_stub_get_request(const ntapi_stub *stub, size_t index);

/** Checks that every rule was asked for, as often as it has answers where it is used up, and every request expected.
 *  @param stub the stub.
 *  @param error receives what was not, new, when there is something; may be NULL.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_STATE when something was not, or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_stub_verify(const ntapi_stub *stub, ntapi_error **error);

/** Forgets the requests that came, so that every rule begins again.
 *  @param stub the stub.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_stub_forget_requests(ntapi_stub *stub);

/* ---- Recorders
 * --------------------------------------------------------------------------------------------------------- */
/*
 * A recorder keeps what a client and its servers say to each other, one entry for each exchange, redirects too, for
 * ntapi_stub_open_recording. Secrets do not get into the file: Authorization, the values of cookies and of headers with
 * secret names, what args marked as secret, and what has a secret name in a query, a form, the parts of a multipart
 * body or JSON, in answers too. What stands elsewhere, in text say, is not found: look at the file before you share it.
 */

/** Makes a recorder.
 *  @param path the file, which ntapi_recorder_save writes, copied.
 *  @returns the recorder, new; NULL when path is NULL or not UTF-8.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_recorder *ntapi_recorder_create(const char *path);

/** Frees a handle to a recorder; its clients keep it.
 *  @param recorder takes; NULL does nothing.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
void ntapi_recorder_free(ntapi_recorder *recorder);

/** Names a header, query pair, form field, part or JSON member that is secret, too.
 *  @param recorder the recorder.
 *  @param name copied.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_recorder_add_secret(ntapi_recorder *recorder, const char *name);

/** Lets a recorder keep a client's exchanges. For requests begun from now on.
 *  @param client the client.
 *  @param recorder the recorder, kept by the client; NULL ends it.
 *  @returns NTAPI_STATUS_OK or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_client_set_recorder(ntapi_client *client, ntapi_recorder *recorder);

/** How many exchanges are whole.
 *  @param recorder the recorder.
 *  @returns their number.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
size_t ntapi_recorder_count(const ntapi_recorder *recorder);

/** Writes the file, in one step: it is the old one or the new one. May be called again.
 *  @param recorder the recorder.
 *  @param error receives the reason why it was not written, new; may be NULL.
 *  @returns NTAPI_STATUS_OK, NTAPI_STATUS_INVALID_STATE when it was not written, or NTAPI_STATUS_INVALID_ARGUMENT.
 *  @threads any; from callbacks: yes.
 *  @since 0.1 */
ntapi_status ntapi_recorder_save(ntapi_recorder *recorder, ntapi_error **error);

#ifdef __cplusplus
}
#endif

#endif /* NTAPI_H */
