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
#include "choose/choose.h"
#include "plan/network.h"

static bool is_dash(const char *path)
{
    return strcmp(path, "-") == 0;
}

static bool is_same(const struct stat *is, const struct stat *that)
{
    return is->st_dev == that->st_dev && is->st_ino == that->st_ino;
}

/* Returns a descriptor by which this process can write the file; -1: there is none. A file that is
 * open must not be replaced: what this process or its parent writes later would be lost. */
static int find_open(const struct stat *file)
{
    enum { LOOKS = 256 };
    struct stat is;
    for (int fd = STDOUT_FILENO; fd < LOOKS; fd++)
        if (fstat(fd, &is) == 0 && is_same(&is, file) &&
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

/* Returns whether the paths, of which the first does not exist, are the same name in one folder. */
static bool is_same_name(const char *path, const char *other)
{
    char *folder = NULL, *beside = NULL;
    struct stat is, that;
    const char *slash = strrchr(path, '/'), *stroke = strrchr(other, '/');
    bool same = strcmp(slash ? slash + 1 : path, stroke ? stroke + 1 : other) == 0 &&
                asprintf(&folder, "%.*s.", slash ? (int)(slash + 1 - path) : 0, path) > 0 &&
                asprintf(&beside, "%.*s.", stroke ? (int)(stroke + 1 - other) : 0, other) > 0 &&
                stat(folder, &is) == 0 && stat(beside, &that) == 0 && is_same(&is, &that);
    free(folder);
    free(beside);
    return same;
}

bool tt_write_apart(const char *command, const char *path, const char *other)
{
    struct stat is, that;
    if (!path || !other || is_dash(path) || is_dash(other)) return true;
    bool there = stat(path, &is) == 0;
    bool same = there ? S_ISREG(is.st_mode) && stat(other, &that) == 0 && is_same(&is, &that)
                      : is_same_name(path, other);
    if (!same) return true;
    bool renamed = strcmp(path, other) != 0;
    fprintf(stderr,
            "%s: %s: the command reads this file or writes it for another option, too%s%s%s; "
            "name another file\n",
            command, path, renamed ? " (as " : "", renamed ? other : "", renamed ? ")" : "");
    return false;
}

/* Returns whether no setting names the file: a setting can name a file about this machine, a
 * network or a plan file, and the command may read it. Ignores the setting `except`. */
static bool no_setting_names(const char *command, const char *path, const char *except)
{
    static const char *const settings[][2] = {
        {"TUTTI_MACHINE", "machine"}, {"TUTTI_WISDOM", "wisdom"}, {"TUTTI_RANKINGS", "rankings"}};
    char named[TT_FILE_PATH], why[TT_FILE_WHY];
    /* Not by tt_setting, which would keep the value: tutti calibrate unsets it later. */
    bool none = tt_write_apart(command, path, tt_network_path(getenv("TUTTI_NETWORK"))) &&
                tt_write_apart(command, path, getenv("HWLOC_XMLFILE"));
    for (size_t i = 0; none && i < sizeof settings / sizeof *settings; i++) {
        const char *name = settings[i][0], *value = tt_setting(name);
        if ((except && strcmp(except, name) == 0) || (value && strcmp(value, "0") == 0)) continue;
        if (tt_file_path(name, settings[i][1], named, why))
            none = tt_write_apart(command, path, named);
    }
    _Static_assert((int)TT_PLAN_PATH <= (int)TT_FILE_PATH, "`named` holds the path of a plan file");
    for (int coll = 0; none && coll < TT_COLLS; coll++) {
        const struct tt_call call = {.coll = (enum tt_coll)coll};
        if (tt_choose_file(&call, named) == TUTTI_OK && named[0])
            none = tt_write_apart(command, path, named);
    }
    return none;
}

bool tt_write_spares(const char *command, const char *path, const char *map, const char *except)
{
    return !path || is_dash(path) ||
           (tt_write_apart(command, path, tt_network_path(map)) &&
            no_setting_names(command, path, except));
}
