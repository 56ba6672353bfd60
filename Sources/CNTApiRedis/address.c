#ifdef NTAPI_REDIS

#include <curl/curl.h>
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

/** Reads what follows "unix://". libcurl takes that for a host. */
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

/** A part of the URL, decoded. libcurl frees its own texts. */
static char *part_of(CURLU *url, CURLUPart part) {
    char *found = NULL;
    if (curl_url_get(url, part, &found, CURLU_URLDECODE) != CURLUE_OK)
        return NULL;
    char *copy = strdup(found);
    curl_free(found);
    return copy;
}

/** Reads the parts of a URL with a host. */
static char *read_parts(redis_address *address, CURLU *url) {
    char *scheme = part_of(url, CURLUPART_SCHEME), *port = part_of(url, CURLUPART_PORT);
    char *path = part_of(url, CURLUPART_PATH), *query = part_of(url, CURLUPART_QUERY);
    char *problem = NULL, *host = address->host = part_of(url, CURLUPART_HOST);
    address->username = part_of(url, CURLUPART_USER);
    address->password = part_of(url, CURLUPART_PASSWORD);
    address->port = port == NULL ? 6379 : atoi(port);
    address->uses_tls = scheme != NULL && strcmp(scheme, "rediss") == 0;
    if (scheme == NULL || (!address->uses_tls && strcmp(scheme, "redis") != 0))
        problem = redis_text("the url begins with \"%s\": it has to be redis:, rediss: or unix:", scheme);
    else if (host == NULL)
        problem = redis_text("the url has no host: redis://HOST:PORT/DATABASE");
    else if (address->port == 0)
        problem = redis_text("the url has the port 0");
    else if (query != NULL)
        problem = redis_text("the url has \"?%s\", but only a database is known: redis://HOST:PORT/DATABASE", query);
    else if (path != NULL && path[0] == '/' && path[1] != '\0')
        problem = read_database(address, path + 1);
    size_t length = host == NULL ? 0 : strlen(host);
    if (length > 2 && host[0] == '[') {
        /* The brackets are a part of the URL only. */
        memmove(host, host + 1, length - 2);
        host[length - 2] = '\0';
    }
    free(scheme);
    free(port);
    free(path);
    free(query);
    return problem;
}

static char *read_url(redis_address *address, const char *text) {
    if (strncmp(text, "unix://", 7) == 0)
        return read_socket(address, text + 7);
    CURLU *url = curl_url();
    CURLUcode code =
        url == NULL ? CURLUE_OUT_OF_MEMORY : curl_url_set(url, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME);
    /* The url may have a password, so the message does not have it. */
    char *problem = code == CURLUE_OK ? read_parts(address, url)
                                      : redis_text("the url cannot be read: %s", curl_url_strerror(code));
    curl_url_cleanup(url);
    return problem;
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
