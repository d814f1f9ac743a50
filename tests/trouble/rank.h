/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by the ranks of the trouble tests: joining the job, calling the collective that a problem
 * string names, and printing the result.
 */
#ifndef TESTS_TROUBLE_RANK_H
#define TESTS_TROUBLE_RANK_H

#include "api/api.h"
#include "text/problem.h"

/* The call that a problem string describes, with its buffers. It can be made several times. */
struct call {
    struct tt_problem problem;
    struct tt_call call;
    int64_t *room;
    void *in, *out;
};

/* Joins the job. If that fails, prints the cause in the format of print_status() and exits with
 * 9. */
tutti_client *join(void);
int rank_number(void);

/* Prepares the call of a rank of `team`. Exits with 2 if the problem string is invalid. */
struct call *call_open(tutti_team *team, const char *problem);
tutti_status call_run(tutti_team *team, struct call *c);
tutti_status call_start(tutti_team *team, struct call *c, tutti_request **request);
void call_close(struct call *c);

/* Prints one line "rank R: STATUS (N ms): ERROR" by a single write: the text of the status, the
 * milliseconds since since_ns, and the text of tutti_error (nothing for TUTTI_OK). */
void print_status(tutti_status status, int64_t since_ns);
/* Calls print_status(), finalizes, and returns the exit code: 0 if the status is the expected one,
 * 8 otherwise. */
int end(tutti_client *client, tutti_status status, tutti_status expected, int64_t since_ns);

/* note_time stores the current time of the monotonic clock, which all ranks share, in a file;
 * noted_time reads it from there. */
void note_time(const char *file);
int64_t noted_time(const char *file);

/* A command, and the function that runs it. Each file has a list of its commands. */
struct scenario {
    const char *name;
    int (*run)(int argc, char **argv);
};
extern const struct scenario deaths[], mismatches[], limits[], recoveries[], memories[];

#endif
