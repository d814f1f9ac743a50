/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of `tutti run` share.
 */
#ifndef TT_TOOLS_RUN_H
#define TT_TOOLS_RUN_H

#include "boot/launch.h"
#include "command.h"

/* What was asked for. */
struct tt_run {
    struct tt_launch_options launch;
    struct tt_launch_program *program; /* launch.program */
    int programs;
    const char *hosts; /* "h1,h2:4"; NULL: not said */
    char *list;        /* the same, read from a file */
    bool here;         /* all of the hosts are this machine */
    int slots;         /* ranks that the hosts take together; 0: not all of them say so */
};

/* Reads "h1,h2:4", as value of `option`, into `run`; complains by argp_error, which exits. */
void tt_run_hosts(const struct argp_state *state, struct tt_run *run, const char *option,
                  const char *text);
/* The same of a file with a host on each line: "h1", "h2:4" or "h2 slots=4". */
void tt_run_hostfile(const struct argp_state *state, struct tt_run *run, const char *name);
/* Says which launchers are here and how each would start the programs on these hosts; returns
 * `run`'s code for usage. */
int tt_run_elsewhere(const struct tt_run *run);

#endif
