/* SPDX-License-Identifier: BSD-3-Clause
 *
 * clients N: creates N clients, one after the other, and frees each before it creates the next.
 * Each rank prints how long the first and the last ten took, for information; the test checks what
 * was put into PMIx (put-count.c).
 *
 * clients pairs N: N times, creates two clients, uses both, and frees them. So each rank publishes
 * lists of one address record and of two in turn, under one key of PMIx. None of these calls fails,
 * so tutti_error() must keep the text of an earlier call.
 *
 * clients missing WHOM MANNER: every rank creates a client. Then rank WHOM kills itself ("kill"),
 * exits ("exit"), or frees its client and exits ("finalize"), while the others create a second
 * client. The other ranks print the status and the error of creating that client, and of a later
 * call on the first client.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

static int pair(int *rank)
{
    tutti_client *first, *second;
    if (tutti_init(&first) != TUTTI_OK || tutti_init(&second) != TUTTI_OK) return 1;
    *rank = tutti_rank(tutti_world(first));
    int failed = tutti_barrier(tutti_world(first)) != TUTTI_OK ||
                 tutti_barrier(tutti_world(second)) != TUTTI_OK;
    failed |= tutti_finalize(first) != TUTTI_OK;
    failed |= tutti_finalize(second) != TUTTI_OK;
    return failed;
}

static int pairs(int n)
{
    int rank = 0;
    char text[512];
    if (tutti_init(NULL) == TUTTI_OK) return 1;
    snprintf(text, sizeof text, "%s", tutti_error());
    for (int i = 0; i < n; i++) {
        if (!pair(&rank)) continue;
        fprintf(stderr, "pair %d: %s\n", i, tutti_error());
        return 1;
    }
    if (strcmp(tutti_error(), text) == 0)
        printf("rank %d: %d pairs of clients\n", rank, n);
    else
        printf("rank %d: no call failed, but the text is: %s\n", rank, tutti_error());
    return 0;
}

static int end(tutti_client *client, const char *manner)
{
    usleep(300000); /* by then the other ranks mostly wait in tutti_init */
    if (strcmp(manner, "kill") == 0) (void)raise(SIGKILL);
    if (strcmp(manner, "exit") == 0) _exit(0);
    return tutti_finalize(client) != TUTTI_OK;
}

static int missing(int whom, const char *manner)
{
    tutti_client *first, *second;
    if (tutti_init(&first) != TUTTI_OK) return 1;
    tutti_team *world = tutti_world(first);
    int rank = tutti_rank(world);
    if (tutti_barrier(world) != TUTTI_OK) return 1;
    if (rank == whom) return end(first, manner);
    tutti_status status = tutti_init(&second);
    printf("rank %d: init %d: %s\n", rank, (int)status, tutti_error());
    status = tutti_barrier(world);
    printf("rank %d: barrier %d: %s\n", rank, (int)status, tutti_error());
    (void)tutti_finalize(first);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "missing") == 0) return missing(atoi(argv[2]), argv[3]);
    if (argc == 3 && strcmp(argv[1], "pairs") == 0) return pairs(atoi(argv[2]));
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
