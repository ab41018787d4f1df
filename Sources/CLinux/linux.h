#include <stdint.h>

/* sync_file_range(2), which glibc declares only with _GNU_SOURCE. */
int sync_file_range(int file, int64_t offset, int64_t count, unsigned int flags);

enum { SOTTO_SYNC_FILE_RANGE_WRITE = 2 };
