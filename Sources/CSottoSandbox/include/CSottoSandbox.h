#ifndef CSOTTO_SANDBOX_H
#define CSOTTO_SANDBOX_H

/*
 * Prepares this process to read pictures. It is killed when the thread that started it ends, has no descriptors but the
 * standard ones, and writes no core dumps. Sets up the C library's sort function. Call it first.
 */
void sotto_sandbox_prepare(void);

/*
 * Restricts this process for the rest of its life (seccomp(2)). It can read standard input, write standard output,
 * allocate memory that is not executable, and exit. With a `camera`, the descriptor of an open device, it can also
 * read, map and control this device and wait for it; without one `camera` is -1.
 *
 * To open a file fails with EACCES, because some libraries try to read an optional file. Every other system call ends
 * the process with SIGSYS. Call it while the process has a single thread.
 *
 * Returns 0, or a negative error number; the process is then not restricted, and must not read a picture.
 */
int sotto_sandbox_enter(int camera);

#endif
