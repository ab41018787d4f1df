/* mallopt(3), which the module Glibc does not have. */
#include <malloc.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/prctl.h>

/* sync_file_range(2), which glibc declares only with _GNU_SOURCE. */
int sync_file_range(int file, int64_t offset, int64_t count, unsigned int flags);

enum { SOTTO_SYNC_FILE_RANGE_WRITE = 2 };

/* The same holds for these; glibc 2.34 has the second. */
int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);

/* prctl(2) has variable arguments, which Swift does not call. */
static inline int sotto_end_with_parent(int signal) { return prctl(PR_SET_PDEATHSIG, signal); }
