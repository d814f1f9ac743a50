/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures the memory of a rank after one call of every collective with 1 MiB. The program frees
 * its own buffers first, so that what is left belongs to the library. Each rank prints its Pss, its
 * share of all pages that it maps; empty.c prints the Pss of a program without the library.
 */
#include "measure.h"

#include <tutti/tutti.h>

enum { BYTES = 1 << 20, N = BYTES / 8 };

static void check(tutti_status status)
{
    if (status != TUTTI_OK) die("%s: %s", tutti_status_text(status), tutti_error());
}

static void print_pss(int rank, int p)
{
    printf("{\"target\": \"memory\", \"rank\": %d, \"ranks\": %d, \"pss_kib\": %ld}\n", rank, p,
           pss_kib());
    fflush(stdout);
}

static void call_v_forms(tutti_team *team, const double *in, double *out)
{
    int p = tutti_size(team);
    int64_t *counts = malloc(2 * (size_t)p * sizeof *counts), *displs = counts + p;
    if (!counts) die("no memory");
    for (int r = 0; r < p; r++) {
        counts[r] = N;
        displs[r] = (int64_t)r * N;
    }
    check(tutti_allgatherv(team, in, out, counts, displs, TUTTI_F64));
    check(tutti_alltoallv(team, in, counts, displs, out, counts, displs, TUTTI_F64));
    free(counts);
}

static void call_all(tutti_team *team)
{
    int64_t bytes = (int64_t)tutti_size(team) * BYTES;
    double *in = pages(bytes), *out = pages(bytes);
    memset(in, 1, (size_t)bytes);
    check(tutti_barrier(team));
    check(tutti_bcast(team, out, N, TUTTI_F64, 0));
    check(tutti_reduce(team, in, out, N, TUTTI_F64, TUTTI_SUM, 0));
    check(tutti_allreduce(team, in, out, N, TUTTI_F64, TUTTI_SUM));
    check(tutti_allgather(team, in, out, N, TUTTI_F64));
    check(tutti_alltoall(team, in, out, N, TUTTI_F64));
    call_v_forms(team, in, out);
    check(tutti_barrier(team));
    munmap(in, (size_t)bytes);
    munmap(out, (size_t)bytes);
}

int main(void)
{
    tutti_client *client;
    check(tutti_init(&client));
    tutti_team *world = tutti_world(client);
    call_all(world);
    check(tutti_barrier(world));
    print_pss(tutti_rank(world), tutti_size(world));
    check(tutti_barrier(world)); /* no rank leaves before all have read their Pss */
    check(tutti_finalize(client));
    return 0;
}
