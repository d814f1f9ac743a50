/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The identity of the file behind a descriptor that the library keeps open. A program may close
 * descriptors that it did not open, and then open files of its own that get the same numbers. The
 * library must not write to such a file, change its length, or close it.
 */
#ifndef TT_FILE_ID_H
#define TT_FILE_ID_H

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

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

#endif
