/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A file of the trace events that a rank has recorded so far. The rank maps the file, so that no
 * event is lost, however the rank ends. The file has a head and then entries of one size. At an
 * orderly end the file is converted to rank-R.json and removed. If the rank was killed the file
 * stays, and `tutti draw --trace` reads it as it is. The launcher of `tutti run` also writes into
 * the file how the rank's process ended (`end`).
 *
 * One thread writes at a time. It fills in an entry and then increments `entries` (release), so an
 * entry that is counted is complete even if the rank is killed between any two instructions. Only
 * the times of a call change later, each by one store of eight bytes.
 */
#ifndef TT_TRACE_PART_H
#define TT_TRACE_PART_H

#include <stdatomic.h>
#include <stdio.h>

#include "base/base.h"

#define TT_PART_MAGIC "tutti part 1"

enum {
    TT_PART_ENTRIES = 1 << 20, /* entries of a rank, at most; later ones are only counted */
    TT_PART_STEPS = 3 << 18,   /* no step is recorded after so many entries, so calls have room */
    TT_PART_TRACKS = 64,       /* calls under way at a time that are drawn on tracks of their own */
    TT_PART_LANES = 8          /* as many as TT_LANES */
};

struct tt_part_head {
    char magic[16];
    int64_t run; /* the stamp of the job, which differs from that of every other run */
    int32_t ranks, rank, client, node, pid, unused;
    int64_t wall_ns;          /* time of day minus the clock by which all times here are measured */
    char host[64], clock[40]; /* clock: if two texts are equal, the clocks are the same */
    _Atomic int64_t entries;
    _Atomic int64_t lost_steps, lost_calls;
    _Atomic int64_t last_ns; /* when the rank last did something that was recorded */
    char end
        [56]; /* how the process ended, such as "rank 3 died: signal 9 (Killed)"; "": not known */
    char room[264];
};
_Static_assert(sizeof(struct tt_part_head) == 512, "entries begin behind it, aligned");

enum tt_part_kind {
    TT_PART_STEP,
    TT_PART_CALL, /* a call; the next entry holds its names */
    TT_PART_NAMES,
    TT_PART_TEAM,
    TT_PART_RANK_STATUS /* how another rank failed */
};

struct tt_part_times {
    _Atomic int64_t begin_ns, end_ns; /* end_ns: 0 while a call is under way */
};

/* An entry. Only an entry for a call uses `blocked_ns` and `n`, and only one for a step uses
 * `name`. */
struct tt_part_entry {
    uint8_t kind, lane, track, status;
    int32_t peer; /* the other rank of a step, or the root of a call; -1: there is none */
    union {
        struct {
            struct tt_part_times time;
            int64_t bytes;
            uint64_t execution;
            uint32_t value;
            uint16_t team;
            uint8_t blocks; /* for a call: its caller waited from the start on */
            uint8_t thread; /* for a step: a number of the thread that made it */
            union {
                char name[16]; /* for a step */
                struct {
                    /* when the caller began to wait for the call; 0: it has not waited */
                    _Atomic int64_t blocked_ns;
                    int64_t n; /* elements */
                };
            };
        };
        struct {
            /* a text that fills its array has no final 0 */
            char coll[20], algorithm[20], type[8], op[8];
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

/* Stores a text that identifies the clock of this process: it names the kernel, because the clock
 * counts from the start of the kernel, and the time namespace. */
void tt_part_clock(char *name, size_t n);
/* Returns whether these bytes are the beginning of a .part file. */
bool tt_part_is_one(const void *bytes, size_t n);
/* How far a rank had come when its .part file was read. A rank holds a write lock (fcntl) on this
 * file, so a reader can distinguish a rank that runs from a rank that was lost. */
enum tt_part_end { TT_PART_LOST, TT_PART_ENDED, TT_PART_RUNS };

/* Prints the file as a Chrome trace, an array of events. Leaves out entries with impossible values.
 * A call that is still under way ends in the picture when the rank last recorded something; if the
 * rank still runs, and its clock is the clock of this machine, it ends at the present time. */
void tt_part_print(const void *bytes, size_t n, enum tt_part_end end, FILE *out);

#endif
