#include <spawn.h>
#include <stdint.h>

/* sync_file_range(2), which glibc declares only with _GNU_SOURCE. */
int sync_file_range(int file, int64_t offset, int64_t count, unsigned int flags);

enum { SOTTO_SYNC_FILE_RANGE_WRITE = 2 };

/* posix_spawn_file_actions_addclosefrom_np(3), glibc 2.34; the same holds for it. */
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
