/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank waits for, published for the roll call: a record of the rank in the client
 * (common.h). It is written when the rank has waited so long that it begins to sleep, and cleared
 * when that wait ends. A wait that ends sooner writes nothing, so calls that succeed at once pay
 * nothing.
 *
 * One thread at a time writes a record: the first thread of a client that waits long takes it, and
 * other threads do without. Readers, which may be in another process, take no lock. `turn` counts
 * the writes, twice each: it is odd while the words change. The writer stores the odd turn, then
 * the words, then the even turn, all but the first with release. The reader loads the turn and the
 * words with acquire, and then the turn again. A reader that saw a word of a later write therefore
 * sees at least its odd turn, and a reader that saw an even turn sees all words of that write. So
 * if both turns are the same even number, all words are of one write. After a few tries in vain the
 * reader gives up. The reader treats what it gets as data that may be wrong, since the process that
 * wrote it may be broken.
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
    TT_DOING_SHRINK,
    TT_DOING_TEAM_OF,
    TT_DOING_MESSAGES,
    TT_DOING_FINALIZE,
    TT_DOINGS
};

enum { TT_ACTIVITY_NAMED = 6, TT_ACTIVITY_SIGNATURE = 64 };

struct tt_activity {
    uint32_t doing; /* enum tt_doing */
    /* the number of ranks that it waits for; the first of these are in waits_for */
    int32_t waits;
    int32_t waits_for[TT_ACTIVITY_NAMED]; /* ranks of the job */
    int64_t since_ns, moved_ns;           /* when the wait began, and when it last made progress */
    uint64_t team, number;                /* of a collective: the id of its team, its execution */
    /* if it waits in a collective: its call signature (struct tt_call_signature) */
    unsigned char signature[TT_ACTIVITY_SIGNATURE];
};

enum { TT_ACTIVITY_WORDS = sizeof(struct tt_activity) / sizeof(uint64_t) };
_Static_assert(sizeof(struct tt_activity) % sizeof(uint64_t) == 0, "it is copied word by word");

struct tt_activity_line {
    _Atomic uint64_t turn;
    _Atomic uint64_t word[TT_ACTIVITY_WORDS];
    _Atomic uint64_t taken; /* 1: a waiting thread uses the line */
};

/* Writes the record. Only the thread that has taken the line may call it. */
void tt_activity_write(struct tt_activity_line *line, const struct tt_activity *activity);
/* Reads a record. False: it changed all the time. */
bool tt_activity_read(const struct tt_activity_line *line, struct tt_activity *activity);

#endif
