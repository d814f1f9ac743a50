/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives on buffers at any offset within their pages: the results must be right, and the bytes
 * around the buffers unchanged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

enum { PAGE = 4096, PLACES = 8, MOST_RANKS = 4, ROOM = 600 << 10 };

static tutti_team *team;
static int me, p;
static unsigned char *in, *out;

static void must(tutti_status status)
{
    if (status == TUTTI_OK) return;
    fprintf(stderr, "rank %d: %s\n", me, tutti_error());
    exit(1);
}

static unsigned char byte_of(int rank, int64_t i)
{
    return (unsigned char)(rank * 41 + i * 7 + i / 251);
}

static void expect(const unsigned char *at, int rank, int64_t first, int64_t n, const char *what)
{
    for (int64_t i = 0; i < n; i++) {
        if (at[i] == byte_of(rank, first + i)) continue;
        fprintf(stderr, "rank %d: %s: byte %lld of rank %d is wrong\n", me, what, (long long)i,
                rank);
        exit(1);
    }
}

static void expect_blank(const unsigned char *at, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (at[i] == 0xee) continue;
        fprintf(stderr, "rank %d: a byte outside is written\n", me);
        exit(1);
    }
}

static void try_all(unsigned char *from, unsigned char *to, int64_t n)
{
    for (int64_t i = 0; i < p * n; i++) from[i] = byte_of(me, i);
    must(tutti_allgather(team, from, to, n, TUTTI_U8));
    for (int r = 0; r < p; r++) expect(to + r * n, r, 0, n, "allgather");
    must(tutti_alltoall(team, from, to, n, TUTTI_U8));
    for (int r = 0; r < p; r++) expect(to + r * n, r, me * n, n, "alltoall");
    if (me == 0) memcpy(to, from, (size_t)n);
    must(tutti_bcast(team, to, n, TUTTI_U8, 0));
    expect(to, 0, 0, n, "bcast");
}

int main(void)
{
    static const int behind[PLACES] = {0, 1, 8, 15, 16, 63, PAGE - 8, PAGE - 1};
    static const int64_t sizes[] = {100, PAGE, (64 << 10) + 8, 131 << 10};
    tutti_client *client;
    must(tutti_init(&client));
    team = tutti_world(client);
    me = tutti_rank(team);
    p = tutti_size(team);
    in = aligned_alloc(PAGE, ROOM);
    out = aligned_alloc(PAGE, ROOM);
    if (p > MOST_RANKS || !in || !out) return 1;
    for (size_t i = 0; i < PLACES; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            memset(out, 0xee, ROOM);
            unsigned char *to = out + PAGE + behind[(i + (size_t)me) % PLACES];
            try_all(in + behind[i] / 2, to, sizes[k]);
            expect_blank(out, to - out);
            expect_blank(to + p * sizes[k], out + ROOM - (to + p * sizes[k]));
        }
    free(in);
    free(out);
    must(tutti_finalize(client));
    return 0;
}
