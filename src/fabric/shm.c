/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that are processes of one node: memory outside the segment is read and written by
 * process_vm_readv and process_vm_writev (CMA, cross memory attach), with one copy and no setup.
 * The kernel requires the same permission for them as for a debugger; containers and Yama may
 * refuse it, or one of the two calls. So boot tries both between every pair of ranks at the start,
 * and plans use each of them only if it works between all pairs.
 *
 * A process may lose the permission later (prctl: PR_SET_DUMPABLE, a filter of system calls). The
 * plans stay as they are then, since all ranks would have to agree on a change. A rank that is
 * refused records that, and from then on asks the owner to send the bytes by messages
 * (run/served.c, src/msg).
 */
#include "fabric/fabric.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

typedef ssize_t cma_fn(pid_t, const struct iovec *, unsigned long, const struct iovec *,
                       unsigned long, unsigned long);

/* Writes one byte of each page into a pipe and reads the byte back (to its place, if `written`):
 * the kernel returns an error if an address is bad. */
bool tt_fabric_is_memory(char *here, int64_t len, bool written)
{
    int ends[2];
    bool good = true;
    /* Without a pipe no byte can be tried, and the memory counts as valid. */
    if (pipe2(ends, O_CLOEXEC) != 0) return true;
    for (char *at = here; good && at < here + len; at = (char *)(((uintptr_t)at | 4095) + 1)) {
        char byte;
        good = write(ends[1], at, 1) == 1 && read(ends[0], written ? at : &byte, 1) == 1;
    }
    close(ends[0]);
    close(ends[1]);
    return good;
}

/* Returns ARG with a text that names the bad address: `here` in this process, where the bytes were
 * to be read or written (`written`), or `there` in the process of `rank`. The kernel does not say
 * which of the two is bad. */
static tutti_status bad_address(int rank, char *here, bool written, uint64_t there, int64_t len)
{
    if (!tt_fabric_is_memory(here, len, written))
        return tt_fail(TUTTI_ERR_ARG, "%lld bytes at %p are no memory that can be %s",
                       (long long)len, (void *)here, written ? "written" : "read");
    return tt_fail(TUTTI_ERR_ARG,
                   "rank %d gave %lld bytes at %#llx that are no memory that can be %s", rank,
                   (long long)len, (unsigned long long)there, written ? "read" : "written");
}

/* Returns the pid by which rank `me` can reach the process of a rank; 0: there is none. */
static pid_t pid_of(const struct tt_job_page *job, int rank, int me)
{
    return tt_segment_pid(&job->rank[rank], &job->rank[me]);
}

/* Reads the rank's probe word, or writes its value to it, which the word has already. The word is
 * there as long as the rank's process has memory. Returns whether the kernel did so. */
static bool moves_word(const struct tt_job_page *job, int rank, int me, enum tt_access access,
                       uint64_t *word)
{
    cma_fn *fn = access == TT_READS ? process_vm_readv : process_vm_writev;
    struct iovec mine = {word, sizeof *word};
    struct iovec its = {(void *)(uintptr_t)atomic_load(&job->rank[rank].probe), sizeof *word};
    pid_t pid = pid_of(job, rank, me);
    return pid > 0 && fn(pid, &mine, 1, &its, 1, 0) == sizeof *word;
}

/* Returns whether the process has given up its memory. When a process ends, this happens before the
 * kernel closes the files of the process. process_vm_readv and process_vm_writev cannot show this,
 * because a filter may make them fail as if the process had ended. The kernel shows the sizes of a
 * process to every user, and all of them are 0 without memory. If /proc does not show the process,
 * it counts as ended. If /proc shows the numbers of another PID namespace, the process counts as
 * ended when it is gone. */
static bool has_ended(pid_t pid)
{
    char path[32];
    unsigned long pages = 0;
    if (kill(pid, 0) != 0 && errno == ESRCH) return true;
    if (tt_segment_proc_space() == 0) return false;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "re");
    bool has_memory = file && fscanf(file, "%lu", &pages) == 1 && pages > 0;
    if (file) fclose(file);
    return !has_memory;
}

/* Returns whether a call that moved nothing was refused. The kernel itself refuses with EPERM, but
 * a filter of system calls may return any error, or 0. The arguments are valid and never of length
 * 0, so for other reasons the kernel returns only the four errors below. To find out whether a
 * filter returned one of the four, the function accesses the rank's probe word, which is surely
 * there. If this fails as well although the process has not ended, it was a filter. If the process
 * has ended, the error becomes ESRCH, whatever the filter returned. */
static bool is_refusal(const struct tt_fabric *f, int rank, enum tt_access access, ssize_t n,
                       int *error)
{
    if (n == 0) return true;
    if (*error != EFAULT && *error != ESRCH && *error != ENOMEM && *error != EINTR) return true;
    uint64_t word = atomic_load(&f->job->rank[rank].probe_value);
    if (moves_word(f->job, rank, f->me, access, &word)) return false;
    if (!has_ended(pid_of(f->job, rank, f->me))) return true;
    *error = ESRCH;
    return false;
}

static tutti_status refused(struct tt_fabric *f, int rank, enum tt_access access, int error)
{
    if (tt_fabric_may(f, rank, access) && tt_log_on(TT_LOG_fabric))
        tt_log("the system does not let rank %d %s the memory of rank %d any more: %s", f->me,
               access == TT_READS ? "read" : "write", rank, error ? strerror(error) : "no bytes");
    tt_fabric_forbid(f, rank, access);
    return TUTTI_ERR_UNSUPPORTED;
}

/* Waits until the launcher's guard (the parent of the ranks) has recorded how the rank ended, since
 * the kernel knows that a process is gone before the guard does. A process stays in the process
 * table until the guard has collected it, which may take long on a busy machine. The guard records
 * the end soon after that. If this rank cannot see the process, it waits as if the guard had just
 * collected it. */
void tt_fabric_await_record(const struct tt_fabric *f, int rank)
{
    enum { MOST_MS = 10000, SHORT_MS = 1000 };
    const struct timespec pause = {.tv_nsec = 1000000};
    pid_t pid = pid_of(f->job, rank, f->me);
    if (f->watch) return;
    for (int ms = 0, none_due = 0; ms < MOST_MS && none_due < SHORT_MS; ms++) {
        if (tt_common_state(f->job, f->common, rank) >= TT_RANK_LEFT) return;
        none_due += pid <= 0 || kill(pid, 0) != 0 || !has_ended(pid);
        nanosleep(&pause, NULL);
    }
}

/* Returns whether the rank has failed or left, so that it may have freed its buffers. Failures of
 * other ranks say nothing about its buffers. */
static bool is_gone(const struct tt_fabric *f, int rank)
{
    return tt_common_state(f->job, f->common, rank) >= TT_RANK_LEFT;
}

/* Returns the error of an access to address `there` of `rank` that the kernel could not do,
 * although the memory of this rank is valid. The error ESRCH means that the owner's process has
 * ended. If the owner has failed or left, the result is PEER with the cause of the first failure,
 * since the owner may have failed because of another rank. */
static tutti_status lost(struct tt_fabric *f, int rank, int64_t len, uint64_t there, int error)
{
    char text[160];
    if (error == ESRCH) tt_fabric_await_record(f, rank);
    if (tt_common_state(f->job, f->common, rank) == TT_RANK_LEFT)
        tt_common_miss(f->job, f->common, rank);
    else if (error == ESRCH)
        tt_job_fail(f->job, rank, TT_CAUSE_GONE, 0);
    int first = is_gone(f, rank) ? tt_common_first_failed(f->job, f->common) : -1;
    if (first >= 0)
        return tt_fail(TUTTI_ERR_PEER, "%s",
                       tt_common_cause_text(f->job, f->common, first, text, sizeof text));
    errno = error;
    return tt_fail_errno(TUTTI_ERR_SYSTEM,
                         "cannot reach %lld bytes at %#llx in the memory of rank %d",
                         (long long)len, (unsigned long long)there, rank);
}

/* Reads or writes memory of another rank, by as many calls as necessary: the kernel moves at most
 * MAX_RW_COUNT bytes per call, and fewer if a page is missing. This rank may do so only if it has
 * reached the probe word by the rank's pid, so the pid leads to the rank's process. */
static tutti_status move(struct tt_fabric *f, enum tt_access access, int rank, char *here,
                         tt_address there, int64_t len)
{
    cma_fn *fn = access == TT_READS ? process_vm_readv : process_vm_writev;
    if (!tt_fabric_may(f, rank, access)) return TUTTI_ERR_UNSUPPORTED;
    pid_t pid = atomic_load_explicit(&f->job->rank[rank].pid, memory_order_relaxed);
    while (len > 0) {
        struct iovec mine = {here, (size_t)len};
        struct iovec its = {(void *)(uintptr_t)there, (size_t)len};
        ssize_t n = fn(pid, &mine, 1, &its, 1, 0);
        if (n <= 0) {
            int error = n < 0 ? errno : 0;
            if (is_refusal(f, rank, access, n, &error)) return refused(f, rank, access, error);
            if (error == EINTR) continue;
            if (error == EFAULT &&
                (!is_gone(f, rank) || !tt_fabric_is_memory(here, len, access == TT_READS)))
                return bad_address(rank, here, access == TT_READS, there, len);
            return lost(f, rank, len, there, error);
        }
        here += n;
        there += (uint64_t)n;
        len -= n;
    }
    return TUTTI_OK;
}

static tutti_status read_there(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                               void *to, tt_address from, int64_t len)
{
    (void)self;
    return move(f, TT_READS, rank, to, from, len);
}

static tutti_status write_there(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                                tt_address to, const void *from, int64_t len)
{
    (void)self;
    return move(f, TT_WRITES, rank, (char *)(uintptr_t)from, to, len);
}

const struct tt_fabric_ops tt_fabric_shm = {
    .name = "shm", .read = read_there, .write = write_there};

/* Tries to read and to write the rank's probe word. The write stores the value that the word has
 * already, so several peers may probe at the same time. If the word that was read has another value
 * than the rank has published, the pid leads to another process. */
int tt_cma_works(const struct tt_job_page *job, int rank, int me)
{
    uint64_t value = atomic_load(&job->rank[rank].probe_value), word = ~value;
    bool reads = moves_word(job, rank, me, TT_READS, &word);
    if (reads && word != value) return 0;
    bool writes = moves_word(job, rank, me, TT_WRITES, &value);
    return (reads ? TT_READS : 0) | (writes ? TT_WRITES : 0);
}

/* Returns Yama's ptrace_scope if it is so high (2 or more) that a rank without the capability
 * CAP_SYS_PTRACE may not access another rank's memory; else 0. */
static int forbidding_scope(void)
{
    int scope = 0;
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (file && fscanf(file, "%d", &scope) != 1) scope = 0;
    if (file) fclose(file);
    return scope < 2 ? 0 : scope;
}

const char *tt_cma_forbidden(enum tt_access access)
{
    static char texts[2][128];
    uint64_t word = TT_JOB_MAGIC, copy = 0;
    struct iovec mine = {&copy, sizeof copy}, its = {&word, sizeof word};
    bool reads = access == TT_READS;
    char *text = texts[reads];
    ssize_t n = reads ? process_vm_readv(getpid(), &mine, 1, &its, 1, 0)
                      : process_vm_writev(getpid(), &mine, 1, &its, 1, 0);
    int error = errno, scope = forbidding_scope();
    if (n == sizeof word && scope == 0) return NULL;
    if (n != sizeof word)
        snprintf(text, sizeof texts[0], "process_vm_%s: %s", reads ? "readv" : "writev",
                 strerror(error));
    else
        snprintf(text, sizeof texts[0], "kernel.yama.ptrace_scope is %d", scope);
    return text;
}
