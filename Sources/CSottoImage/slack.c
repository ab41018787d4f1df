/*
 * zbar 0.23.92 (qrdectxt.c) joins the codes of a structured append in a buffer for their text and one byte
 * more, but also writes a zero byte for each run of codes that are missing: up to 8 bytes past its end, for
 * 16 codes at most. A picture of four small codes so ends the program, or worse. Hence this malloc(3), in whatever
 * links this: every block has 16 bytes more than is asked for. The block is still glibc's own.
 */
#include <stddef.h>
#include <stdint.h>

enum { SLACK = 16 };

void *__libc_malloc(size_t count);
void *malloc(size_t count);

void *malloc(size_t count) { return __libc_malloc(count > SIZE_MAX - SLACK ? count : count + SLACK); }
