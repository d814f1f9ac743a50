/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the roll from a job's memory: the job's page, the states of its processes, and what each
 * rank does.
 */
#include <stdio.h>
#include <string.h>

#include "run/roll.h"

enum { PAGE_MOST = 1 << 28, TEAMS_MOST = 4096, LOG2_MOST = 7, TRIES = 100 };

static bool fetch(const struct tt_source *s, int64_t at, void *to, size_t n)
{
    return s->fetch(s, at, to, n);
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
    char mine[TT_VERSION];
    head->version[sizeof head->version - 1] = '\0';
    if (head->magic == TT_JOB_MAGIC && strcmp(head->version, tt_version(mine)) != 0)
        return tt_fail(TUTTI_ERR_VERSION, "it is of version %s of the library, this is %s",
                       head->version, mine);
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

int tt_roll_clients(const struct tt_job_page *page)
{
    int n = 0;
    for (int i = 0; i < TT_CLIENTS; i++) n += atomic_load(&tt_common_at(page, i)->number) != 0;
    return n;
}

/* ---- Processes ---- */

char tt_roll_process(const struct tt_job_rank *rank)
{
    char path[64], line[512];
    int pid = atomic_load(&rank->pid);
    uint64_t space = pid > 0 ? tt_segment_proc_space() : 0;
    if (pid > 0 && (space == 0 || atomic_load(&rank->pid_space) != space)) return TT_ROLL_UNSEEN;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = pid > 0 ? fopen(path, "re") : NULL;
    if (!file) return 0;
    const char *got = fgets(line, sizeof line, file), *name_end = got ? strrchr(line, ')') : NULL;
    fclose(file);
    return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

/* ---- A team's block ---- */

static int64_t line_at(int64_t block, const struct tt_head *head, int slot)
{
    return block + (int64_t)sizeof *head + (int64_t)slot * head->line_stride;
}

/* Returns 1 + the number of the execution whose fingerprint is in the slot; 0: none. block:
 * the offset of a rank's block of a team in the job's memory. head: a copy of the block's head. */
static uint64_t begun_in(const struct tt_source *s, int64_t block, const struct tt_head *head,
                         int slot)
{
    uint64_t word;
    int64_t at = line_at(block, head, slot) + (int64_t)offsetof(struct tt_signal_line, shape);
    if (!fetch(s, at, &word, sizeof word) || word >> 32 == 0) return 0;
    uint64_t window = (uint64_t)slot & ((UINT64_C(1) << head->windows_log2) - 1);
    return (((word >> 32) - 1) << head->windows_log2) + window + 1;
}

/* Reads the signature of the rank's execution k. Returns false unless the slot has the number k
 * both before and after the read. */
static bool fetch_signature(const struct tt_source *s, int64_t block, const struct tt_head *head,
                            uint64_t k, struct tt_call_signature *signature)
{
    int slot = (int)(k & ((UINT64_C(1) << head->slots_log2) - 1));
    int64_t at = block + head->opening + slot * 2 * TT_LINE + TT_LINE;
    return begun_in(s, block, head, slot) == k + 1 && fetch(s, at, signature, sizeof *signature) &&
           begun_in(s, block, head, slot) == k + 1;
}

static bool is_sound(const struct tt_head *head, const struct tt_job_page *job)
{
    return head->ranks > 0 && head->ranks <= job->size && head->slots_log2 >= 0 &&
           head->slots_log2 <= LOG2_MOST && head->windows_log2 >= 0 &&
           head->windows_log2 <= head->slots_log2 && head->line_stride >= TT_LINE &&
           head->opening >= TT_LINE && head->next >= 0;
}

/* Returns whether execution k belongs to a request that the rank's program has not completed. */
static bool is_owed(const struct tt_source *s, int64_t block, const struct tt_head *head,
                    uint64_t k)
{
    uint64_t owed;
    int slot = (int)(k & ((UINT64_C(1) << head->slots_log2) - 1));
    int64_t at =
        block + head->opening + slot * 2 * TT_LINE + (int64_t)offsetof(struct tt_opening, owed);
    return fetch(s, at, &owed, sizeof owed) && owed == k + 1;
}

/* Reads those calls of the rank on the team whose slots no later call has taken. The numbers read
 * may come from corrupt memory, so the loop runs at most as often as a team has slots. */
static void read_calls(const struct tt_source *s, int64_t block, const struct tt_head *head,
                       struct tt_roll_team *t)
{
    uint64_t slots = UINT64_C(1) << head->slots_log2;
    for (uint64_t k = t->begun > slots ? t->begun - slots : 0; k < t->begun; k++) {
        struct tt_call_signature call;
        bool owed = is_owed(s, block, head, k), known = fetch_signature(s, block, head, k, &call);
        /* A call without an error counts as completed if no caller waits for it and no request of
         * it is under way, even if `done` does not count it because an older call is under way. No
         * caller ever waits for a call such as tutti_team_free. */
        bool over = known && !(call.flags & (TT_SIGNATURE_BLOCKS | TT_SIGNATURE_FAILED));
        if (!owed && (k < t->done || over)) {
            t->completed = k + 1;
            t->has_last = known;
            if (known) t->last = call;
        } else if (known && call.flags & TT_SIGNATURE_FAILED) {
            t->failures++;
            t->failed = (struct tt_roll_call){k, call};
        } else if (known && owed && !t->has_now) {
            t->has_now = true;
            t->now = (struct tt_roll_call){k, call};
        }
    }
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
    read_calls(s, block, head, t);
    t->is_in = t->begun > t->done && fetch_signature(s, block, head, t->begun - 1, &t->newest) &&
               t->newest.flags & TT_SIGNATURE_BLOCKS && !(t->newest.flags & TT_SIGNATURE_FAILED);
    t->owes_newest = t->begun > t->done && is_owed(s, block, head, t->begun - 1);
}

/* ---- A rank ---- */

static struct tt_roll_team *new_team(struct tt_roll *roll)
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
        struct tt_roll_team *t = new_team(roll);
        if (!t) return TUTTI_ERR_MEMORY;
        t->rank = r;
        read_team(s, block, &head, t);
        rank->teams++;
        block = head.next;
    }
    return TUTTI_OK;
}

/* Reads an activity line of another process; false if it cannot be read, or keeps changing. */
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

/* Reads what rank r waits for in a client; returns false if r waits in no call of this client. */
static bool read_activity(const struct tt_source *s, const struct tt_roll *roll,
                          const struct tt_common *common, int r, struct tt_activity *is)
{
    const char *line = (const char *)&common->rank[r].activity;
    return fetch_activity(s, line - (const char *)roll->job, is) && is->doing > TT_DOING_NOTHING &&
           is->doing < TT_DOINGS;
}

/* Finds out whether the rank waits in a call of another client. */
static void read_elsewhere(const struct tt_source *s, struct tt_roll *roll, int r)
{
    struct tt_roll_rank *rank = &roll->rank[r];
    struct tt_activity is;
    for (int i = 0; i < TT_CLIENTS && !rank->elsewhere; i++) {
        const struct tt_common *common = tt_common_at(roll->job, i);
        uint64_t number = atomic_load(&common->number);
        if (common == roll->common || !number || !read_activity(s, roll, common, r, &is)) continue;
        rank->elsewhere = number;
        rank->elsewhere_doing = is.doing;
    }
}

static tutti_status read_rank(const struct tt_source *s, struct tt_roll *roll, int r)
{
    struct tt_roll_rank *rank = &roll->rank[r];
    const struct tt_job_rank *in_job = &roll->job->rank[r];
    rank->here = in_job->arena >= 0;
    if (!rank->here) return TUTTI_OK;
    rank->pid = atomic_load(&in_job->pid);
    rank->state = tt_roll_process(in_job);
    rank->ended_ns = atomic_load(&roll->common->rank[r].ended_ns);
    rank->ended_team = atomic_load(&roll->common->rank[r].ended_team);
    rank->requests = atomic_load(&roll->common->rank[r].requests);
    rank->waits = read_activity(s, roll, roll->common, r, &rank->is);
    if (!rank->waits) read_elsewhere(s, roll, r);
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
