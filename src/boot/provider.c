/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Records which provider this process uses, and whether the ranks of its present job meet by the
 * provider.
 */
#include "boot/directory.h"

#include <stdatomic.h>

const struct tt_directory *tt_directory(void)
{
    return tt_directory_is_gathered() ? &tt_directory_gathered : &tt_directory_pmix;
}

static atomic_bool joined;

void tt_directory_join(bool in)
{
    atomic_store(&joined, in);
}

bool tt_directory_serves(const struct tt_job_page *job)
{
    return joined && !job->threads && !job->nested;
}

int tt_peer_timeout(void)
{
    return (int)tt_setting_int("TUTTI_PEER_TIMEOUT");
}
