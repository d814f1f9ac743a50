/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Divides the input among the ranks. The files, one after the other, are cut into p shares of equal
 * bytes, and a line belongs to the rank in whose share it begins:
 *
 *     rank 0           |rank 1           |rank 2 (no line begins here)
 *     first\nsecond\nth|ird\na very long |line\n
 *                    ---->             ------>  read on to the end of the line
 *
 * So exactly one rank reads each line, and a rank knows its lines without communication. Each file
 * begins with a line, whether or not the file before it ended with a newline.
 */
#include "samplesort.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* PIECE: bytes of a read. AHEAD: bytes of the first read beyond the end of a share. */
enum { PIECE = 4 << 20, AHEAD = 64 << 10 };

struct source {
    const char *name;
    int fd;
    int64_t size;
};

void text_free(struct text *text)
{
    free(text->bytes);
    *text = (struct text){0};
}

static bool reserve(struct job *job, struct text *text, int64_t more)
{
    if (text->room - text->used >= more) return true;
    int64_t room = text->used + more;
    char *bytes = realloc(text->bytes, (size_t)room);
    if (!bytes) {
        return job_fail(job, "out of memory: rank %d needs %lld bytes for the text it reads",
                        job->me, (long long)room);
    }
    text->bytes = bytes;
    text->room = room;
    return true;
}

/* Appends [from, to) of the file. There must be room for it. */
static bool append(struct job *job, struct text *text, const struct source *source, int64_t from,
                   int64_t to)
{
    while (from < to) {
        size_t wanted = (size_t)(to - from < PIECE ? to - from : PIECE);
        ssize_t got = pread(source->fd, text->bytes + text->used, wanted, from);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return job_fail(job, "cannot read %s: %s", source->name, strerror(errno));
        if (got == 0) return job_fail(job, "%s became shorter while it was read", source->name);
        text->used += got;
        from += got;
        job_progress(job, "reading", text->used, text->room);
    }
    return true;
}

/* Reads on from `from` until the last line of the text is complete. */
static bool finish_line(struct job *job, struct text *text, const struct source *source,
                        int64_t from)
{
    int64_t ahead = AHEAD;
    while (text->bytes[text->used - 1] != '\n' && from < source->size) {
        int64_t to = source->size - from < ahead ? source->size : from + ahead;
        int64_t old = text->used;
        /* Doubling the bytes keeps what realloc copies in proportion to the length of the line. */
        if (!reserve(job, text, to - from + 1) || !append(job, text, source, from, to)) {
            return false;
        }
        char *end = memchr(text->bytes + old, '\n', (size_t)(text->used - old));
        if (end) text->used = end + 1 - text->bytes;
        from = to;
        ahead *= 2;
    }
    if (text->bytes[text->used - 1] != '\n') {
        if (!reserve(job, text, 1)) return false;
        text->bytes[text->used++] = '\n';
    }
    return true;
}

/* Appends the lines that begin in [from, to) of the file. If `from` lies within a line, this line
 * belongs to another rank, and text->begin is set behind its end. This can happen only in the first
 * file of a share, for which the text is still empty. */
static bool append_lines(struct job *job, struct text *text, const struct source *source,
                         int64_t from, int64_t to)
{
    int64_t before = from > 0 ? 1 : 0;
    if (!reserve(job, text, to - from + before + 1) ||
        !append(job, text, source, from - before, to)) {
        return false;
    }
    if (before) {
        char *end = memchr(text->bytes, '\n', (size_t)(to - from));
        if (!end) {
            text->used = 0;
            return true;
        }
        text->begin = end + 1 - text->bytes;
    }
    return finish_line(job, text, source, to);
}

static bool read_source(struct job *job, struct text *text, const char *name, int64_t size,
                        int64_t from, int64_t to)
{
    struct source source = {name, open(name, O_RDONLY | O_CLOEXEC), size};
    if (source.fd < 0) return job_fail(job, "cannot open %s: %s", name, strerror(errno));
    bool ok = append_lines(job, text, &source, from, to);
    close(source.fd);
    return ok;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns where share r of p begins. The product total * r is avoided, because it may not fit 64
 * bits. */
static int64_t share_begin(int64_t total, int r, int p)
{
    return total / p * r + least(total % p, r);
}

static bool read_share(struct job *job, const struct options *options, const int64_t *sizes,
                       struct text *text)
{
    int64_t total = 0, base = 0;
    for (int i = 0; i < options->nfiles; i++) total += sizes[i];
    int64_t begin = share_begin(total, job->me, job->p);
    int64_t end = share_begin(total, job->me + 1, job->p);
    if (begin == end) return true;
    if (!reserve(job, text, end - begin + options->nfiles + AHEAD)) return false;
    for (int i = 0; i < options->nfiles; base += sizes[i++]) {
        int64_t from = base < begin ? begin - base : 0;
        int64_t to = least(end - base, sizes[i]);
        if (from < to && !read_source(job, text, options->files[i], sizes[i], from, to)) {
            return false;
        }
    }
    return true;
}

static bool measure_open(struct job *job, const char *name, int fd, int64_t *size)
{
    struct stat stat;
    char beyond;
    if (fstat(fd, &stat)) return job_fail(job, "cannot look at %s: %s", name, strerror(errno));
    if (S_ISDIR(stat.st_mode)) return job_fail(job, "%s is a directory", name);
    if (!S_ISREG(stat.st_mode)) {
        return job_fail(job, "%s is not a regular file, of which each rank could read its part",
                        name);
    }
    /* Files in /proc and similar files report a size of 0, so their contents would be left out
     * without notice. */
    ssize_t got = pread(fd, &beyond, 1, stat.st_size);
    if (got < 0) return job_fail(job, "cannot read %s: %s", name, strerror(errno));
    if (got > 0) return job_fail(job, "%s does not say how long it is", name);
    *size = stat.st_size;
    return true;
}

static bool measure(struct job *job, const struct options *options, int64_t *sizes)
{
    int64_t total = 0;
    for (int i = 0; i < options->nfiles; i++) {
        const char *name = options->files[i];
        int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0) return job_fail(job, "cannot open %s: %s", name, strerror(errno));
        bool ok = measure_open(job, name, fd, &sizes[i]);
        close(fd);
        if (!ok) return false;
        if (__builtin_add_overflow(total, sizes[i], &total)) {
            return job_fail(job, "the files have more than 2^63 bytes");
        }
    }
    return true;
}

/* ---- Lines that are drawn ---- */

enum { DRAWN = 17 }; /* bytes of a line: 16 digits and the newline */

/* Appends line i, which looks random and is the same on any number of ranks. */
static void draw_line(struct text *text, int64_t i)
{
    uint64_t bits = ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
    bits = (bits ^ bits >> 31) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 29) * 0x94d049bb133111ebu;
    for (int k = 0; k < DRAWN - 1; k++, bits >>= 4)
        text->bytes[text->used++] = "0123456789abcdef"[bits & 15];
    text->bytes[text->used++] = '\n';
}

static bool draw_share(struct job *job, int64_t size, struct text *text)
{
    int64_t begin = share_begin(size, job->me, job->p);
    int64_t end = share_begin(size, job->me + 1, job->p);
    if (!reserve(job, text, (end - begin) * DRAWN)) return false;
    for (int64_t i = begin; i < end; i++) {
        draw_line(text, i);
        if (i % 4096 == 0) job_progress(job, "drawing", i - begin, end - begin);
    }
    return true;
}

/* Reads or draws this rank's lines. Rank 0 measures the files, so that all ranks use the same sizes
 * even if a file is growing. */
bool input_read(struct job *job, const struct options *options, struct text *text)
{
    if (options->size > 0) return draw_share(job, options->size, text);
    int64_t *sizes = job_alloc(job, options->nfiles * (int64_t)sizeof *sizes, "the files' sizes");
    bool ok = sizes && (job->me != 0 || measure(job, options, sizes));
    ok = job_agree(job, ok);
    if (ok) {
        ok = job_did(job, tutti_bcast(job->team, sizes, options->nfiles, TUTTI_I64, 0)) &&
             read_share(job, options, sizes, text);
    }
    free(sizes);
    return ok;
}
