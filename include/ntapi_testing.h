/*
 * ntapi_testing.h - for tests of programs that use NTApi: answers without a network, recordings, a clock that stands
 * still, and the number of handles that are left. The library exports these functions like all others. The rules of
 * ntapi.h hold here, too.
 */
#ifndef NTAPI_TESTING_H
#define NTAPI_TESTING_H

#include "ntapi_store.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ntapi_stub ntapi_stub;                 /* answers requests in memory: section 1 */
typedef struct ntapi_stub_rule ntapi_stub_rule;       /* which requests a stub answers: section 1 */
typedef struct ntapi_recorder ntapi_recorder;         /* writes exchanges to a file: section 2 */
typedef struct ntapi_manual_clock ntapi_manual_clock; /* time that moves when you say so: section 3 */

/* ===== 1. Stubs =================================================================================================== */
/*
 * A stub answers a client's requests in memory, in place of the network. Everything else works as with a server: hooks,
 * redirects, errors, downloads, streams, progress. No byte leaves the process. What libcurl does is missing: cookies,
 * Digest, proxies, TLS, decompression, HTTP/2.
 *
 * A rule matches requests and has answers, which are given in the order in which they were added; the last is repeated,
 * unless ntapi_stub_rule_use_up says otherwise. When several rules match, the one that was added last answers. A
 * request that no rule matches fails with NTAPI_CODE_NO_STUB, and the message names the nearest rules.
 */

/** What goes wrong in place of an answer, or in the middle of one. */
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
    size_t size; /* of this struct */
    const char *method;
    const char *url;
    const ntapi_headers *headers; /* without those that libcurl adds: Host, Content-Length, cookies */
    const char *body;             /* NUL-terminated */
    size_t length;                /* of the body */
    bool is_matched;              /* whether a rule has matched it */
    const char *shown_url;        /* the URL, secrets redacted: for logs and messages */
} ntapi_stub_request;

/** An answer: {.size = sizeof(ntapi_stub_answer), .body = "[1, 2]", .content_type = "application/json"}. */
typedef struct ntapi_stub_answer {
    size_t size;                /* of this struct */
    int status;                 /* from 200 to 999; 0 is 200 */
    const char *const *headers; /* lines "name: value", NULL after the last; Content-Length is added. NULL for none */
    const char *body;
    size_t length;            /* of body; 0 when it is NUL-terminated */
    const ntapi_json *json;   /* the body as JSON, in place of body, with the content type application/json */
    const char *content_type; /* where no header names another; NULL for none */
    double delay;             /* of the whole answer, in seconds of the client's clock */
    size_t piece_size;        /* the body is sent in pieces of so many bytes; 0 for no limit */
    double piece_delay;       /* between two pieces, in seconds of the client's clock */
    ntapi_stub_fault fault;
    int64_t fault_after; /* of NTAPI_STUB_FAULT_CONNECTION_LOST: how many bytes of the body come before; negative is in
                            place of the answer */
    const char *const *trailers; /* lines as in headers, which come after the body; then Content-Length is not added */
} ntapi_stub_answer;

/** Whether a rule matches a request. Runs on a background worker and may block. */
typedef bool (*ntapi_stub_match_fn)(void *user_data, const ntapi_stub_request *request);

/** Answers a request: calls ntapi_stub_rule_answer with reply. A request without a reply is answered 200 without a
 *  body. Runs on a background worker and may block. */
typedef void (*ntapi_stub_answer_fn)(void *user_data, const ntapi_stub_request *request, ntapi_stub_rule *reply);

/** Makes a stub without rules, for one client or several, which keep it. */
NTAPI_NEW ntapi_stub *ntapi_stub_create(void);
void ntapi_stub_free(ntapi_stub *stub);

/** Makes a stub that replays a recording, made in any language, or a HAR, also one of a browser. A request is expected
 *  with the same method, URL and body; what was redacted may be anything, and headers are not compared. Equal requests
 *  get their answers in the order of the recording.
 *  @param any_origin whether scheme, host and port of the URLs do not matter.
 *  @param repeats_last whether the last answer to a request is repeated; else one more request than recorded is an
 *  error.
 *  @param error which exchange of the file is wrong, and what.
 *  @returns NULL when the file is not a recording. */
NTAPI_NEW ntapi_stub *ntapi_stub_open_recording(const char *path, bool any_origin, bool repeats_last,
                                                ntapi_error **error);

/** Makes a stub answer a client's requests, for those begun from now on; NULL is the network. */
NTAPI_CHECKED ntapi_status ntapi_client_set_stub(ntapi_client *client, ntapi_stub *stub);

/** Adds a rule, which answers 200 without a body until it has answers.
 *  @param method NULL is any.
 *  @param url "/notes" is the path, of any server; without the first slash, the end of the path; with "https://..."
 *  before it, the server counts, too. A star is any characters within a segment of the path or a value of the query;
 *  two at the end of the path are any rest. After a ?, pairs that must be there. NULL is any.
 *  @returns a handle; the stub keeps the rule. */
NTAPI_NEW ntapi_stub_rule *ntapi_stub_on(ntapi_stub *stub, const char *method, const char *url);
void ntapi_stub_rule_free(ntapi_stub_rule *rule);

/** Narrows a rule: the body is equal JSON, or has this text in it (the last of these counts); a function agrees,
 *  which is asked when all else matches. */
NTAPI_CHECKED ntapi_status ntapi_stub_rule_body_json(ntapi_stub_rule *rule, const ntapi_json *json);
NTAPI_CHECKED ntapi_status ntapi_stub_rule_body_contains(ntapi_stub_rule *rule, const char *text);
NTAPI_CHECKED ntapi_status ntapi_stub_rule_match(ntapi_stub_rule *rule, ntapi_stub_match_fn match, void *user_data,
                                                 ntapi_destroy_fn destroy);

/** Adds an answer for one request (copied), or a function that makes it when it is needed. A request whose answer was
 *  refused fails, and says why.
 *  @param error what is wrong with the answer. */
ntapi_status ntapi_stub_rule_answer(ntapi_stub_rule *rule, const ntapi_stub_answer *answer, ntapi_error **error);
NTAPI_CHECKED ntapi_status ntapi_stub_rule_answer_with(ntapi_stub_rule *rule, ntapi_stub_answer_fn answer,
                                                       void *user_data, ntapi_destroy_fn destroy);

/** Makes a rule match no more requests than it has answers. */
ntapi_status ntapi_stub_rule_use_up(ntapi_stub_rule *rule);

/** How many requests a rule has matched. */
size_t ntapi_stub_rule_call_count(const ntapi_stub_rule *rule);

/** The requests that came, those without a rule included, in order. Borrowed until ntapi_stub_forget_requests, or until
 *  the stub is freed; NULL when there is none. */
size_t ntapi_stub_request_count(const ntapi_stub *stub);
const ntapi_stub_request *ntapi_stub_get_request(const ntapi_stub *stub, size_t index);

/** Blocks until so many requests have come, those without a rule included. Runs no mailbox.
 *  @param timeout seconds at most; negative for ever.
 *  @returns NTAPI_STATUS_TIMED_OUT. */
NTAPI_CHECKED ntapi_status ntapi_stub_wait_for_requests(const ntapi_stub *stub, size_t count, double timeout);

/** Checks that every rule was asked, as often as it has answers where it is used up, and that every request matched.
 *  @param error names what did not.
 *  @returns NTAPI_STATUS_INVALID_STATE when something did not. */
ntapi_status ntapi_stub_verify(const ntapi_stub *stub, ntapi_error **error);

/** Forgets the requests that came, so that every rule begins again. */
ntapi_status ntapi_stub_forget_requests(ntapi_stub *stub);

/* ===== 2. Recorders =============================================================================================== */
/*
 * A recorder keeps what clients and servers send each other, one entry for each exchange, redirects included, for
 * ntapi_stub_open_recording. A path that ends with ".har" makes a HAR 1.2, which browsers import, with times and
 * sizes; every other path makes a recording, which is the same in each run. These secrets do not get into the file:
 * Authorization; the values of cookies and of headers with secret names; args that are marked as secret; and values
 * with a secret name in a query, a form, a multipart body or JSON, in answers, too. Other secrets, for example in text,
 * are not found: read the file before you share it.
 *
 * With the environment variable NTAPI_HAR=traffic.har, a program records all its clients to that file, which is written
 * when a client is closed and at its exit, without large bodies. %p in the name is the number of the process.
 */

/** Makes a recorder, for one client or several, which keep it.
 *  @param path the file that ntapi_recorder_save writes: a HAR if it ends with ".har". */
NTAPI_NEW ntapi_recorder *ntapi_recorder_create(const char *path);
void ntapi_recorder_free(ntapi_recorder *recorder);

/** Whether a recorder replays its file, records, or both. The modes are those of vcrpy. */
typedef enum ntapi_record_mode {
    NTAPI_RECORD_MODE_ENVIRONMENT = 0,  /* what the environment variable NTAPI_RECORD_MODE says: none, once,
                                           new_episodes or all. Without the variable it is none */
    NTAPI_RECORD_MODE_NONE = 1,         /* a request in the file is answered from it; another one fails */
    NTAPI_RECORD_MODE_ONCE = 2,         /* as NONE; but when there is no file, everything is recorded */
    NTAPI_RECORD_MODE_NEW_EPISODES = 3, /* a request in the file is answered from it; another one is sent and added */
    NTAPI_RECORD_MODE_ALL = 4           /* as ntapi_recorder_create: all requests are sent, and the file is replaced */
} ntapi_record_mode;

/** Makes a recorder that also replays, so that one test records in its first run and needs no server later. A client
 *  whose recorder only replays uses neither the network nor its stub. A request that is not in the file then fails with
 *  NTAPI_CODE_NO_STUB, and the message says how to record it. In the mode NEW_EPISODES, what the file has is not
 *  written anew, and a body from a stream is read to its end before it is sent.
 *  @param path a recording or a HAR; a new file is as for ntapi_recorder_create.
 *  @param error which exchange of the file is wrong, and what; or that there is no such mode.
 *  @returns NULL then. */
NTAPI_NEW ntapi_recorder *ntapi_recorder_open(const char *path, ntapi_record_mode mode, ntapi_error **error);

/** Adds the name of a header, query pair, form field, part or JSON member that is secret, too. */
NTAPI_CHECKED ntapi_status ntapi_recorder_add_secret(ntapi_recorder *recorder, const char *name);

/** Records a client's exchanges, of requests begun from now on; NULL ends it. */
NTAPI_CHECKED ntapi_status ntapi_client_set_recorder(ntapi_client *client, ntapi_recorder *recorder);

/** Records the exchanges of every client in the process, in addition to the clients' own recorders, for exchanges that
 *  begin from now on; false ends it. The process keeps the recorder meanwhile. They get no answers from its file. */
ntapi_status ntapi_recorder_record_all(ntapi_recorder *recorder, bool all);

/** How many complete exchanges were recorded. Replayed ones do not count. */
size_t ntapi_recorder_count(const ntapi_recorder *recorder);

/** Writes the file in one step: it is the old one or the new one. May be called again. Blocks meanwhile. Writes nothing
 *  when the recorder only replays, or adds to a file and has nothing to add.
 *  @returns NTAPI_STATUS_INVALID_STATE when it could not be written. */
ntapi_status ntapi_recorder_save(ntapi_recorder *recorder, ntapi_error **error);

/* ===== 3. Clocks ================================================================================================== */
/*
 * A manual clock stands still until it is advanced, so that a test never waits. The waits of the library itself
 * follow it: between the attempts of a request and the connections of a stream of events, the delays of a stub, the
 * timeouts of a request that a stub answers, and those of credentials and decisions. What watches a socket follows
 * the system's time. A clock belongs to the process that made it: a forked child makes its own.
 */

/** Makes a clock, for one client or several, which keep it.
 *  @param calendar the time at the beginning, in seconds since 1970-01-01 00:00 UTC; negative is the system's time now.
 *  @returns NULL when calendar is not a number. */
NTAPI_NEW ntapi_manual_clock *ntapi_manual_clock_create(double calendar);
void ntapi_manual_clock_free(ntapi_manual_clock *clock);

/** Sets the clock of a client, and of its authenticator, for requests begun from now on; NULL is the system's. */
NTAPI_CHECKED ntapi_status ntapi_client_set_clock(ntapi_client *client, ntapi_manual_clock *clock);

/** Moves the clock forward by 0 seconds or more. The waits that are over then end, in the order of their times, on
 *  background workers. This call does not wait for that. The time jumps: each of them ends at the new time. */
ntapi_status ntapi_manual_clock_advance(ntapi_manual_clock *clock, double seconds);

/** How many seconds the clock was advanced in all. */
double ntapi_manual_clock_elapsed(const ntapi_manual_clock *clock);

/** How many waits continue something when they end: a timeout, which gives up, is not counted. next_wake returns in how
 *  many seconds the first of them ends, negative when there is none. */
size_t ntapi_manual_clock_sleepers(const ntapi_manual_clock *clock);
double ntapi_manual_clock_next_wake(const ntapi_manual_clock *clock);

/** Blocks until so many sleepers wait, so that an advance finds them. Runs no mailbox.
 *  @param timeout seconds of the system's time at most; negative for ever.
 *  @returns NTAPI_STATUS_TIMED_OUT. */
NTAPI_CHECKED ntapi_status ntapi_manual_clock_wait_for_sleepers(ntapi_manual_clock *clock, size_t count,
                                                                double timeout);

/** Makes a store within the process, for limiters that share a limit as those of several processes would.
 *  @param clock what its times follow, the clock of the clients; NULL is the system's. */
NTAPI_NEW ntapi_store *ntapi_memory_store_create(ntapi_manual_clock *clock);

/* ===== 4. Handles that are left =================================================================================== */

/** The types of handles that a program has to free (a job: to run). */
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
    NTAPI_HANDLE_KIND_INTERCEPTOR = 27,
    NTAPI_HANDLE_KIND_OBSERVER = 28,
    NTAPI_HANDLE_KIND_STORE = 29,
    NTAPI_HANDLE_KIND_STORE_CALL = 30
} ntapi_handle_kind;

/** How many handles of a kind, or of all kinds, the process has not freed yet. A test finds leaks with it: the number
 *  is the same before and after. Borrowed handles do not count. It takes longer the more handles there were at once.
 *
 *  With the environment variable NTAPI_REPORT_HANDLES=1, a program also says at its exit which handles are left, on
 *  standard error, one line for each kind: "ntapi: 2 ntapi_response not freed". That is after the exit handlers that
 *  were registered since its first call made a handle; a forked child says nothing. */
size_t ntapi_live_handles(ntapi_handle_kind kind);

#ifdef __cplusplus
}
#endif

#endif /* NTAPI_TESTING_H */
