/*
 * transfer.c - downloads into a file, or uploads a file, and shows progress, speed and the time left.
 *
 *   transfer get URL FILE
 *   transfer put FILE URL
 *
 * Enter pauses and continues. Ctrl-C stops; the same command then resumes a download where it stopped, even after a
 * crash: the program writes the resume data to FILE.resume once a second.
 */
#include <inttypes.h>
#include <ntapi.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES = 64, WINDOW = 5 /* seconds for which the speed is computed */ };

/** The display: a line that is drawn again and again, or without a terminal a new line each second. */
struct display {
    int64_t bytes, total; /* total -1 while unknown */
    bool is_paused, is_terminal;
    double drawn_at;
    struct {
        double time;
        int64_t bytes;
    } samples[SAMPLES];
    unsigned first, count;
};

/** A transfer. */
struct transfer {
    struct display display;
    const char *url;
    const char *file; /* the transferred file */
    char *saved;      /* FILE.resume; NULL for an upload */
    char *unsaved;    /* FILE.resume.new, until it is complete */
    int status;       /* the program's exit status; -1 while it runs */
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The display. */

/** A number of bytes for people. */
static const char *size(double bytes, char text[static 16]) {
    const char *const units[] = {"B", "kB", "MB", "GB"};
    int unit = 0;
    for (; unit < 3 && bytes >= 999.95; unit++)
        bytes /= 1000;
    snprintf(text, 16, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return text;
}

static const char *duration(double seconds, char text[static 16]) {
    unsigned rounded = seconds < 359999 ? (unsigned)(seconds + 0.5) : 359999;
    unsigned hours = rounded / 3600 % 100, minutes = rounded / 60 % 60;
    if (hours > 0)
        snprintf(text, 16, "%u:%02u:%02u", hours, minutes, rounded % 60);
    else
        snprintf(text, 16, "%u:%02u", minutes, rounded % 60);
    return text;
}

/** Bytes per second in the last seconds; 0 while it is too early to know. */
static double rate(struct display *self) {
    double time = now();
    unsigned last = (self->first + self->count - 1) % SAMPLES;
    /* Bytes of an earlier run say nothing about the current speed. */
    if (!self->is_paused && self->bytes > 0 && (self->count == 0 || time - self->samples[last].time >= 0.1)) {
        last = (self->first + self->count) % SAMPLES;
        self->samples[last].time = time;
        self->samples[last].bytes = self->bytes;
        self->count++;
    }
    while (self->count == SAMPLES || (self->count > 0 && time - self->samples[self->first].time > WINDOW)) {
        self->first = (self->first + 1) % SAMPLES;
        self->count--;
    }
    if (self->count < 2)
        return 0;
    int64_t bytes = self->samples[last].bytes - self->samples[self->first].bytes;
    return (double)bytes / (self->samples[last].time - self->samples[self->first].time);
}

static void pause_display(struct display *self, bool is_paused) {
    self->is_paused = is_paused;
    self->count = 0;
    self->drawn_at = 0;
}

static void draw(struct display *self) {
    char a[16], b[16];
    double speed = rate(self);
    if (now() - self->drawn_at < (self->is_terminal ? 0.1 : 1.0))
        return;
    self->drawn_at = now();
    /* Go back to the start of the line, and clear the rest of a longer one. */
    if (self->is_terminal)
        printf("\r");
    if (self->total > 0) {
        int percent = (int)(self->bytes * 100 / self->total);
        if (self->is_terminal)
            printf("[%.*s%.*s] ", percent / 5, "####################", 20 - percent / 5, "                    ");
        printf("%3d %%  %s of %s", percent, size((double)self->bytes, a), size((double)self->total, b));
    } else {
        printf("%s", size((double)self->bytes, a));
    }
    if (self->is_paused)
        printf("  paused, Enter goes on");
    else if (speed > 0)
        printf("  %s/s", size(speed, a));
    if (!self->is_paused && speed > 0 && self->total > 0)
        printf("  %s left", duration((double)(self->total - self->bytes) / speed, a));
    printf(self->is_terminal ? "\x1b[K" : "\n");
    fflush(stdout);
}

/* The resume data. */

/** Reads the resume data for the URL from FILE.resume; free it. NULL when there is none, or for another URL. */
static char *load(const struct transfer *self) {
    FILE *file = fopen(self->saved, "r");
    if (file == NULL)
        return NULL;
    char *url = NULL, *data = NULL;
    size_t room = 0, data_room = 0;
    bool is_ours = getline(&url, &room, file) > 0 && getline(&data, &data_room, file) > 0;
    fclose(file);
    if (is_ours) {
        url[strcspn(url, "\n")] = '\0';
        is_ours = strcmp(url, self->url) == 0;
    }
    if (!is_ours) {
        ntapi_resume_data_discard(data);
        free(data);
        data = NULL;
    }
    free(url);
    return data;
}

/** Writes FILE.resume, or removes it when there is nothing to resume. After a crash, the old file is still there. */
static void save(const struct transfer *self, const char *resume_data) {
    if (self->saved == NULL)
        return;
    FILE *file = resume_data != NULL ? fopen(self->unsaved, "w") : NULL;
    if (file == NULL) {
        remove(self->unsaved);
        remove(self->saved);
        return;
    }
    fprintf(file, "%s\n%s\n", self->url, resume_data);
    fclose(file);
    rename(self->unsaved, self->saved);
}

/* The callbacks. They run on the main thread when it drains its mailbox. */

static void progressed(void *user_data, int64_t bytes, int64_t total) {
    struct display *display = &((struct transfer *)user_data)->display;
    display->bytes = bytes;
    display->total = total;
}

static void ended(void *user_data, const ntapi_response *response) {
    struct transfer *self = user_data;
    char a[16], b[16];
    const ntapi_error *error = ntapi_response_error(response);
    const char *resume_data = ntapi_response_resume_data(response);
    save(self, resume_data);
    if (self->display.is_terminal)
        printf("\r\x1b[K");
    size((double)self->display.bytes, a);
    if (error == NULL)
        printf("%s: %s in %s\n", self->file, a, duration(ntapi_response_elapsed(response), b));
    else
        printf("%s: stopped at %s%s\n", self->file, a, resume_data != NULL ? "; the same command goes on" : "");
    self->status = error == NULL ? 0 : ntapi_error_code(error) == NTAPI_CODE_CANCELLED ? 130 : 1;
    if (self->status == 1)
        fprintf(stderr, "error: %s\n", ntapi_error_message(error));
}

/* The loop. */

static int interrupts[2]; /* a pipe: Ctrl-C writes, the loop reads */

static void interrupt(int signal) {
    (void)signal;
    if (write(interrupts[1], "!", 1) < 0)
        _exit(130);
}

/** Runs the callbacks, reads the keyboard and draws, until the response has arrived. */
static void follow(struct transfer *self, ntapi_request *request) {
    ntapi_mailbox *mailbox = ntapi_mailbox_main();
    struct pollfd fds[] = {{.fd = ntapi_mailbox_fd(mailbox), .events = POLLIN},
                           {.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = interrupts[0], .events = POLLIN}};
    double saved_at = now();
    while (self->status < 0) {
        poll(fds, 3, 100);
        if (fds[2].revents != 0) {
            ntapi_request_cancel(request);
            fds[2].fd = -1;
        }
        char line[256];
        if (fds[1].revents != 0 && read(STDIN_FILENO, line, sizeof line) <= 0) {
            fds[1].fd = -1; /* there is no keyboard */
        } else if (fds[1].revents != 0 && self->display.is_paused) {
            pause_display(&self->display, false);
            ntapi_request_resume(request);
        } else if (fds[1].revents != 0 && ntapi_request_suspend(request) == NTAPI_STATUS_OK) {
            pause_display(&self->display, true);
        }
        ntapi_mailbox_drain(mailbox);
        if (self->status >= 0)
            break;
        draw(&self->display);
        if (now() - saved_at >= 1) {
            char *data = ntapi_request_resume_data(request);
            save(self, data);
            ntapi_text_free(data);
            saved_at = now();
        }
    }
    ntapi_mailbox_free(mailbox);
}

static int run(struct transfer *self, bool is_download) {
    self->display.is_terminal = isatty(STDOUT_FILENO);
    self->display.total = -1;
    self->status = -1;
    ntapi_client *client = ntapi_client_create(NULL, self->url);
    ntapi_client_set_log_flags(client, 0); /* an error is printed below */
    ntapi_args *args = ntapi_args_create();
    char *resume_data = is_download ? load(self) : NULL;
    if (resume_data != NULL)
        ntapi_args_resume(args, resume_data);
    else if (is_download)
        ntapi_args_download(args, self->file);
    if (!is_download) {
        ntapi_args_file(args, self->file, NULL);
        ntapi_args_method(args, "PUT");
    }
    ntapi_request *request = ntapi_client_create_request(client, "", args);
    ntapi_request_set_handler(request, ended, self, NULL);
    if (is_download)
        ntapi_request_set_download_progress(request, progressed, self, NULL);
    else
        ntapi_request_set_upload_progress(request, progressed, self, NULL);
    ntapi_request_resume(request);
    if (request != NULL)
        follow(self, request);
    else
        fprintf(stderr, "error: the URL or the file's name is not UTF-8\n");

    free(resume_data);
    ntapi_request_free(request);
    ntapi_args_free(args);
    ntapi_client_free(client);
    return request != NULL ? self->status : 1;
}

int main(int argc, char **argv) {
    bool is_download = argc == 4 && strcmp(argv[1], "get") == 0;
    if (!is_download && !(argc == 4 && strcmp(argv[1], "put") == 0)) {
        fprintf(stderr, "usage: %s get URL FILE | put FILE URL\n", argv[0]);
        return 2;
    }
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESETHAND}; /* a second Ctrl-C ends at once */
    if (pipe(interrupts) != 0 || sigaction(SIGINT, &action, NULL) != 0) {
        perror("transfer");
        return 1;
    }
    struct transfer transfer = {.url = argv[is_download ? 2 : 3], .file = argv[is_download ? 3 : 2]};
    if (is_download) {
        size_t room = strlen(transfer.file) + sizeof ".resume.new";
        transfer.saved = malloc(room);
        transfer.unsaved = malloc(room);
        if (transfer.saved == NULL || transfer.unsaved == NULL)
            return 1;
        snprintf(transfer.saved, room, "%s.resume", transfer.file);
        snprintf(transfer.unsaved, room, "%s.resume.new", transfer.file);
    }
    int status = run(&transfer, is_download);
    free(transfer.saved);
    free(transfer.unsaved);
    return status;
}
