#include <stddef.h>
#include <stdint.h>

// As botan/ffi.h has it. Debian's headers are where only pkg-config finds them, which would name the shared library in
// every build.
int botan_pwdhash(const char *algorithm, size_t parameter1, size_t parameter2, size_t parameter3,
                  uint8_t out[], size_t out_length, const char *passphrase, size_t passphrase_length,
                  const uint8_t salt[], size_t salt_length);
