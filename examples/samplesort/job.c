/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes the ranks succeed or fail together and print a single error. If something fails on one rank
 * alone (a file, memory), the ranks agree on that before the next collective, in which the others
 * would otherwise wait for that rank.
 */
#include "samplesort.h"

#include "../bar.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool job_begin(struct job *job, bool quiet)
{
    *job = (struct job){.quiet = quiet};
    if (tutti_init(&job->client) != TUTTI_OK) {
        fprintf(stderr, "samplesort: %s\n", tutti_error());
        return false;
    }
    job->team = tutti_world(job->client);
    job->me = tutti_rank(job->team);
    job->p = tutti_size(job->team);
    job->shows = job->me == 0 && !quiet && isatty(STDERR_FILENO);
    return true;
}

void job_end(struct job *job)
{
    tutti_finalize(job->client);
}

bool job_fail(struct job *job, const char *format, ...)
{
    if (job->error[0]) return false;
    va_list list;
    va_start(list, format);
    vsnprintf(job->error, sizeof job->error, format, list);
    va_end(list);
    return false;
}

bool job_agree(struct job *job, bool ok)
{
    int32_t mine = ok ? job->p : job->me, first = job->me;
    if (job->over) return false;
    if (!job->broken) {
        job_did(job, tutti_allreduce(job->team, &mine, &first, 1, TUTTI_I32, TUTTI_MIN));
    }
    if (job->broken) first = job->me;
    if (first == job->p) return true;
    job->over = true;
    job_progress_clear(job);
    if (first == job->me) fprintf(stderr, "samplesort: %s\n", job->error);
    return false;
}

bool job_did(struct job *job, tutti_status status)
{
    if (status == TUTTI_OK) return true;
    job->broken = true;
    return job_fail(job, "rank %d: %s", job->me, tutti_error());
}

void *job_alloc(struct job *job, int64_t bytes, const char *what)
{
    void *memory = malloc(bytes > 0 ? (size_t)bytes : 1);
    if (!memory) {
        job_fail(job, "out of memory: rank %d needs %lld bytes for %s", job->me, (long long)bytes,
                 what);
    }
    return memory;
}

void job_progress(const struct job *job, const char *step, int64_t done, int64_t total)
{
    if (job->shows) bar_show(step, done, total);
}

void job_progress_clear(const struct job *job)
{
    if (job->shows) bar_clear();
}
