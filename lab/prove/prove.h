/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Proves that plans are right. The prover executes all ranks symbolically, on intervals of bytes,
 * and finds in this one run whatever could go wrong in any timing.
 *
 * This is possible because no step of a plan chooses by arrival order. So a plan is a deterministic
 * dataflow network: the value of a byte, and for which ranks a rank waits, are the same in every
 * timing. So one fair run, in which a send completes only when its receive is posted, shows whether
 * the data are right and whether there is a deadlock. Races do depend on timing. The prover finds
 * them by the happens-before relation, for which it keeps a vector clock for each lane.
 *
 * For every byte, the prover knows from which bytes of which ranks' inputs it was computed, and in
 * which order they were combined. It keeps these values as intervals of each buffer, together with
 * the last accesses to each interval (prove-memory.c).
 */
#ifndef TT_PLAN_PROVE_H
#define TT_PLAN_PROVE_H

#include "plan/plan.h"
#include "text/plan-file.h"
#include "topo/map.h"

/* X(name, text): the faults that a proof can find. */
#define TT_FAULT_LIST(X)                                                                           \
    X(NONE, "proven")                                                                              \
    /* Faults of the data. */                                                                      \
    X(UNWRITTEN, "uninitialised data")                                                             \
    X(WRONG, "wrong data")                                                                         \
    X(MISSING, "a contribution is missing")                                                        \
    X(TWICE, "a contribution is counted twice")                                                    \
    X(ORDER, "operands out of rank order")                                                         \
    X(BITS, "ranks get different bits")                                                            \
    X(MISALIGNED, "a reduction across element boundaries")                                         \
    /* Faults that keep ranks waiting, or break the rules for messages and flags. */               \
    X(DEADLOCK, "deadlock")                                                                        \
    X(NEVER_SIGNALLED, "await of a value never signalled to this rank")                            \
    X(FLAG, "flag values do not ascend")                                                           \
    X(UNMATCHED, "unmatched message")                                                              \
    X(OTHER_LANE, "the message is on another lane")                                                \
    X(SIZE, "message lengths differ")                                                              \
    X(NEVER_STARTED, "wait for what was never started")                                            \
    X(NOT_WAITED, "started and never waited for")                                                  \
    X(IN_FLIGHT, "too many instances under way")                                                   \
    X(BARRIER, "the barrier does not synchronise")                                                 \
    /* Faults in the use of memory. */                                                             \
    X(RACE, "race")                                                                                \
    X(SLOT, "window used again too early")                                                         \
    X(OUTSIDE, "access outside a buffer")                                                          \
    X(INPUT, "the input is written")                                                               \
    X(NOT_OPENED, "the buffer is not opened")                                                      \
    X(UNOPENED, "buffer used before its opening")                                                  \
    X(CLOSED, "buffer used after its end")                                                         \
    X(REACH, "memory out of reach")

enum tt_fault {
#define TT_FAULT_ENUM(name, text) TT_FAULT_##name,
    TT_FAULT_LIST(TT_FAULT_ENUM)
#undef TT_FAULT_ENUM
        TT_FAULTS
};
const char *tt_fault_name(enum tt_fault fault); /* returns the name, such as "UNWRITTEN" */
const char *tt_fault_text(enum tt_fault fault); /* returns the text, such as "uninitialised data" */

/* One execution: the plans and calls of all ranks. tt_plan_invalid must find no fault in any of the
 * plans. */
struct tt_proof_execution {
    const struct tt_plan *const *plans;
    const struct tt_call *calls;
};

/* A sequence of executions on one team, in the same order on all ranks.
 *
 * in_flight: how many executions a rank has under way at once: it starts execution k when it has
 * ended execution k - in_flight. 1 stands for a sequence of blocking calls, and 0 means 1.
 *
 * held: no rank starts execution k before all ranks have ended execution k - held. If held <=
 * TT_PROOF_SLOTS, all ranks have therefore ended the execution that used a slot before the next
 * execution uses this slot. 0 means TT_PROOF_SLOTS.
 *
 * map: the nodes of the ranks and what the ranks can access; NULL means one node on which all
 * buffers can be read.
 *
 * file: the plan file from which all plans come; the description of a fault then says where in the
 * file its steps are. NULL: the plans come from no file. */
struct tt_proof_case {
    int p, executions, in_flight, held;
    const struct tt_proof_execution *execution;
    const struct tt_map *map;
    const struct tt_plan_file *file;
};

/* TT_PROOF_SLOTS is smaller than TT_SLOTS of a real team. So even a short sequence of executions
 * reuses slots. What is proven for few slots is also true for more. */
enum { TT_PROOF_TEXT = 1024, TT_PROOF_SLOTS = 4 };

/* The result of a proof: the first fault (TT_FAULT_NONE if there is none), its place, and its
 * description. `step` is an index into plan->steps. rank, lane or step is -1 if the fault does not
 * belong to one. */
struct tt_proof {
    enum tt_fault fault;
    int execution, rank, lane, step;
    /* the number of steps that were done, of accesses to memory, and of different values */
    uint64_t steps, accesses, values;
    char text[TT_PROOF_TEXT];
};

/* The memory of a prover, which is used for one proof after the other. Only one thread at a time
 * may use a prover. */
struct tt_prover;
struct tt_prover *tt_prover_new(void); /* returns NULL if there is no memory */
void tt_prover_free(struct tt_prover *prover);

/* Decides whether the plans are right. Returns TUTTI_OK if this could be decided; *proof then has
 * the answer. Errors: ERR_MEMORY; ERR_ARG if the plans and calls differ in ranks, collective, type
 * or operation. */
tutti_status tt_prove(struct tt_prover *prover, const struct tt_proof_case *problem,
                      struct tt_proof *proof);

#endif
