/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traces from files. A folder holds those of one job: rank-0.json and on, none missing.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "draw.h"
#include "draw/trace.h"

static int complain(const char *path, const char *text)
{
    fprintf(stderr, "tutti draw: %s: %s\n", path, text);
    return TT_EXIT_USAGE;
}

/* A pipe is refused, not waited for. */
static FILE *open_file(const char *path)
{
    struct stat is;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return NULL;
    bool regular = fstat(fd, &is) == 0 && S_ISREG(is.st_mode);
    FILE *file = regular ? fdopen(fd, "r") : NULL;
    if (file) return file;
    close(fd);
    if (!regular) errno = EINVAL;
    return NULL;
}

/* All of the file; NULL: errno tells why not. */
static char *read_whole(const char *path, size_t *n)
{
    size_t room = 1 << 16;
    char *text = malloc(room);
    FILE *file = text ? open_file(path) : NULL;
    *n = 0;
    while (file && text) {
        size_t got = fread(text + *n, 1, room - *n, file);
        if (got == 0) break;
        *n += got;
        if (*n < room) continue;
        char *more = realloc(text, room *= 2);
        if (!more) free(text);
        text = more;
    }
    bool good = file && text && !ferror(file);
    int error = errno;
    if (file) fclose(file);
    errno = error;
    if (good) return text;
    free(text);
    return NULL;
}

static int add_file(struct tt_trace *trace, const char *path)
{
    struct tt_trace_error error;
    size_t n;
    char *text = read_whole(path, &n);
    if (!text) return complain(path, errno == EINVAL ? "not a file" : strerror(errno));
    tutti_status status = tt_trace_add(trace, text, n, &error);
    free(text);
    if (status == TUTTI_OK) return TT_EXIT_OK;
    if (status == TUTTI_ERR_MEMORY) {
        fprintf(stderr, "tutti draw: %s\n", tutti_error());
        return TT_EXIT_FAILED;
    }
    fprintf(stderr, "tutti draw: %s:%d:%d: %s\n", path, error.line, error.column, error.text);
    return TT_EXIT_USAGE;
}

/* The rank that a file's name tells; -1: none. */
static int rank_of(const char *name)
{
    int rank, n = 0;
    bool is_one = sscanf(name, "rank-%7d.json%n", &rank, &n) == 1 && n > 0 && name[n] == '\0';
    return is_one && rank >= 0 && rank < TT_PROBLEM_RANKS ? rank : -1;
}

static int add_rank(struct tt_trace *trace, const char *folder, const char *name)
{
    char path[4096];
    int rank = rank_of(name);
    if (rank < 0) return TT_EXIT_OK;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (tt_trace_seen(trace, rank) != TUTTI_OK) return complain(path, tutti_error());
    return add_file(trace, path);
}

static int add_folder(struct tt_trace *trace, const char *path)
{
    struct dirent **entry;
    int code = TT_EXIT_OK, n = scandir(path, &entry, NULL, alphasort);
    if (n < 0) return complain(path, strerror(errno));
    for (int i = 0; i < n; i++) {
        if (code == TT_EXIT_OK) code = add_rank(trace, path, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    if (code == TT_EXIT_OK && trace->files == 0)
        return complain(path, "no rank-0.json or the like in this folder");
    return code;
}

static int add(struct tt_trace *trace, const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) return complain(path, strerror(errno));
    return S_ISDIR(info.st_mode) ? add_folder(trace, path) : add_file(trace, path);
}

int tt_draw_read(const char *const *paths, int n, int64_t execution, struct tt_picture *picture)
{
    struct tt_trace trace;
    int code = TT_EXIT_OK;
    tt_trace_begin(&trace);
    for (int i = 0; i < n && code == TT_EXIT_OK; i++) code = add(&trace, paths[i]);
    if (code == TT_EXIT_OK) {
        tutti_status status = tt_trace_end(&trace, execution, picture);
        if (status != TUTTI_OK) fprintf(stderr, "tutti draw: %s: %s\n", paths[0], tutti_error());
        if (status != TUTTI_OK) code = status == TUTTI_ERR_ARG ? TT_EXIT_USAGE : TT_EXIT_FAILED;
    }
    tt_trace_free(&trace);
    return code;
}
