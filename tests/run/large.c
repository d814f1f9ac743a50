/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks of 2.2 GiB on two ranks: counts, displacements and sizes in bytes beyond 2^31.
 *
 *     test-run-large [COLLECTIVE...]
 *
 * Each rank has one buffer with room for the blocks of both ranks. The rank's own block, which is
 * the input of each call, maps the same few megabytes of memory again and again (`repeat`), because
 * the kernel takes most of the time of such a test to clear pages. The memory after or before the
 * rank's own block is ordinary and takes the output, so that the test can compare every byte of the
 * output.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <tutti/tutti.h>

/* N: bytes of a block; GAP: bytes that may lie between the input and the output of a call. */
#define N INT64_C(2362232013)
enum { GAP = 4096, FEW = 5, PAGES = 1021 };

typedef unsigned char byte;

static tutti_team *world;
static int me;
static byte *buffer, *own, *theirs; /* the blocks of rank 0, of this rank, and of the other rank */
static int64_t period, repeated;    /* bytes of memory that repeat in a block, and how many bytes of
                                  * the block consist of them */
static int turn; /* the number of the call; each call has other data than the calls before it */

static void must(tutti_status status)
{
    if (status == TUTTI_OK) return;
    fprintf(stderr, "rank %d: %s: %s\n", me, tutti_status_text(status), tutti_error());
    exit(8);
}

static void need(bool there, const char *what)
{
    if (there) return;
    perror(what);
    exit(9);
}

/* ---- The data ---- */

/* Writes one period of the data of `rank`: byte i of the rank's block is byte i modulo `period` of
 * this pattern. A period has a prime number of pages, so it divides no power of two. So data from a
 * place that is wrong by 2^31 or 2^32 bytes, by some slices or by some windows, differ from the
 * right data. */
static void draw(byte *to, int rank)
{
    uint64_t of = (uint64_t)(rank + 8 * turn + 1) * 0xbf58476d1ce4e5b9u;
    for (int64_t i = 0; i < period; i += (int64_t)sizeof of) {
        uint64_t word = (of + (uint64_t)i) * 0x9e3779b97f4a7c15u;
        word ^= word >> 29;
        memcpy(to + i, &word, sizeof word);
    }
}

/* Writes the first n bytes of this rank's block. */
static void fill(int64_t n)
{
    draw(own, me);
    memcpy(own + repeated, own + repeated % period, (size_t)(n - repeated));
}

/* Checks that the block holds the sums of the inputs of ranks `one` and `other`, or with other < 0
 * the input of rank `one`. */
static void verify_sum(const byte *block, int one, int other, int64_t n, const char *what)
{
    static byte *want, *more;
    if (!want) need((want = malloc((size_t)period)) && (more = malloc((size_t)period)), "malloc");
    draw(want, one);
    if (other >= 0) draw(more, other);
    for (int64_t k = 0; k < period && other >= 0; k++) want[k] = (byte)(want[k] + more[k]);
    for (int64_t from = 0; from < n; from += period) {
        if (!memcmp(block + from, want, (size_t)(n - from < period ? n - from : period))) continue;
        fprintf(stderr, "rank %d: %s: wrong after byte %lld\n", me, what, (long long)from);
        exit(8);
    }
}

static void verify(const byte *block, int rank, int64_t n, const char *what)
{
    verify_sum(block, rank, -1, n, what);
}

/* ---- The calls ---- */

static void bcast(void)
{
    byte *block = me == 1 ? own : theirs;
    if (me == 1) fill(N);
    must(tutti_bcast(world, block, N, TUTTI_U8, 1));
    verify(block, 1, N, "bcast");
}

static void allreduce(void)
{
    fill(N);
    must(tutti_allreduce(world, own, theirs, N, TUTTI_U8, TUTTI_SUM));
    verify_sum(theirs, 0, 1, N, "allreduce");
}

static void scan(void)
{
    fill(N);
    must(tutti_scan(world, own, theirs, N, TUTTI_U8, TUTTI_SUM));
    if (me == 0) verify(theirs, 0, N, "scan");
    if (me == 1) verify_sum(theirs, 0, 1, N, "scan");
}

static void allgather(void)
{
    fill(N);
    must(tutti_allgather(world, TUTTI_IN_PLACE, buffer, N, TUTTI_U8));
    verify(buffer, 0, N, "allgather");
    verify(buffer + N, 1, N, "allgather");
}

/* Gathers to rank 0, with counts and a displacement beyond 2^31. */
static void gatherv(void)
{
    const int64_t counts[2] = {N, N + FEW}, displs[2] = {0, N + GAP};
    fill(counts[me]);
    const void *in = me == 0 ? TUTTI_IN_PLACE : own;
    must(tutti_gatherv(world, in, counts[me], buffer, counts, displs, TUTTI_U8, 0));
    if (me == 0) verify(buffer, 0, N, "gatherv");
    if (me == 0) verify(buffer + displs[1], 1, counts[1], "gatherv");
}

/* Sends a block to the other rank, and FEW bytes that lie after the block to this rank itself. */
static void alltoallv(void)
{
    static const byte few[2][FEW] = {{7, 77, 177, 17, 1}, {8, 88, 188, 18, 2}};
    int other = 1 - me;
    byte *out = me == 0 ? theirs + GAP : theirs - GAP;
    int64_t counts[2], displs[2];
    counts[other] = N;
    counts[me] = FEW;
    displs[other] = 0;
    displs[me] = N;
    fill(N);
    memcpy(own + N, few[me], FEW);
    must(tutti_alltoallv(world, own, counts, displs, out, counts, displs, TUTTI_U8));
    verify(out, other, N, "alltoallv");
    if (!memcmp(out + N, few[me], FEW)) return;
    fprintf(stderr, "rank %d: alltoallv: wrong bytes from itself\n", me);
    exit(8);
}

/* ---- The memory ---- */

/* Maps the same `period` bytes of memory again and again to all whole pages of this rank's
 * block. */
static void repeat(int64_t page)
{
    int memory = memfd_create("tutti-test-large", MFD_CLOEXEC);
    need(memory >= 0 && ftruncate(memory, period) == 0, "memfd_create");
    repeated = N / page * page;
    for (int64_t k = 0; k < repeated; k += period) {
        size_t n = (size_t)(repeated - k < period ? repeated - k : period);
        need(mmap(own + k, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, 0) == own + k,
             "mmap");
    }
    close(memory);
}

/* Makes the buffer. This rank's block begins at a page, because a mapping can begin there only. */
static void make_buffer(void)
{
    int64_t page = sysconf(_SC_PAGESIZE), all = 2 * N + 4 * (GAP + page);
    byte *at = mmap(NULL, (size_t)all, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    need(at != MAP_FAILED, "mmap");
    (void)madvise(at, (size_t)all, MADV_HUGEPAGE); /* huge pages save a million page faults */
    period = PAGES * page;
    own = at + (GAP + N * me + page - 1) / page * page;
    buffer = own - N * me;
    theirs = buffer + N * (1 - me);
    repeat(page);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*call)(void);
    } all[] = {{"bcast", bcast},         {"allreduce", allreduce}, {"scan", scan},
               {"allgather", allgather}, {"gatherv", gatherv},     {"alltoallv", alltoallv}};
    tutti_client *client;
    must(tutti_init(&client));
    world = tutti_world(client);
    me = tutti_rank(world);
    if (tutti_size(world) != 2) return 9;
    make_buffer();
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
