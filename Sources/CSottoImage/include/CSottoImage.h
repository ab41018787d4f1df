#ifndef CSOTTO_IMAGE_H
#define CSOTTO_IMAGE_H

#include <stddef.h>
#include <stdint.h>

/* How the reading of a JPEG picture ended. */
typedef enum {
    SOTTO_JPEG_OK = 0,
    SOTTO_JPEG_BROKEN = 1,    /* malformed, truncated, or of a kind that libjpeg does not know */
    SOTTO_JPEG_TOO_LARGE = 2, /* more than `pixel_limit` pixels */
    SOTTO_JPEG_NO_MEMORY = 3
} sotto_jpeg_status;

/*
 * Reads the JPEG picture in the `count` bytes at `bytes` (ISO/IEC 10918-1).
 *
 * On SOTTO_JPEG_OK `*gray` is malloc'ed, for the caller to free: `*width` times `*height` bytes, row
 * by row from the top, 0 black to 255 white. Otherwise the three are untouched. libjpeg reports errors
 * by a call that must not return, hence setjmp(3), hence C.
 */
sotto_jpeg_status sotto_jpeg_read(const uint8_t *bytes, size_t count, uint64_t pixel_limit,
                                  uint8_t **gray, uint32_t *width, uint32_t *height);

/*
 * Compresses `count` bytes (RFC 1950) into the `room` bytes at `target`, and returns how many it became; 0 when
 * they do not fit or memory runs out.
 */
size_t sotto_deflate(const uint8_t *bytes, size_t count, uint8_t *target, size_t room);

/* The most bytes that `count` bytes become. */
size_t sotto_deflate_room(size_t count);

#endif
