/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/filling.h"

#include <stdatomic.h>
#include <string.h>

#include "base/base.h"

/* After a trial, a team that uses plain stores gives them up if they took SLOW times as long as
 * stores past the caches. A team that uses stores past the caches returns to plain stores as soon
 * as these are faster. Measurements on several machines agree with this choice. Between processors
 * that shared no cache, plain stores took 1.2 to 10 times as long in a trial where they made calls
 * longer. Between processors that shared a cache, plain stores were faster in a trial wherever they
 * made calls shorter. */
enum { SLOW = 2 };

static void begin_trial(struct tt_filling *f)
{
    f->left = TT_FILLING_EVERY;
    f->tried = 0;
    memset(f->longest, 0, sizeof f->longest);
}

struct tt_filling tt_filling(bool slow, bool fixed)
{
    struct tt_filling f = {.past = slow, .fixed = fixed || !TT_STREAMS};
    begin_trial(&f);
    return f;
}

/* Compares the second longest times. The fast pieces of plain stores say little: the lines of a
 * window that nobody has read for some time may have dropped out of the caches of the other ranks,
 * and a plain store to such a line does not have to wait. In a long message, this holds for the
 * first fill of each half of the window. Most later fills wait for lines that another rank has just
 * read. The longest time does not count, because an interrupt may have made it longer. */
static void judge(struct tt_filling *f)
{
    int64_t plain = f->longest[0][1], streamed = tt_max(1, f->longest[1][1]);
    bool past = plain >= (f->past ? 1 : SLOW) * streamed;
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

static void note(int64_t longest[2], int64_t time)
{
    longest[1] = tt_max(longest[1], tt_min(longest[0], time));
    longest[0] = tt_max(longest[0], time);
}

/* Times both kinds of stores, for one piece each. The kinds take turns to be the first, because the
 * first piece also pays for data that are not in the caches of this rank yet. */
static void try_both(struct tt_filling *f, tt_filling_store *store, void *what, int64_t piece)
{
    for (uint32_t i = 0; i < 2; i++) {
        bool past = (f->tried + i) % 2 == 1;
        note(f->longest[past], time_piece(store, what, past, piece));
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
