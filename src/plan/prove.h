/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Proof of plans: all ranks are executed symbolically, on intervals of bytes, and whatever could go
 * wrong in any timing is found in this one run.
 *
 * No step of a plan chooses by arrival order, so a plan is a deterministic dataflow network: what a
 * byte holds and who waits for whom is the same in every timing. One fair run in which a send is
 * complete only when its receive is posted therefore decides data and deadlock; and races, which do
 * depend on timing, are read off the happens-before relation, kept as a vector clock per lane.
 *
 * Every byte is known as "which bytes of which ranks' inputs, combined in which order"
 * (prove-value.c), in interval maps per buffer that also know who touched it last (prove-memory.c).
 */
#ifndef TT_PLAN_PROVE_H
#define TT_PLAN_PROVE_H

#include "plan/plan.h"
#include "topo/map.h"

/* X(name, text): what a proof can find, one kind each. */
#define TT_FAULT_LIST(X)                                                                           \
    X(NONE, "proven")                                                                              \
    /* Data. */                                                                                    \
    X(UNWRITTEN, "uninitialised data")                                                             \
    X(WRONG, "wrong data")                                                                         \
    X(MISSING, "a contribution is missing")                                                        \
    X(TWICE, "a contribution is counted twice")                                                    \
    X(ORDER, "operands out of rank order")                                                         \
    X(BITS, "ranks get different bits")                                                            \
    X(MISALIGNED, "a reduction across element boundaries")                                         \
    /* Progress. */                                                                                \
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
    /* Memory. */                                                                                  \
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
const char *tt_fault_name(enum tt_fault fault); /* "UNWRITTEN" */
const char *tt_fault_text(enum tt_fault fault); /* "uninitialised data" */

/* One execution: plans and calls of all ranks. Structurally valid (tt_plan_invalid) plans only. */
struct tt_proof_execution {
    const struct tt_plan *const *plans;
    const struct tt_call *calls;
};

/* A sequence of executions on one team, from rank 0 .. p-1's point of view in the same order.
 * in_flight: a rank starts execution k when its own k - in_flight has ended: 1 is a sequence of
 * blocking calls (0 means 1). held: nobody starts k before all have ended k - held, which is what
 * makes window slots safe when held <= TT_PROOF_SLOTS (0 means that). map may be NULL: one node,
 * all of it readable. */
struct tt_proof_case {
    int p, executions, in_flight, held;
    const struct tt_proof_execution *execution;
    const struct tt_map *map;
};

/* A proof knows fewer slots than a team has: they are used again sooner, so that a short sequence
 * of executions shows it, and what holds for few holds for more. */
enum { TT_PROOF_TEXT = 1024, TT_PROOF_SLOTS = 4 };

/* What came out: the first fault, where it was found, and in words. step is the index in
 * plan->steps; rank, lane and step are -1 where a fault has no such place. */
struct tt_proof {
    enum tt_fault fault;
    int execution, rank, lane, step;
    uint64_t steps, accesses, values; /* done in all; steps with memory; distinct values */
    char text[TT_PROOF_TEXT];
};

/* Memory that proofs use again; one thread at a time. */
struct tt_prover;
struct tt_prover *tt_prover_new(void); /* NULL: no memory */
void tt_prover_free(struct tt_prover *prover);

/* TUTTI_OK when the question was decided: then *proof is the answer. ERR_MEMORY; ERR_ARG for a case
 * whose plans and calls are not of the same ranks, type and operation. */
tutti_status tt_prove(struct tt_prover *prover, const struct tt_proof_case *problem,
                      struct tt_proof *proof);

#endif
