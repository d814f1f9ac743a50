/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Forbids system calls to a process, as a sandbox or a container does, at once or after some time.
 */
#ifndef TESTS_FORBID_H
#define TESTS_FORBID_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* Makes the system call `number` fail with `error` from now on, for this thread and the threads and
 * processes it starts. Returns 0 on success. */
static inline int forbid(long number, int error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0;
}

/* From now on, a call of membarrier kills the process if it would interrupt other ranks, or would
 * register this process as one that can be interrupted. Returns 0 on success. */
static inline int forbid_interrupts(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0;
}

/* Returns the error of a forbidden call: the number in FORBID_ERROR, or `usual` without it. */
static inline int forbid_error(int usual)
{
    const char *error = getenv("FORBID_ERROR");
    return error ? atoi(error) : usual;
}

/* Calls forbid() by name: memfd, membarrier, interrupts (by membarrier), readv and writev (of other
 * processes), cma (both), or dumpable (only root can access the memory of this process). Returns 0
 * on success. */
static inline int forbid_named(const char *what)
{
    if (strcmp(what, "memfd") == 0) return forbid(SYS_memfd_create, EPERM);
    if (strcmp(what, "membarrier") == 0) return forbid(SYS_membarrier, ENOSYS);
    if (strcmp(what, "interrupts") == 0) return forbid_interrupts();
    if (strcmp(what, "readv") == 0) return forbid(SYS_process_vm_readv, forbid_error(EPERM));
    if (strcmp(what, "writev") == 0) return forbid(SYS_process_vm_writev, forbid_error(ENOSYS));
    if (strcmp(what, "cma") == 0) return forbid_named("readv") || forbid_named("writev");
    if (strcmp(what, "dumpable") == 0) return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0;
    return 1;
}

static inline void forbid_now(int signal)
{
    (void)signal;
    if (forbid_named(getenv("FORBID"))) _exit(77);
}

/* Forbids what the variable FORBID names, on rank FORBID_RANK, or on all ranks if that is not set.
 * This happens after FORBID_MS milliseconds, whatever the rank is doing then, or at once if
 * FORBID_MS is not set. Does nothing without FORBID. */
static inline void forbid_later(void)
{
    const char *what = getenv("FORBID"), *rank = getenv("FORBID_RANK"), *ms = getenv("FORBID_MS");
    const char *mine = getenv("TUTTI_RANK");
    if (!what || (rank && mine && strcmp(rank, mine) != 0)) return;
    if (!ms) {
        forbid_now(0);
        return;
    }
    const struct itimerval once = {.it_value = {.tv_usec = 1000 * atoi(ms)}};
    const struct sigaction action = {.sa_handler = forbid_now, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &once, NULL);
}

#endif
