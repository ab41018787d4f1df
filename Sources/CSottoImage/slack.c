/*
 * zbar 0.23.92 (qrdectxt.c) joins the codes of a structured append in a buffer for their text and one more byte, but
 * also writes a zero byte for each run of missing codes: up to 8 bytes past its end, for at most 16 codes. An image of
 * four small codes can therefore corrupt the heap. This malloc(3), in every program that links this library, makes each
 * block 16 bytes larger than requested. glibc still allocates the block.
 */
#include <stddef.h>
#include <stdint.h>

enum { SLACK = 16 };

void *__libc_malloc(size_t count);
void *malloc(size_t count);

void *malloc(size_t count) { return __libc_malloc(count > SIZE_MAX - SLACK ? count : count + SLACK); }
