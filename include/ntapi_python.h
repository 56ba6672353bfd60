/*
 * ntapi_python.h - what the Python package `ntapi` needs beside ntapi.h: JSON made into values of CPython, and the
 * functions that each request calls as functions of CPython's own. Private: it is not installed, and may change in any
 * version. The calling thread must hold Python's global lock.
 */
#ifndef NTAPI_PYTHON_H
#define NTAPI_PYTHON_H

#include "ntapi_testing.h"

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
 *  @param name "ntapi_response_free", "ntapi_args_free", "ntapi_request_free", "ntapi_data_free",
 *  "ntapi_args_create_message", "ntapi_request_received_message", "ntapi_response_json_python", "ntapi_json_python",
 *  "ntapi_client_begin_event", "ntapi_client_begin_stream", "ntapi_client_perform_watching",
 *  "ntapi_client_pull_watching", "ntapi_request_pull_watching", or "ntapi_args_json_text", which exists only here: it
 *  takes args, JSON text and its length, and sets the text's value as the body, as ntapi_args_json does.
 *  @returns a new reference of Python's; NULL for another name, and when a function is missing or fails. */
void *ntapi_python_function(const ntapi_python *python, const char *name);

/* ===== 3. Requests ================================================================================================ */

/** A wait that can be interrupted. The caller sets timeout and descriptor, the call the others. */
typedef struct ntapi_watch {
    double timeout;           /* seconds at most; negative for ever */
    int descriptor;           /* interrupts the wait when it is readable; -1 for none */
    ntapi_request *request;   /* new, when the request goes on: wait for it, or cancel it, and free it; else NULL */
    ntapi_response *response; /* new, when the request is done; else NULL */
    const ntapi_error *error; /* of the response, as the next four are those of an ntapi_event; zeros without one */
    const char *body;
    size_t length;
    int status;
    ntapi_contents contents;
} ntapi_watch;

/** Performs a request as ntapi_client_perform does, but returns when something else needs the calling thread: for
 *  interpreters, whose signal handlers run between calls only, and for threads with a loop of their own. Runs no
 *  mailbox: watch a mailbox's descriptor and run it meanwhile. Args that set where handlers run have no effect.
 *  Continue with wait_watching, which sets the watch's request to NULL: free the request when it is done.
 *  @returns NTAPI_STATUS_OK with a response. NTAPI_STATUS_TIMED_OUT with a request, which goes on: the time is over,
 *  the descriptor is readable, or this thread has handled a signal. NTAPI_STATUS_INVALID_STATE when the request belongs
 *  to the process that forked this one, or was not begun by perform_watching. */
ntapi_status ntapi_client_perform_watching(ntapi_client *client, const char *command, const ntapi_args *args,
                                           ntapi_watch *watch);
ntapi_status ntapi_request_wait_watching(ntapi_request *request, ntapi_watch *watch);

/** As perform_watching and wait_watching, but the caller takes the body, piece by piece, and makes the exchange
 *  meanwhile on its own thread if it can. Then nothing is received between two calls, and no clock for silence runs.
 *  @returns NTAPI_STATUS_OK with a response, at the end, or without one: then body and length are a piece, which is
 *  valid until the next call for the request. The first piece comes with the head, and may be empty. The rest as above:
 *  the watch of client_pull_watching has a request unless it has a response. */
ntapi_status ntapi_client_pull_watching(ntapi_client *client, const char *command, const ntapi_args *args,
                                        ntapi_watch *watch);
ntapi_status ntapi_request_pull_watching(ntapi_request *request, ntapi_watch *watch);

/** As ntapi_client_begin_event, but the body comes in events of its own (NTAPI_HANDLER_DATA), piece by piece. The first
 *  comes with the head, and may be empty. */
ntapi_request *ntapi_client_begin_stream(ntapi_client *client, const char *command, const ntapi_args *args,
                                         ntapi_mailbox *mailbox, void *user_data);

/** The args of a request that another library has made.
 *  @param usual its first args, which many requests share.
 *  @param texts `count` texts, each with its NUL, one behind the other: the method, the URL, and for each header line
 *  its name and its value.
 *  @returns a new list, which the caller frees; NULL for a text that is not UTF-8, an odd count, or a wrong handle. */
ntapi_args *ntapi_args_create_message(const ntapi_args *usual, const char *texts, size_t count);

/** The head of the answer as HTTP/1.1 writes it: "HTTP/1.1 200 OK", then "name: value" for each line as it came, each
 *  with CRLF behind it; "HTTP/2" for that version. Valid as long as the request. NULL before the head has come. */
const char *ntapi_request_received_message(const ntapi_request *request);

/** Settings of a request. All return NTAPI_STATUS_INVALID_STATE after resume.
 *  @param logs_error whether the library logs the error that the request ends with; true at first. A caller that
 *  replaces the error writes its own line with ntapi_request_log.
 *  @param keeps_body whether the response also holds a body that goes to events; false at first.
 *  @param kinds these are delivered as events (NTAPI_HANDLER_DECISION), and the client's hook is asked about the
 *  others. All at first. */
ntapi_status ntapi_request_set_logs_error(ntapi_request *request, bool logs_error);
ntapi_status ntapi_request_set_keeps_body(ntapi_request *request, bool keeps_body);
ntapi_status ntapi_request_set_decision_kinds(ntapi_request *request, ntapi_decision_kinds kinds);

/** All lines as they came, "name: value" with CRLF behind each, in one call. Valid as long as the headers. */
const char *ntapi_headers_lines(const ntapi_headers *headers);

/** How long the request may go on when the process exits (default exitTimeout), because the interpreter ends before the
 *  process does. 0 when it is suspended or read as a stream. Asks the providers of defaults. */
double ntapi_request_exit_timeout(const ntapi_request *request);

/** The process ends: responses come even if a callback of their request has not returned. Ends the network. */
void ntapi_stop_waiting_for_calls(void);

/** Waits until the stores have what caches have loaded or changed: up to four times a store's timeout, 10 s at most.
 *  Called before the interpreter ends, because a store that is written in Python ends with it. */
void ntapi_wait_for_stores(void);

/** Makes a recorder that asks a stub before the servers, in the way of NTAPI_RECORD_MODE_NEW_EPISODES. The stub has a
 *  file of another format. ntapi_recorder_save writes only the exchanges with servers. */
NTAPI_NEW ntapi_recorder *ntapi_recorder_create_replaying(const char *path, ntapi_stub *stub);

/** Calls a function once, on a worker of the library, where it may block. */
void ntapi_run_on_worker(ntapi_destroy_fn run, void *user_data);

/** Tells the library that the calling thread is about to wait for something of its own: a descriptor, say. On a worker
 *  of the library, where interceptors and some hooks run, another thread takes over meanwhile, and the waiting one does
 *  not count among the workers. Without this, 64 interceptors that wait for requests leave no worker to end those.
 *  @returns true when ntapi_worker_end_wait must be called after the wait; false on other threads. */
bool ntapi_worker_begin_wait(void);
void ntapi_worker_end_wait(void);

/** The caller reports itself that the last setter of section 15 was refused, so the request does not fail for that. */
void ntapi_http_request_forget_mistake(ntapi_http_request *http_request);

/** Copies everything from another built request: method, URL, headers, body, timeouts and the rest. */
ntapi_status ntapi_http_request_assign(ntapi_http_request *http_request, const ntapi_http_request *other);

/** Recorders and observers of all clients do not see this client's requests, as those of a mock server, which passes to
 *  its stub what other clients have sent. Before the first request. */
void ntapi_client_hide(ntapi_client *client);

/** Replaces the interceptors that were added to a client, in one step. For requests begun from now on.
 *  @param args those of its args that are interceptors, in order; NULL is none. */
ntapi_status ntapi_client_set_interceptors(ntapi_client *client, const ntapi_args *args);

#ifdef __cplusplus
}
#endif

#endif /* NTAPI_PYTHON_H */
