/* Bodies that go to a handler or into a file, and requests that are suspended while they run. */
#include "files.h"
#include "support.h"

#include <poll.h>
#include <semaphore.h>
#include <unistd.h>

#define PATTERN "pattern-8M.bin"
#define LARGEST (320 * 1024) /* the largest piece by the header */

/** The pieces that a data handler has got. Its functions have the signatures of the library's callbacks. */
struct taken {
    witness *seen; /* the witness of the same request's response */
    pthread_t thread;
    char *bytes;
    size_t length;
    int pieces;
    bool too_large;
    int destroys;
    sem_t moved;            /* posted with the first piece */
    sem_t *block;           /* each piece waits for it */
    ntapi_request *request; /* each piece cancels it */
    ntapi_request *braked;  /* suspended with the first piece, when the body cannot have ended yet */
};

static void taken_init(struct taken *self, witness *seen) {
    memset(self, 0, sizeof *self);
    self->seen = seen;
    sem_init(&self->moved, 0, 0);
    witness_init(seen);
}

static void taken_free(struct taken *self) {
    witness_free(self->seen);
    sem_destroy(&self->moved);
    free(self->bytes);
}

static void add(struct taken *self, const char *bytes, size_t length) {
    self->too_large |= length == 0 || length > LARGEST;
    self->bytes = realloc(self->bytes, self->length + length);
    memcpy(self->bytes + self->length, bytes, length);
    self->length += length;
}

static void take(void *user_data, const char *bytes, size_t length) {
    struct taken *self = user_data;
    pthread_mutex_lock(&self->seen->lock);
    self->seen->out_of_order += self->seen->responses > 0 || self->destroys > 0;
    self->thread = pthread_self();
    bool is_first = self->pieces++ == 0;
    add(self, bytes, length);
    pthread_mutex_unlock(&self->seen->lock);
    if (self->request != NULL)
        ntapi_request_cancel(self->request);
    if (is_first && self->braked != NULL)
        ntapi_request_suspend(self->braked);
    if (is_first)
        sem_post(&self->moved);
    if (self->block != NULL)
        sem_wait(self->block);
}

static void taken_destroy(void *user_data) {
    struct taken *self = user_data;
    pthread_mutex_lock(&self->seen->lock);
    self->destroys++;
    pthread_mutex_unlock(&self->seen->lock);
}

static int pieces(struct taken *self) {
    pthread_mutex_lock(&self->seen->lock);
    int count = self->pieces;
    pthread_mutex_unlock(&self->seen->lock);
    return count;
}

/** A suspended request with a data handler and a response handler. Frees args. */
static ntapi_request *streaming(ntapi_client *client, const char *command, ntapi_args *args, struct taken *self) {
    ntapi_request *request = ntapi_client_create_request(client, command, args);
    assert_non_null(request);
    check_ok(ntapi_request_set_handler(request, witness_response, self->seen, witness_destroy));
    check_ok(ntapi_request_set_data_handler(request, take, self, taken_destroy));
    ntapi_args_free(args);
    return request;
}

/** Waits until all callbacks have ended. Checks that each destroy was called once, as the last. */
static void finish(struct taken *self) {
    witness_wait(self->seen, 1);
    assert_int_equal(ntapi_drain(PATIENCE), 0);
    witness_check_once(self->seen);
    assert_int_equal(self->destroys, 1);
    assert_false(self->too_large);
}

/** Waits this many seconds, by a request to a server that answers after them. */
static void pass(double seconds) {
    ntapi_client *client = client_of("weather");
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_url_double(args, "seconds", seconds));
    ntapi_json_free(fetch(client, "slow", args));
    ntapi_client_free(client);
}

static void check_served(const char *name, const char *bytes, size_t length) {
    size_t expected_length;
    char *expected = content(server("nginx_root"), name, &expected_length);
    assert_int_equal(length, expected_length);
    assert_memory_equal(bytes, expected, length);
    free(expected);
}

static void check_file(const char *folder, const char *name, const char *expected) {
    size_t length;
    char *bytes = content(folder, name, &length);
    assert_string_equal(bytes, expected);
    free(bytes);
}

/* The data handler. */

static void a_body_goes_to_its_handler_in_order(void **state) {
    (void)state;
    ntapi_client *client = client_of("nginx");
    witness seen;
    struct taken taken;
    taken_init(&taken, &seen);
    ntapi_request *request = streaming(client, PATTERN, background(), &taken);
    assert_int_equal(ntapi_request_received_status(request), 0);
    ntapi_headers *none = ntapi_request_received_headers(request);
    assert_null(ntapi_headers_at(none, 0, NULL));
    check_ok(ntapi_request_resume(request));
    finish(&taken);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_NONE);
    check_served(PATTERN, taken.bytes, taken.length);
    size_t length = 1;
    ntapi_response_data(seen.response, &length);
    assert_int_equal(length, 0);
    assert_null(ntapi_response_file(seen.response));
    assert_true(metric_of(seen.response, "bytesDecoded") == 8 << 20);
    assert_int_equal(metric(request, "progress.bytesReceived"), 8 << 20);
    assert_int_equal(metric(request, "progress.bytesDecoded"), 8 << 20);
    assert_int_equal(ntapi_request_received_status(request), 200);
    check_new_header(ntapi_request_received_headers(request), "CONTENT-length", "8388608");
    check_new_header(ntapi_request_received_headers(request), "no-such", NULL);
    /* Headers that were read before do not change. */
    check_new_header(none, "content-length", NULL);
    ntapi_headers *received = ntapi_request_received_headers(request);
    size_t count = 0, found = 0;
    const char *name, *value, *final_name;
    for (; (value = ntapi_headers_at(received, count, &name)) != NULL; count++) {
        assert_string_equal(value, ntapi_headers_at(ntapi_response_headers(seen.response), count, &final_name));
        assert_string_equal(name, final_name);
        found += strcmp(value, "8388608") == 0;
    }
    assert_int_equal(found, 1);
    assert_null(ntapi_headers_at(ntapi_response_headers(seen.response), count, NULL));
    assert_null(ntapi_headers_at(received, SIZE_MAX, NULL));
    ntapi_headers_free(received);
    assert_null(ntapi_headers_at(received, 0, NULL));
    ntapi_request_free(request);
    taken_free(&taken);
    ntapi_client_free(client);
}

static void what_is_compressed_arrives_decompressed(void **state) {
    (void)state;
    ntapi_client *client = client_of("nginx");
    witness seen;
    struct taken taken;
    taken_init(&taken, &seen);
    ntapi_request *request = streaming(client, "gzip/big-100k.json", background(), &taken);
    check_ok(ntapi_request_resume(request));
    finish(&taken);
    check_served("big-100k.json", taken.bytes, taken.length);
    assert_int_equal(metric(request, "progress.bytesDecoded"), taken.length);
    assert_true(metric(request, "progress.bytesReceived") < metric(request, "progress.bytesDecoded"));
    ntapi_request_free(request);
    taken_free(&taken);
    ntapi_client_free(client);
}

static void the_body_of_an_error_is_in_the_response(void **state) {
    (void)state;
    ntapi_client *client = client_of("nginx");
    witness seen;
    struct taken taken;
    taken_init(&taken, &seen);
    ntapi_request *request = streaming(client, "404", background(), &taken);
    check_ok(ntapi_request_resume(request));
    finish(&taken);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_HTTP_ERROR);
    check_string(ntapi_response_json(seen.response), "error", "none");
    assert_int_equal(taken.pieces, 0);
    assert_int_equal(ntapi_request_received_status(request), 0);
    ntapi_request_free(request);
    taken_free(&taken);
    ntapi_client_free(client);
}

static void what_came_before_a_break_is_told(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    witness seen;
    struct taken taken;
    taken_init(&taken, &seen);
    ntapi_request *request = streaming(client, "close/in-body", background(), &taken);
    check_ok(ntapi_request_resume(request));
    finish(&taken);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_NETWORK);
    assert_int_equal(taken.length, 100);
    ntapi_request_free(request);
    taken_free(&taken);
    ntapi_client_free(client);
}

/** Data handler and response handler run on different threads. The response still waits for the last piece. */
static void data_has_a_thread_of_its_own(void **state) {
    (void)state;
    ntapi_client *client = client_of("nginx");
    witness seen;
    struct taken taken;
    taken_init(&taken, &seen);
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_RESPONSE, NTAPI_THREAD_MAIN));
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_DATA, NTAPI_THREAD_BACKGROUND));
    ntapi_request *request = streaming(client, PATTERN, args, &taken);
    check_ok(ntapi_request_resume(request));
    check_ok(ntapi_request_wait(request, PATIENCE));
    finish(&taken);
    assert_true(pthread_equal(seen.thread, pthread_self()));
    assert_false(pthread_equal(taken.thread, pthread_self()));
    check_served(PATTERN, taken.bytes, taken.length);
    ntapi_request_free(request);
    taken_free(&taken);

    /* By default, it runs where the response handler runs. */
    taken_init(&taken, &seen);
    request = streaming(client, PATTERN, ntapi_args_create(), &taken);
    check_ok(ntapi_request_resume(request));
    check_ok(ntapi_request_wait(request, PATIENCE));
    finish(&taken);
    assert_true(pthread_equal(taken.thread, pthread_self()));
    check_served(PATTERN, taken.bytes, taken.length);
    ntapi_request_free(request);
    taken_free(&taken);
    ntapi_client_free(client);
}

static void a_handler_that_is_behind_holds_up_the_network(void **state) {
    (void)state;
    ntapi_client *client = client_of("nginx");
    witness seen;
    struct taken taken;
    sem_t block;
    sem_init(&block, 0, 0);
    taken_init(&taken, &seen);
    taken.block = &block;
    ntapi_args *args = background();
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_IDLE, IDLE_TIMEOUT));
    ntapi_request *request = streaming(client, "256M.bin", args, &taken);
    check_ok(ntapi_request_resume(request));
    sem_wait(&taken.moved);
    pass(LONGER_THAN_IDLE); /* the server is not to blame for a slow handler */
    assert_int_equal(pieces(&taken), 1);
    assert_true(metric(request, "progress.bytesReceived") < 2 << 20);
    check_ok(ntapi_request_cancel(request));
    sem_post(&block);
    finish(&taken);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_CANCELLED);
    assert_int_equal(taken.pieces, 1);
    assert_true(metric_of(seen.response, "bytesReceived") < 2 << 20);
    ntapi_request_free(request);
    sem_destroy(&block);
    taken_free(&taken);
    ntapi_client_free(client);
}

static void no_piece_comes_after_a_cancel(void **state) {
    (void)state;
    ntapi_client *client = client_of("nginx");
    for (int i = 0; i < 50; i++) {
        witness seen;
        struct taken taken;
        taken_init(&taken, &seen);
        ntapi_request *request = streaming(client, PATTERN, background(), &taken);
        taken.request = request;
        check_ok(ntapi_request_resume(request));
        finish(&taken);
        assert_int_equal(taken.pieces, 1);
        assert_int_equal(witness_code(&seen), NTAPI_CODE_CANCELLED);
        ntapi_request_free(request);
        taken_free(&taken);
    }
    ntapi_client_free(client);
}

static void a_handler_is_destroyed_once_whatever_happens(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    witness seen;
    struct taken taken;
    taken_init(&taken, &seen);
    check_invalid(ntapi_request_set_data_handler(NULL, take, &taken, taken_destroy));
    assert_int_equal(taken.destroys, 1);
    ntapi_args *args = background();
    ntapi_request *request = ntapi_client_create_request(client, "ok", args);
    check_ok(ntapi_request_set_data_handler(request, take, &taken, taken_destroy));
    assert_int_equal(taken.destroys, 1);
    check_ok(ntapi_request_set_data_handler(request, NULL, NULL, NULL)); /* this replaces the previous one */
    assert_int_equal(taken.destroys, 2);
    check_ok(ntapi_request_set_data_handler(request, take, &taken, taken_destroy));
    check_ok(ntapi_request_set_data_handler(request, take, &taken, NULL));
    assert_int_equal(taken.destroys, 3);
    check_ok(ntapi_request_resume(request));
    check_too_late(ntapi_request_set_data_handler(request, take, &taken, taken_destroy));
    assert_int_equal(taken.destroys, 4);
    check_ok(ntapi_request_wait(request, PATIENCE));
    ntapi_request_free(request);
    /* This request is freed before it is resumed. */
    request = ntapi_client_create_request(client, "ok", args);
    check_ok(ntapi_request_set_data_handler(request, take, &taken, taken_destroy));
    ntapi_request_free(request);
    assert_int_equal(taken.destroys, 5);
    ntapi_args_free(args);
    taken_free(&taken);
    ntapi_client_free(client);
}

/* Pieces as events. */

static bool readable(const ntapi_mailbox *mailbox, int milliseconds) {
    struct pollfd fd = {.fd = ntapi_mailbox_fd(mailbox), .events = POLLIN};
    return poll(&fd, 1, milliseconds) == 1;
}

/** Waits for the next event of a mailbox. */
static ntapi_event next_event(ntapi_mailbox *mailbox, void *user_data) {
    ntapi_event event = {0};
    while (ntapi_mailbox_take(mailbox, &event, sizeof event, 1) == 0)
        assert_true(readable(mailbox, (int)(PATIENCE * 1000)));
    assert_ptr_equal(event.user_data, user_data);
    return event;
}

static ntapi_request *begin_pull(ntapi_client *client, const char *command, ntapi_mailbox *mailbox, void *user_data) {
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_mailbox(args, NTAPI_HANDLER_ALL, mailbox));
    ntapi_request *request = ntapi_client_create_request(client, command, args);
    check_ok(ntapi_request_set_events(request, NTAPI_HANDLER_RESPONSE | NTAPI_HANDLER_DATA, user_data));
    check_ok(ntapi_request_resume(request));
    ntapi_args_free(args);
    return request;
}

static void pieces_are_pulled(void **state) {
    (void)state;
    ntapi_client *client = client_of("nginx");
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    struct taken taken = {0};
    ntapi_request *request = begin_pull(client, PATTERN, mailbox, &taken);
    ntapi_event event;
    while ((event = next_event(mailbox, &taken)).handler == NTAPI_HANDLER_DATA) {
        assert_null(event.response);
        add(&taken, event.body, event.length);
        ntapi_data_free(event.data);
    }
    assert_int_equal(event.handler, NTAPI_HANDLER_RESPONSE);
    assert_null(event.data);
    assert_null(event.error);
    assert_int_equal(event.length, 0);
    check_served(PATTERN, taken.bytes, taken.length);
    assert_false(taken.too_large);
    free(taken.bytes);
    ntapi_response_free(event.response);
    ntapi_request_free(request);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
}

/** While the program holds a piece, no other piece follows, and the network waits. */
static void the_next_piece_follows_when_one_is_freed(void **state) {
    (void)state;
    ntapi_client *client = client_of("nginx");
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_request *request = begin_pull(client, "256M.bin", mailbox, NULL);
    for (int i = 0; i < 3; i++) {
        ntapi_event event = next_event(mailbox, NULL);
        assert_int_equal(event.handler, NTAPI_HANDLER_DATA);
        pass(0.3);
        assert_false(readable(mailbox, 0));
        assert_true(metric(request, "progress.bytesReceived") < 4 << 20);
        ntapi_data_free(event.data);
    }
    ntapi_event event = next_event(mailbox, NULL);
    assert_int_equal(event.handler, NTAPI_HANDLER_DATA);
    check_ok(ntapi_request_cancel(request));
    ntapi_data *lent = event.data; /* after a cancel, the response does not wait for it */
    event = next_event(mailbox, NULL);
    assert_int_equal(event.handler, NTAPI_HANDLER_RESPONSE);
    ntapi_data_free(lent);
    assert_int_equal(ntapi_error_code(event.error), NTAPI_CODE_CANCELLED);
    ntapi_response_free(event.response);
    ntapi_request_free(request);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
}

static void pieces_are_pulled_from_mailboxes_only(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_mailbox *mailbox = ntapi_mailbox_create();
    ntapi_args *args = ntapi_args_create();
    check_ok(ntapi_args_mailbox(args, NTAPI_HANDLER_RESPONSE, mailbox));
    check_ok(ntapi_args_thread(args, NTAPI_HANDLER_DATA, NTAPI_THREAD_BACKGROUND));
    ntapi_request *request = ntapi_client_create_request(client, "ok", args);
    check_invalid(ntapi_request_set_events(request, NTAPI_HANDLER_DATA, NULL));
    check_ok(ntapi_request_set_events(request, NTAPI_HANDLER_RESPONSE, NULL));
    ntapi_request_free(request);
    ntapi_args_free(args);
    ntapi_mailbox_free(mailbox);
    ntapi_client_free(client);
}

/* Requests that are suspended while they run. */

static void a_suspended_request_moves_no_byte_and_goes_on(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    witness seen;
    struct taken taken;
    taken_init(&taken, &seen);
    char path[256];
    ntapi_args *common = background(), *args = split_query("drip?size=4000000&bytes=20000&ms=10", common, path);
    ntapi_args_free(common);
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_IDLE, IDLE_TIMEOUT));
    ntapi_request *request = streaming(client, path, args, &taken);
    taken.braked = request;
    check_too_late(ntapi_request_suspend(request)); /* the request does not run yet */
    check_ok(ntapi_request_resume(request));
    sem_wait(&taken.moved);
    assert_int_equal(ntapi_request_get_state(request), NTAPI_REQUEST_STATE_SUSPENDED);
    check_too_late(ntapi_request_suspend(request));
    int before;
    do {
        before = pieces(&taken);
        pass(0.3);
    } while (pieces(&taken) != before); /* until the suspension has taken effect */
    pass(LONGER_THAN_IDLE);
    assert_int_equal(pieces(&taken), before);
    assert_int_equal(seen.responses, 0);
    check_ok(ntapi_request_resume(request));
    assert_int_equal(ntapi_request_get_state(request), NTAPI_REQUEST_STATE_RUNNING);
    check_too_late(ntapi_request_resume(request));
    finish(&taken);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_NONE);
    assert_int_equal(taken.length, 4000000);
    assert_memory_equal(taken.bytes, "{\"pad\":\"x", 9);
    assert_memory_equal(taken.bytes + 4000000 - 3, "x\"}", 3);
    check_too_late(ntapi_request_suspend(request));
    check_too_late(ntapi_request_resume(request));
    ntapi_request_free(request);
    taken_free(&taken);
    ntapi_client_free(client);
}

static void a_suspended_upload_sends_no_byte_and_goes_on(void **state) {
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", server("nginx_root"), PATTERN);
    ntapi_client *client = client_of("weather");
    ntapi_args *args = background();
    check_ok(ntapi_args_url_int(args, "rate", 16 << 20));
    check_ok(ntapi_args_file(args, path, "application/octet-stream"));
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_IDLE, IDLE_TIMEOUT));
    brake brake;
    brake_init(&brake, ntapi_client_create_request(client, "upload", args));
    check_ok(ntapi_request_set_upload_progress(brake.request, brake_pull, &brake, NULL));
    check_ok(ntapi_request_resume(brake.request));
    sem_wait(&brake.pulled);
    int64_t before;
    do {
        before = metric(brake.request, "progress.bytesSent");
        pass(0.3);
    } while (metric(brake.request, "progress.bytesSent") != before); /* until the command has taken effect */
    pass(LONGER_THAN_IDLE);
    assert_int_equal(metric(brake.request, "progress.bytesSent"), before);
    assert_true(before < 8 << 20);
    check_ok(ntapi_request_resume(brake.request));
    check_ok(ntapi_request_wait(brake.request, PATIENCE));
    ntapi_response *response = ntapi_request_response(brake.request);
    assert_null(ntapi_response_error(response));
    assert_int_equal(ntapi_json_int(ntapi_response_json(response), "size", 0), 8 << 20);
    char sum[128], command[600];
    snprintf(command, sizeof command, "sha256sum < '%s'", path);
    FILE *program = popen(command, "r");
    assert_non_null(fgets(sum, sizeof sum, program));
    pclose(program);
    sum[64] = '\0';
    check_string(ntapi_response_json(response), "sha256", sum);
    ntapi_response_free(response);
    brake_free(&brake);
    ntapi_args_free(args);
    ntapi_client_free(client);
}

static void a_suspended_request_is_cancelled(void **state) {
    (void)state;
    ntapi_client *client = client_of("nginx");
    witness seen;
    struct taken taken;
    taken_init(&taken, &seen);
    ntapi_request *request = streaming(client, "slow/256M.bin", background(), &taken);
    check_ok(ntapi_request_resume(request));
    sem_wait(&taken.moved);
    check_ok(ntapi_request_suspend(request));
    check_ok(ntapi_request_cancel(request));
    finish(&taken);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_CANCELLED);
    assert_int_equal(ntapi_request_get_state(request), NTAPI_REQUEST_STATE_CANCELLED);
    ntapi_request_free(request);
    taken_free(&taken);
    ntapi_client_free(client);
}

/* Downloads. */

static void a_download_is_the_file_and_nothing_else(void **state) {
    (void)state;
    char folder[64];
    make_folder(folder);
    ntapi_client *client = client_of("nginx");
    witness seen;
    witness_init(&seen);
    ntapi_args *args = to_file(folder, "a.bin");
    ntapi_request *request = ntapi_client_create_request(client, PATTERN, args);
    check_ok(ntapi_request_set_handler(request, witness_response, &seen, witness_destroy));
    check_ok(ntapi_request_set_download_progress(request, witness_progress, &seen, witness_destroy));
    check_ok(ntapi_request_resume(request));
    witness_wait(&seen, 2);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_NONE);
    char path[128];
    snprintf(path, sizeof path, "%s/a.bin", folder);
    assert_string_equal(ntapi_response_file(seen.response), path);
    size_t length = 1;
    ntapi_response_data(seen.response, &length);
    assert_int_equal(length, 0);
    assert_int_equal(entries(folder), 1);
    char *bytes = content(folder, "a.bin", &length);
    check_served(PATTERN, bytes, length);
    free(bytes);
    assert_int_equal(seen.first, 0);
    assert_int_equal(seen.last, 8 << 20);
    assert_int_equal(seen.total, 8 << 20);
    assert_int_equal(seen.shrinking + seen.out_of_order, 0);
    assert_int_equal(metric(request, "progress.bytesDecoded"), 8 << 20);
    assert_int_equal(ntapi_request_received_status(request), 200);
    ntapi_request_free(request);
    ntapi_args_free(args);
    witness_free(&seen);
    ntapi_client_free(client);
    remove_folder(folder, "a.bin");
}

static void a_file_is_replaced_only_when_the_new_one_is_whole(void **state) {
    (void)state;
    char folder[64], path[128];
    make_folder(folder);
    snprintf(path, sizeof path, "%s/a.bin", folder);
    FILE *old = fopen(path, "w");
    assert_non_null(old);
    fputs("old", old);
    fclose(old);
    ntapi_client *fault = client_of("fault"), *nginx = client_of("nginx");

    ntapi_response *response = perform(fault, "close/in-body", to_file(folder, "a.bin"));
    assert_null(ntapi_response_file(response));
    check_error(response, NTAPI_ERROR_DOMAIN_NETWORK, NTAPI_CODE_NETWORK);
    check_file(folder, "a.bin", "old");

    response = perform(nginx, "404", to_file(folder, "a.bin"));
    assert_null(ntapi_response_file(response));
    check_string(ntapi_response_json(response), "error", "none");
    check_error(response, NTAPI_ERROR_DOMAIN_HTTP, NTAPI_CODE_HTTP_ERROR);
    check_file(folder, "a.bin", "old");

    ntapi_args *args = to_file(folder, "a.bin");
    ntapi_request *request = ntapi_client_create_request(nginx, "slow/256M.bin", args);
    witness seen;
    witness_init(&seen);
    check_ok(ntapi_request_set_handler(request, witness_response, &seen, witness_destroy));
    check_ok(ntapi_request_resume(request));
    while (metric(request, "progress.bytesReceived") == 0)
        pass(0.05);
    check_file(folder, "a.bin", "old"); /* while the new one is coming */
    assert_int_equal(entries(folder), 2);
    check_ok(ntapi_request_cancel(request));
    witness_wait(&seen, 1);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_CANCELLED);
    assert_null(ntapi_response_file(seen.response));
    /* The received bytes are kept, so that the download can be resumed. */
    assert_int_equal(entries(folder), 2);
    check_ok(ntapi_resume_data_discard(ntapi_response_resume_data(seen.response)));
    assert_int_equal(entries(folder), 1);
    check_file(folder, "a.bin", "old");
    witness_free(&seen);
    ntapi_request_free(request);
    ntapi_args_free(args);

    response = perform(nginx, "ping", to_file(folder, "a.bin"));
    assert_null(ntapi_response_error(response));
    assert_null(ntapi_response_json(response));
    assert_string_equal(ntapi_response_file(response), path);
    check_file(folder, "a.bin", "{\"ok\":true}");
    ntapi_response_free(response);
    ntapi_client_free(fault);
    ntapi_client_free(nginx);
    remove_folder(folder, "a.bin");
}

static void bad_destinations_are_named(void **state) {
    (void)state;
    char folder[64];
    make_folder(folder);
    ntapi_client *client = client_of("nginx");
    const struct {
        const char *name, *reason;
    } bad[] = {{"no/such", "no such folder"}, {".", "does not name a file"}, {"", "does not name a file"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ntapi_response *response = perform(client, "ping", to_file(folder, bad[i].name));
        const char *message = ntapi_error_message(ntapi_response_error(response));
        assert_non_null(message);
        if (strstr(message, folder) == NULL || strstr(message, bad[i].reason) == NULL)
            fail_msg("%s", message);
        check_error(response, NTAPI_ERROR_DOMAIN_REQUEST, NTAPI_CODE_INVALID_REQUEST);
    }
    ntapi_args *args = ntapi_args_create();
    check_invalid(ntapi_args_download(args, "\xff"));
    assert_int_equal(ntapi_args_count(args), 0);
    check_ok(ntapi_args_download(args, "a \"b\""));
    ntapi_args_free(args);
    args = ntapi_args_create();
    check_ok(ntapi_args_download(args, "a \"b\""));
    check_new_text(ntapi_describe(args), "ntapi_args download(to: \"a \\\"b\\\"\")");
    ntapi_args_free(args);
    ntapi_client_free(client);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_goes_to_its_handler_in_order),
        cmocka_unit_test(what_is_compressed_arrives_decompressed),
        cmocka_unit_test(the_body_of_an_error_is_in_the_response),
        cmocka_unit_test(what_came_before_a_break_is_told),
        cmocka_unit_test(data_has_a_thread_of_its_own),
        cmocka_unit_test(a_handler_that_is_behind_holds_up_the_network),
        cmocka_unit_test(no_piece_comes_after_a_cancel),
        cmocka_unit_test(a_handler_is_destroyed_once_whatever_happens),
        cmocka_unit_test(pieces_are_pulled),
        cmocka_unit_test(the_next_piece_follows_when_one_is_freed),
        cmocka_unit_test(pieces_are_pulled_from_mailboxes_only),
        cmocka_unit_test(a_suspended_request_moves_no_byte_and_goes_on),
        cmocka_unit_test(a_suspended_upload_sends_no_byte_and_goes_on),
        cmocka_unit_test(a_suspended_request_is_cancelled),
        cmocka_unit_test(a_download_is_the_file_and_nothing_else),
        cmocka_unit_test(a_file_is_replaced_only_when_the_new_one_is_whole),
        cmocka_unit_test(bad_destinations_are_named),
    };
    return cmocka_run_group_tests_name("transfer", tests, NULL, NULL);
}
