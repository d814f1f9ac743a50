/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank waits for, published for whoever asks who is missing: a line of its member of the
 * client (common.h), written when the rank has waited so long that it begins to sleep, and cleared
 * when that wait ends. A wait that ends sooner writes nothing, so calls that succeed at once pay
 * nothing.
 *
 * A record is written by one thread at a time: the first of a client that waits long takes it,
 * others go without. Readers, which may be in another process, hold nothing. `turn` counts the
 * writes, twice each: it is odd while the words change. The writer stores the odd turn, then the
 * words, then the even turn, all but the first with release; the reader loads the turn and the
 * words with acquire, and then the turn again. A reader that saw a word of a later write therefore
 * sees at least its odd turn, and one that saw an even turn sees all words of that write. So if
 * both turns are the same even number, all words are of one write. After a few tries in vain the
 * reader goes without. Whatever a reader gets, it treats as data that may be wrong: the process
 * that wrote may be broken.
 */
#ifndef TT_ACTIVITY_H
#define TT_ACTIVITY_H

#include <stdatomic.h>

#include "base/base.h"

enum tt_doing {
    TT_DOING_NOTHING, /* no long wait is known */
    TT_DOING_COLLECTIVE,
    TT_DOING_INIT,
    TT_DOING_AGREE,
    TT_DOING_TEAM_FREE,
    TT_DOING_MESSAGES,
    TT_DOING_FINALIZE,
    TT_DOINGS
};

enum { TT_ACTIVITY_NAMED = 6, TT_ACTIVITY_WHAT = 64 };

struct tt_activity {
    uint32_t doing;                       /* enum tt_doing */
    int32_t waits;                        /* for so many ranks, of which the first are: */
    int32_t waits_for[TT_ACTIVITY_NAMED]; /* ranks of the job */
    int64_t since_ns, moved_ns;           /* when the wait began, and when it last got on */
    uint64_t team, number;                /* of a collective: its team's id, its execution */
    unsigned char what[TT_ACTIVITY_WHAT]; /* likewise: its struct tt_what */
};

enum { TT_ACTIVITY_WORDS = sizeof(struct tt_activity) / sizeof(uint64_t) };
_Static_assert(sizeof(struct tt_activity) % sizeof(uint64_t) == 0, "it is copied word by word");

struct tt_activity_line {
    _Atomic uint64_t turn;
    _Atomic uint64_t word[TT_ACTIVITY_WORDS];
    _Atomic uint64_t taken; /* by a thread that waits */
};

/* By the one that has taken the line. */
void tt_activity_write(struct tt_activity_line *line, const struct tt_activity *activity);
/* False: it changed all the time. */
bool tt_activity_read(const struct tt_activity_line *line, struct tt_activity *activity);

/* ---- One wait, as its thread sees it ---- */

struct tt_fabric;

/* Fills in what is waited for, as far as it is known: waits, waits_for, team, number, what. */
typedef void tt_waiting_fn(const void *arg, struct tt_activity *activity);

struct tt_waiting {
    struct tt_fabric *fabric;
    enum tt_doing doing;
    tt_waiting_fn *fill; /* NULL: there is nothing to fill in */
    const void *arg;
    /* The rest is zero at first. */
    struct tt_activity is;
    int64_t shown_ns;  /* when it was last written; 0: never */
    bool holds, moved; /* the line; since it was last written */
    bool called;       /* the roll was called for it */
};

/* One more rank of the job that is waited for. */
static inline void tt_waiting_name(struct tt_activity *is, int rank)
{
    if (is->waits < TT_ACTIVITY_NAMED) is->waits_for[is->waits] = rank;
    is->waits++;
}

void tt_waiting_clear(struct tt_waiting *w);
/* After each look in vain of a wait that has become long. moved: something has happened since the
 * last look. */
void tt_waiting_look(struct tt_waiting *w, bool moved);
/* The wait is over, however long it was. */
static inline void tt_waiting_end(struct tt_waiting *w)
{
    if (tt_unlikely(w->shown_ns != 0)) tt_waiting_clear(w);
}

#endif
