#ifdef NTAPI_REDIS

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "parts.h"

static const char *last_error(void) {
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    return reason == NULL ? "unknown error" : reason;
}

SSL_CTX *redis_tls_create(const redis_link_options *options, char **problem) {
    ERR_clear_error();
    SSL_CTX *tls = SSL_CTX_new(TLS_client_method());
    if (tls == NULL) {
        *problem = redis_text("no TLS: %s", last_error());
        return NULL;
    }
    SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
    /* What is written again after a short write may be at another address: hiredis moves its buffer. */
    SSL_CTX_set_mode(tls, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (options->ca_file == NULL) {
        SSL_CTX_set_default_verify_paths(tls);
    } else if (SSL_CTX_load_verify_locations(tls, options->ca_file, NULL) != 1) {
        *problem = redis_text("the ca_file \"%s\" cannot be read: %s", options->ca_file, last_error());
    }
    if (*problem == NULL && options->client_certificate != NULL) {
        if (SSL_CTX_use_certificate_chain_file(tls, options->client_certificate) != 1)
            *problem = redis_text("the client_certificate \"%s\" cannot be read: %s", options->client_certificate,
                                  last_error());
        else if (SSL_CTX_use_PrivateKey_file(tls, options->client_key, SSL_FILETYPE_PEM) != 1)
            *problem = redis_text("the client_key \"%s\" cannot be used: %s", options->client_key, last_error());
    }
    if (*problem == NULL)
        return tls;
    SSL_CTX_free(tls);
    return NULL;
}

SSL *redis_tls_connection(SSL_CTX *tls, const char *host) {
    SSL *connection = SSL_new(tls);
    if (connection == NULL)
        return NULL;
    struct in6_addr ignored;
    bool is_address = inet_pton(AF_INET, host, &ignored) == 1 || inet_pton(AF_INET6, host, &ignored) == 1;
    /* hiredis does not compare the name of a server with its certificate. */
    bool is_checked = is_address
                          ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), host) == 1
                          : SSL_set1_host(connection, host) == 1 && SSL_set_tlsext_host_name(connection, host) == 1;
    if (is_checked)
        return connection;
    SSL_free(connection);
    return NULL;
}

const char *redis_tls_problem(const SSL *connection) {
    long verified = SSL_get_verify_result(connection);
    if (verified != X509_V_OK)
        return X509_verify_cert_error_string(verified);
    return ERR_peek_last_error() == 0 ? NULL : last_error();
}

#endif
