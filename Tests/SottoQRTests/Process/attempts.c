/*
 * Enters the restriction of qr-scan (Sources/CSottoSandbox) and then does what the first argument says. The exit status
 * is 0 if it was done, and the error number otherwise; a forbidden system call ends the process with SIGSYS.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>

#include "CSottoSandbox.h"

static int attempt(const char *what) {
    char byte = 0;
    if (!strcmp(what, "memory")) {
        void *block = malloc(1 << 24);
        if (!block) return 0;
        memset(block, 1, 1 << 24);
        free(block);
        return 1;
    }
    if (!strcmp(what, "write")) return write(1, &byte, 1) == 1;
    if (!strcmp(what, "abort")) abort();
    if (!strcmp(what, "open")) return open("/etc/passwd", O_RDONLY) >= 0;
    if (!strcmp(what, "create")) return open("/tmp/qr-scan-attempt", O_WRONLY | O_CREAT, 0600) >= 0;
    if (!strcmp(what, "socket")) return socket(AF_INET, SOCK_STREAM, 0) >= 0;
    if (!strcmp(what, "fork")) return fork() >= 0;
    if (!strcmp(what, "exec")) return execl("/bin/true", "true", (char *)0) == 0;
    if (!strcmp(what, "unlink")) return unlink("/tmp/qr-scan-attempt") == 0;
    if (!strcmp(what, "kill")) return kill(getppid(), 0) == 0;
    if (!strcmp(what, "ptrace")) return ptrace(PTRACE_ATTACH, getppid(), 0, 0) == 0;
    if (!strcmp(what, "ioctl")) return ioctl(0, 0x5413 /* TIOCGWINSZ */, &byte) == 0;
    if (!strcmp(what, "read-other")) return read(7, &byte, 1) == 1;
    if (!strcmp(what, "write-other")) return write(2, &byte, 1) == 1;
    if (!strcmp(what, "code"))
        return mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
    if (!strcmp(what, "map-file")) return mmap(0, 4096, PROT_READ, MAP_PRIVATE, 0, 0) != MAP_FAILED;
    return 0;
}

int main(int count, char **words) {
    sotto_sandbox_prepare();
    if (count != 2 || sotto_sandbox_enter(-1) != 0) _exit(255);
    errno = 0;
    _exit(attempt(words[1]) ? 0 : errno);
}
