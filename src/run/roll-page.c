/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the states of a job's processes and the job's page, which the roll call needs before it
 * reads what the ranks do.
 */
#include <stdio.h>
#include <string.h>

#include "run/roll.h"

enum { PAGE_MOST = 1 << 28 };

/* ---- Processes ---- */

/* Returns the PID namespace whose process numbers /proc shows; 0: not known. /proc shows several
 * numbers (NSpid) for a process whose namespace is below the namespace of /proc. */
static uint64_t space_of_proc(void)
{
    char line[512];
    int here, below, numbers = 1;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "NSpid:", 6) == 0) numbers = sscanf(line, "NSpid: %d %d", &here, &below);
    if (file) fclose(file);
    return numbers == 1 ? tt_segment_pid_space() : 0;
}

char tt_roll_process(const struct tt_job_rank *rank)
{
    char path[64], line[512];
    int pid = atomic_load(&rank->pid);
    uint64_t space = pid > 0 ? space_of_proc() : 0;
    if (pid > 0 && (space == 0 || atomic_load(&rank->pid_space) != space)) return TT_ROLL_UNSEEN;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = pid > 0 ? fopen(path, "re") : NULL;
    if (!file) return 0;
    const char *got = fgets(line, sizeof line, file), *name_end = got ? strrchr(line, ')') : NULL;
    fclose(file);
    return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

/* ---- The page ---- */

/* Terminates all texts in the copy of the page: another process may have been writing them. */
static void end_texts(struct tt_job_page *page)
{
    page->version[sizeof page->version - 1] = '\0';
    for (int r = 0; r < page->size; r++) {
        page->rank[r].version[sizeof page->rank[r].version - 1] = '\0';
        page->rank[r].host[TT_JOB_HOST - 1] = '\0';
    }
    for (int i = 0; i < TT_CLIENTS; i++)
        tt_common_at(page, i)->world.algorithm[TT_FACTS_ALGORITHM - 1] = '\0';
}

static tutti_status check_version(struct tt_job_page *head, int64_t bytes)
{
    head->version[sizeof head->version - 1] = '\0';
    if (head->magic == TT_JOB_MAGIC && strcmp(head->version, tutti_version()) != 0)
        return tt_fail(TUTTI_ERR_VERSION, "it is of version %s of the library, this is %s",
                       head->version, tutti_version());
    return tt_segment_check(head, bytes);
}

tutti_status tt_roll_page(const struct tt_source *source, struct tt_job_page **page)
{
    struct tt_job_page head;
    if (!source->fetch(source, 0, &head, sizeof head))
        return tt_fail(TUTTI_ERR_BOOT, "its memory cannot be read");
    TT_TRY(check_version(&head, source->bytes));
    if (head.page_bytes > PAGE_MOST) return tt_fail(TUTTI_ERR_BOOT, "its page is too large");
    struct tt_job_page *copy = tt_alloc_lines((size_t)head.page_bytes);
    if (!copy) return tt_fail(TUTTI_ERR_MEMORY, "no memory for the job's page");
    bool whole = source->fetch(source, 0, copy, (size_t)head.page_bytes);
    if (whole && copy->size == head.size && tt_segment_check(copy, source->bytes) == TUTTI_OK) {
        end_texts(copy);
        *page = copy;
        return TUTTI_OK;
    }
    tt_free(copy);
    return tt_fail(TUTTI_ERR_BOOT, "the job's page changed while it was read");
}
