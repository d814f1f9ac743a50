/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes the parts of the ranks, one after the other. If the output is a file, all ranks write
 * their parts at once, each at its offset. Any other output (a pipe, a terminal) takes bytes in
 * order: rank 0 fetches the parts of the others in chunks and writes them. Each chunk is an
 * alltoallv in which one rank sends. The same alltoallv reports to the other ranks that rank 0
 * could not write, so that they stop as well.
 */
#include "samplesort.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 4 << 20 };

struct output {
    const char *name;
    int fd;        /* -1 if it is not open */
    int32_t apart; /* each rank writes its own part; if not, rank 0 writes all parts */
    /* the p sizes of the parts, and after them memory for the lists `send`, `recv` and `none` of
     * struct fetch, p numbers each */
    int64_t *sizes;
};

/* Writes all bytes: in order, or at `offset` if that is not negative. */
static bool write_all(struct job *job, const struct output *output, const char *bytes, int64_t n,
                      int64_t offset)
{
    for (int64_t done = 0; done < n;) {
        size_t size = (size_t)(n - done < CHUNK ? n - done : CHUNK);
        ssize_t wrote = offset < 0 ? write(output->fd, bytes + done, size)
                                   : pwrite(output->fd, bytes + done, size, offset + done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) {
            return job_fail(job, "cannot write %s: %s", output->name, strerror(errno));
        }
        done += wrote;
        job_progress(job, "writing", done, n);
    }
    return true;
}

/* ---- Each rank writes its own part ---- */

static bool write_apart(struct job *job, struct output *output, const struct text *part)
{
    if (output->fd < 0) output->fd = open(output->name, O_WRONLY | O_CLOEXEC);
    if (output->fd < 0) {
        return job_fail(job, "cannot open %s: %s", output->name, strerror(errno));
    }
    int64_t offset = 0;
    for (int r = 0; r < job->me; r++) offset += output->sizes[r];
    return write_all(job, output, part->bytes, part->used, offset);
}

/* ---- Rank 0 writes all parts ---- */

struct fetch {
    char *chunk; /* at rank 0: the bytes that came from another rank */
    char failed; /* at rank 0: writing has failed */
    char stop;   /* rank 0 has reported to all ranks that it could not write */
    int64_t *send, *recv, *none;
};

/* Moves bytes[0 .. n - 1] of rank `from` to rank 0. */
static bool fetch_chunk(struct job *job, struct fetch *fetch, int from, const char *bytes,
                        int64_t n)
{
    bool root = job->me == 0;
    for (int r = 1; r < job->p; r++) fetch->send[r] = root;
    if (root) {
        fetch->recv[from] = n;
    } else {
        fetch->recv[0] = 1;
        fetch->send[0] = job->me == from ? n : 0;
    }
    bool ok = job_did(job, tutti_alltoallv(job->team, root ? &fetch->failed : bytes, fetch->send,
                                           fetch->none, root ? fetch->chunk : &fetch->stop,
                                           fetch->recv, fetch->none, TUTTI_U8));
    if (root) {
        fetch->recv[from] = 0;
        fetch->stop = fetch->failed;
    }
    return ok;
}

static bool fetch_part(struct job *job, const struct output *output, struct fetch *fetch, int from,
                       const struct text *part)
{
    for (int64_t at = 0; at < output->sizes[from] && !fetch->stop; at += CHUNK) {
        int64_t left = output->sizes[from] - at, n = left < CHUNK ? left : CHUNK;
        const char *bytes = job->me == from ? part->bytes + at : NULL;
        if (!fetch_chunk(job, fetch, from, bytes, n)) return false;
        if (job->me == 0 && !fetch->stop) {
            fetch->failed = !write_all(job, output, fetch->chunk, n, -1);
        }
    }
    return true;
}

static bool write_gathered(struct job *job, const struct output *output, const struct text *part)
{
    int64_t *counts = output->sizes + job->p;
    struct fetch fetch = {NULL, 0, 0, counts, counts + job->p, counts + 2 * job->p};
    if (job->me == 0) {
        fetch.chunk = job_alloc(job, CHUNK, "what it writes");
        fetch.failed = !fetch.chunk || !write_all(job, output, part->bytes, part->used, -1);
    }
    bool ok = job_agree(job, job->me != 0 || fetch.chunk);
    for (int r = 1; ok && r < job->p; r++) ok = fetch_part(job, output, &fetch, r, part);
    free(fetch.chunk);
    return ok && !fetch.failed && !fetch.stop;
}

/* ---- Opening and closing ---- */

/* Opens the output. Only rank 0 calls this function, so it alone creates the file and empties
 * it. */
static bool output_open(struct job *job, struct output *output)
{
    struct stat stat;
    if (!output->name) {
        *output = (struct output){"standard output", STDOUT_FILENO, 0, output->sizes};
        return true;
    }
    output->fd = open(output->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (output->fd < 0 || fstat(output->fd, &stat)) {
        return job_fail(job, "cannot open %s: %s", output->name, strerror(errno));
    }
    output->apart = S_ISREG(stat.st_mode);
    return true;
}

/* Closes the output. Returns false on an error, because some file systems report only at close that
 * there was no room. */
static bool output_close(struct job *job, struct output *output)
{
    if (output->fd < 0 || output->fd == STDOUT_FILENO) return true;
    return !close(output->fd) ||
           job_fail(job, "cannot write %s: %s", output->name, strerror(errno));
}

static bool write_parts(struct job *job, struct output *output, const struct text *part)
{
    if (!job_did(job, tutti_bcast(job->team, &output->apart, 1, TUTTI_I32, 0)) ||
        !job_did(job, tutti_allgather(job->team, &part->used, output->sizes, 1, TUTTI_I64))) {
        return false;
    }
    return output->apart ? write_apart(job, output, part) : write_gathered(job, output, part);
}

bool output_write(struct job *job, const char *name, const struct text *part)
{
    int64_t size = 4 * (int64_t)job->p * (int64_t)sizeof(int64_t);
    struct output output = {name, -1, 0, job_alloc(job, size, "the sizes of the parts")};
    if (output.sizes) memset(output.sizes, 0, (size_t)size);
    bool ok = output.sizes && (job->me != 0 || output_open(job, &output));
    ok = job_agree(job, ok);
    if (ok) {
        ok = write_parts(job, &output, part);
        ok = output_close(job, &output) && ok;
        ok = job_agree(job, ok);
    }
    free(output.sizes);
    return ok;
}
