/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes the files that the user names. The whole text is in memory before a file is touched. There
 * are four cases:
 *
 *   - This process has the file open, as with /dev/stdout: the text goes to the open file.
 *   - The path stands for a regular file: a new file beside it, with the same permissions, owner
 *     and group, gets its name. If no such file can be made, the old file is overwritten.
 *   - The path stands for nothing: the file is made, and removed again if writing fails.
 *   - The path stands for anything else, such as a device: it is opened and written.
 */
#include "write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache-file.h"
#include "base/file-limit.h"

static bool is_dash(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* Returns a descriptor by which this process can write the file; -1: there is none. A file that is
 * open must not be replaced: what this process or its parent writes later would be lost. */
static int find_open(const struct stat *file)
{
    enum { LOOKS = 256 };
    struct stat is;
    for (int fd = STDOUT_FILENO; fd < LOOKS; fd++)
        if (fstat(fd, &is) == 0 && is.st_dev == file->st_dev && is.st_ino == file->st_ino &&
            (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
            return fd;
    return -1;
}

static bool write_and_close(int fd, const char *text, size_t n)
{
    ssize_t done = 0;
    while (fd >= 0 && n > 0 && ((done = write(fd, text, n)) >= 0 || errno == EINTR)) {
        text += tt_max(done, 0);
        n -= (size_t)tt_max(done, 0);
    }
    int error = errno;
    bool closed = fd >= 0 && close(fd) == 0;
    if (n > 0) errno = error;
    return closed && n == 0;
}

static bool write_to_open(int fd, const char *text, size_t n)
{
    fflush(stdout); /* keeps the order, if `fd` is standard output; tt_arg_finish reports errors */
    return write_and_close(fcntl(fd, F_DUPFD_CLOEXEC, 0), text, n);
}

/* Removes a file that this process has made, and leaves errno as it is. If the path was a link to
 * nothing, the file is at the end of the link. */
static void remove_new(const char *path)
{
    int error = errno;
    char *name = realpath(path, NULL);
    if (name) unlink(name);
    free(name);
    errno = error;
}

static int make(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
}

static bool write_new(const char *path, const char *text, size_t n)
{
    int fd = make(path);
    bool written = write_and_close(fd, text, n);
    if (fd >= 0 && !written) remove_new(path);
    return written;
}

/* Overwrites what exists. Without O_CREAT, because with it the kernel may refuse the files of other
 * users in /tmp, also those that all users may write. */
static bool overwrite(const char *path, const char *text, size_t n)
{
    return write_and_close(open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY), text, n);
}

/* Makes a new file that can take the place of the file `old`: beside it, with the same permissions,
 * owner and group. Returns -1, and leaves no file, if there can be none. */
static int make_alike(const char *old, const struct stat *is, char name[TT_FILE_BESIDE])
{
    bool alike;
    int fd = tt_file_beside(old, is, name, &alike);
    if (fd < 0 || alike) return fd;
    close(fd);
    unlink(name);
    return -1;
}

/* Replaces a regular file, or overwrites it if it cannot be replaced. If the path leads over
 * symbolic links, the file is at their end, and the links stay. A file with several names is
 * overwritten, so that all of them stand for the new text. */
static bool replace(const char *path, const struct stat *is, const char *text, size_t n)
{
    if (access(path, W_OK) != 0) return false;
    char name[TT_FILE_BESIDE], *old = is->st_nlink == 1 ? realpath(path, NULL) : NULL;
    int fd = old ? make_alike(old, is, name) : -1;
    bool written = fd >= 0 && write_and_close(fd, text, n);
    bool replaced = written && rename(name, old) == 0;
    int error = errno;
    if (fd >= 0 && !replaced) unlink(name);
    errno = error;
    free(old);
    return replaced || ((fd < 0 || written) && overwrite(path, text, n));
}

static bool write_file(const char *path, const char *text, size_t n)
{
    struct stat is;
    if (stat(path, &is) != 0) return write_new(path, text, n);
    int fd = find_open(&is);
    if (fd >= 0) return write_to_open(fd, text, n);
    return S_ISREG(is.st_mode) ? replace(path, &is, text, n) : overwrite(path, text, n);
}

static bool write_text(const char *text, size_t n, const char *path)
{
    struct tt_file_limit limit;
    if (is_dash(path)) {
        fwrite(text, 1, n, stdout); /* tt_arg_finish reports errors */
        return true;
    }
    tt_file_limit_enter(&limit);
    bool written = write_file(path, text, n);
    tt_file_limit_leave(&limit);
    return written;
}

static bool cannot(const char *command, const char *path)
{
    fprintf(stderr, "%s: cannot write %s: %s\n", command, path, strerror(errno));
    return false;
}

bool tt_write_whole(const char *command, const char *path,
                    tutti_status (*print)(void *arg, FILE *out), void *arg)
{
    char *text = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&text, &n);
    tutti_status status = memory ? print(arg, memory) : TUTTI_OK;
    bool printed = memory && !ferror(memory);
    if (memory) printed = fclose(memory) == 0 && printed;
    printed = printed && status == TUTTI_OK && write_text(text, n, path);
    if (status != TUTTI_OK)
        fprintf(stderr, "%s: %s\n", command, tutti_error());
    else if (!printed)
        (void)cannot(command, path);
    free(text);
    return printed;
}

/* A file that exists can be overwritten if the user may write it, whether or not it can be
 * replaced. Whether a file that does not exist can be written is only known after making it. */
static bool can_write(const char *path)
{
    struct stat is;
    if (stat(path, &is) == 0) {
        bool folder = S_ISDIR(is.st_mode);
        if (folder) errno = EISDIR;
        return !folder && (find_open(&is) >= 0 || access(path, W_OK) == 0);
    }
    int fd = make(path);
    if (fd < 0) return false;
    close(fd);
    remove_new(path);
    return true;
}

bool tt_write_try(const char *command, const char *path)
{
    return is_dash(path) || can_write(path) || cannot(command, path);
}

bool tt_write_apart(const char *command, const char *path, const char *other)
{
    struct stat is, that;
    if (!path || !other || is_dash(path) || is_dash(other)) return true;
    bool there = stat(path, &is) == 0;
    bool same = there && stat(other, &that) == 0 && S_ISREG(is.st_mode) &&
                is.st_dev == that.st_dev && is.st_ino == that.st_ino;
    if (!same && (there || strcmp(path, other) != 0)) return true;
    fprintf(stderr,
            "%s: %s: the command reads this file or writes it for another option, too; "
            "name another file\n",
            command, path);
    return false;
}
