/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads traces from files. A folder holds the traces of one job: rank-0.json and so on for its
 * first client, and client-1-rank-0.json and so on for further clients. A rank that was killed
 * leaves rank-0.part instead. If a folder holds both for a rank, the .part is read and the .json is
 * not: the .json is from an older run, because a rank that ends in an orderly way removes its
 * .part.
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
#include "fabric/trace-part.h"
#include "write.h"

static int complain(const char *path, const char *text)
{
    fprintf(stderr, "tutti draw: %s: %s\n", path, text);
    return TT_EXIT_USAGE;
}

/* Opens a regular file. O_NONBLOCK keeps the call from waiting for a writer if the path is a pipe,
 * which is then refused with EINVAL. */
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

static bool is_locked(FILE *file)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fileno(file), F_GETLK, &all) == 0 && all.l_type != F_UNLCK;
}

/* Reads the whole file; the caller frees the text. Sets *locked to whether a process holds a lock
 * on the file. On an error returns NULL with the reason in errno. */
static char *read_whole(const char *path, size_t *n, bool *locked)
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
    *locked = good && is_locked(file);
    if (file) fclose(file);
    errno = error;
    if (good) return text;
    free(text);
    return NULL;
}

/* Converts the contents of a .part file into the text of a trace. The rank has not written its
 * trace itself, because it still runs (`runs`) or was lost. Frees `part`. Returns NULL if there is
 * no memory. */
static char *print_part(char *part, size_t *n, bool runs)
{
    char *text = NULL;
    size_t size = *n;
    FILE *out = open_memstream(&text, n);
    if (out) tt_part_print(part, size, runs ? TT_PART_RUNS : TT_PART_LOST, out);
    bool good = out && !ferror(out);
    if (out) good &= fclose(out) == 0;
    free(part);
    if (good) return text;
    free(text);
    errno = ENOMEM;
    return NULL;
}

/* Prints a warning if the file that was read last is cut off. cut_before: how many of the files
 * before it were cut off. */
static void warn_cut(const struct tt_trace *trace, const char *path, int64_t cut_before)
{
    int64_t cut = 0;
    for (int64_t i = 0; i < trace->said; i++) cut += trace->rank[i].cut;
    if (cut > cut_before)
        fprintf(stderr, "tutti draw: %s: the end is missing: drawn as far as it goes\n", path);
}

static int add_file(struct tt_trace *trace, const char *path)
{
    struct tt_trace_error error;
    size_t n;
    bool locked;
    int64_t cut = 0;
    for (int64_t i = 0; i < trace->said; i++) cut += trace->rank[i].cut;
    char *text = read_whole(path, &n, &locked);
    if (text && tt_part_is_one(text, n)) text = print_part(text, &n, locked);
    if (!text) return complain(path, errno == EINVAL ? "not a file" : strerror(errno));
    tutti_status status = tt_trace_add(trace, text, n, &error);
    free(text);
    if (status == TUTTI_OK) warn_cut(trace, path, cut);
    if (status == TUTTI_OK) return TT_EXIT_OK;
    if (status == TUTTI_ERR_MEMORY) {
        fprintf(stderr, "tutti draw: %s\n", tutti_error());
        return TT_EXIT_FAILED;
    }
    fprintf(stderr, "tutti draw: %s:%d:%d: %s\n", path, error.line, error.column, error.text);
    return TT_EXIT_USAGE;
}

/* Returns the rank in the name of a trace file with this ending; -1 if the name is not one of a
 * trace file. */
static int rank_of(const char *name, const char *ending)
{
    int rank = -1, client = 0, n = 0;
    if (sscanf(name, "client-%7d-rank-%7d%n", &client, &rank, &n) != 2 || n == 0)
        if (sscanf(name, "rank-%7d%n", &rank, &n) != 1) return -1;
    bool is_one = n > 0 && strcmp(name + n, ending) == 0 && client >= 0;
    return is_one && rank >= 0 && rank < TT_PROBLEM_RANKS ? rank : -1;
}

/* Returns whether the .json at `path` is outdated because there is a .part for the same rank. */
static bool is_outdated(const char *path)
{
    char part[4096];
    size_t n = strlen(path) - strlen(".json");
    snprintf(part, sizeof part, "%.*s.part", (int)n, path);
    return access(part, R_OK) == 0;
}

/* Adds the trace of a rank in a folder. The traces of the user must survive, also one that is not
 * read because it is outdated: so none of them may be the file `output`. */
static int add_rank(struct tt_trace *trace, const char *folder, const char *name,
                    const char *output)
{
    char path[4096];
    int whole = rank_of(name, ".json"), part = rank_of(name, ".part");
    int rank = whole >= 0 ? whole : part;
    if (rank < 0) return TT_EXIT_OK;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!tt_write_apart("tutti draw", output, path)) return TT_EXIT_USAGE;
    if (whole >= 0 && is_outdated(path)) return TT_EXIT_OK;
    if (tt_trace_seen(trace, rank) != TUTTI_OK) return complain(path, tutti_error());
    return add_file(trace, path);
}

static int add_folder(struct tt_trace *trace, const char *path, const char *output)
{
    struct dirent **entry;
    int code = TT_EXIT_OK, n = scandir(path, &entry, NULL, alphasort);
    if (n < 0) return complain(path, strerror(errno));
    for (int i = 0; i < n; i++) {
        if (code == TT_EXIT_OK) code = add_rank(trace, path, entry[i]->d_name, output);
        free(entry[i]);
    }
    free(entry);
    if (code == TT_EXIT_OK && trace->files == 0)
        return complain(path, "no rank-0.json or the like in this folder");
    return code;
}

static int add(struct tt_trace *trace, const char *path, const char *output)
{
    struct stat info;
    if (stat(path, &info) != 0) return complain(path, strerror(errno));
    if (S_ISDIR(info.st_mode)) return add_folder(trace, path, output);
    return tt_write_apart("tutti draw", output, path) ? add_file(trace, path) : TT_EXIT_USAGE;
}

int tt_draw_read(const char *const *paths, int n, int64_t execution, const char *output,
                 struct tt_picture *picture)
{
    struct tt_trace trace;
    int code = TT_EXIT_OK;
    tt_trace_begin(&trace);
    for (int i = 0; i < n && code == TT_EXIT_OK; i++) code = add(&trace, paths[i], output);
    if (code == TT_EXIT_OK) {
        tutti_status status = tt_trace_end(&trace, execution, picture);
        if (status != TUTTI_OK) fprintf(stderr, "tutti draw: %s: %s\n", paths[0], tutti_error());
        if (status != TUTTI_OK) code = status == TUTTI_ERR_ARG ? TT_EXIT_USAGE : TT_EXIT_FAILED;
    }
    tt_trace_free(&trace);
    return code;
}
