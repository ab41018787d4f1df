#include <unistd.h>
#include <zlib.h>

// What Swift's import of glibc leaves out, because the headers want _GNU_SOURCE for it.
int pipe2(int ends[2], int flags);
int posix_openpt(int flags);
int grantpt(int descriptor);
int unlockpt(int descriptor);
// Swift does not import fork.
static inline pid_t fork_process(void) { return fork(); }
int ptsname_r(int descriptor, char *name, unsigned long size);
void *memmem(const void *text, unsigned long length, const void *part, unsigned long part_length);
