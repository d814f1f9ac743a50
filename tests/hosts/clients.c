/* SPDX-License-Identifier: BSD-3-Clause
 *
 * clients N: creates N clients, one after the other, and frees each before it creates the next.
 * Each rank prints how long the first and the last ten took, for information; the test checks what
 * was put into PMIx (put-count.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tutti/tutti.h>

enum { TEN = 10 };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Creates a client, and makes each rank send something to a rank on another host. */
static int one(int *rank)
{
    tutti_client *client;
    if (tutti_init(&client) != TUTTI_OK) return 1;
    *rank = tutti_rank(tutti_world(client));
    int failed = tutti_barrier(tutti_world(client)) != TUTTI_OK;
    tutti_finalize(client);
    return failed;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : TEN, rank = 0;
    double begin = now_ms(), first = 0, last = 0;
    for (int i = 0; i < n; i++) {
        if (i == n - TEN) last = now_ms();
        if (one(&rank)) {
            fprintf(stderr, "client %d: %s\n", i, tutti_error());
            return 1;
        }
        if (i == TEN - 1) first = now_ms() - begin;
    }
    printf("rank %d: %d clients, the first ten in %.1f ms, the last ten in %.1f ms\n", rank, n,
           first, now_ms() - last);
    return 0;
}
