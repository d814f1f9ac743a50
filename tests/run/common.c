/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An alltoallv in which each rank sends the same segment of its input to all ranks (all
 * displacements are equal) is an allgather or allgatherv. The test compares the results of both
 * calls bit by bit, for each of several segments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

enum { SEGMENT = 40000, SEGMENTS = 3, RANKS = 16 };

static tutti_team *team;
static int p, me;
static double in[SEGMENTS * SEGMENT], one[RANKS * SEGMENT], other[RANKS * SEGMENT];

static void must(tutti_status status, const char *what)
{
    if (status == TUTTI_OK) return;
    fprintf(stderr, "rank %d: %s: %s\n", me, what, tutti_error());
    exit(1);
}

static void compare(int64_t n, const char *what)
{
    if (memcmp(one, other, (size_t)n * sizeof *one) == 0) return;
    fprintf(stderr, "rank %d of %d: %s from segments gave something else\n", me, p, what);
    exit(1);
}

/* Gathers segment `which` of every rank by an alltoallv in which rank r sends n[r] elements to
 * every rank. */
static void gather_by_alltoallv(int which, const int64_t *n, const int64_t *places)
{
    int64_t counts[RANKS], displs[RANKS];
    for (int r = 0; r < p; r++) {
        counts[r] = n[me];
        displs[r] = which * SEGMENT;
    }
    memset(other, 0, sizeof other);
    must(tutti_alltoallv(team, in, counts, displs, other, n, places, TUTTI_F64), "alltoallv");
}

static void from_segment(int which)
{
    int64_t equal[RANKS], n[RANKS], places[RANKS], sum = 0;
    for (int r = 0; r < p; r++) equal[r] = SEGMENT;
    for (int r = 0; r < p; r++) places[r] = (int64_t)r * SEGMENT;
    gather_by_alltoallv(which, equal, places);
    memset(one, 0, sizeof one);
    must(tutti_allgather(team, in + which * SEGMENT, one, SEGMENT, TUTTI_F64), "allgather");
    compare((int64_t)p * SEGMENT, "allgather");
    for (int r = 0; r < p; r++) {
        n[r] = (r * 7919 + which * 31) % SEGMENT;
        places[r] = sum;
        sum += n[r];
    }
    gather_by_alltoallv(which, n, places);
    memset(one, 0, sizeof one);
    must(tutti_allgatherv(team, in + which * SEGMENT, one, n, places, TUTTI_F64), "allgatherv");
    compare(sum, "allgatherv");
}

int main(void)
{
    tutti_client *client;
    must(tutti_init(&client), "init");
    team = tutti_world(client);
    p = tutti_size(team);
    me = tutti_rank(team);
    for (int i = 0; i < SEGMENTS * SEGMENT; i++) in[i] = 1.0 / (1 + i + 1000003.0 * me);
    for (int which = 0; which < SEGMENTS; which++) from_segment(which);
    must(tutti_finalize(client), "finalize");
    return 0;
}
