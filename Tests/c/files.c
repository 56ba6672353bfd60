#include "files.h"

#include "support.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

void make_folder(char path[static 64]) {
    snprintf(path, 64, "/tmp/ntapi-test-XXXXXX");
    assert_non_null(mkdtemp(path));
}

int entries(const char *folder) {
    DIR *open = opendir(folder);
    assert_non_null(open);
    int count = -2; /* not counting . and .. */
    while (readdir(open) != NULL)
        count++;
    closedir(open);
    return count;
}

bool has_part(const char *folder) {
    DIR *open = opendir(folder);
    assert_non_null(open);
    bool is_there = false;
    for (struct dirent *entry; !is_there && (entry = readdir(open)) != NULL;) {
        char path[512];
        struct stat status;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        size_t length = strlen(entry->d_name);
        bool is_part = length > 5 && strcmp(entry->d_name + length - 5, ".part") == 0;
        is_there = is_part && stat(path, &status) == 0 && status.st_size > 0;
    }
    closedir(open);
    return is_there;
}

void remove_folder(const char *folder, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
    assert_int_equal(rmdir(folder), 0); /* fails if something else is left there */
}

void remove_all(const char *folder) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

char *content(const char *folder, const char *name, size_t *length) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("%s is not there", path);
    struct stat status;
    assert_int_equal(fstat(fileno(file), &status), 0);
    char *bytes = malloc((size_t)status.st_size + 1);
    *length = fread(bytes, 1, (size_t)status.st_size, file);
    assert_int_equal(*length, status.st_size);
    bytes[*length] = '\0';
    fclose(file);
    return bytes;
}

void check_download(const char *folder, const char *name, const char *served) {
    size_t length, expected_length;
    char *bytes = content(folder, name, &length), *expected = content(server("nginx_root"), served, &expected_length);
    assert_int_equal(length, expected_length);
    assert_memory_equal(bytes, expected, length);
    free(bytes);
    free(expected);
}

ntapi_args *to_file(const char *folder, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ntapi_args *args = background();
    check_ok(ntapi_args_download(args, path));
    return args;
}
