/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When a program is given a plan file, the library asks the laboratory for the plan of one rank,
 * and for the proof that the schedule is right for the call.
 *
 * libtutti.so contains neither the parser nor the prover. It loads libtutti-lab.so, which offers
 * the two functions below. libtutti-lab.so has its own copy of the internal functions that it
 * needs. So only plain data pass between the two libraries: plans are blocks that free() frees, and
 * errors are text in the answer.
 */
#ifndef TT_PLAN_LAB_H
#define TT_PLAN_LAB_H

#include "plan/plan.h"
#include "topo/map.h"

struct tt_lab_request {
    const char *path; /* the plan file */
    const struct tt_call *call;
    const struct tt_map *map;
    int me;
};

struct tt_lab_answer {
    /* OK; SYSTEM: the file cannot be read; ARG: its text is wrong, or is for another call;
     * UNSUPPORTED: the proof of the schedule fails; MEMORY */
    tutti_status status;
    char why[1536];
    struct tt_plan *plan; /* the caller frees it; NULL unless OK */
    uint64_t hash;        /* hash of the file */
};

#pragma GCC visibility push(default)
/* Returns the build of the library whose sources the laboratory contains (tutti_build). The library
 * uses a laboratory of its own build only. */
const char *tutti_lab_version(void);
typedef void tt_lab_plan(const struct tt_lab_request *request, struct tt_lab_answer *answer);
/* Reads the plan file, proves its schedule for the call on all ranks, and answers with the plan of
 * rank `me`. */
tt_lab_plan tutti_lab_plan;
#pragma GCC visibility pop

#endif
