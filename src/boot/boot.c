/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Joining in two rounds on two counters of the job page. Round one: everyone is there, its pid and
 * probe word are told. Round two: everyone has tried to read all probe words, and said so if it
 * could not; so after it all ranks know alike whether buffers can be read directly.
 */
#include "boot/boot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static uint64_t probe_word = TT_JOB_MAGIC;

static tutti_status setting_in(const char *name, int64_t least, int64_t most, int64_t *value)
{
    char *end;
    const char *text = tt_setting(name);
    if (!text) return tt_fail(TUTTI_ERR_BOOT, "TUTTI_JOB is set but %s is not", name);
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (errno == 0 && *end == 0 && *value >= least && *value <= most) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_BOOT, "%s=%s is not a number from %lld to %lld", name, text,
                   (long long)least, (long long)most);
}

/* The rank's version is noted first, so that the launcher can tell it. */
static tutti_status same_version(struct tt_job_page *job, int64_t me)
{
    char *mine = job->rank[me].version;
    snprintf(mine, sizeof job->rank[me].version, "%s", tutti_version());
    if (strncmp(job->version, mine, sizeof job->version) == 0) return TUTTI_OK;
    tt_job_fail(job, (int)me, TT_CAUSE_STATUS, TUTTI_ERR_VERSION);
    return tt_fail(TUTTI_ERR_VERSION,
                   "the job was started by version %.23s, this rank is linked to version %s",
                   job->version, tutti_version());
}

static tutti_status fits(struct tt_job_page *job, int64_t size, int64_t me)
{
    if (job->size == size) return same_version(job, me);
    return tt_fail(TUTTI_ERR_BOOT, "TUTTI_SIZE=%lld does not fit the job", (long long)size);
}

/* A launched process joins once: its place in the job and the descriptor of the job's memory are used
 * up by that, also where it fails. */
enum { NOT_JOINED, JOINED, LEFT };
static _Atomic int launched = NOT_JOINED;

static tutti_status join_once(void)
{
    int was = NOT_JOINED;
    if (atomic_compare_exchange_strong(&launched, &was, JOINED)) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_ARG, "this process has %s: a job that was launched is joined once",
                   was == JOINED ? "joined its job already" : "left its job before");
}

void tt_boot_detach(struct tt_segment *segment)
{
    int was = JOINED;
    tt_segment_close(segment);
    atomic_compare_exchange_strong(&launched, &was, LEFT);
}

/* Half of what a launcher sets is somebody's error: many jobs of one where one of many was wanted. */
static tutti_status boot_alone(struct tt_segment *segment)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    const char *set = tt_setting("TUTTI_RANK")   ? "TUTTI_RANK"
                      : tt_setting("TUTTI_SIZE") ? "TUTTI_SIZE"
                                                 : NULL;
    if (set && !atomic_flag_test_and_set(&warned))
        tt_warn("%s is set but TUTTI_JOB is not: ignored, this is a job of one rank", set);
    return tt_segment_create(segment, 1, true);
}

tutti_status tt_boot_attach(struct tt_segment *segment, int *rank)
{
    int64_t fd, size, me;
    *rank = 0;
    if (!tt_setting("TUTTI_JOB")) return boot_alone(segment);
    TT_TRY(setting_in("TUTTI_JOB", 0, INT32_MAX, &fd));
    TT_TRY(setting_in("TUTTI_SIZE", 1, INT32_MAX, &size));
    TT_TRY(setting_in("TUTTI_RANK", 0, size - 1, &me));
    TT_TRY(join_once());
    tutti_status status = tt_segment_attach(segment, (int)fd, (int)me);
    if (status != TUTTI_OK) {
        atomic_store(&launched, NOT_JOINED); /* so that another try is told the same */
        return status;
    }
    status = fits(tt_segment_page(segment), size, me);
    if (status != TUTTI_OK) tt_boot_detach(segment);
    *rank = (int)me;
    return status;
}

static tutti_status first_failure(const struct tt_job_page *job)
{
    char text[160];
    int r = tt_job_first_failed(job);
    return tt_fail(TUTTI_ERR_PEER, "%s", tt_job_cause_text(job, r, text, sizeof text));
}

static tutti_status count_to_all(struct tt_fabric *f, _Atomic uint32_t *counter)
{
    struct tt_wait wait;
    atomic_fetch_add(counter, 1);
    tt_fabric_signalled(f, NULL, -1);
    tt_wait_begin(&wait, &f->patience, f->job, f->me);
    while (atomic_load(counter) < (uint32_t)f->size && atomic_load(&f->job->failures) == 0)
        tt_wait_more(&wait);
    tt_wait_done(&wait);
    return atomic_load(counter) < (uint32_t)f->size ? first_failure(f->job) : TUTTI_OK;
}

static tutti_status tell_other(enum tt_alike which, int64_t mine, int64_t first)
{
    char here[24], there[24];
    const char *name = tt_setting_alike_name(which), *text = tt_setting(name);
    if (tt_setting_alike_is_text(which))
        return tt_fail(TUTTI_ERR_MISMATCH,
                       "%s is '%.200s' here and something else on another rank: it must be the "
                       "same on all",
                       name, text ? text : "");
    return tt_fail(TUTTI_ERR_MISMATCH,
                   "%s is %s here and %s on another rank: it must be the same on all", name,
                   tt_print_size(here, mine), tt_print_size(there, first));
}

static tutti_status is_alike(struct tt_fabric *f, enum tt_alike which)
{
    int64_t mine = tt_setting_alike(which), first = 0;
    if (atomic_compare_exchange_strong(&f->job->alike[which], &first, mine + 1)) return TUTTI_OK;
    if (first == mine + 1) return TUTTI_OK;
    tt_job_fail(f->job, f->me, TT_CAUSE_ALIKE, (int)which);
    return tell_other(which, mine, first - 1);
}

/* Before anything of another rank is used, whose place depends on them. */
static tutti_status all_alike(struct tt_fabric *f)
{
    for (int i = 0; i < TT_ALIKES; i++) TT_TRY(is_alike(f, (enum tt_alike)i));
    return TUTTI_OK;
}

static tutti_status come(struct tt_fabric *f)
{
    struct tt_job_rank *me = &f->job->rank[f->me];
    uint32_t absent = TT_RANK_ABSENT;
#ifdef PR_SET_PTRACER
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* Yama: same user's ranks may read */
#endif
    TT_TRY(all_alike(f));
    tt_job_tell_cores(f->job);
    atomic_store(&me->pid, (int32_t)getpid());
    atomic_store(&me->probe, (uint64_t)(uintptr_t)&probe_word);
    if (!atomic_compare_exchange_strong(&me->state, &absent, TT_RANK_JOINED))
        return tt_fail(TUTTI_ERR_BOOT, "rank %d of this job has come before", f->me);
    return count_to_all(f, &f->job->joined);
}

static void try_all(struct tt_fabric *f)
{
    bool refused = tt_setting_int("TUTTI_CMA", 1, 0, 1) == 0;
    if (f->me == 0) atomic_store(&f->job->read_cost, f->mapped ? 1 : tt_cma_cost());
    for (int r = 0; r < f->size && !refused && !f->mapped; r++) refused = !tt_cma_works(f->job, r);
    if (refused) atomic_store(&f->job->no_cma, 1);
}

tutti_status tt_boot_meet(struct tt_fabric *f)
{
    TT_TRY(come(f));
    try_all(f);
    TT_TRY(count_to_all(f, &f->job->ready));
    f->cores = tt_job_cores(f->job);
    f->read_cost = atomic_load(&f->job->read_cost);
    f->patience = tt_patience_for(f->size, f->cores);
    f->direct = f->mapped || !atomic_load(&f->job->no_cma);
    f->fences = atomic_load(&f->job->fences);
    if (f->me != 0 || !tt_log_on(TT_LOG_boot)) return TUTTI_OK;
    tt_log("%d ranks on %d cores", f->size, f->cores);
    if (!f->direct)
        tt_log("ranks cannot read each other's memory (CMA): data goes through shared windows");
    else
        tt_log("reading 64 KiB of another rank costs %d cop%s", f->read_cost,
               f->read_cost == 1 ? "y" : "ies");
    return TUTTI_OK;
}
