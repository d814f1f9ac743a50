/* SPDX-License-Identifier: BSD-3-Clause
 *
 * stream BYTES STORED [TIMES]: three ranks scan vectors of BYTES bytes by the algorithm `window`,
 * as a chain. The first rank copies its vector into its window, the second one reduces into its
 * window, and the last one writes to its output only. Each of the first two ranks must store STORED
 * bytes past the caches, and the last rank none. With TIMES the ranks make that many scans, and
 * each of the first two must store at least STORED bytes past the caches in all scans together.
 */
#include <stdlib.h>

#include "base/base.h"
#include "ranks.h"
#include "tutti/tutti.h"

static int64_t streamed;

void __real_tt_stream(void *to, const void *from, size_t n);
void __wrap_tt_stream(void *to, const void *from, size_t n);

void __wrap_tt_stream(void *to, const void *from, size_t n)
{
    streamed += (int64_t)n;
    __real_tt_stream(to, from, n);
}

/* Calls a scan and checks the sums, which differ at each place, so that a wrong order of blocks
 * shows. */
static void scan(tutti_team *world, int64_t n)
{
    int me = tutti_rank(world);
    int64_t *in = calloc((size_t)n, sizeof *in), *out = calloc((size_t)n, sizeof *out);
    EXPECT(in && out);
    for (int64_t i = 0; i < n; i++) in[i] = (me + 1) * i;
    EXPECT(tutti_scan(world, in, out, n, TUTTI_I64, TUTTI_SUM) == TUTTI_OK);
    for (int64_t i = 0; i < n; i++) EXPECT(out[i] == (me + 1) * (me + 2) / 2 * i);
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    tutti_client *client;
    EXPECT((argc == 3 || argc == 4) && tutti_init(&client) == TUTTI_OK);
    int64_t wanted = atoll(argv[2]), times = argc == 4 ? atoll(argv[3]) : 1;
    tutti_team *world = tutti_world(client);
    streamed = 0; /* do not count the stores that ranks time in tutti_init */
    for (int64_t i = 0; i < times; i++) scan(world, atoll(argv[1]) / (int64_t)sizeof(int64_t));
    if (tutti_rank(world) == 2)
        EXPECT(streamed == 0);
    else
        EXPECT(argc == 4 ? streamed >= wanted : streamed == wanted);
    return tutti_finalize(client) == TUTTI_OK ? 0 : 1;
}
