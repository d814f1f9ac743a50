/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank that is traced has written so far: a file that it maps, so that everything is there
 * however the rank ends. A head, then entries of one size. At an orderly end the file becomes
 * rank-R.json and goes; of a rank that was killed it stays, and is read as it is.
 *
 * One thread writes. It fills in an entry and then raises `entries` (release), so an entry that is
 * counted is whole even if the rank is killed between any two instructions. Only two fields change
 * later: the times of a call, each by one store of eight bytes.
 */
#ifndef TT_TRACE_PART_H
#define TT_TRACE_PART_H

#include <stdatomic.h>
#include <stdio.h>

#include "base/base.h"

#define TT_PART_MAGIC "tutti part 1"

enum {
    TT_PART_ENTRIES = 1 << 20, /* of a rank; what comes later is counted, not kept ... */
    TT_PART_STEPS = 3 << 18,   /* ... and steps give up earlier, so that calls have room */
    TT_PART_TRACKS = 64,       /* calls under way at once that lie beside each other */
    TT_PART_LANES = 8          /* TT_LANES */
};

struct tt_part_head {
    char magic[16];
    int64_t run; /* the job's stamp */
    int32_t ranks, rank, client, node, pid, unused;
    int64_t wall_ns;          /* time of day minus the clock of all times here */
    char host[64], clock[40]; /* clock: the same text means the same clock */
    _Atomic int64_t entries;
    _Atomic int64_t lost_steps, lost_calls;
    _Atomic int64_t last_ns; /* when the rank last did something that was kept */
    char room[320];
};
_Static_assert(sizeof(struct tt_part_head) == 512, "entries begin behind it, aligned");

enum tt_part_kind {
    TT_PART_STEP,
    TT_PART_CALL, /* the next entry is its names */
    TT_PART_NAMES,
    TT_PART_TEAM,
    TT_PART_FATE /* what became of another rank */
};

struct tt_part_times {
    _Atomic int64_t begin_ns, end_ns; /* end_ns: 0 while a call is under way */
};

/* A step, or with `blocked_ns` a call. */
struct tt_part_entry {
    uint8_t kind, lane, track, status;
    int32_t peer; /* of a call: its root; -1: none */
    union {
        struct {
            struct tt_part_times time;
            int64_t bytes;
            uint64_t execution;
            uint32_t value;
            uint16_t team;
            uint8_t blocks; /* a call: its caller waited from the start on */
            uint8_t unused;
            union {
                char name[16]; /* of a step */
                struct {
                    _Atomic int64_t blocked_ns; /* since then its caller waited; 0: it did not */
                    int64_t n;                  /* elements */
                };
            };
        };
        struct {
            char coll[20], algorithm[20], type[8], op[8]; /* not ended by a 0 where full */
        } names;
        struct {
            uint64_t id;
            int32_t size, me;
            uint16_t number;
        } made; /* a team */
        char text[56];
    };
};
_Static_assert(sizeof(struct tt_part_entry) == 64, "a line each");

/* Whether these bytes are the beginning of such a file. */
bool tt_part_is_one(const void *bytes, size_t n);
/* All that is in it, as a Chrome trace: an array of events. What does not make sense is left out.
 * `ended`: the rank came to an orderly end. */
void tt_part_print(const void *bytes, size_t n, bool ended, FILE *out);

#endif
