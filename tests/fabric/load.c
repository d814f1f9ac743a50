/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens the network transport and prints the result: "yes VERSION", or "no STATUS: REASON".
 */
#include <signal.h>
#include <stdio.h>

#include "fabric/wire.h"

static void crashed(int signal)
{
    (void)signal;
}

static int no(tutti_status status)
{
    printf("no %s: %s\n", tutti_status_text(status), tutti_error());
    return 1;
}

int main(void)
{
    const char *version;
    struct tt_wire *wire;
    struct sigaction now;
    signal(SIGSEGV, crashed);
    tutti_status status = tt_wire_ucx.open(false, &wire);
    if (status != TUTTI_OK) return no(status);
    status = tt_wire_ucx_version(&version);
    if (status != TUTTI_OK) return no(status);
    tt_wire_ucx.close(wire);
    sigaction(SIGSEGV, NULL, &now);
    if (now.sa_handler != crashed) printf("the program's handler of SIGSEGV was taken away\n");
    printf("yes %s\n", version);
    return 0;
}
