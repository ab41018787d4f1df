// This library is preloaded into a relay with LD_PRELOAD and causes faults. Each fault is enabled by an
// environment variable:
//
//   FAULT_SYNC_DELAY   microseconds by which every fsync and fdatasync is delayed
//   FAULT_SYNC_EIO     the number of the fsync or fdatasync of a file that fails with EIO, from 1; later
//                      ones succeed, as on Linux
//   FAULT_SYNC_NAME    limits FAULT_SYNC_EIO to files whose path ends with this
//   FAULT_SHADOW       a directory that gets a copy of each file as of its last synchronization: the only
//                      data that is certain to survive a power cut
//   FAULT_LIE          if set, synchronization does nothing, and FAULT_SHADOW gets nothing
//   FAULT_CLOCK        a file; while it exists, the wall clock is off by the seconds in it

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// The C library's function of this name.
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

// The range of a file that was written since its last synchronization.
struct dirty {
    dev_t device;
    ino_t inode;
    off_t start, end;
};

static struct dirty files[64];
static int file_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct dirty *find(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return NULL;
    for (int i = 0; i < file_count; i++)
        if (files[i].inode == status.st_ino && files[i].device == status.st_dev)
            return &files[i];
    if (file_count == (int)(sizeof files / sizeof *files))
        return NULL;
    files[file_count] = (struct dirty){status.st_dev, status.st_ino, LONG_MAX, 0};
    return &files[file_count++];
}

static void note(int fd, off_t start, ssize_t count)
{
    if (count <= 0 || !getenv("FAULT_SHADOW"))
        return;
    pthread_mutex_lock(&mutex);
    struct dirty *file = find(fd);
    if (file && start < file->start)
        file->start = start;
    if (file && start + count > file->end)
        file->end = start + count;
    pthread_mutex_unlock(&mutex);
}

// Updates the copy of a file in FAULT_SHADOW. It reads through SQLite's descriptor: closing another one would release
// SQLite's locks.
static void shadow(int fd)
{
    static char block[1 << 16];
    const char *directory = getenv("FAULT_SHADOW");
    char link[64], path[PATH_MAX], copy[PATH_MAX];
    if (!directory)
        return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    const char *name = strrchr(path, '/');
    struct stat status;
    pthread_mutex_lock(&mutex);
    struct dirty *file = find(fd);
    if (file && name && fstat(fd, &status) == 0 &&
        snprintf(copy, sizeof copy, "%s%s", directory, name) < (int)sizeof copy) {
        int out = open(copy, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        for (off_t at = file->start; out >= 0 && at < file->end;) {
            off_t left = file->end - at;
            ssize_t got = pread(fd, block, left < (off_t)sizeof block ? (size_t)left : sizeof block, at);
            if (got <= 0 || NEXT(pwrite)(out, block, got, at) != got)
                break;
            at += got;
        }
        if (out >= 0) {
            NEXT(ftruncate)(out, status.st_size);
            close(out);
        }
        file->start = LONG_MAX;
        file->end = 0;
    }
    pthread_mutex_unlock(&mutex);
}

// The data of a failed synchronization is lost: the kernel marks those pages as written.
static void forget(int fd)
{
    pthread_mutex_lock(&mutex);
    struct dirty *file = find(fd);
    if (file)
        *file = (struct dirty){file->device, file->inode, LONG_MAX, 0};
    pthread_mutex_unlock(&mutex);
}

static int is_named(int fd, const char *name)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path);
    ssize_t wanted = (ssize_t)strlen(name);
    return length >= wanted && memcmp(path + length - wanted, name, wanted) == 0;
}

static int synchronise(int fd, int (*next)(int))
{
    static atomic_long count;
    const char *delay = getenv("FAULT_SYNC_DELAY"), *fails = getenv("FAULT_SYNC_EIO");
    const char *name = getenv("FAULT_SYNC_NAME");
    if (delay)
        usleep(atol(delay));
    if (getenv("FAULT_LIE"))
        return 0;
    if (fails && (!name || is_named(fd, name)) && atomic_fetch_add(&count, 1) + 1 == atol(fails)) {
        forget(fd);
        errno = EIO;
        return -1;
    }
    int result = next(fd);
    if (result == 0)
        shadow(fd);
    return result;
}

int fsync(int fd) { return synchronise(fd, NEXT(fsync)); }

int fdatasync(int fd) { return synchronise(fd, NEXT(fdatasync)); }

ssize_t write(int fd, const void *bytes, size_t count)
{
    off_t at = getenv("FAULT_SHADOW") ? lseek(fd, 0, SEEK_CUR) : -1;
    ssize_t written = NEXT(write)(fd, bytes, count);
    if (at >= 0)
        note(fd, at, written);
    return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at)
{
    ssize_t written = NEXT(pwrite)(fd, bytes, count, at);
    note(fd, at, written);
    return written;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at)
{
    return pwrite(fd, bytes, count, at);
}

// Returns the seconds by which the clock is off.
static time_t shift(void)
{
    const char *path = getenv("FAULT_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return 0;
    char text[32] = {0};
    if (read(fd, text, sizeof text - 1) < 0)
        text[0] = 0;
    close(fd);
    return atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = NEXT(clock_gettime)(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += shift();
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    int result = NEXT(gettimeofday)(now, zone);
    if (result == 0)
        now->tv_sec += shift();
    return result;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
