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

/* A picture in colour: three bytes for each pixel, row by row from the top. */
typedef struct {
    uint32_t full_width, full_height; /* the size in the file; 0 if it is unknown */
    uint32_t width, height;           /* the size of `rgb` */
    uint8_t *rgb;                     /* allocated with malloc, or NULL */
} sotto_jpeg_picture;

/*
 * Decodes the JPEG image in the `count` bytes at `bytes` in colour, reduced by at most 8 as long as its longer side has
 * at least `side` pixels. `picture` must be zero. Its full size is set as soon as it is known, and the rest only on
 * SOTTO_JPEG_OK; the caller frees `rgb`. SOTTO_JPEG_TOO_LARGE means more than `pixel_limit` pixels after the reduction.
 */
sotto_jpeg_status sotto_jpeg_read_small(const uint8_t *bytes, size_t count, uint32_t side,
                                        uint64_t pixel_limit, sotto_jpeg_picture *picture);

/*
 * Encodes `rgb`, which has `width` times `height` times 3 bytes, with a quality of 1 to 100. Returns the length of the
 * file in `output`, or 0 if it does not fit into `capacity` bytes or memory is missing.
 */
size_t sotto_jpeg_write(const uint8_t *rgb, uint32_t width, uint32_t height, int quality,
                        uint8_t *output, size_t capacity);

#endif
