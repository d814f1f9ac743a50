/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The problem and the algorithm that the user gives a subcommand, and the machine that the
 * subcommand assumes for them.
 */
#ifndef TT_TOOLS_PROBLEM_H
#define TT_TOOLS_PROBLEM_H

#include "choose/choose.h"
#include "coll/coll.h"
#include "job/common.h"
#include "plan-row.h"

/* Sentences that end the texts of --help. */
#define TT_PROBLEM_HELP                                                                            \
    "A PROBLEM is COLLECTIVE[/TYPE[/OPERATION]/BYTES]/pRANKS[/KEY=VALUE...][@nodes:N,N...], as "   \
    "in allreduce/f64/sum/1M/p16, bcast/u8/64K/p9/root=3, barrier/p4. BYTES is what one rank "     \
    "contributes (in an alltoall: to each other rank). KEY is root, slice, radix, lanes, "         \
    "order, inplace, seed, skew or graph."
#define TT_NETWORK_HELP                                                                            \
    "A NETWORK is ring:12, mesh:4x4, torus:8x8x8, hypercube:10, tree:2x1023, fattree:4x4x4 or "    \
    "dragonfly:2x4x2; nodes may be missing: torus:8x8-hole(3,3)-wall(x=5)-random(4,7)."

struct tt_case {
    struct tt_problem problem;
    struct tt_call given; /* the call of the problem, without the parameters that the choice sets */
    struct tt_map map;
    const struct tt_algorithm *algorithm;
    struct tt_parameters with; /* the parameters that the choice has set; 0: it has not */
    /* the plans of the plan file that TUTTI_ALGORITHM names, to which `algorithm` then points;
     * row.p is 0 if the setting names none for the collective */
    struct tt_plan_row row;
    /* what decided the choice of the algorithm, if the user did not name one */
    enum tt_chosen_by by;
    struct tt_machine_in_force machine; /* the machine model, to which map.machine points */
    struct tt_wisdom wisdom;            /* the wisdom, to which map.wisdom points */
    /* the rankings of the algorithms; NULL if the library does not choose by estimate, or if the
     * case is that of a running job */
    struct tt_rankings *rankings;
    int *node; /* the array to which map.node points */
    struct tt_net net;
    int64_t *room; /* working memory for tt_problem_call */
};

/* Parses `text`, and applies TUTTI_SLICE, TUTTI_RADIX and TUTTI_LANES. Returns false after printing
 * the error. */
bool tt_problem_open(const char *command, struct tt_problem *problem, const char *text);
/* Writes the problem to `with`. If it has no number of ranks, inserts "/p" and this number before
 * the first key or the map. Returns `with`. */
char *tt_problem_add_ranks(const char *text, int ranks, char with[TT_PROBLEM_TEXT]);
/* Opens a problem that the ranks of a launcher's job run: it may leave out their number, which this
 * function adds in `with`. Returns false after printing the error, also if the problem has another
 * number of ranks or a map. */
bool tt_problem_open_in_job(const char *command, struct tt_problem *problem, const char *text,
                            int ranks, char with[TT_PROBLEM_TEXT]);
/* Returns the algorithm of this name for the collective. If there is none, prints the names that
 * exist and returns NULL. */
const struct tt_algorithm *tt_algorithm_named(const char *command, enum tt_coll coll,
                                              const char *name);
/* Opens the problem as it would run on this machine, with the algorithm of that name, or with the
 * one that the library would choose if `algorithm` is NULL. If `job` is not NULL, it is a copy of
 * the record that a running job has of a client. The problem is then opened as it would run in the
 * world of that client, which must have as many ranks as the problem. If a plan file of the job has
 * a relative path, this process must be in the folder of the job's rank 0. Returns false after
 * printing the error. The caller closes the case with tt_case_close. */
bool tt_case_open(struct tt_case *c, const char *command, const char *text, const char *algorithm,
                  const struct tt_common *job);
/* Opens the problem for a simulation, without an algorithm: each rank is on a node of its own
 * unless the problem has a map of nodes. Returns false after printing the error. The caller closes
 * the case with tt_case_close. */
bool tt_case_apart(struct tt_case *c, const char *command, const char *text);
/* Returns the call of rank 0 without the parameters that the choice sets, for subcommands that
 * compare algorithms. */
struct tt_call tt_case_given(const struct tt_case *c);
void tt_case_close(struct tt_case *c);

#endif
