#ifdef NTAPI_REDIS

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

char *redis_text(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    return text;
}

/** @returns NULL, or what is wrong. */
static char *read_database(redis_address *address, const char *text) {
    char *end;
    long found = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || found > 1 << 20)
        return redis_text("the database \"%s\" of the url is no number from 0", text);
    address->database = (int)found;
    return NULL;
}

/** Reads what follows "unix://". */
static char *read_socket(redis_address *address, const char *text) {
    size_t length = strcspn(text, "?");
    if (*text != '/' || length < 2)
        return redis_text("the url has no path: unix:///PATH?db=DATABASE");
    address->host = strndup(text, length);
    if (text[length] == '\0')
        return NULL;
    if (strncmp(text + length, "?db=", 4) == 0)
        return read_database(address, text + length + 4);
    return redis_text("the url has \"%s\", but only ?db=DATABASE is known", text + length);
}

static int digit(char given) {
    if (given >= '0' && given <= '9')
        return given - '0';
    given |= 0x20;
    return given >= 'a' && given <= 'f' ? given - 'a' + 10 : -1;
}

/** A part of the URL without its percent-encoding (RFC 3986, 2.1). Returns NULL if that is wrong. */
static char *decoded(const char *text, size_t length) {
    char *made = malloc(length + 1), *end = made;
    for (size_t i = 0; made != NULL && i < length; i++) {
        if (text[i] != '%') {
            *end++ = text[i];
            continue;
        }
        int high = i + 2 < length ? digit(text[i + 1]) : -1, low = high < 0 ? -1 : digit(text[i + 2]);
        if (low < 0 || high + low == 0) {
            free(made);
            return NULL;
        }
        *end++ = (char)(high << 4 | low);
        i += 2;
    }
    if (made != NULL)
        *end = '\0';
    return made;
}

/** Reads "USER:PASSWORD". */
static char *read_user(redis_address *address, const char *text, size_t length) {
    const char *colon = memchr(text, ':', length);
    size_t user = colon == NULL ? length : (size_t)(colon - text);
    address->username = decoded(text, user);
    if (colon != NULL)
        address->password = decoded(colon + 1, length - user - 1);
    bool is_right = address->username != NULL && (colon == NULL || address->password != NULL);
    return is_right ? NULL : redis_text("the url has a %% without two hexadecimal digits");
}

/** Reads "HOST:PORT". */
static char *read_host(redis_address *address, const char *text, size_t length) {
    const char *end = text + length, *host_end = memchr(text, ':', length);
    if (length > 0 && *text == '[') {
        const char *bracket = memchr(text, ']', length);
        host_end = bracket == NULL ? NULL : bracket + 1;
    } else if (host_end == NULL) {
        host_end = end;
    }
    if (host_end == NULL || host_end == text)
        return redis_text("the url has no host: redis://HOST:PORT/DATABASE");
    bool is_in_brackets = *text == '[';
    address->host = strndup(text + is_in_brackets, (size_t)(host_end - text) - 2 * is_in_brackets);
    address->port = 6379;
    if (host_end == end)
        return NULL;
    char *number_end = NULL;
    bool is_number = *host_end == ':' && host_end + 1 < end && host_end[1] >= '0' && host_end[1] <= '9';
    long port = is_number ? strtol(host_end + 1, &number_end, 10) : 0;
    if (number_end != end || port < 1 || port > 65535)
        return redis_text("the port of the url is no number from 1 to 65535");
    address->port = (int)port;
    return NULL;
}

/* No message has the url, which may have a password. */
static char *read_url(redis_address *address, const char *text) {
    if (strncmp(text, "unix://", 7) == 0)
        return read_socket(address, text + 7);
    address->uses_tls = strncmp(text, "rediss://", 9) == 0;
    if (!address->uses_tls && strncmp(text, "redis://", 8) != 0)
        return redis_text("the url has to begin with redis://, rediss:// or unix://");
    text += address->uses_tls ? 9 : 8;
    size_t length = strcspn(text, "/?#");
    const char *path = text + length, *host = text;
    if (strchr(path, '@') != NULL)
        return redis_text("a / ? or # in the user or password of the url has to be %%2F, %%3F or %%23");
    for (const char *at = text; (at = memchr(at, '@', (size_t)(path - at))) != NULL; at++)
        host = at + 1;
    char *problem = host == text ? NULL : read_user(address, text, (size_t)(host - text) - 1);
    if (problem == NULL)
        problem = read_host(address, host, (size_t)(path - host));
    if (problem != NULL || *path == '\0' || strcmp(path, "/") == 0)
        return problem;
    if (*path != '/')
        return redis_text("the url has \"%s\", but only a database is known: redis://HOST:PORT/DATABASE", path);
    return read_database(address, path + 1);
}

/** An empty text says nothing. */
static void replace(char **text, const char *other) {
    if (other == NULL)
        return;
    char *copy = *other == '\0' ? NULL : strdup(other);
    free(*text);
    *text = copy;
}

char *redis_address_read(redis_address *address, const redis_link_options *options) {
    *address = (redis_address){0};
    if (options->url == NULL)
        return redis_text("url is NULL");
    char *problem = read_url(address, options->url);
    if (problem != NULL)
        return problem;
    /* redis://:PASSWORD@HOST has an empty username. */
    replace(&address->username, options->username != NULL ? options->username : address->username);
    replace(&address->password, options->password);
    if (address->username != NULL && address->password == NULL)
        return redis_text("there is a username, but no password");
    bool has_certificates =
        options->ca_file != NULL || options->client_certificate != NULL || options->client_key != NULL;
    if (has_certificates && !address->uses_tls)
        return redis_text("there are certificates, but the url is not rediss:");
    if ((options->client_certificate == NULL) != (options->client_key == NULL))
        return redis_text("client_certificate and client_key belong together");
    if (!(options->timeout >= 0 && options->timeout <= 3600))
        return redis_text("timeout is %g: it must be above 0 and at most 3600 seconds", options->timeout);
    address->name = address->port == 0                   ? redis_text("%s", address->host)
                    : strchr(address->host, ':') != NULL ? redis_text("[%s]:%d", address->host, address->port)
                                                         : redis_text("%s:%d", address->host, address->port);
    return address->name == NULL ? redis_text("no memory") : NULL;
}

void redis_address_free(redis_address *address) {
    free(address->host);
    free(address->username);
    free(address->password);
    free(address->name);
}

#endif
