#include "child.h"

#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/** The given variables, then those of this process: getenv finds the first of a name. */
static char **environment_with(const char *const *variables) {
    size_t own = 0, given = 0;
    while (environ[own] != NULL)
        own++;
    while (variables != NULL && variables[given] != NULL)
        given++;
    char **all = calloc(given + own + 1, sizeof *all);
    for (size_t i = 0; i < given; i++)
        all[i] = (char *)variables[i];
    memcpy(all + given, environ, own * sizeof *all);
    return all;
}

pid_t start_child(const char *const *arguments, const char *const *variables, int *output) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (output != NULL)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    char *words[CHILD_WORDS] = {"child"};
    for (size_t i = 0; i + 2 < CHILD_WORDS && arguments[i] != NULL; i++)
        words[i + 1] = (char *)arguments[i];
    char **environment = environment_with(variables);
    pid_t child = -1;
    assert_int_equal(posix_spawn(&child, "/proc/self/exe", &actions, NULL, words, environment), 0);
    free(environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (output != NULL)
        *output = ends[0];
    else
        close(ends[0]);
    return child;
}

int end_of_child(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int run_child(const char *const *arguments, const char *const *variables) {
    return end_of_child(start_child(arguments, variables, NULL));
}

const char *line_of_child(int output, char line[static 128]) {
    size_t length = 0;
    for (char byte; length < 127 && read(output, &byte, 1) == 1 && byte != '\n';)
        line[length++] = byte;
    line[length] = '\0';
    return line;
}
