#include "CSottoImage.h"

#include <zlib.h>

size_t sotto_deflate(const uint8_t *bytes, size_t count, uint8_t *target, size_t room) {
    uLongf size = room;
    return compress2(target, &size, bytes, count, Z_BEST_SPEED) == Z_OK ? size : 0;
}

size_t sotto_deflate_room(size_t count) { return compressBound(count); }
