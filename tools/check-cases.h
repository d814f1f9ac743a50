/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `tutti check` proves: the cases of an algorithm on p ranks, numbered.
 *
 * They are the product of node maps (or networks, whole and with holes, for an algorithm that needs
 * one), window sizes, what the machine grants, counts, slices of a few elements, types, roots, in
 * place or not, in rank order or not, and for the v-forms skews and gaps. Case i is a function of
 * (algorithm, p, i) alone; neighbours differ in everything, so that the first few hundred are a
 * fair sample of a product too large to be proven whole.
 */
#ifndef TT_CHECK_CASES_H
#define TT_CHECK_CASES_H

#include "coll/coll.h"
#include "plan/problem.h"
#include "plan/prove.h"

struct tt_check_case {
    const struct tt_algorithm *algorithm;
    struct tt_problem problem;
    int64_t win_bytes;
    bool direct, mapped;
    bool gaps;     /* between the pieces of a v-form */
    int scattered; /* rank r is on node r mod this many; 0: as the problem says */
};

/* How many there are; and the i-th. */
uint64_t tt_check_cases(const struct tt_algorithm *algorithm, int p);
struct tt_check_case tt_check_case(const struct tt_algorithm *algorithm, int p, uint64_t i);
/* As options of `tutti check` that prove it again: "allreduce/i32/sum/28/p5 --algorithm ring
 * ...". */
char *tt_check_case_text(const struct tt_check_case *c, char *buffer, size_t size);

/* ---- Proving one (check-prove.c) ---- */

/* Of a thread: what is kept from case to case. */
struct tt_checker;
struct tt_checker *tt_checker_new(void); /* NULL: no memory */
void tt_checker_free(struct tt_checker *checker);

enum tt_check_result {
    TT_CHECK_PROVEN,
    TT_CHECK_REFUTED, /* *proof tells */
    TT_CHECK_REFUSED, /* the algorithm does not apply: *why tells */
    TT_CHECK_FAILED   /* no memory, no plan: tutti_error tells */
};

/* The case executed `times` times, in_flight at once. */
enum tt_check_result tt_check_prove(struct tt_checker *checker, const struct tt_check_case *c,
                                    int times, int in_flight, struct tt_proof *proof,
                                    const char **why);
/* A sequence on one team: `order` names cases of the same p and map, n executions of them. */
enum tt_check_result tt_check_sequence(struct tt_checker *checker,
                                       const struct tt_check_case *cases, int kinds,
                                       const int *order, int n, int in_flight,
                                       struct tt_proof *proof);
/* Why the algorithm does not apply, or NULL. */
const char *tt_check_refused(struct tt_checker *checker, const struct tt_check_case *c);

#endif
