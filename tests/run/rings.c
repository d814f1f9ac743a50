/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In each execution the messages between two ranks begin at the same place of their byte ring, so
 * that short messages use the same few cache lines again and again (run/channel.h).
 */
#include <stdlib.h>

#include "api/api.h"
#include "ranks.h"

/* CALLS is more than twice the number of windows, so each ring is used several times. N: elements
 * of 8 bytes in a message; each message needs 8 bytes more for its length. */
enum { P = 4, CALLS = 100, N = 128, MOST = 8 * (N + 1) };

static int rings_of(const struct tt_team *t)
{
    int rings = 0;
    for (int64_t i = 0; i < 2 * (int64_t)t->windows * TT_LANES * t->map.p; i++) {
        const struct tt_end *end = &t->ends[i];
        if (!end->ring) continue;
        EXPECT(end->start % 4096 == 0);
        EXPECT(end->position - end->start <= MOST);
        EXPECT(tt_end_valid(end));
        rings++;
    }
    return rings;
}

static void one_rank(tutti_client *client, void *arg)
{
    (void)arg;
    tutti_team *world = tutti_world(client);
    int64_t in[N], out[N];
    for (int call = 0; call < CALLS; call++) {
        for (int i = 0; i < N; i++) in[i] = (int64_t)call * i + tutti_rank(world);
        EXPECT(tutti_allreduce(world, in, out, N, TUTTI_I64, TUTTI_SUM) == TUTTI_OK);
        for (int i = 0; i < N; i++) EXPECT(out[i] == P * (int64_t)call * i + P * (P - 1) / 2);
        EXPECT(rings_of(&world->run) > 0);
    }
}

int main(void)
{
    setenv("TUTTI_ALGORITHM", "allreduce=doubling", 1);
    EXPECT(tutti_threads(P, one_rank, NULL) == TUTTI_OK);
    return 0;
}
