/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program whose sums depend on the order in which they are made, for bits.sh. Rank 0 prints a
 * hash of the bits of all results.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

enum { MOST = 1 << 15, CALLS = 80, GROWTH = 8 };

static float in[MOST], out[MOST];
static uint64_t hash = 14695981039346656037u;

static void check(tutti_status status)
{
    if (status == TUTTI_OK) return;
    fprintf(stderr, "%s: %s\n", tutti_status_text(status), tutti_error());
    exit(1);
}

static void add_bits(int n)
{
    uint32_t bits[MOST];
    memcpy(bits, out, (size_t)n * sizeof *bits);
    for (int i = 0; i < n; i++) hash = (hash ^ bits[i]) * 1099511628211u;
}

static void sum(tutti_team *world, int n)
{
    uint32_t random = 1 + (uint32_t)tutti_rank(world);
    for (int i = 0; i < n; i++) {
        random = random * 1664525u + 1013904223u;
        in[i] = (float)(random >> 8) / (float)(1 + (random & 1023));
    }
    check(tutti_allreduce(world, in, out, n, TUTTI_F32, TUTTI_SUM));
    add_bits(n);
}

int main(void)
{
    tutti_client *client;
    check(tutti_init(&client));
    tutti_team *world = tutti_world(client);
    for (int n = 1; n <= MOST; n *= GROWTH)
        for (int call = 0; call < CALLS; call++) sum(world, n);
    if (tutti_rank(world) == 0) printf("%016" PRIx64 "\n", hash);
    check(tutti_finalize(client));
    return 0;
}
