/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one large exchange. A rank packs its sorted lines, newlines included, into one piece of
 * memory, in which the lines for rank r are a range. The ranks exchange the sizes of the ranges
 * (alltoall) and then the lines (alltoallv). A rank receives p sorted runs and merges them by a
 * tournament: a tree whose leaves are the first lines of the runs, and whose inner nodes hold the
 * loser of a match, so that the next line costs one match for each level.
 */
#include "samplesort.h"

#include <stdlib.h>
#include <string.h>

struct traffic {
    int64_t *send, *send_at, *recv, *recv_at; /* bytes per rank, and displacements: p + 1 entries
                                               * each */
};

struct exchange_run {
    struct line head;
    const char *end; /* end of the run; the head is before it unless the run is over */
};

struct merge {
    struct exchange_run *runs;
    int *losers; /* losers[i]: the run that lost the match at node i, whose children are the nodes
                  * 2i and 2i + 1. Nodes 1 .. k - 1 are matches, and node k + r is the leaf of run
                  * r. */
    int k;
};

/* ---- Sending ---- */

static void pack(struct job *job, const struct lines *lines, const int64_t *bounds,
                 struct text *packed, struct traffic *traffic)
{
    traffic->send_at[0] = 0;
    for (int r = 0; r < job->p; r++) {
        for (int64_t i = bounds[r]; i < bounds[r + 1]; i++) {
            int64_t size = lines->at[i].len + 1;
            memcpy(packed->bytes + packed->used, lines->at[i].bytes, (size_t)size);
            packed->used += size;
        }
        traffic->send_at[r + 1] = packed->used;
        traffic->send[r] = packed->used - traffic->send_at[r];
        job_progress(job, "packing", packed->used, packed->room);
    }
}

static bool text_alloc(struct job *job, struct text *text, int64_t room, const char *what)
{
    *text = (struct text){.bytes = job_alloc(job, room, what), .room = room};
    return text->bytes;
}

static bool traffic_alloc(struct job *job, struct traffic *traffic)
{
    int64_t n = (int64_t)job->p + 1;
    int64_t *all = job_alloc(job, 4 * n * (int64_t)sizeof *all, "the sizes of what is exchanged");
    *traffic = (struct traffic){0};
    if (all) *traffic = (struct traffic){all, all + n, all + 2 * n, all + 3 * n};
    return all;
}

static bool receive(struct job *job, const struct text *packed, const struct traffic *traffic,
                    struct text *came)
{
    if (!job_did(job, tutti_alltoall(job->team, traffic->send, traffic->recv, 1, TUTTI_I64))) {
        return false;
    }
    traffic->recv_at[0] = 0;
    for (int r = 0; r < job->p; r++) {
        traffic->recv_at[r + 1] = traffic->recv_at[r] + traffic->recv[r];
    }
    int64_t total = traffic->recv_at[job->p];
    if (!job_agree(job, text_alloc(job, came, total, "the lines that come to it"))) return false;
    came->used = total;
    job_progress(job, "exchanging", 0, total);
    return job_did(job, tutti_alltoallv(job->team, packed->bytes, traffic->send, traffic->send_at,
                                        came->bytes, traffic->recv, traffic->recv_at, TUTTI_U8));
}

/* ---- Merging ---- */

static void run_next(struct exchange_run *run, const char *at)
{
    run->head = (struct line){0, at, 0};
    if (at >= run->end) return;
    run->head.len = (const char *)memchr(at, '\n', (size_t)(run->end - at)) - at;
    line_set_key(&run->head);
}

static bool over(const struct exchange_run *run)
{
    return run->head.bytes >= run->end;
}

static bool wins(const struct merge *merge, int a, int b)
{
    const struct exchange_run *x = &merge->runs[a], *y = &merge->runs[b];
    if (over(x) || over(y)) return over(y);
    return !line_below(&y->head, &x->head);
}

/* Plays all matches at and below a node; returns the run that wins. */
static int play(struct merge *merge, int node)
{
    if (node >= merge->k) return node - merge->k;
    int a = play(merge, 2 * node), b = play(merge, 2 * node + 1);
    bool first = wins(merge, a, b);
    merge->losers[node] = first ? b : a;
    return first ? a : b;
}

/* Plays the matches above a run whose first line has changed; returns the run that wins. */
static int replay(struct merge *merge, int run)
{
    for (int node = (run + merge->k) / 2; node > 0; node /= 2) {
        int rival = merge->losers[node];
        if (!wins(merge, run, rival)) {
            merge->losers[node] = run;
            run = rival;
        }
    }
    return run;
}

/* Merges all runs into `part`, which has room for them; returns the number of lines. */
static int64_t merge_all(struct job *job, struct merge *merge, struct text *part)
{
    int64_t n = 0;
    for (int first = play(merge, 1); part->used < part->room; n++) {
        struct exchange_run *run = &merge->runs[first];
        int64_t size = run->head.len + 1;
        memcpy(part->bytes + part->used, run->head.bytes, (size_t)size);
        part->used += size;
        run_next(run, run->head.bytes + size);
        first = replay(merge, first);
        if (n % 4096 == 0) job_progress(job, "merging", part->used, part->room);
    }
    return n;
}

static bool merge_runs(struct job *job, const struct text *came, const struct traffic *traffic,
                       struct text *part, int64_t *n)
{
    struct merge merge = {
        job_alloc(job, job->p * (int64_t)sizeof *merge.runs, "merging"),
        job_alloc(job, job->p * (int64_t)sizeof *merge.losers, "merging"),
        job->p,
    };
    bool ok = merge.runs && merge.losers && text_alloc(job, part, came->used, "the merged lines");
    if (ok) {
        for (int r = 0; r < job->p; r++) {
            merge.runs[r].end = came->bytes + traffic->recv_at[r + 1];
            run_next(&merge.runs[r], came->bytes + traffic->recv_at[r]);
        }
        *n = merge_all(job, &merge, part);
    }
    free(merge.runs);
    free(merge.losers);
    return ok;
}

bool lines_exchange(struct job *job, struct text *text, struct lines *lines, const int64_t *bounds,
                    struct text *part)
{
    struct traffic traffic;
    struct text packed = {0}, came = {0};
    bool ok = traffic_alloc(job, &traffic) &&
              text_alloc(job, &packed, lines->bytes, "the lines it sends");
    if (ok) pack(job, lines, bounds, &packed, &traffic);
    lines_free(lines);
    text_free(text);
    ok = job_agree(job, ok) && receive(job, &packed, &traffic, &came);
    text_free(&packed);
    ok = ok && merge_runs(job, &came, &traffic, part, &lines->n);
    lines->bytes = part->used;
    text_free(&came);
    free(traffic.send);
    return ok;
}
