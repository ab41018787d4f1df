/*
 * zbar reads cameras through libv4l2, a layer over the kernel's calls that converts the formats of some old cameras.
 * These functions replace libv4l2's with the kernel's calls, so that a program linked with zbar's archive does not load
 * libv4l2, libv4lconvert and libjpeg at each start for a rarely used option. zbar itself decodes grey, YUV and RGB
 * frames, and JPEG.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

int v4l2_open(const char *path, int flags, ...);
int v4l2_close(int descriptor);
int v4l2_ioctl(int descriptor, unsigned long request, ...);
ssize_t v4l2_read(int descriptor, void *buffer, size_t count);
void *v4l2_mmap(void *start, size_t length, int protection, int flags, int descriptor, int64_t offset);
int v4l2_munmap(void *start, size_t length);

int v4l2_open(const char *path, int flags, ...) { return open(path, flags | O_CLOEXEC); }

int v4l2_close(int descriptor) { return close(descriptor); }

int v4l2_ioctl(int descriptor, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    int result;
    do {
        result = ioctl(descriptor, request, argument);
    } while (result < 0 && errno == EINTR);
    return result;
}

ssize_t v4l2_read(int descriptor, void *buffer, size_t count) {
    return read(descriptor, buffer, count);
}

void *v4l2_mmap(void *start, size_t length, int protection, int flags, int descriptor, int64_t offset) {
    return mmap(start, length, protection, flags, descriptor, offset);
}

int v4l2_munmap(void *start, size_t length) { return munmap(start, length); }
