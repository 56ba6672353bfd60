/* The part of libcurl that Swift cannot import: variadic functions, as typed static-inline wrappers; and the system's
   poller that its sockets wait in, which Swift's Glibc module does not import. */
#ifndef NTAPI_CCURL_SHIM_H
#define NTAPI_CCURL_SHIM_H

#include <curl/curl.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

#ifdef __linux__
#include <sys/epoll.h>
#include <sys/eventfd.h>
#endif

#if LIBCURL_VERSION_NUM < 0x075700
#error "libcurl 7.87 or newer is needed: CURLOPT_QUICK_EXIT"
#endif

/* The port of a TCP socket's own end; -1 when it has none. */
static inline int ntapi_socket_port(int descriptor) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &size) != 0)
        return -1;
    if (address.ss_family == AF_INET)
        return ntohs(((struct sockaddr_in *)&address)->sin_port);
    return address.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&address)->sin6_port) : -1;
}

/* Each calls with the C type that the option is documented to take: through a variadic call a wrong one is undefined.
 */

static inline CURLcode ntapi_easy_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ntapi_easy_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ntapi_easy_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ntapi_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ntapi_easy_set_mime(CURL *easy, curl_mime *value) {
    return curl_easy_setopt(easy, CURLOPT_MIMEPOST, value);
}

static inline CURLcode ntapi_easy_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ntapi_easy_set_write(CURL *easy, curl_write_callback function, void *data) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, function);
    return code ? code : curl_easy_setopt(easy, CURLOPT_WRITEDATA, data);
}

static inline CURLcode ntapi_easy_set_header(CURL *easy, curl_write_callback function, void *data) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, function);
    return code ? code : curl_easy_setopt(easy, CURLOPT_HEADERDATA, data);
}

static inline CURLcode ntapi_easy_set_read(CURL *easy, curl_read_callback function, void *data) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_READFUNCTION, function);
    return code ? code : curl_easy_setopt(easy, CURLOPT_READDATA, data);
}

static inline CURLcode ntapi_easy_set_seek(CURL *easy, curl_seek_callback function, void *data) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, function);
    return code ? code : curl_easy_setopt(easy, CURLOPT_SEEKDATA, data);
}

static inline CURLcode ntapi_easy_set_progress(CURL *easy, curl_xferinfo_callback function, void *data) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, function);
    if (!code)
        code = curl_easy_setopt(easy, CURLOPT_XFERINFODATA, data);
    return code ? code : curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
}

static inline CURLcode ntapi_easy_set_prereq(CURL *easy, curl_prereq_callback function, void *data) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
    return code ? code : curl_easy_setopt(easy, CURLOPT_PREREQDATA, data);
}

static inline CURLcode ntapi_easy_set_debug(CURL *easy, curl_debug_callback function, void *data) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, function);
    return code ? code : curl_easy_setopt(easy, CURLOPT_DEBUGDATA, data);
}

static inline CURLcode ntapi_easy_set_open_socket(CURL *easy, curl_opensocket_callback function, void *data) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, function);
    return code ? code : curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, data);
}

static inline CURLcode ntapi_easy_set_close_socket(CURL *easy, curl_closesocket_callback function, void *data) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, function);
    return code ? code : curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, data);
}

static inline CURLcode ntapi_easy_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ntapi_easy_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(easy, info, value);
}

/* The certificates that the server has shown; nothing before the handshake. */
static inline const struct curl_certinfo *ntapi_easy_certificates(CURL *easy) {
    struct curl_certinfo *info = NULL;
    return curl_easy_getinfo(easy, CURLINFO_CERTINFO, &info) ? NULL : info;
}

/* The SSL object of the connection that a transfer uses now; NULL without TLS, and for other libraries than OpenSSL. */
static inline void *ntapi_easy_ssl(CURL *easy) {
    struct curl_tlssessioninfo *info = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info) || info == NULL)
        return NULL;
    return info->backend == CURLSSLBACKEND_OPENSSL ? info->internals : NULL;
}

typedef void (*ntapi_ssl_callback)(const void *ssl, int event, int value);
typedef void (*ntapi_ssl_set_callback)(void *ssl, ntapi_ssl_callback callback);

/* SSL_set_info_callback of the OpenSSL that libcurl uses; NULL when it cannot be found. The process may have another
   OpenSSL, too, so only libcurl and what it is linked to are searched. Nothing is loaded. */
static inline ntapi_ssl_set_callback ntapi_ssl_find_set_callback(void) {
    struct {
        const char *file;
        void *base;
        const char *name;
        void *address;
    } place = {0};
    /* The C library declares it for GNU sources only. */
#ifdef RTLD_DEFAULT
    void *everything = RTLD_DEFAULT;
#else
    void *everything = NULL;
#endif
    int (*locate)(const void *, void *) = (int (*)(const void *, void *))dlsym(everything, "dladdr");
    if (locate == NULL || !locate((const void *)curl_easy_init, &place) || place.file == NULL)
        return NULL;
    void *library = dlopen(place.file, RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL)
        return NULL;
    void *found = dlsym(library, "SSL_set_info_callback");
    dlclose(library);
    return (ntapi_ssl_set_callback)found;
}

/* Whether a proxy that refused a tunnel would take a user and a password. */
static inline int ntapi_easy_proxy_wants_basic(CURL *easy) {
    long status = 0, schemes = 0;
    if (curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &status) || status != 407)
        return 0;
    return !curl_easy_getinfo(easy, CURLINFO_PROXYAUTH_AVAIL, &schemes) && (schemes & CURLAUTH_BASIC);
}

static inline CURLcode ntapi_easy_get_pointer(CURL *easy, CURLINFO info, void **value) {
    return curl_easy_getinfo(easy, info, (char **)value);
}

static inline CURLMcode ntapi_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode ntapi_multi_set_socket(CURLM *multi, curl_socket_callback function, void *data) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, function);
    return code ? code : curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, data);
}

static inline CURLMcode ntapi_multi_set_timer(CURLM *multi, curl_multi_timer_callback function, void *data) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, function);
    return code ? code : curl_multi_setopt(multi, CURLMOPT_TIMERDATA, data);
}

static inline CURLSHcode ntapi_share_set_data(CURLSH *share, CURLSHoption option, curl_lock_data data) {
    return curl_share_setopt(share, option, data);
}

static inline CURLSHcode ntapi_share_set_locks(CURLSH *share, curl_lock_function lock, curl_unlock_function unlock,
                                               void *data) {
    CURLSHcode code = curl_share_setopt(share, CURLSHOPT_LOCKFUNC, lock);
    if (!code)
        code = curl_share_setopt(share, CURLSHOPT_UNLOCKFUNC, unlock);
    return code ? code : curl_share_setopt(share, CURLSHOPT_USERDATA, data);
}

static inline CURLcode ntapi_easy_get_list(CURL *easy, CURLINFO info, struct curl_slist **value) {
    return curl_easy_getinfo(easy, info, value);
}

/* What the installed libcurl is. CURLVERSION_NOW is a macro that Swift does not see. */
static inline const curl_version_info_data *ntapi_version(void) {
    return curl_version_info(CURLVERSION_NOW);
}

/* The result in a message, which lies in an anonymous union. */
static inline CURLcode ntapi_message_result(const CURLMsg *message) {
    return message->data.result;
}

#endif
