/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cases that `tutti check` proves for an algorithm on p ranks, and their numbers.
 *
 * The cases are the product of node maps (or of networks, complete and with holes, for an algorithm
 * that needs one), window sizes, ways in which ranks may read each other's memory, counts, slices
 * of a few elements, numbers of lanes, types, roots, in place or not, operands combined in rank
 * order or not, and for the v-collectives skews and gaps. Case i is a function of (algorithm, p, i)
 * alone. Cases with consecutive numbers differ in most parameters, so that the first few hundred
 * are a fair sample of a product that is too large to be proven completely.
 */
#ifndef TT_CHECK_CASES_H
#define TT_CHECK_CASES_H

#include "coll/coll.h"
#include "text/problem.h"
#include "prove/prove.h"

struct tt_check_case {
    const struct tt_algorithm *algorithm;
    /* the plan file from which the plans of the algorithm come; NULL: it is no plan file */
    const struct tt_plan_file *file;
    struct tt_problem problem;
    int64_t win_bytes;
    bool direct, mapped;
    bool gaps; /* leave gaps between the pieces of a v-collective */
    /* if not 0, rank r is on node r mod this number; otherwise the problem's map decides */
    int scattered;
};

/* Return the number of cases of an algorithm on p ranks, and case i, where i counts from 0. After
 * the last case, case 0 follows again. */
uint64_t tt_check_cases(const struct tt_algorithm *algorithm, int p);
struct tt_check_case tt_check_case(const struct tt_algorithm *algorithm, int p, uint64_t i);
/* Writes the options with which `tutti check` proves this case again, such as
 * "allreduce/i32/sum/28/p5 --algorithm ring ...". Returns the buffer. */
char *tt_check_case_text(const struct tt_check_case *c, char *buffer, size_t size);

/* ---- Proving a case (check-prove.c) ---- */

/* The memory of a thread that proves one case after the other: its prover, builder and plans. Only
 * one thread at a time may use a checker. */
struct tt_checker;
struct tt_checker *tt_checker_new(void); /* returns NULL if there is no memory */
void tt_checker_free(struct tt_checker *checker);

enum tt_check_result {
    TT_CHECK_PROVEN,
    TT_CHECK_REFUTED, /* *proof says what is wrong */
    TT_CHECK_REFUSED, /* the algorithm does not apply; *why is the reason */
    TT_CHECK_FAILED   /* there was no memory or no plan; tutti_error() says which */
};

/* Proves that the case is right if the ranks execute it `times` times in a row, with up to
 * `in_flight` executions under way at once. */
enum tt_check_result tt_check_prove(struct tt_checker *checker, const struct tt_check_case *c,
                                    int times, int in_flight, struct tt_proof *proof,
                                    const char **why);
/* Proves a sequence of n executions on one team. `cases` holds `kinds` cases of the same p and map,
 * and order[k] is the index of the case that execution k runs. */
enum tt_check_result tt_check_sequence(struct tt_checker *checker,
                                       const struct tt_check_case *cases, int kinds,
                                       const int *order, int n, int in_flight,
                                       struct tt_proof *proof);
/* Returns why the algorithm does not apply to the case; NULL if the algorithm applies. */
const char *tt_check_refused(struct tt_checker *checker, const struct tt_check_case *c);

#endif
