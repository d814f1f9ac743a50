/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of `tutti run` share.
 */
#ifndef TT_TOOLS_RUN_H
#define TT_TOOLS_RUN_H

#include "launch.h"
#include "command.h"

/* The arguments of `tutti run`. */
struct tt_run {
    struct tt_launch_options launch;
    struct tt_launch_program *program; /* the array behind launch.program, of `programs` entries */
    int programs;
    const char *hosts; /* "h1,h2:4"; NULL: not given */
    char *list;        /* the memory of `hosts` if it was read from a file */
    bool here;         /* all hosts are this machine */
    int slots;         /* total number of ranks that the hosts take; 0: some hosts have no number */
};

/* Stores the hosts "h1,h2:4", the value of `option`, in `run`, which then refers to `text`. Reports
 * errors by argp_error, which exits. */
void tt_run_hosts(const struct argp_state *state, struct tt_run *run, const char *option,
                  const char *text);
/* Reads the hosts from a file with a host on each line: "h1", "h2:4" or "h2 slots=4". Errors as
 * above. */
void tt_run_hostfile(const struct argp_state *state, struct tt_run *run, const char *name);
/* Prints which launchers are installed and how each of them would start the programs on these
 * hosts. Returns the exit code TT_LAUNCH_REFUSED. */
int tt_run_elsewhere(const struct tt_run *run);

#endif
