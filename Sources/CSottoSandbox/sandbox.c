#include "CSottoSandbox.h"

#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <seccomp.h>

static int compare(const void *one, const void *other) {
    return *(const unsigned char *)one - *(const unsigned char *)other;
}

void sotto_sandbox_prepare(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close_range(STDERR_FILENO + 1, ~0U, 0);
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    /* For more than a kilobyte glibc's qsort asks once for the size of the memory. */
    static unsigned char bytes[4096];
    qsort(bytes, sizeof bytes, 1, compare);
}

int sotto_sandbox_enter(int camera) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    if (!filter) return -ENOMEM;
    int status = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

#define ADD(action, name, ...) \
    if (!status) status = seccomp_rule_add(filter, action, SCMP_SYS(name), __VA_ARGS__)
#define ALLOW(name, ...) ADD(SCMP_ACT_ALLOW, name, __VA_ARGS__)

    ALLOW(read, 1, SCMP_A0(SCMP_CMP_EQ, STDIN_FILENO));
    ALLOW(write, 1, SCMP_A0(SCMP_CMP_EQ, STDOUT_FILENO));

    /* Memory without files, and never executable. The kernel reads the descriptor as 32 bits. */
    ALLOW(mmap, 2, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
          SCMP_A4(SCMP_CMP_MASKED_EQ, 0xFFFFFFFF, 0xFFFFFFFF));
    ALLOW(mprotect, 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    ALLOW(mremap, 0);
    ALLOW(munmap, 0);
    ALLOW(madvise, 0);
    ALLOW(brk, 0);

    ALLOW(futex, 0);
    ALLOW(sched_yield, 0);
    ALLOW(clock_gettime, 0);
    ALLOW(getrandom, 0);

    /* The end, also by abort(3), which sends a signal to this process only. */
    ALLOW(exit, 0);
    ALLOW(exit_group, 0);
    ALLOW(getpid, 0);
    ALLOW(gettid, 0);
    ALLOW(rt_sigprocmask, 0);
    ALLOW(rt_sigreturn, 0);
    ALLOW(tgkill, 1, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));

    /* For example, libjpeg reads /proc/cpuinfo on ARM, and uses no special instructions without it. */
    ADD(SCMP_ACT_ERRNO(EACCES), openat, 0);
    ADD(SCMP_ACT_ERRNO(EACCES), open, 0);

    if (camera >= 0) {
        ALLOW(read, 1, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)camera));
        ALLOW(ioctl, 1, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)camera));
        /* libv4l2 maps the camera's buffers when it converts the first frame. */
        ALLOW(mmap, 2, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
              SCMP_A4(SCMP_CMP_MASKED_EQ, 0xFFFFFFFF, (scmp_datum_t)camera));
        ALLOW(poll, 0);
        ALLOW(ppoll, 0);
    }
#undef ALLOW
#undef ADD

    /* This also sets no_new_privs. */
    if (!status) status = seccomp_load(filter);
    seccomp_release(filter);
    return status;
}
