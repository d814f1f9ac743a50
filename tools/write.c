/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes the files that the user names: first to a new file beside the old one, which then gets the
 * name of the old one.
 */
#include "write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file-limit.h"

/* What a path stands for. */
struct write_target {
    char *path;
    /* whether the path stands for a regular file, or for no file yet: such a file is replaced.
     * Anything else, such as a device, is opened and written. */
    bool is_file, exists;
    mode_t mode; /* of the file, if it exists */
};

static bool is_stdout(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* If the path leads over symbolic links to a regular file, the target is the file at their end, and
 * the links stay. */
static bool find_target(const char *path, struct write_target *t)
{
    struct stat is;
    t->exists = stat(path, &is) == 0;
    t->mode = t->exists ? is.st_mode : 0;
    t->is_file = t->exists ? S_ISREG(is.st_mode) : lstat(path, &is) != 0;
    t->path = t->exists && t->is_file ? realpath(path, NULL) : strdup(path);
    return t->path != NULL;
}

/* Makes a new file in the folder of the target. Its name is short, because the name of the target
 * may be as long as a name can be. */
static FILE *make_beside(const struct write_target *t, char **name)
{
    const char *slash = strrchr(t->path, '/');
    int folder = slash ? (int)(slash + 1 - t->path) : 0;
    if (asprintf(name, "%.*s.tutti-%d", folder, t->path, (int)getpid()) < 0) *name = NULL;
    FILE *file = *name ? fopen(*name, "wxe") : NULL;
    if (file && t->exists) (void)fchmod(fileno(file), t->mode & 0777);
    return file;
}

static bool write_and_close(FILE *file, const char *text, size_t n)
{
    bool written = file && fwrite(text, 1, n, file) == n && fflush(file) == 0;
    return file && fclose(file) == 0 && written;
}

static bool replace(const struct write_target *t, const char *text, size_t n)
{
    char *name = NULL;
    FILE *file = make_beside(t, &name);
    bool written = write_and_close(file, text, n) && rename(name, t->path) == 0;
    int error = errno;
    if (file && !written) unlink(name);
    free(name);
    errno = error;
    return written;
}

static bool write_text(const char *text, size_t n, const char *path)
{
    struct write_target t;
    struct tt_file_limit limit;
    if (is_stdout(path)) {
        fwrite(text, 1, n, stdout); /* tt_arg_finish reports errors */
        return true;
    }
    if (!find_target(path, &t)) return false;
    tt_file_limit_enter(&limit);
    bool written = t.is_file ? replace(&t, text, n) : write_and_close(fopen(path, "we"), text, n);
    tt_file_limit_leave(&limit);
    free(t.path);
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

/* Returns whether a new file can be made in the folder of the target. */
static bool try_beside(const struct write_target *t)
{
    char *name = NULL;
    FILE *file = make_beside(t, &name);
    int error = errno;
    if (file) {
        fclose(file);
        unlink(name);
    }
    free(name);
    errno = error;
    return file != NULL;
}

static bool can_write(const char *path)
{
    struct write_target t;
    if (!find_target(path, &t)) return false;
    bool can = t.is_file ? try_beside(&t) : !t.exists || access(path, W_OK) == 0;
    free(t.path);
    if (!S_ISDIR(t.mode)) return can;
    errno = EISDIR;
    return false;
}

bool tt_write_try(const char *command, const char *path)
{
    return is_stdout(path) || can_write(path) || cannot(command, path);
}
