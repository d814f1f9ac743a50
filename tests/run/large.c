/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks of 2.2 GiB on two ranks: counts, displacements and sizes in bytes beyond 2^31.
 *
 *     test-run-large [COLLECTIVE...]
 *
 * Each rank has one buffer, which the calls divide among input and output, or use in place.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tutti/tutti.h>

/* A block, and what lies between the input and the output of a call. */
#define N INT64_C(2362232013)
enum { GAP = 4096, FEW = 5, PART = 1 << 16, LINE = 256 };

typedef unsigned char byte;

static tutti_team *world;
static int me;
static byte *buffer;
static int turn; /* the number of the call, so that no call finds what an earlier one left */

static void must(tutti_status status)
{
    if (status == TUTTI_OK) return;
    fprintf(stderr, "rank %d: %s: %s\n", me, tutti_status_text(status), tutti_error());
    exit(8);
}

/* The bytes from 0 to 255, twice: LINE bytes that ascend from any byte are at its place here. */
static byte ascending[2 * LINE];

/* Writes bytes [from, from + n) of a rank's block. All digits of the place count, so that data from
 * a place which is wrong by 2^31 or 2^32 bytes differ. Only the last digit changes within LINE
 * bytes, so they are copied. */
static void fill_part(byte *to, int rank, int64_t from, int64_t n)
{
    for (int64_t k = 0, len; k < n; k += len) {
        uint64_t i = (uint64_t)(from + k), of = (uint64_t)(rank + 8 * turn);
        byte first = (byte)(i + (i >> 8) * 7 + (i >> 16) * 13 + (i >> 24) * 29 + of * 101);
        len = LINE - (int64_t)(i % LINE);
        if (len > n - k) len = n - k;
        memcpy(to + k, ascending + first, (size_t)len);
    }
}

static void fill(byte *block, int rank, int64_t n)
{
    fill_part(block, rank, 0, n);
}

/* The block holds the sums of what ranks `one` and `other` gave; other < 0: what `one` gave. */
static void verify_sum(const byte *block, int one, int other, int64_t n, const char *what)
{
    static byte want[PART], more[PART];
    for (int64_t from = 0, part; from < n; from += part) {
        part = n - from < PART ? n - from : PART;
        fill_part(want, one, from, part);
        if (other >= 0) fill_part(more, other, from, part);
        for (int64_t k = 0; k < part && other >= 0; k++) want[k] = (byte)(want[k] + more[k]);
        if (!memcmp(block + from, want, (size_t)part)) continue;
        fprintf(stderr, "rank %d: %s: wrong from byte %lld on\n", me, what, (long long)from);
        exit(8);
    }
}

static void verify(const byte *block, int rank, int64_t n, const char *what)
{
    verify_sum(block, rank, -1, n, what);
}

static void bcast(void)
{
    if (me == 1) fill(buffer, 1, N);
    must(tutti_bcast(world, buffer, N, TUTTI_U8, 1));
    verify(buffer, 1, N, "bcast");
}

static void allreduce(void)
{
    fill(buffer, me, N);
    must(tutti_allreduce(world, buffer, buffer + N + GAP, N, TUTTI_U8, TUTTI_SUM));
    verify_sum(buffer + N + GAP, 0, 1, N, "allreduce");
}

static void scan(void)
{
    fill(buffer, me, N);
    must(tutti_scan(world, buffer, buffer + N + GAP, N, TUTTI_U8, TUTTI_SUM));
    if (me == 0) verify(buffer + N + GAP, 0, N, "scan");
    if (me == 1) verify_sum(buffer + N + GAP, 0, 1, N, "scan");
}

static void allgather(void)
{
    fill(buffer + N * me, me, N);
    must(tutti_allgather(world, TUTTI_IN_PLACE, buffer, N, TUTTI_U8));
    verify(buffer, 0, N, "allgather");
    verify(buffer + N, 1, N, "allgather");
}

/* The displacement of the second piece is beyond 2^31, too. */
static void gatherv(void)
{
    const int64_t counts[2] = {N, N + FEW}, displs[2] = {0, N + GAP};
    fill(buffer, me, counts[me]);
    const void *in = me == 0 ? TUTTI_IN_PLACE : buffer;
    must(tutti_gatherv(world, in, counts[me], buffer, counts, displs, TUTTI_U8, 0));
    if (me == 0) verify(buffer, 0, N, "gatherv");
    if (me == 0) verify(buffer + displs[1], 1, counts[1], "gatherv");
}

/* The block goes to the other rank, and a few bytes behind it to this one. */
static void alltoallv(void)
{
    int other = 1 - me;
    byte *out = buffer + N + GAP;
    int64_t counts[2], displs[2];
    counts[other] = N;
    counts[me] = FEW;
    displs[other] = 0;
    displs[me] = N;
    fill(buffer, me, N);
    fill(buffer + N, me + 2, FEW);
    must(tutti_alltoallv(world, buffer, counts, displs, out, counts, displs, TUTTI_U8));
    verify(out, other, N, "alltoallv");
    verify(out + N, me + 2, FEW, "alltoallv");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*call)(void);
    } all[] = {{"bcast", bcast},         {"allreduce", allreduce}, {"scan", scan},
               {"allgather", allgather}, {"gatherv", gatherv},     {"alltoallv", alltoallv}};
    tutti_client *client;
    for (int i = 0; i < 2 * LINE; i++) ascending[i] = (byte)i;
    must(tutti_init(&client));
    world = tutti_world(client);
    me = tutti_rank(world);
    buffer = mmap(NULL, 2 * N + 2 * GAP, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (buffer == MAP_FAILED || tutti_size(world) != 2) return 9;
    (void)madvise(buffer, 2 * N + 2 * GAP, MADV_HUGEPAGE); /* saves a million page faults */
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        bool wanted = argc < 2;
        for (int k = 1; k < argc; k++) wanted |= !strcmp(argv[k], all[i].name);
        if (!wanted) continue;
        turn = (int)i;
        all[i].call();
        if (me == 0) printf("%s: 2 blocks of %lld bytes\n", all[i].name, (long long)N);
    }
    must(tutti_finalize(client));
    return 0;
}
