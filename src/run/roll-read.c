/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading the roll out of a job's memory.
 */
#include <stdio.h>

#include "run/roll.h"

enum { TEAMS_MOST = 4096, PAGE_MOST = 1 << 28, LOG2_MOST = 5, TRIES = 100 };

/* ---- Sources ---- */

/* Copies what others may be writing. Word by word, each whole; what belongs together is checked by
 * who asks for it. Hence no report of a race is wanted here: there is one, and its outcome is
 * looked at. */
#if defined(__clang__) || defined(__GNUC__)
__attribute__((no_sanitize("thread")))
#endif
static void
copy_words(void *to, const void *from, size_t n)
{
    const volatile uint64_t *word = from;
    size_t i = 0;
    for (; i + sizeof *word <= n; i += sizeof *word) {
        uint64_t one = *word++;
        __builtin_memcpy((char *)to + i, &one, sizeof one);
    }
    for (const volatile char *byte = (const volatile char *)word; i < n; i++)
        ((char *)to)[i] = *byte++;
}

static bool fetch_mapped(const struct tt_source *s, int64_t at, void *to, size_t n)
{
    const struct tt_segment segment = {.base = (char *)s->base, .bytes = s->bytes};
    if (at % 8 || !tt_segment_holds(&segment, at, (int64_t)n)) return false;
    copy_words(to, (const char *)s->base + at, n);
    return true;
}

struct tt_source tt_source_mapped(const struct tt_segment *segment)
{
    return (struct tt_source){
        .fetch = fetch_mapped, .base = (uintptr_t)segment->base, .bytes = segment->bytes};
}

static bool fetch(const struct tt_source *s, int64_t at, void *to, size_t n)
{
    return s->fetch(s, at, to, n);
}

/* ---- Processes ---- */

char tt_roll_process(int pid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = pid > 0 ? fopen(path, "re") : NULL;
    if (!file) return 0;
    const char *got = fgets(line, sizeof line, file), *name_end = got ? strrchr(line, ')') : NULL;
    fclose(file);
    return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

/* ---- The page ---- */

/* Terminates all texts in the copy: another process may be writing them. */
static void end_texts(struct tt_job_page *page)
{
    page->version[sizeof page->version - 1] = '\0';
    for (int r = 0; r < page->size; r++) {
        page->rank[r].version[sizeof page->rank[r].version - 1] = '\0';
        page->rank[r].host[TT_JOB_HOST - 1] = '\0';
    }
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
    if (!fetch(source, 0, &head, sizeof head))
        return tt_fail(TUTTI_ERR_BOOT, "its memory cannot be read");
    TT_TRY(check_version(&head, source->bytes));
    if (head.page_bytes > PAGE_MOST) return tt_fail(TUTTI_ERR_BOOT, "its page is too large");
    struct tt_job_page *copy = tt_alloc_lines((size_t)head.page_bytes);
    if (!copy) return tt_fail(TUTTI_ERR_MEMORY, "no memory for the job's page");
    bool whole = fetch(source, 0, copy, (size_t)head.page_bytes);
    if (whole && copy->size == head.size && tt_segment_check(copy, source->bytes) == TUTTI_OK) {
        end_texts(copy);
        *page = copy;
        return TUTTI_OK;
    }
    tt_free(copy);
    return tt_fail(TUTTI_ERR_BOOT, "its memory changes as no job's does");
}

/* ---- A team's block ---- */

static int64_t line_at(int64_t block, const struct tt_head *head, int slot)
{
    return block + TT_LINE + slot * head->line_stride;
}

/* 1 + the execution whose fingerprint stands in the slot; 0: none. */
static uint64_t begun_in(const struct tt_source *s, int64_t block, const struct tt_head *head,
                         int slot)
{
    uint64_t word;
    int64_t at = line_at(block, head, slot) + (int64_t)offsetof(struct tt_line, shape);
    if (!fetch(s, at, &word, sizeof word) || word >> 32 == 0) return 0;
    return (((word >> 32) - 1) << head->slots_log2) + (uint64_t)slot + 1;
}

/* Reads what the rank calls in execution k. The slot must name k before and after the read. */
static bool fetch_what(const struct tt_source *s, int64_t block, const struct tt_head *head,
                       uint64_t k, struct tt_what *what)
{
    int slot = (int)(k & ((UINT64_C(1) << head->slots_log2) - 1));
    int64_t at = block + head->opening + slot * 2 * TT_LINE + TT_LINE;
    return begun_in(s, block, head, slot) == k + 1 && fetch(s, at, what, sizeof *what) &&
           begun_in(s, block, head, slot) == k + 1;
}

static bool is_sound(const struct tt_head *head, const struct tt_job_page *job)
{
    return head->ranks > 0 && head->ranks <= job->size && head->slots_log2 >= 0 &&
           head->slots_log2 <= LOG2_MOST && head->line_stride >= TT_LINE &&
           head->line_stride <= INT32_MAX && head->opening >= TT_LINE &&
           head->opening <= (int64_t)INT32_MAX << LOG2_MOST && head->next >= 0;
}

static void read_team(const struct tt_source *s, int64_t block, const struct tt_head *head,
                      struct tt_roll_team *t)
{
    t->id = head->id;
    t->size = head->ranks;
    t->done = head->done;
    t->begun = t->done;
    for (int slot = 0; slot < 1 << head->slots_log2; slot++) {
        uint64_t begun = begun_in(s, block, head, slot);
        if (begun > t->begun) t->begun = begun;
    }
    t->has_last = t->done > 0 && fetch_what(s, block, head, t->done - 1, &t->last);
    t->has_now = t->begun > t->done && fetch_what(s, block, head, t->done, &t->now);
}

/* ---- A rank ---- */

static struct tt_roll_team *add_team(struct tt_roll *roll)
{
    if (roll->teams == roll->room) {
        int room = 2 * roll->room + 16;
        struct tt_roll_team *more = tt_realloc(roll->team, (size_t)room * sizeof *more);
        if (!more) return NULL;
        roll->team = more;
        roll->room = room;
    }
    struct tt_roll_team *t = &roll->team[roll->teams++];
    *t = (struct tt_roll_team){0};
    return t;
}

static tutti_status read_teams(const struct tt_source *s, struct tt_roll *roll, int r)
{
    struct tt_roll_rank *rank = &roll->rank[r];
    int64_t block = atomic_load(&roll->common->rank[r].world);
    rank->first = roll->teams;
    while (block > 0 && rank->teams < TEAMS_MOST) {
        struct tt_head head;
        if (!fetch(s, block, &head, sizeof head) || !is_sound(&head, roll->job)) break;
        struct tt_roll_team *t = add_team(roll);
        if (!t) return TUTTI_ERR_MEMORY;
        t->rank = r;
        read_team(s, block, &head, t);
        rank->teams++;
        block = head.next;
    }
    return TUTTI_OK;
}

/* Does what tt_activity_read does, in the memory of another process. */
static bool fetch_activity(const struct tt_source *s, int64_t at, struct tt_activity *is)
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t before, after;
        if (!fetch(s, at, &before, sizeof before) || !fetch(s, at + 8, is, sizeof *is) ||
            !fetch(s, at, &after, sizeof after))
            return false;
        if (before == after && before % 2 == 0) return true;
    }
    return false;
}

static tutti_status read_rank(const struct tt_source *s, struct tt_roll *roll, int r)
{
    struct tt_roll_rank *rank = &roll->rank[r];
    const char *line = (const char *)&roll->common->rank[r].activity;
    const struct tt_job_rank *in_job = &roll->job->rank[r];
    rank->here = in_job->arena >= 0;
    if (!rank->here) return TUTTI_OK;
    rank->pid = atomic_load(&in_job->pid);
    rank->state = tt_roll_process(rank->pid);
    rank->waits = fetch_activity(s, line - (const char *)roll->job, &rank->is) &&
                  rank->is.doing > TT_DOING_NOTHING && rank->is.doing < TT_DOINGS;
    return read_teams(s, roll, r);
}

tutti_status tt_roll_read(const struct tt_source *source, struct tt_job_page *page, int place,
                          struct tt_roll *roll)
{
    *roll = (struct tt_roll){.job = page, .common = tt_common_at(page, place)};
    roll->now_ns = tt_clock_ns();
    roll->rank = tt_calloc((size_t)page->size, sizeof *roll->rank);
    tutti_status status = roll->rank ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (int r = 0; r < page->size && status == TUTTI_OK; r++) status = read_rank(source, roll, r);
    if (status == TUTTI_OK) return TUTTI_OK;
    tt_roll_free(roll);
    return tt_fail(status, "no memory for the roll of %d ranks", page->size);
}

void tt_roll_free(struct tt_roll *roll)
{
    tt_free(roll->rank);
    tt_free(roll->team);
    *roll = (struct tt_roll){0};
}
