/*
 * Encrypts values by XAES-256-GCM (C2SP): AES-256-GCM with a key of its own for each value, derived from a nonce of 24
 * random bytes. So a key may encrypt any number of values. What is made: a version, the nonce, the encrypted value, and
 * the tag that shows that nobody has changed it.
 */
#ifdef NTAPI_REDIS

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

enum {
    VERSION = 1,
    KEY_SIZE = 32,
    KEY_TEXT_SIZE = 44, /* in base64 */
    MOST_KEYS = 16,
    BLOCK_SIZE = 16,
    NONCE_SIZE = 24, /* the first half is for the key, the second for the value */
    TAG_SIZE = 16,
    START_SIZE = 1 + NONCE_SIZE,
};

struct redis_cipher {
    size_t count;
    uint8_t keys[MOST_KEYS][KEY_SIZE];
};

/* ===== Keys ======================================================================================================= */

static bool read_key(uint8_t *key, const char *text, size_t length) {
    uint8_t bytes[KEY_TEXT_SIZE / 4 * 3];
    /* One "=" at its end, 32 bytes and not 33. Elsewhere, OpenSSL would take it for zeros. */
    bool is_read = length == KEY_TEXT_SIZE && memchr(text, '=', length) == text + length - 1 &&
                   EVP_DecodeBlock(bytes, (const uint8_t *)text, KEY_TEXT_SIZE) == sizeof bytes;
    if (is_read)
        memcpy(key, bytes, KEY_SIZE);
    OPENSSL_cleanse(bytes, sizeof bytes);
    return is_read;
}

redis_cipher *redis_cipher_create(const char *texts, char **problem) {
    static const char blanks[] = " ,\t\r\n";
    redis_cipher *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    for (const char *next = texts + strspn(texts, blanks); *next != '\0' && *problem == NULL;) {
        size_t length = strcspn(next, blanks);
        if (made->count == MOST_KEYS)
            *problem = redis_text("there are more than %d encryption_keys", MOST_KEYS);
        else if (read_key(made->keys[made->count], next, length))
            made->count++;
        else
            *problem = redis_text("number %zu of the encryption_keys is not base64 of 32 bytes: make one by "
                                  "\"openssl rand -base64 32\"",
                                  made->count + 1);
        next += length;
        next += strspn(next, blanks);
    }
    if (*problem == NULL && made->count == 0)
        *problem = redis_text("encryption_keys has no key: make one by \"openssl rand -base64 32\"");
    if (*problem == NULL)
        return made;
    redis_cipher_free(made);
    return NULL;
}

void redis_cipher_free(redis_cipher *cipher) {
    if (cipher != NULL)
        OPENSSL_cleanse(cipher, sizeof *cipher);
    free(cipher);
}

/* ===== Values ===================================================================================================== */

/** The key for a value, from the first half of its nonce (a CMAC as in NIST SP 800-108). */
static bool derive(uint8_t *derived, const uint8_t *key, const uint8_t *nonce) {
    uint8_t mask[BLOCK_SIZE] = {0}, blocks[2 * BLOCK_SIZE] = {0};
    int size = 0;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    bool is_done = context != NULL && EVP_EncryptInit_ex(context, EVP_aes_256_ecb(), NULL, key, NULL) == 1 &&
                   EVP_CIPHER_CTX_set_padding(context, 0) == 1 &&
                   EVP_EncryptUpdate(context, mask, &size, blocks, BLOCK_SIZE) == 1;
    /* Doubled in the field of 2 to the 128. */
    uint8_t top = mask[0] >> 7;
    for (size_t i = 0; i < BLOCK_SIZE; i++)
        mask[i] = (uint8_t)(mask[i] << 1 | (i + 1 < BLOCK_SIZE ? mask[i + 1] >> 7 : 0));
    if (top != 0)
        mask[BLOCK_SIZE - 1] ^= 0x87;
    for (size_t i = 0; i < 2; i++) {
        uint8_t *block = blocks + i * BLOCK_SIZE;
        block[1] = (uint8_t)(i + 1);
        block[2] = 'X';
        memcpy(block + 4, nonce, NONCE_SIZE / 2);
        for (size_t j = 0; j < BLOCK_SIZE; j++)
            block[j] ^= mask[j];
    }
    is_done = is_done && EVP_EncryptUpdate(context, derived, &size, blocks, sizeof blocks) == 1 && size == KEY_SIZE;
    EVP_CIPHER_CTX_free(context);
    OPENSSL_cleanse(mask, sizeof mask);
    return is_done;
}

/** AES-256-GCM with the derived key, for both directions. NULL without memory. */
static EVP_CIPHER_CTX *begin(const uint8_t *key, const uint8_t *nonce, const char *place, bool encrypts) {
    uint8_t derived[KEY_SIZE];
    int size;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    bool has_begun =
        context != NULL && derive(derived, key, nonce) &&
        EVP_CipherInit_ex(context, EVP_aes_256_gcm(), NULL, derived, nonce + NONCE_SIZE / 2, encrypts) == 1 &&
        EVP_CipherUpdate(context, NULL, &size, (const uint8_t *)place, (int)strlen(place)) == 1;
    OPENSSL_cleanse(derived, sizeof derived);
    if (has_begun)
        return context;
    EVP_CIPHER_CTX_free(context);
    return NULL;
}

static bool encrypt(const redis_cipher *cipher, const char *place, const void *value, size_t size, uint8_t *made) {
    uint8_t *nonce = made + 1, *body = made + START_SIZE;
    int length = 0, rest = 0;
    *made = VERSION;
    if (RAND_bytes(nonce, NONCE_SIZE) != 1)
        return false;
    EVP_CIPHER_CTX *context = begin(cipher->keys[0], nonce, place, true);
    bool is_done = context != NULL && (size == 0 || EVP_CipherUpdate(context, body, &length, value, (int)size) == 1) &&
                   EVP_CipherFinal_ex(context, body + length, &rest) == 1 &&
                   EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, TAG_SIZE, body + size) == 1;
    EVP_CIPHER_CTX_free(context);
    return is_done;
}

static bool decrypt(const uint8_t *key, const char *place, const uint8_t *made, size_t size, uint8_t *value) {
    const uint8_t *nonce = made + 1, *body = made + START_SIZE;
    int length = 0, rest = 0;
    EVP_CIPHER_CTX *context = begin(key, nonce, place, false);
    bool is_done = context != NULL && (size == 0 || EVP_CipherUpdate(context, value, &length, body, (int)size) == 1) &&
                   EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, TAG_SIZE, (void *)(body + size)) == 1 &&
                   EVP_CipherFinal_ex(context, value + length, &rest) == 1;
    EVP_CIPHER_CTX_free(context);
    return is_done;
}

void *redis_cipher_encrypt(const redis_cipher *cipher, const char *place, const void *value, size_t size,
                           size_t *made_size) {
    if (size > INT_MAX / 2)
        return NULL;
    *made_size = START_SIZE + size + TAG_SIZE;
    uint8_t *made = malloc(*made_size);
    if (made == NULL || encrypt(cipher, place, value, size, made))
        return made;
    free(made);
    return NULL;
}

void *redis_cipher_decrypt(const redis_cipher *cipher, const char *place, const void *made, size_t made_size,
                           size_t *size) {
    if (made_size < START_SIZE + TAG_SIZE || made_size > INT_MAX / 2 || *(const uint8_t *)made != VERSION)
        return NULL;
    *size = made_size - START_SIZE - TAG_SIZE;
    uint8_t *value = malloc(*size + 1);
    for (size_t i = 0; value != NULL && i < cipher->count; i++)
        if (decrypt(cipher->keys[i], place, made, *size, value))
            return value;
    free(value);
    return NULL;
}

#endif
