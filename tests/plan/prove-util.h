/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by the tests of the prover: the plans of a few ranks, written as text and proven as one
 * case.
 */
#ifndef PROVE_UTIL_H
#define PROVE_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prove/prove.h"
#include "text/text.h"

enum { RANKS = 4, EXECUTIONS = 8 };

/* A case. The headers of the plans are made from the other members. Elements are i32 and the
 * operation is sum. The same plans are executed `executions` times (0 means once). The
 * v-collectives use hand_counts and hand_displs on all ranks. */
struct hand {
    const char *name;
    enum tt_fault fault;
    enum tt_coll coll;
    int p, n, root, executions, in_flight, held, win_bytes;
    bool in_order, in_place, remote; /* in_order: the operation does not commute; remote: rank 0 is
                                      * on a node of its own */
    bool unread;
    const char *says; /* a text that the report must contain; NULL: any report */
    const char *plan[RANKS];
};

static const int64_t hand_counts[RANKS] = {1, 2, 0, 1}, hand_displs[RANKS] = {0, 2, 4, 5};

static inline struct tt_plan *hand_plan(const struct hand *h, int r)
{
    char text[4096];
    snprintf(text, sizeof text, "plan %s algorithm hand rank %d of %d type i32%s\n%s",
             tt_coll_name(h->coll), r, h->p, tt_coll_has_op(h->coll) ? " op sum" : "", h->plan[r]);
    struct tt_text_error error;
    struct tt_plan *plan = tt_plan_parse(text, &error);
    if (!plan)
        fail_msg("%s, rank %d: line %d, column %d: %s\n%s", h->name, r, error.line, error.column,
                 error.text, text);
    return plan;
}

static inline struct tt_call hand_call(const struct hand *h)
{
    struct tt_call call = {.coll = h->coll,
                           .type = TUTTI_I32,
                           .op = TUTTI_SUM,
                           .commutes = !h->in_order,
                           .in_place = h->in_place,
                           .root = h->root,
                           .n = h->n,
                           .sz = 4};
    if (tt_call_segments(&call)) {
        call.n = 0;
        call.out_counts = hand_counts;
        call.out_displs = hand_displs;
    }
    return call;
}

static inline struct tt_map hand_map(const struct hand *h)
{
    static const int apart[RANKS] = {0, 1, 1, 1};
    return (struct tt_map){.p = h->p,
                           .cores = 2,
                           .win_bytes = h->win_bytes ? h->win_bytes : 4096,
                           .reads = !h->unread,
                           .writes = true,
                           .nodes = h->remote ? 2 : 1,
                           .node = h->remote ? apart : NULL};
}

/* The plans and calls of all ranks. */
struct hand_ranks {
    struct tt_plan *plan[RANKS];
    struct tt_call call[RANKS];
};

static inline struct hand_ranks hand_ranks(const struct hand *h)
{
    struct hand_ranks all = {0};
    for (int r = 0; r < h->p; r++) {
        all.plan[r] = hand_plan(h, r);
        all.call[r] = hand_call(h);
    }
    return all;
}

static inline void hand_ranks_free(struct hand_ranks *all)
{
    for (int r = 0; r < RANKS; r++) tt_plan_free(all->plan[r]);
}

/* Proves a sequence of n executions of `first`, followed by one of `last` unless it is NULL. */
static inline struct tt_proof hand_sequence(const struct hand *first, int n,
                                            const struct hand *last)
{
    struct hand_ranks a = hand_ranks(first), b = {0};
    struct tt_proof_execution executions[EXECUTIONS];
    if (last) b = hand_ranks(last);
    for (int k = 0; k < EXECUTIONS; k++)
        executions[k] = (struct tt_proof_execution){
            (const struct tt_plan *const *)(k < n ? a.plan : b.plan), k < n ? a.call : b.call};
    struct tt_map map = hand_map(first);
    struct tt_proof_case c = {.p = first->p,
                              .executions = n + (last != NULL),
                              .in_flight = first->in_flight,
                              .held = first->held,
                              .execution = executions,
                              .map = &map};
    struct tt_proof proof;
    struct tt_prover *prover = tt_prover_new();
    assert_non_null(prover);
    assert_int_equal(tt_prove(prover, &c, &proof), TUTTI_OK);
    tt_prover_free(prover);
    hand_ranks_free(&a);
    hand_ranks_free(&b);
    return proof;
}

static inline struct tt_proof hand_proof(const struct hand *h)
{
    return hand_sequence(h, h->executions ? h->executions : 1, NULL);
}

static inline void hand_judged(const struct hand *h)
{
    struct tt_proof proof = hand_proof(h);
    if (getenv("PROVE_VERBOSE"))
        printf("%-44s %-16s %s\n", h->name, tt_fault_name(proof.fault), proof.text);
    if (proof.fault != h->fault)
        fail_msg("%s: is %s, should be %s\n%s", h->name, tt_fault_name(proof.fault),
                 tt_fault_name(h->fault), proof.text);
    if (h->says && !strstr(proof.text, h->says))
        fail_msg("%s: does not say '%s': %s", h->name, h->says, proof.text);
}

#endif
