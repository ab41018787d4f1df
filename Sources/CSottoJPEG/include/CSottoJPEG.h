#ifndef CSOTTO_JPEG_H
#define CSOTTO_JPEG_H

#include <stddef.h>
#include <stdint.h>

/* The result of decoding a JPEG image. */
typedef enum {
    SOTTO_JPEG_OK = 0,
    SOTTO_JPEG_BROKEN = 1,    /* malformed, truncated, or of a kind that libjpeg does not know */
    SOTTO_JPEG_TOO_LARGE = 2, /* more than `pixel_limit` pixels */
    SOTTO_JPEG_NO_MEMORY = 3
} sotto_jpeg_status;

/*
 * Decodes the JPEG image in the `count` bytes at `bytes` (ISO/IEC 10918-1).
 *
 * On SOTTO_JPEG_OK, `*gray` is allocated with malloc and the caller frees it. It has `*width` times `*height` bytes,
 * row by row from the top, 0 black to 255 white. On errors the three are unchanged. libjpeg reports errors by a call
 * that must not return, so this code uses setjmp(3) and therefore C.
 */
sotto_jpeg_status sotto_jpeg_read(const uint8_t *bytes, size_t count, uint64_t pixel_limit,
                                  uint8_t **gray, uint32_t *width, uint32_t *height);

#endif
