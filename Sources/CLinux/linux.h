/* mallopt(3), which the module Glibc does not have. */
#include <linux/stat.h>
#include <malloc.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/prctl.h>

/* sync_file_range(2), which glibc declares only with _GNU_SOURCE. */
int sync_file_range(int file, int64_t offset, int64_t count, unsigned int flags);

enum { SOTTO_SYNC_FILE_RANGE_WRITE = 2 };

/* statx(2) too. */
int statx(int directory, const char *path, int flags, unsigned int mask, struct statx *status);

/* Returns when a file was made, in nanoseconds since 1970, or 0 if its file system does not keep it. */
static inline int64_t sotto_birth_time(const char *path) {
    struct statx status;
    /* -100 is AT_FDCWD. */
    if (statx(-100, path, 0, STATX_BTIME, &status) != 0 || !(status.stx_mask & STATX_BTIME)) return 0;
    return status.stx_btime.tv_sec * INT64_C(1000000000) + status.stx_btime.tv_nsec;
}

/* The same holds for these; glibc 2.34 has the second. */
int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);

/* prctl(2) has variable arguments, which Swift does not call. */
static inline int sotto_end_with_parent(int signal) { return prctl(PR_SET_PDEATHSIG, signal); }
