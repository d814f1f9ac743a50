/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the processors that other jobs of this user are bound to. A process of the user counts as a
 * rank if it holds a job's memory (a memfd, even if its program does not use the library) and is
 * bound to fewer processors than this process may use, whichever launcher bound it. Jobs store
 * nowhere which processors they have taken: /proc shows it.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "launch-guard.h"

/* ---- Ranks of other jobs ---- */

static bool is_memory(int folder, const char *name)
{
    static const char wanted[] = "/memfd:tutti (deleted)";
    char link[sizeof wanted + 1];
    ssize_t n = readlinkat(folder, name, link, sizeof link);
    return n == (ssize_t)sizeof wanted - 1 && memcmp(link, wanted, (size_t)n) == 0;
}

static bool has_job(int proc, const char *pid)
{
    char path[32];
    snprintf(path, sizeof path, "%.16s/fd", pid);
    int folder = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = folder >= 0 ? fdopendir(folder) : NULL;
    if (!dir && folder >= 0) close(folder);
    if (!dir) return false;
    bool has = false;
    for (const struct dirent *entry; !has && (entry = readdir(dir));)
        has = isdigit((unsigned char)entry->d_name[0]) && is_memory(dirfd(dir), entry->d_name);
    closedir(dir);
    return has;
}

static bool is_mine(int proc, const char *pid)
{
    struct stat is;
    return isdigit((unsigned char)*pid) && fstatat(proc, pid, &is, 0) == 0 &&
           is.st_uid == geteuid();
}

/* Returns whether the process `pid` is bound to some, but not all, of the allowed processors (those
 * that this process may use), and sets `set` to them. If `pid` may run on all allowed processors,
 * it does not count as bound, because the ranks of this job could not avoid the processors of
 * `pid`. */
static bool is_bound(hwloc_topology_t topology, pid_t pid, hwloc_const_bitmap_t allowed,
                     hwloc_bitmap_t set)
{
    if (hwloc_get_proc_cpubind(topology, pid, set, HWLOC_CPUBIND_THREAD) != 0) return false;
    hwloc_bitmap_and(set, set, allowed);
    return !hwloc_bitmap_iszero(set) && !hwloc_bitmap_isequal(set, allowed);
}

void tt_taken_find(hwloc_topology_t topology, hwloc_const_bitmap_t allowed, hwloc_bitmap_t taken)
{
    DIR *dir = opendir("/proc");
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    for (const struct dirent *entry; dir && set && (entry = readdir(dir));) {
        const char *pid = entry->d_name;
        if (is_mine(dirfd(dir), pid) && is_bound(topology, atoi(pid), allowed, set) &&
            has_job(dirfd(dir), pid))
            hwloc_bitmap_or(taken, taken, set);
    }
    hwloc_bitmap_free(set);
    if (dir) closedir(dir);
}

/* ---- The lock: only one job at a time looks for free processors ---- */

/* The lock is a listening socket without a file. Its name is free again when each process that has
 * the socket has executed a program or has ended, for whatever reason. Another job connects to the
 * socket and waits until the kernel closes the connection, which happens when the socket is closed.
 * WAIT_NS is how long a job waits at most. */
#define WAIT_NS INT64_C(3000000000)
enum { WAITING_MOST = 64 };

static socklen_t name_lock(struct sockaddr_un *at)
{
    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(at->sun_path + 1, sizeof at->sun_path - 1, "tutti-binding-%u",
                     (unsigned)geteuid());
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int try_lock(const struct sockaddr_un *at, socklen_t n)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (bind(fd, (const struct sockaddr *)at, n) == 0 && listen(fd, WAITING_MOST) == 0) return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static void nap(void)
{
    struct timespec time = {.tv_nsec = 1000000};
    nanosleep(&time, NULL);
}

/* Waits until the job that holds the lock has released it. Returns false, without waiting, if the
 * socket belongs to another user. */
static bool wait_connected(int fd, int64_t until_ns)
{
    struct ucred holder;
    socklen_t n = sizeof holder;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &holder, &n) != 0 || holder.uid != geteuid())
        return false;
    struct pollfd end = {.fd = fd, .events = POLLIN};
    int64_t left_ns = tt_max(until_ns - tt_clock_ns(), 0);
    poll(&end, 1, (int)(left_ns / 1000000));
    return true;
}

static bool wait_for_holder(const struct sockaddr_un *at, socklen_t n, int64_t until_ns)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return false;
    bool again = true;
    if (connect(fd, (const struct sockaddr *)at, n) == 0)
        again = wait_connected(fd, until_ns);
    else
        /* the job that holds the lock does not listen yet, or no longer, or too many jobs wait */
        nap();
    close(fd);
    return again && tt_clock_ns() < until_ns;
}

int tt_taken_lock(void)
{
    struct sockaddr_un at;
    socklen_t n = name_lock(&at);
    int64_t until_ns = tt_clock_ns() + WAIT_NS;
    int fd;
    while ((fd = try_lock(&at, n)) < 0 && errno == EADDRINUSE)
        if (!wait_for_holder(&at, n, until_ns)) return -1;
    return fd;
}
