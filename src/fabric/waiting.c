/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Publishes what a rank waits for, and notices when it waits too long.
 */
#include "fabric/waiting.h"

#define SHOW_EVERY_NS INT64_C(10000000)
/* If a rank with a lower number on the same node also waits long, a rank delays its roll call by
 * LOWER_FIRST_NS, so that the lower rank prints the roll call first. Node k delays by k *
 * NODE_FIRST_NS, where k is at most NODES_FIRST, so that lower nodes print first. */
#define LOWER_FIRST_NS INT64_C(200000000)
#define NODE_FIRST_NS INT64_C(300000000)
enum { NODES_FIRST = 4 };

static struct tt_activity_line *line_of(const struct tt_waiting *w)
{
    return &w->fabric->common->rank[w->fabric->me].activity;
}

static bool take_line(struct tt_waiting *w)
{
    uint64_t nobody = 0;
    if (!w->holds) w->holds = atomic_compare_exchange_strong(&line_of(w)->taken, &nobody, 1);
    return w->holds;
}

/* Publishes the wait if it has changed, at most every 10 ms however often the wait makes
 * progress. */
static void show(struct tt_waiting *w, int64_t now)
{
    if (w->shown_ns && (w->holds && !w->moved)) return;
    if (w->shown_ns && now < w->shown_ns + SHOW_EVERY_NS) return;
    w->shown_ns = now;
    w->moved = false;
    w->is.doing = w->doing;
    w->is.waits = 0;
    if (w->fill) w->fill(w->arg, &w->is);
    if (take_line(w)) tt_activity_write(line_of(w), &w->is);
}

/* Returns whether no rank of this node with a lower number waits long. */
static bool is_lowest(const struct tt_waiting *w)
{
    const struct tt_fabric *f = w->fabric;
    for (int r = 0; r < f->me; r++)
        if (tt_fabric_shares(f, r) && atomic_load(&f->common->rank[r].activity.taken)) return false;
    return true;
}

/* Prints the roll call if this wait has lasted too long. Does not print it if a rank of this node
 * has printed one since this wait last made progress, because that roll call showed this wait
 * already. */
static void watch(struct tt_waiting *w, int64_t now)
{
    const struct tt_fabric *f = w->fabric;
    int64_t due = w->is.moved_ns + f->watchdog_ns;
    if (!f->watchdog_ns || !f->call_roll || w->called || w->doing == TT_DOING_MESSAGES) return;
    due += tt_min(f->job->rank[f->me].node, NODES_FIRST) * NODE_FIRST_NS;
    if (now < due || (now < due + LOWER_FIRST_NS && !is_lowest(w))) return;
    w->called = true;
    int64_t last = atomic_load(&f->common->called_ns);
    if (last > w->is.moved_ns) return;
    if (atomic_compare_exchange_strong(&f->common->called_ns, &last, now))
        f->call_roll(w->fabric, w);
}

void tt_waiting_look(struct tt_waiting *w, bool moved)
{
    int64_t now = tt_clock_ns();
    if (w->is.since_ns == 0) w->is.since_ns = w->is.moved_ns = now;
    if (moved) {
        w->is.moved_ns = now;
        w->moved = true;
        w->called = false;
    }
    show(w, now);
    watch(w, now);
}

void tt_waiting_clear(struct tt_waiting *w)
{
    static const struct tt_activity nothing = {.doing = TT_DOING_NOTHING};
    if (!w->holds) return;
    tt_activity_write(line_of(w), &nothing);
    atomic_store(&line_of(w)->taken, 0);
}
