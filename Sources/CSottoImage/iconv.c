/*
 * zbar opens converters from Latin-1, Shift JIS and Big5 for each decoded code. With binary output, only a code that
 * names its character set (an ECI) needs one. glibc loads a shared library for each converter. This replacement opens a
 * converter at its first conversion. Nothing else in these programs converts text.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>

struct converter {
    char target[32];
    char source[32];
    iconv_t real;
};

static const iconv_t none = (iconv_t)-1;

iconv_t iconv_open(const char *target, const char *source) {
    struct converter *converter = malloc(sizeof *converter);
    if (!converter) return none;
    snprintf(converter->target, sizeof converter->target, "%s", target);
    snprintf(converter->source, sizeof converter->source, "%s", source);
    converter->real = none;
    return converter;
}

size_t iconv(iconv_t descriptor, char **input, size_t *left, char **output, size_t *room) {
    struct converter *converter = descriptor;
    if (converter->real == none) {
        iconv_t (*open)(const char *, const char *) = dlsym(RTLD_NEXT, "iconv_open");
        if (open) converter->real = open(converter->target, converter->source);
    }
    size_t (*convert)(iconv_t, char **, size_t *, char **, size_t *) = dlsym(RTLD_NEXT, "iconv");
    if (converter->real == none || !convert) {
        errno = EINVAL;
        return (size_t)-1;
    }
    return convert(converter->real, input, left, output, room);
}

int iconv_close(iconv_t descriptor) {
    struct converter *converter = descriptor;
    int (*close)(iconv_t) = dlsym(RTLD_NEXT, "iconv_close");
    if (converter->real != none && close) close(converter->real);
    free(converter);
    return 0;
}
