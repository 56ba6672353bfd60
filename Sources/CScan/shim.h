/*
 * What the JSON scanner asks of the processor and Swift has no word for: where in 16 bytes the first of some kind is
 * (Swift's SIMD types have no way from a comparison to the place of the first hit), and a word in the midst of plain
 * memory that several threads may set.
 */
#ifndef NTAPI_CSCAN_SHIM_H
#define NTAPI_CSCAN_SHIM_H

#include <stdint.h>

/* Reads and writes a word that other threads may read and write meanwhile; orders nothing else. */
static inline uint64_t ntapi_scan_load(const uint64_t *word) {
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void ntapi_scan_store(uint64_t *word, uint64_t value) {
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

#if defined(__SSE2__)
#include <emmintrin.h>

/* How many of the 16 bytes, from the first on, stand for themselves in a JSON string: ASCII and no control character,
 * quote or backslash. */
static inline unsigned ntapi_scan_plain_prefix(const uint8_t *bytes) {
    __m128i text = _mm_loadu_si128((const __m128i *)bytes);
    __m128i quote = _mm_cmpeq_epi8(text, _mm_set1_epi8('"'));
    __m128i backslash = _mm_cmpeq_epi8(text, _mm_set1_epi8('\\'));
    /* Signed: what is not ASCII counts as negative, and is found together with the control characters. */
    __m128i other = _mm_cmplt_epi8(text, _mm_set1_epi8(0x20));
    unsigned found = (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), other));
    return (unsigned)__builtin_ctz(found | 0x10000u);
}

/* How many of the 16 bytes, from the first on, are spaces. */
static inline unsigned ntapi_scan_space_prefix(const uint8_t *bytes) {
    __m128i text = _mm_loadu_si128((const __m128i *)bytes);
    unsigned spaces = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8(' ')));
    return (unsigned)__builtin_ctz(~spaces);
}

#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>

/* The place of the first byte that is 0xFF, where all others are 0; 16 when there is none. */
static inline unsigned ntapi_scan_first(uint8x16_t found) {
    /* Four bits for each byte: NEON has no mask of one bit each. */
    uint64_t nibbles = vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(found), 4)), 0);
    return nibbles == 0 ? 16 : (unsigned)__builtin_ctzll(nibbles) >> 2;
}

static inline unsigned ntapi_scan_plain_prefix(const uint8_t *bytes) {
    uint8x16_t text = vld1q_u8(bytes);
    uint8x16_t quote = vceqq_u8(text, vdupq_n_u8('"'));
    uint8x16_t backslash = vceqq_u8(text, vdupq_n_u8('\\'));
    uint8x16_t other = vcltq_s8(vreinterpretq_s8_u8(text), vdupq_n_s8(0x20));
    return ntapi_scan_first(vorrq_u8(vorrq_u8(quote, backslash), other));
}

static inline unsigned ntapi_scan_space_prefix(const uint8_t *bytes) {
    return ntapi_scan_first(vmvnq_u8(vceqq_u8(vld1q_u8(bytes), vdupq_n_u8(' '))));
}

#else

static inline unsigned ntapi_scan_plain_prefix(const uint8_t *bytes) {
    unsigned index = 0;
    while (index < 16 && bytes[index] >= 0x20 && bytes[index] < 0x80 && bytes[index] != '"' && bytes[index] != '\\') {
        index++;
    }
    return index;
}

static inline unsigned ntapi_scan_space_prefix(const uint8_t *bytes) {
    unsigned index = 0;
    while (index < 16 && bytes[index] == ' ') {
        index++;
    }
    return index;
}

#endif

#endif
