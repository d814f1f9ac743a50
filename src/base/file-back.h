/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gets memory, or space on a disk, for a part of a file before the file is mapped and written to.
 */
#ifndef TT_FILE_BACK_H
#define TT_FILE_BACK_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/signals.h"

/* Returns whether the process may make a file `end` bytes long (ulimit -f). If not, sets errno to
 * EFBIG: if the process made the file so long, the kernel would send it SIGXFSZ. */
static inline bool tt_file_may_reach(int64_t end)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || (rlim_t)end <= limit.rlim_cur) return true;
    errno = EFBIG;
    return false;
}

/* Backs `bytes` bytes from `begin` on, and makes the file longer if it ends before them. Returns
 * false with errno set if that fails. Linux before 6.10 does not back a file in memory while a
 * signal of the thread is pending: it gives back what it has got so far, and returns EINTR. With a
 * fast timer in the program, the call would never succeed, so the thread blocks its signals
 * meanwhile. */
static inline bool tt_file_back(int fd, int64_t begin, int64_t bytes)
{
    sigset_t before;
    int error;
    if (!tt_file_may_reach(begin + bytes)) return false;
    tt_signals_block(&before);
    do {
        error = posix_fallocate(fd, begin, bytes);
    } while (error == EINTR);
    tt_signals_restore(&before);
    errno = error;
    return error == 0;
}

#endif
