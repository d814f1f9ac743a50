/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Describes a fault in words: where it is, which bytes it touches, and which other rank takes part.
 */
#include "prove/prove-inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text/text.h"

static const struct {
    const char *name, *text;
} faults[] = {
#define FAULT_WORDS(name, text) {#name, text},
    TT_FAULT_LIST(FAULT_WORDS)
#undef FAULT_WORDS
};

const char *tt_fault_name(enum tt_fault fault)
{
    return (unsigned)fault < TT_FAULTS ? faults[fault].name : "?";
}

const char *tt_fault_text(enum tt_fault fault)
{
    return (unsigned)fault < TT_FAULTS ? faults[fault].text : "?";
}

/* ---- Appending to a text of limited room ---- */

struct prove_report_text {
    char *at;
    size_t size, used;
};

__attribute__((format(printf, 2, 0))) static void say_args(struct prove_report_text *t,
                                                           const char *format, va_list args)
{
    if (t->used + 1 >= t->size) return;
    int n = vsnprintf(t->at + t->used, t->size - t->used, format, args);
    if (n > 0) t->used += (size_t)n;
    if (t->used >= t->size) t->used = t->size - 1;
}

__attribute__((format(printf, 2, 3))) static void say(struct prove_report_text *t,
                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say_args(t, format, args);
    va_end(args);
}

static struct prove_report_text into(char *at, size_t size)
{
    at[0] = '\0';
    return (struct prove_report_text){at, size, 0};
}

static struct prove_report_text proof_text(struct tt_prover *p)
{
    return into(p->proof->text, sizeof p->proof->text);
}

/* ---- Names ---- */

static const char *const buffers[] = {"IN", "OUT", "TMP", "WIN"};

char *tt_prove_say_bytes(const struct tt_prover *p, char *text, size_t size,
                         const struct tt_memory *m, int64_t off, int64_t len)
{
    (void)p;
    snprintf(text, size, "%s[%ld..%ld) of rank %d", buffers[m->buf], (long)off, (long)(off + len),
             m->rank);
    return text;
}

char *tt_prove_say_step(const struct tt_prover *p, char text[TT_PROVE_STEP_TEXT],
                        const struct tt_part *part, uint32_t at)
{
    char place[TT_PROVE_STEP_TEXT - 24] = "";
    const struct tt_plan *plan = part->plan;
    uint32_t lane = plan->lanes - 1;
    while (plan->lane[lane].first > at) lane--;
    if (p->problem->file)
        tt_plan_file_place(p->problem->file, part->call, p->p, part->rank, at, place, sizeof place);
    snprintf(text, TT_PROVE_STEP_TEXT, "step %u%s%s", at - plan->lane[lane].first,
             place[0] ? " at " : "", place);
    return text;
}

static bool has(const uint64_t *set, int rank)
{
    return set[rank / 64] >> rank % 64 & 1;
}

/* Writes "rank 1" or "ranks 0-3, 5": the ranks in the set, or, if `absent` is true, the ranks that
 * are not in the set. */
char *tt_prove_say_ranks(char *text, size_t size, const uint64_t *set, int p, bool absent)
{
    struct prove_report_text t = into(text, size);
    int n = 0;
    for (int r = 0; r < p; r++) n += has(set, r) != absent;
    say(&t, n == 1 ? "rank " : "ranks ");
    for (int r = 0, first = 1; r < p; r++) {
        int last = r;
        if (has(set, r) == absent) continue;
        while (last + 1 < p && has(set, last + 1) != absent) last++;
        say(&t, last > r ? "%s%d-%d" : "%s%d", first ? "" : ", ", r, last);
        first = 0;
        r = last;
    }
    return text;
}

char *tt_prove_say_value(const struct tt_prover *p, char *text, size_t size,
                         struct tt_proof_run run)
{
    char ranks[100];
    const struct tt_node *node = &p->nodes[run.node];
    struct prove_report_text t = into(text, size);
    switch ((enum tt_node_kind)node->kind) {
    case TT_NODE_UNDER_WAY: say(&t, "what a transfer is still writing"); break;
    case TT_NODE_GARBAGE:
        say(&t, "what was in %s[%ld..%ld) of rank %d before", buffers[node->buf], (long)run.coord,
            (long)(run.coord + run.len), node->first);
        break;
    case TT_NODE_INPUT:
        say(&t, "bytes %ld to %ld of rank %d's input", (long)run.coord,
            (long)(run.coord + run.len - 1), node->first);
        break;
    case TT_NODE_REDUCED:
        say(&t, "bytes %ld to %ld combined of %s", (long)run.coord, (long)(run.coord + run.len - 1),
            tt_prove_say_ranks(ranks, sizeof ranks, tt_prove_set(p, run.node), p->p, false));
        break;
    }
    if (node->execution >= 0 && p->problem->executions > 1)
        say(&t, " in execution %d", node->execution);
    return text;
}

static void say_part(struct tt_prover *p, struct prove_report_text *t, const struct tt_part *part)
{
    if (p->problem->executions > 1) say(t, "execution %d, ", part->execution);
    say(t, "rank %d", part->rank);
}

static void say_step(struct prove_report_text *t, const struct tt_plan *plan,
                     const struct tt_plain *step)
{
    char line[200] = "";
    FILE *out = fmemopen(line, sizeof line - 1, "w");
    if (!out) return;
    tt_plan_print_step(plan, step, out);
    fclose(out);
    say(t, " (%s)", line);
}

/* Writes for example "rank 1, lane 0, step 3 (await 2 1)". */
static void say_lane(struct tt_prover *p, struct prove_report_text *t,
                     const struct tt_proof_lane *lane)
{
    char number[TT_PROVE_STEP_TEXT];
    const struct tt_plan *plan = lane->part->plan;
    say_part(p, t, lane->part);
    if (plan->lanes > 1) say(t, ", lane %d", lane->index);
    say(t, ", %s", tt_prove_say_step(p, number, lane->part, lane->step.at));
    say_step(t, plan, &lane->step);
}

/* ---- Reports ---- */

static void place(struct tt_prover *p, const struct tt_part *part, int lane, int step)
{
    p->proof->execution = part->execution;
    p->proof->rank = part->rank;
    p->proof->lane = lane;
    p->proof->step = step;
}

static void fault_of_lane(struct tt_prover *p, enum tt_fault fault,
                          const struct tt_proof_lane *lane, struct prove_report_text *t)
{
    p->proof->fault = fault;
    place(p, lane->part, lane->index, (int)lane->step.at);
    say_lane(p, t, lane);
    say(t, ": ");
}

bool tt_prove_fault(struct tt_prover *p, enum tt_fault fault, const char *format, ...)
{
    struct prove_report_text t = proof_text(p);
    va_list args;
    fault_of_lane(p, fault, p->running, &t);
    va_start(args, format);
    say_args(&t, format, args);
    va_end(args);
    return false;
}

bool tt_prove_fault_at_end(struct tt_prover *p, const struct tt_part *part, enum tt_fault fault,
                           const char *format, ...)
{
    struct prove_report_text t = proof_text(p);
    va_list args;
    p->proof->fault = fault;
    place(p, part, -1, -1);
    say_part(p, &t, part);
    say(&t, ": ");
    va_start(args, format);
    say_args(&t, format, args);
    va_end(args);
    return false;
}

/* Reports a race: as TT_FAULT_SLOT if the two accesses to a window belong to different executions,
 * which use the same slot; otherwise as TT_FAULT_RACE. */
bool tt_prove_race(struct tt_prover *p, const struct tt_memory *m, int64_t off, int64_t len,
                   uint32_t access, bool write, uint32_t other, bool other_writes)
{
    char bytes[80], number[TT_PROVE_STEP_TEXT];
    const struct tt_proof_access *a = &p->accesses[other];
    const struct tt_part *part = &p->parts[a->part];
    bool slot = m->buf == TT_WIN && part->execution != p->running->part->execution;
    struct prove_report_text t = proof_text(p);
    fault_of_lane(p, slot ? TT_FAULT_SLOT : TT_FAULT_RACE, p->running, &t);
    tt_prove_say_bytes(p, bytes, sizeof bytes, m, off, len);
    if (other == access) {
        say(&t, "reads and writes %s, or writes it twice", bytes);
        return false;
    }
    say(&t, "%s %s, which ", write ? "writes" : "reads", bytes);
    say_part(p, &t, part);
    if (part->plan->lanes > 1) say(&t, ", lane %d", a->lane);
    say(&t, ", %s %s ", tt_prove_say_step(p, number, part, a->at),
        other_writes ? "writes" : "reads");
    say(&t, a->end == TT_UNDER_WAY ? "until its wait" : "with nothing that orders the two");
    return false;
}

/* ---- No lane can go on ---- */

static struct tt_begun *waited_for(const struct tt_proof_lane *lane)
{
    const struct tt_plain *s = &lane->step;
    return &lane->begun[s->value * TT_IN_FLIGHT + s->instance % TT_IN_FLIGHT];
}

/* Returns the lane that a blocked lane waits for; NULL if the plan of the other rank has no such
 * lane. */
static struct tt_proof_lane *waits_for(struct tt_prover *p, const struct tt_proof_lane *lane)
{
    bool await = lane->step.kind == TT_AWAIT;
    int peer = await ? lane->step.peer : waited_for(lane)->message->peer;
    int index = await ? (int)lane->step.lane : lane->index;
    struct tt_part *part = tt_prove_part(p, lane->part->execution, peer);
    return index < (int)part->plan->lanes ? &part->lane[index] : NULL;
}

/* If the lane waits for a message whose partner can never come, because the lane that would post
 * the partner has ended, reports this fault. Otherwise returns false. */
static bool is_unmatched(struct tt_prover *p, struct tt_proof_lane *lane)
{
    if (lane->state != TT_LANE_BLOCKED || lane->step.kind == TT_AWAIT) return false;
    const struct tt_proof_lane *other = waits_for(p, lane);
    if (other && other->state != TT_LANE_DONE) return false;
    struct tt_proof_message *m = waited_for(lane)->message;
    int elsewhere = tt_prove_other_lane(p, m);
    struct prove_report_text t = proof_text(p);
    fault_of_lane(p, elsewhere < 0 ? TT_FAULT_UNMATCHED : TT_FAULT_OTHER_LANE, lane, &t);
    say(&t, "rank %d %s %ld bytes %s rank %d, which ends without ", lane->part->rank,
        m->is_send ? "sends" : "receives", (long)m->place.len, m->is_send ? "to" : "from", m->peer);
    say(&t, m->is_send ? "receiving them" : "sending them");
    if (elsewhere >= 0) say(&t, " on lane %d; its lane %d does", lane->index, elsewhere);
    return true;
}

/* Returns the lane itself if it is blocked. A lane that has not started waits for an earlier
 * execution of its rank to end; for such a lane, returns the first blocked lane of its rank. */
static struct tt_proof_lane *blocked_in(struct tt_prover *p, struct tt_proof_lane *lane)
{
    if (!lane || lane->state == TT_LANE_BLOCKED) return lane;
    for (int k = 0; k <= lane->part->execution; k++) {
        struct tt_part *part = tt_prove_part(p, k, lane->part->rank);
        for (uint32_t l = 0; l < part->plan->lanes; l++)
            if (part->lane[l].state == TT_LANE_BLOCKED) return &part->lane[l];
    }
    return NULL;
}

static struct tt_proof_lane *next_blocked(struct tt_prover *p, struct tt_proof_lane *lane)
{
    return lane ? blocked_in(p, waits_for(p, lane)) : NULL;
}

/* Goes from lane to lane, each time to the one for which the lane waits. If these waits form a
 * circle, returns a lane of the circle; otherwise returns `from`. */
static struct tt_proof_lane *on_circle(struct tt_prover *p, struct tt_proof_lane *from)
{
    struct tt_proof_lane *slow = from, *fast = from;
    do {
        slow = next_blocked(p, slow);
        fast = next_blocked(p, next_blocked(p, fast));
    } while (fast && fast != slow);
    return fast ? fast : from;
}

static bool circle(struct tt_prover *p, struct tt_proof_lane *from)
{
    struct prove_report_text t = proof_text(p);
    struct tt_proof_lane *first = on_circle(p, from), *at = first;
    p->proof->fault = TT_FAULT_DEADLOCK;
    place(p, first->part, first->index, (int)first->step.at);
    for (int named = 0; at && named < 6; named++) {
        if (named) say(&t, " waits for ");
        say_lane(p, &t, at);
        at = next_blocked(p, at);
        if (at == first) break;
    }
    say(&t, at == first ? " waits for the first" : " waits for more of them");
    return false;
}

bool tt_prove_stuck(struct tt_prover *p)
{
    struct tt_proof_lane *blocked = NULL;
    for (int i = 0; i < p->p * p->problem->executions; i++)
        for (uint32_t l = 0; l < p->parts[i].plan->lanes; l++) {
            struct tt_proof_lane *lane = &p->parts[i].lane[l];
            if (is_unmatched(p, lane)) return false;
            if (!blocked && lane->state == TT_LANE_BLOCKED) blocked = lane;
        }
    return circle(p, blocked);
}
