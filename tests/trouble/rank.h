/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the ranks of the trouble tests share: joining, calling the collective that a problem string
 * names, and telling what came of it.
 */
#ifndef TESTS_TROUBLE_RANK_H
#define TESTS_TROUBLE_RANK_H

#include "api/api.h"
#include "plan/problem.h"

/* A problem with its buffers, to be called again and again. */
struct call {
    struct tt_problem problem;
    struct tt_call call;
    int64_t *room;
    void *in, *out;
};

/* Exits with 9 when it cannot join, after printing why as tell does. */
tutti_client *join(void);
int rank_number(void);

/* For a rank of `team`; exits with 2 if the problem is none. */
struct call *call_open(tutti_team *team, const char *problem);
tutti_status call_run(tutti_team *team, struct call *c);
void call_close(struct call *c);

/* One line "rank R: TEXT (N ms): ERROR", written at once. */
void tell(tutti_status status, int64_t since_ns);
/* As `tell`, finalizes, and returns the exit code: 0 if the status is the expected one. */
int end(tutti_client *client, tutti_status status, tutti_status expected, int64_t since_ns);

/* Time on the monotonic clock that all ranks share, kept in a file. */
void note_time(const char *file);
int64_t noted_time(const char *file);

/* The subcommands, by file. */
struct deed {
    const char *name;
    int (*run)(int argc, char **argv);
};
extern const struct deed deaths[], mismatches[], limits[], recoveries[], memories[];

#endif
