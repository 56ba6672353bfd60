/*
 * Preloaded by test_resolver. It simulates a name server that does not answer: looking up "stuck.invalid" takes longer
 * than any test waits. Every other name goes to the system's own resolver.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    if (node != NULL && strcmp(node, "stuck.invalid") == 0) {
        poll(NULL, 0, 600 * 1000);
        return EAI_AGAIN;
    }
    int (*system_resolver)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&system_resolver = dlsym(RTLD_NEXT, "getaddrinfo");
    return system_resolver(node, service, hints, result);
}
