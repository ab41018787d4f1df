// Loaded into a program: every call of libkeyutils fails with $KEYRING_ERRNO, as in a container that forbids keys.
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static long refuse(void) {
    errno = atoi(getenv("KEYRING_ERRNO"));
    return -1;
}

int32_t add_key(const char *type, const char *description, const void *payload, size_t size, int32_t ring) {
    return refuse();
}

// A full keyring exists, and its existing keys are found.
int32_t keyctl_get_keyring_ID(int32_t id, int create) {
    return atoi(getenv("KEYRING_ERRNO")) == EDQUOT ? 1 : refuse();
}

long keyctl_search(int32_t ring, const char *type, const char *description, int32_t destination) { return refuse(); }
