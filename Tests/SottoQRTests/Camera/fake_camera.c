/*
 * A simulated camera: loaded before libv4l2 (LD_PRELOAD), it implements that library for /dev/fake-camera. The pictures
 * are the files frame-0, frame-1 and so on in the directory FAKE_CAMERA, in raw form, with the size FAKE_SIZE,
 * "640x480", and the format FAKE_FORMAT, four letters. After the last picture the camera is unplugged. With FAKE_BUSY
 * set, another program uses it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 8, FRAMES = 16, ROOM = 4 << 20 };
static int camera = -1;
static unsigned frame, frames;
static void *pictures[FRAMES];
static size_t sizes[FRAMES];
static void *buffers[MOST];
static unsigned waiting[MOST], first, count;

static unsigned format(void) {
    const char *f = getenv("FAKE_FORMAT");
    return v4l2_fourcc(f[0], f[1], f[2], f[3]);
}

static void describe(struct v4l2_pix_format *pix) {
    sscanf(getenv("FAKE_SIZE"), "%ux%u", &pix->width, &pix->height);
    pix->pixelformat = format();
    pix->field = V4L2_FIELD_NONE;
    pix->bytesperline = pix->width * (format() == V4L2_PIX_FMT_YUYV ? 2 : 1);
    pix->sizeimage = format() == V4L2_PIX_FMT_MJPEG ? ROOM : pix->bytesperline * pix->height;
}

static int is_camera(const char *path) { return strcmp(path, "/dev/fake-camera") == 0; }

static int opened(const char *path, int flags, int mode) {
    static int (*real)(const char *, int, ...);
    if (!real) real = dlsym(RTLD_NEXT, "open");
    if (!is_camera(path)) return real(path, flags, mode);
    /* A character device, like a camera. */
    return camera = real("/dev/null", O_RDWR | O_CLOEXEC);
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    int mode = va_arg(arguments, int);
    va_end(arguments);
    return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    int mode = va_arg(arguments, int);
    va_end(arguments);
    return opened(path, flags, mode);
}

static int fail(int code) {
    errno = code;
    return -1;
}

static int next_frame(struct v4l2_buffer *buffer) {
    if (frame >= frames || !count) return fail(ENODEV);
    buffer->index = waiting[first];
    first = (first + 1) % MOST;
    count--;
    memcpy(buffers[buffer->index], pictures[frame], sizes[frame]);
    buffer->bytesused = sizes[frame++];
    return 0;
}

/* The process cannot open files later. */
static void read_frames(void) {
    for (frames = 0; frames < FRAMES; frames++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/frame-%u", getenv("FAKE_CAMERA"), frames);
        FILE *file = fopen(path, "rb");
        if (!file) return;
        pictures[frames] = malloc(ROOM);
        sizes[frames] = fread(pictures[frames], 1, ROOM, file);
        fclose(file);
    }
}

int v4l2_open(const char *path, int flags, ...) {
    int descriptor = opened(path, flags, 0);
    if (is_camera(path)) read_frames();
    return descriptor;
}

int v4l2_close(int descriptor) { return close(descriptor); }

void *v4l2_mmap(void *start, size_t length, int protection, int flags, int descriptor, int64_t offset) {
    (void)start, (void)protection, (void)flags, (void)descriptor;
    return buffers[offset / ROOM] = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int v4l2_munmap(void *start, size_t length) { return munmap(start, length); }

int v4l2_ioctl(int descriptor, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (descriptor < 0 || descriptor != camera) return fail(EBADF);
    switch (request) {
    case VIDIOC_QUERYCAP: {
        struct v4l2_capability *answer = argument;
        memset(answer, 0, sizeof *answer);
        strcpy((char *)answer->driver, "fake");
        answer->device_caps = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
        answer->capabilities = answer->device_caps | V4L2_CAP_DEVICE_CAPS;
        return 0;
    }
    case VIDIOC_ENUM_FMT: {
        struct v4l2_fmtdesc *answer = argument;
        if (answer->index) return fail(EINVAL);
        answer->pixelformat = format();
        return 0;
    }
    case VIDIOC_G_FMT:
    case VIDIOC_S_FMT:
    case VIDIOC_TRY_FMT:
        describe(&((struct v4l2_format *)argument)->fmt.pix);
        return 0;
    case VIDIOC_REQBUFS: {
        struct v4l2_requestbuffers *answer = argument;
        if (answer->memory != V4L2_MEMORY_MMAP) return fail(EINVAL);
        if (answer->count > MOST) answer->count = MOST;
        return 0;
    }
    case VIDIOC_QUERYBUF: {
        struct v4l2_buffer *answer = argument;
        answer->m.offset = answer->index * ROOM;
        answer->length = ROOM;
        return 0;
    }
    case VIDIOC_QBUF:
        waiting[(first + count++) % MOST] = ((struct v4l2_buffer *)argument)->index;
        return 0;
    case VIDIOC_STREAMON: return getenv("FAKE_BUSY") ? fail(EBUSY) : 0;
    case VIDIOC_STREAMOFF: return 0;
    case VIDIOC_DQBUF: return next_frame(argument);
    default: return fail(EINVAL);
    }
}
