/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The activity record of a rank in a client (common.h): it says for what the rank waits, and the
 * roll call is made from it. The rank writes its record when a wait has become long
 * (tt_wait_is_long), and clears the record when this wait ends. A wait that ends sooner writes
 * nothing, so calls that succeed at once pay nothing.
 *
 * One thread at a time writes a record: the first thread of a client that waits long takes the
 * record, and the waits of other threads of the client are not recorded meanwhile. Readers, which
 * may be in another process, take no lock (the record is a seqlock). Each write adds 2 to the
 * counter `turn`, which is odd while the words change. The writer stores the odd value of `turn`,
 * the words, and the even value, all except the first with release. The reader loads `turn` and the
 * words with acquire, and then `turn` again. If the first load of `turn` returns an even value, the
 * reader sees all words of the write that stored it. If the reader has loaded a word of a later
 * write, its second load of `turn` returns at least the odd value of that write. So if both loads
 * of `turn` return the same even number, all words are of one write. After 100 tries in vain the
 * reader gives up. Readers must expect wrong values in the record, since the process that wrote it
 * may be broken.
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
    /* the number of ranks for which this rank waits; the first of them are in waits_for */
    int32_t waits;
    int32_t waits_for[TT_ACTIVITY_NAMED]; /* ranks of the job */
    int64_t since_ns, moved_ns;           /* when the wait began, and when it last made progress */
    /* if the rank waits in a collective: the id of the team, and the number of the execution */
    uint64_t team, number;
    /* if the rank waits in a collective: the call signature (struct tt_call_signature) */
    unsigned char signature[TT_ACTIVITY_SIGNATURE];
};

enum { TT_ACTIVITY_WORDS = sizeof(struct tt_activity) / sizeof(uint64_t) };
_Static_assert(sizeof(struct tt_activity) % sizeof(uint64_t) == 0, "it is copied word by word");

struct tt_activity_line {
    _Atomic uint64_t turn;
    _Atomic uint64_t word[TT_ACTIVITY_WORDS];
    /* 1: a waiting thread of the client writes its waits into this record */
    _Atomic uint64_t taken;
};

/* Writes the record. Only the thread that has taken the line may call this function. */
void tt_activity_write(struct tt_activity_line *line, const struct tt_activity *activity);
/* Reads a record. Returns false if the record changed during all tries. */
bool tt_activity_read(const struct tt_activity_line *line, struct tt_activity *activity);

#endif
