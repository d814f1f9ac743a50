/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Replaces the wire over UCX if Tutti was built without UCX's headers.
 */
#include "fabric/wire.h"

static tutti_status not_built(void)
{
    return tt_fail(TUTTI_ERR_UNSUPPORTED,
                   "this libtutti was built without UCX, which carries what goes between machines: "
                   "install UCX's headers (Debian: libucx-dev) and build it again; jobs on one "
                   "machine work without");
}

static tutti_status open_none(bool reach, struct tt_wire **wire)
{
    (void)reach;
    (void)wire;
    return not_built();
}

tutti_status tt_wire_ucx_version(const char **version)
{
    (void)version;
    return not_built();
}

/* The wire without UCX has no other functions than `open`, since nothing can be opened. */
const struct tt_wire_ops tt_wire_ucx = {.name = "ucx", .open = open_none};
