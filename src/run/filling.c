/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/filling.h"

#include <stdatomic.h>

#include "base/base.h"

/* Returns the factor that decides a trial: after the trial, the team uses stores past the caches if
 * plain stores took at least `factor` times as long as stores past the caches. A team that uses
 * plain stores gives them up only if they take TT_STORES_SLOW times as long. A team that uses
 * stores past the caches returns to plain stores as soon as plain stores are faster. It does so
 * although its trials favour plain stores: the lines of a window that is filled past the caches may
 * drop out of the caches of the other ranks, and a plain store to such a line does not have to
 * wait. Measurements on several machines agree with this choice. Between processors that shared no
 * cache, where plain stores made calls longer, they took 1.2 to 10 times as long in a trial.
 * Between processors that shared a cache, plain stores were faster in a trial wherever they made
 * calls shorter. */
static int64_t factor(const struct tt_filling *f)
{
    return f->past ? 1 : TT_STORES_SLOW;
}

static void begin_trial(struct tt_filling *f)
{
    f->left = TT_FILLING_EVERY;
    f->tried = 0;
    f->least[0] = f->least[1] = INT64_MAX;
}

struct tt_filling tt_filling(bool slow, bool fixed)
{
    struct tt_filling f = {.past = slow, .fixed = fixed || !TT_STREAMS};
    begin_trial(&f);
    return f;
}

static void judge(struct tt_filling *f)
{
    bool past = f->least[0] >= factor(f) * tt_max(1, f->least[1]);
    if (past != f->past && tt_log_on(TT_LOG_boot))
        tt_log("windows are filled by %s from now on",
               past ? "stores that bypass the caches" : "plain stores");
    f->past = past;
    begin_trial(f);
}

/* Returns how long it takes, in nanoseconds, to store a piece by one kind of stores. The atomic
 * exchange serves as a fence: it waits until plain stores have got their lines. A plain fence is
 * not used because ThreadSanitizer does not support it. */
static int64_t time_piece(tt_filling_store *store, void *what, bool past, int64_t piece)
{
    _Atomic int fence = 0;
    int64_t begin = tt_clock_ns();
    store(what, past, piece);
    (void)atomic_exchange(&fence, 1);
    return tt_clock_ns() - begin;
}

/* Times both kinds of stores, for one piece each. The kinds take turns to be the first, because the
 * first piece also pays for data that are not in the caches of this rank yet. */
static void try_both(struct tt_filling *f, tt_filling_store *store, void *what, int64_t piece)
{
    for (uint32_t i = 0; i < 2; i++) {
        bool past = (f->tried + i) % 2 == 1;
        f->least[past] = tt_min(f->least[past], time_piece(store, what, past, piece));
    }
    if (++f->tried == TT_FILLING_TRIES) judge(f);
}

void tt_filling_all(struct tt_filling *f, tt_filling_store *store, void *what, int64_t n,
                    int64_t element)
{
    int64_t piece = TT_FILLING_PIECE / element * element;
    if (!f->fixed && n >= 2 * TT_FILLING_PIECE && piece > 0) {
        f->left -= n;
        if (tt_unlikely(f->left < 0)) {
            try_both(f, store, what, piece);
            n -= 2 * piece;
        }
    }
    if (n > 0) store(what, f->past, n);
}
