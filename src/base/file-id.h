/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The identity of the file behind a descriptor that the library keeps open. A program may close
 * descriptors that it did not open, and then open files of its own that get the same numbers. The
 * library must not write to such a file, change its length, or close it. In turn, what the program
 * prints must not get into a file of the library.
 */
#ifndef TT_FILE_ID_H
#define TT_FILE_ID_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

struct tt_file_id {
    dev_t device;
    ino_t file;
};

/* Returns the identity of the file to which the descriptor refers now; all zero if the descriptor
 * is not open. */
static inline struct tt_file_id tt_file_id(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return (struct tt_file_id){0};
    return (struct tt_file_id){.device = st.st_dev, .file = st.st_ino};
}

/* Returns whether the descriptor is open and refers to the file with this identity. If not, sets
 * errno to EBADF. */
static inline bool tt_file_is(int fd, struct tt_file_id id)
{
    struct tt_file_id now = tt_file_id(fd);
    if (now.file != 0 && now.file == id.file && now.device == id.device) return true;
    errno = EBADF;
    return false;
}

/* Opens /dev/null in place of each of the standard input, output and error that is closed. The
 * caller calls this before the library, or a library that it uses, opens a file. Otherwise this
 * file, for example the memory of the job, would get the number of the closed descriptor, and what
 * the process prints would be written into it. */
static inline void tt_file_occupy_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)!open("/dev/null", O_RDWR);
}

/* Returns a descriptor of the same file whose number is above those of standard input, output and
 * error, and closes `fd` if `fd` is one of them. Returns -1 if `fd` is -1, or if the process may
 * open no further descriptor. For descriptors that the library opens while the program runs: if the
 * program has closed its standard output meanwhile, it may open it again (dup2), and would replace
 * the file of the library. */
static inline int tt_file_above_standard(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO) return fd;
    int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), error = errno;
    close(fd);
    errno = error;
    return above;
}

#endif
