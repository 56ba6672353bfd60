/*
 * A disk that does not respond. The program has its own versions of some system calls, and the library finds them
 * first. A call on a file of the test waits until the test releases it, or fails with an error.
 *
 * Meanwhile other requests get their responses, because neither the network thread nor the workers wait for a file.
 */
#define _GNU_SOURCE
#include "files.h"
#include "session.h"
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* More files than the library has workers. */
enum { DOWNLOADS = 12, OTHERS = 60 };

/* How much of a body may be in memory while its file is not written: two pieces, and what libcurl has read. */
enum { MOST_IN_MEMORY = 1 << 20 };

/* The size of a file that is uploaded. */
enum { SENT = 300000 };

static char folder[64];

/* MARK: The disk */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static const char *stuck;  /* the call that waits; NULL means none */
static const char *files;  /* a part of the paths of the files on which it waits */
static const char *broken; /* the call that fails; NULL means none */
static int good_calls;     /* how many calls succeed before one fails */
static int waiting;        /* how many calls wait */
static pid_t owner;        /* the process of the test */

static bool holds(const char *call, const char *path) {
    return stuck != NULL && strcmp(stuck, call) == 0 && strstr(path, files) != NULL;
}

/** Whether the disk refuses this call, perhaps after a wait. */
static bool refuses(const char *call, const char *path) {
    if (folder[0] == '\0' || getpid() != owner || strstr(path, folder) == NULL)
        return false;
    pthread_mutex_lock(&lock);
    if (holds(call, path)) {
        waiting++;
        pthread_cond_broadcast(&changed);
        while (holds(call, path))
            pthread_cond_wait(&changed, &lock);
        waiting--;
    }
    bool is_refused = broken != NULL && strcmp(broken, call) == 0 && good_calls-- <= 0;
    pthread_mutex_unlock(&lock);
    if (is_refused)
        errno = ENOSPC;
    return is_refused;
}

static bool refuses_file(const char *call, int descriptor) {
    char link[64], path[256];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = '\0';
    return refuses(call, path);
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return refuses(flags & O_CREAT ? "open" : "open to read", path) ? -1 : openat(AT_FDCWD, path, flags, mode);
}

ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
    return refuses_file("read", descriptor) ? -1 : (ssize_t)syscall(SYS_pread64, descriptor, bytes, count, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    struct iovec piece = {(void *)bytes, count};
    return refuses_file("write", descriptor) ? -1 : writev(descriptor, &piece, 1);
}

int fsync(int descriptor) {
    return refuses_file("fsync", descriptor) ? -1 : (int)syscall(SYS_fsync, descriptor);
}

int close(int descriptor) {
    return refuses_file("close", descriptor) ? -1 : (int)syscall(SYS_close, descriptor);
}

int rename(const char *from, const char *to) {
    return refuses("rename", from) ? -1 : renameat(AT_FDCWD, from, AT_FDCWD, to);
}

/** From now on, this call waits if its file has such a path. */
static void hold(const char *call, const char *path) {
    pthread_mutex_lock(&lock);
    stuck = call;
    files = path;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void let_go(void) {
    hold(NULL, "");
}

/** From now on, this call fails after a number of calls that succeed. */
static void refuse(const char *call, int after) {
    pthread_mutex_lock(&lock);
    broken = call;
    good_calls = after;
    pthread_mutex_unlock(&lock);
}

static void wait_until_held(int calls) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += (time_t)PATIENCE;
    pthread_mutex_lock(&lock);
    int problem = 0;
    while (waiting < calls && problem == 0)
        problem = pthread_cond_timedwait(&changed, &lock, &end);
    pthread_mutex_unlock(&lock);
    assert_int_equal(problem, 0);
}

static int open_folder(void **state) {
    (void)state;
    owner = getpid();
    make_folder(folder);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    let_go();
    refuse(NULL, 0);
    remove_all(folder);
    folder[0] = '\0';
    return 0;
}

/* MARK: Requests */

/** Makes some requests at once. Fails unless all get responses. */
static void others_are_answered(ntapi_client *client) {
    witness seen[OTHERS];
    ntapi_args *args = background();
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_TOTAL, PATIENCE / 2));
    for (int i = 0; i < OTHERS; i++) {
        witness_init(&seen[i]);
        begin(client, "small.json", args, &seen[i]);
    }
    ntapi_args_free(args);
    for (int i = 0; i < OTHERS; i++) {
        witness_wait(&seen[i], 1);
        assert_int_equal(witness_code(&seen[i]), NTAPI_CODE_NONE);
        witness_free(&seen[i]);
    }
}

static ntapi_request *begin_download(ntapi_client *client, int number, const char *command, witness *seen) {
    char name[16];
    snprintf(name, sizeof name, "f%d", number);
    ntapi_args *args = to_file(folder, name);
    ntapi_request *request = ntapi_client_create_request(client, command, args);
    ntapi_args_free(args);
    assert_non_null(request);
    witness_init(seen);
    check_ok(ntapi_request_set_handler(request, witness_response, seen, witness_destroy));
    check_ok(ntapi_request_resume(request));
    return request;
}

/** Downloads while one call on the files waits. */
static void hold_up(ntapi_client *client, const char *call, const char *command) {
    ntapi_client *other = client_of("nginx");
    ntapi_request *requests[DOWNLOADS];
    witness seen[DOWNLOADS];
    hold(call, ".part");
    for (int i = 0; i < DOWNLOADS; i++)
        requests[i] = begin_download(client, i, command, &seen[i]);
    wait_until_held(DOWNLOADS);
    others_are_answered(other);
    for (int i = 0; i < DOWNLOADS; i++) {
        assert_true(metric(requests[i], "progress.bytesReceived") <= MOST_IN_MEMORY);
    }
    let_go();
    for (int i = 0; i < DOWNLOADS; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        witness_wait(&seen[i], 1);
        assert_int_equal(witness_code(&seen[i]), NTAPI_CODE_NONE);
        check_download(folder, name, command);
        witness_free(&seen[i]);
        ntapi_request_free(requests[i]);
    }
    ntapi_client_free(other);
}

static void hold_up_all(const char *call, const char *command) {
    ntapi_client *client = client_of("nginx");
    hold_up(client, call, command);
    assert_int_equal(entries(folder), DOWNLOADS);
    ntapi_client_free(client);
}

static void a_file_that_cannot_be_opened_holds_up_nobody(void **state) {
    (void)state;
    hold_up_all("open", "big-100k.json");
}

static void a_file_that_cannot_be_written_holds_up_nobody(void **state) {
    (void)state;
    hold_up_all("write", "pattern-8M.bin");
}

static void a_file_that_cannot_be_renamed_holds_up_nobody(void **state) {
    (void)state;
    hold_up_all("rename", "big-100k.json");
}

/** If a disk becomes full, the download fails with the reason, whichever piece has no room. It leaves no file, except
 * for one that can be resumed. */
static void a_full_disk_is_an_error(void **state) {
    (void)state;
    static const struct {
        const char *call, *command;
        int after;
    } cases[] = {{"open", "small.json", 0},      {"write", "small.json", 0}, {"write", "pattern-8M.bin", 0},
                 {"write", "pattern-8M.bin", 5}, {"close", "small.json", 0}, {"rename", "small.json", 0}};
    ntapi_client *client = client_of("nginx");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refuse(cases[i].call, cases[i].after);
        witness seen;
        ntapi_request *request = begin_download(client, 0, cases[i].command, &seen);
        witness_wait(&seen, 1);
        refuse(NULL, 0);
        const ntapi_error *error = ntapi_response_error(seen.response);
        assert_non_null(error);
        assert_int_equal(ntapi_error_code(error), NTAPI_CODE_GENERIC);
        assert_non_null(strstr(ntapi_error_message(error), "No space left on device"));
        assert_null(ntapi_response_file(seen.response));
        /* What has been written can be resumed. */
        const char *rest = ntapi_response_resume_data(seen.response);
        assert_int_equal(entries(folder), rest != NULL);
        if (rest != NULL)
            check_ok(ntapi_resume_data_discard(rest));
        witness_free(&seen);
        ntapi_request_free(request);
    }
    ntapi_client_free(client);
}

/** A download is cancelled while its file is being opened or written. It ends when the disk has finished that. */
static void a_cancel_waits_for_the_file(void **state) {
    (void)state;
    const char *const calls[] = {"open", "write"};
    ntapi_client *client = client_of("nginx");
    for (int i = 0; i < 2; i++) {
        hold(calls[i], ".part");
        witness seen;
        ntapi_request *request = begin_download(client, 0, "pattern-8M.bin", &seen);
        wait_until_held(1);
        check_ok(ntapi_request_cancel(request));
        others_are_answered(client);
        let_go();
        witness_wait(&seen, 1);
        assert_int_equal(witness_code(&seen), NTAPI_CODE_CANCELLED);
        const char *rest = ntapi_response_resume_data(seen.response);
        assert_int_equal(entries(folder), rest != NULL);
        if (rest != NULL) {
            ntapi_args *args = background();
            check_ok(ntapi_args_resume(args, rest));
            ntapi_response *response = perform(client, "", args);
            assert_int_equal(code_of(response), NTAPI_CODE_NONE);
            ntapi_response_free(response);
            check_download(folder, "f0", "pattern-8M.bin");
        }
        witness_free(&seen);
        ntapi_request_free(request);
    }
    ntapi_client_free(client);
}

/** A download is cancelled while its file is being renamed. That is too late: the request has completed. */
static void a_cancel_during_the_rename_is_too_late(void **state) {
    (void)state;
    ntapi_client *client = client_of("nginx");
    hold("rename", ".part");
    witness seen;
    ntapi_request *request = begin_download(client, 0, "small.json", &seen);
    wait_until_held(1);
    ntapi_request_cancel(request);
    let_go();
    witness_wait(&seen, 1);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_NONE);
    check_download(folder, "f0", "small.json");
    ntapi_request_wait(request, PATIENCE);
    assert_int_equal(ntapi_request_get_state(request), NTAPI_REQUEST_STATE_COMPLETED);
    witness_free(&seen);
    ntapi_request_free(request);
    ntapi_client_free(client);
}

/** A request, not yet begun, that uploads a file or a form with a file. */
static ntapi_request *make_upload(ntapi_client *client, const char *path, bool is_part, double idle, witness *seen) {
    ntapi_args *args = background();
    check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_IDLE, idle));
    if (is_part)
        check_ok(ntapi_args_multipart_file(args, "file", path, NULL, NULL));
    else
        check_ok(ntapi_args_file(args, path, NULL));
    check_ok(ntapi_args_method(args, "POST"));
    ntapi_request *request = ntapi_client_create_request(client, "upload", args);
    ntapi_args_free(args);
    assert_non_null(request);
    witness_init(seen);
    check_ok(ntapi_request_set_handler(request, witness_response, seen, witness_destroy));
    return request;
}

static void make_sent_file(const char *path) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), SENT), 0);
    fclose(file);
}

/** Files that are uploaded. A request that is cancelled does not wait for its file. */
static void uploads_hold_up_nobody(void **state) {
    (void)state;
    const char *const calls[] = {"open to read", "read"};
    char path[96];
    snprintf(path, sizeof path, "%s/sent", folder);
    make_sent_file(path);
    ntapi_client *client = client_of("weather"), *other = client_of("nginx");
    for (int round = 0; round < 4; round++) {
        ntapi_request *requests[DOWNLOADS];
        witness seen[DOWNLOADS];
        for (int i = 0; i < DOWNLOADS; i++)
            requests[i] = make_upload(client, path, round % 2 == 1, PATIENCE, &seen[i]);
        hold(calls[round / 2], "/sent");
        for (int i = 0; i < DOWNLOADS; i++)
            check_ok(ntapi_request_resume(requests[i]));
        wait_until_held(DOWNLOADS);
        others_are_answered(other);
        check_ok(ntapi_request_cancel(requests[0]));
        witness_wait(&seen[0], 1);
        assert_int_equal(witness_code(&seen[0]), NTAPI_CODE_CANCELLED);
        let_go();
        for (int i = 0; i < DOWNLOADS; i++) {
            if (i > 0) {
                witness_wait(&seen[i], 1);
                assert_int_equal(witness_code(&seen[i]), NTAPI_CODE_NONE);
                int64_t size = ntapi_json_int(ntapi_response_json(seen[i].response), "size", 0);
                assert_true(round % 2 == 1 ? size > SENT : size == SENT);
            }
            witness_free(&seen[i]);
            ntapi_request_free(requests[i]);
        }
    }
    ntapi_client_free(client);
    ntapi_client_free(other);
}

/** The idle timeout is meant for the server. The server cannot respond before it has the file. */
static void a_slow_disk_is_no_silent_server(void **state) {
    (void)state;
    char path[96];
    snprintf(path, sizeof path, "%s/sent", folder);
    make_sent_file(path);
    ntapi_client *client = client_of("weather"), *silent = client_of("fault");
    for (int is_part = 0; is_part < 2; is_part++) {
        witness seen;
        ntapi_request *request = make_upload(client, path, is_part == 1, 2, &seen);
        hold("read", "/sent");
        check_ok(ntapi_request_resume(request));
        wait_until_held(1);
        /* This request ends later than the timeout of the upload. */
        ntapi_args *args = background();
        check_ok(ntapi_args_timeout(args, NTAPI_CLOCK_IDLE, 2.5));
        ntapi_response *response = perform(silent, "stall/in-body", args);
        assert_int_equal(code_of(response), NTAPI_CODE_TIMEOUT);
        ntapi_response_free(response);
        let_go();
        witness_wait(&seen, 1);
        assert_int_equal(witness_code(&seen), NTAPI_CODE_NONE);
        witness_free(&seen);
        ntapi_request_free(request);
    }
    ntapi_client_free(client);
    ntapi_client_free(silent);
}

/** A network file system may write the whole file when it is closed. A fork must not wait for that. */
static void a_file_that_cannot_be_closed_holds_up_nobody(void **state) {
    (void)state;
    hold_up_all("close", "big-100k.json");
    ntapi_client *client = client_of("nginx");
    witness seen;
    hold("close", ".f0.");
    ntapi_request *request = begin_download(client, 0, "small.json", &seen);
    wait_until_held(1);
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
    let_go();
    witness_wait(&seen, 1);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_NONE);
    witness_free(&seen);
    ntapi_request_free(request);
    ntapi_client_free(client);
}

/** Until the file has its name, no other download may continue with it. */
static void a_file_is_locked_until_it_has_its_name(void **state) {
    (void)state;
    ntapi_client *client = client_of("fault");
    ntapi_response *broken = perform(client, "range?cut=40000", to_file(folder, "f0"));
    ntapi_args *args = background();
    check_ok(ntapi_args_resume(args, ntapi_response_resume_data(broken)));
    check_ok(ntapi_args_header(args, "X-Again", "1"));
    hold("rename", ".part");
    witness seen;
    witness_init(&seen);
    begin(client, "", args, &seen);
    wait_until_held(1);
    ntapi_response *other = perform(client, "", args);
    assert_non_null(strstr(ntapi_error_message(ntapi_response_error(other)), "another download"));
    let_go();
    witness_wait(&seen, 1);
    assert_int_equal(witness_code(&seen), NTAPI_CODE_NONE);
    assert_int_equal(entries(folder), 1);
    ntapi_response_free(other);
    witness_free(&seen);
    ntapi_response_free(broken);
    ntapi_client_free(client);
}

/** A background session. Its files must reach the disk before they are renamed. */
static void a_session_holds_up_nobody(void **state) {
    (void)state;
    char sessions[96];
    snprintf(sessions, sizeof sessions, "%s/sessions", folder);
    ntapi_configuration *configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_BACKGROUND, "stuck");
    set_string(configuration, "backgroundFolder", sessions);
    set_number(configuration, NTAPI_DEFAULT_MAXIMUM_CONNECTIONS_PER_HOST, DOWNLOADS);
    ntapi_client *client = session_of("nginx", configuration);
    ntapi_configuration_free(configuration);
    hold_up(client, "fsync", "big-100k.json");
    ntapi_client_free(client);
}

/** Caches store a response while the program continues. */
static void caches_hold_up_nobody(void **state) {
    (void)state;
    ntapi_client *clients[DOWNLOADS], *other = client_of("nginx");
    hold("write", "/cache-");
    for (int i = 0; i < DOWNLOADS; i++) {
        char cache[96];
        snprintf(cache, sizeof cache, "%s/cache-%d", folder, i);
        ntapi_configuration *configuration = ntapi_configuration_create(NTAPI_SESSION_KIND_DEFAULT, NULL);
        set_string(configuration, NTAPI_DEFAULT_CACHE_FOLDER, cache);
        clients[i] = session_of("nginx", configuration);
        ntapi_configuration_free(configuration);
        ntapi_json_free(fetch(clients[i], "cached/small.json", NULL));
    }
    wait_until_held(DOWNLOADS);
    others_are_answered(other);
    let_go();
    for (int i = 0; i < DOWNLOADS; i++) {
        /* Wait until the cache's files are there, so that their folder can be removed. */
        check_ok(ntapi_cache_save(ntapi_client_cache(clients[i]), NULL));
        ntapi_client_free(clients[i]);
    }
    ntapi_client_free(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_opened_holds_up_nobody, open_folder, close_folder),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_written_holds_up_nobody, open_folder, close_folder),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_renamed_holds_up_nobody, open_folder, close_folder),
        cmocka_unit_test_setup_teardown(a_full_disk_is_an_error, open_folder, close_folder),
        cmocka_unit_test_setup_teardown(a_cancel_during_the_rename_is_too_late, open_folder, close_folder),
        cmocka_unit_test_setup_teardown(a_cancel_waits_for_the_file, open_folder, close_folder),
        cmocka_unit_test_setup_teardown(uploads_hold_up_nobody, open_folder, close_folder),
        cmocka_unit_test_setup_teardown(a_slow_disk_is_no_silent_server, open_folder, close_folder),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_closed_holds_up_nobody, open_folder, close_folder),
        cmocka_unit_test_setup_teardown(a_file_is_locked_until_it_has_its_name, open_folder, close_folder),
        cmocka_unit_test_setup_teardown(a_session_holds_up_nobody, open_folder, close_folder),
        cmocka_unit_test_setup_teardown(caches_hold_up_nobody, open_folder, close_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
