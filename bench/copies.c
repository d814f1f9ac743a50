/* SPDX-License-Identifier: BSD-3-Clause
 *
 *   copies [BYTES]
 *
 * Measures how the time of a 64 KiB copy depends on how far the destination lies behind the source,
 * modulo the page size (see tt_memcpy in src/base/base.h). The copy is made by memcpy, by
 * tt_memcpy, and by the kernel: the program reads its own memory with process_vm_readv (CMA). The
 * output is the median time of a copy in microseconds: once with the data in the caches, and once
 * with each copy at another place of a buffer of BYTES (64 MiB by default).
 */
#include <sys/uio.h>
#include <unistd.h>

#include "base/base.h"
#include "measure.h"

enum { PIECE = 64 << 10, PAGE = 4 << 10, ROUNDS = 5, LEAST = 256 };

typedef void copy_fn(void *to, const void *from, size_t n);

static void by_memcpy(void *to, const void *from, size_t n)
{
    memcpy(to, from, n);
}

static void by_tt_memcpy(void *to, const void *from, size_t n)
{
    tt_memcpy(to, from, n);
}

static bool forbidden; /* whether the kernel forbids CMA */

static void by_kernel(void *to, const void *from, size_t n)
{
    struct iovec mine = {to, n}, its = {(void *)(uintptr_t)from, n};
    if (process_vm_readv(getpid(), &mine, 1, &its, 1, 0) != (ssize_t)n) forbidden = true;
}

/* Returns the median time of copying one piece, in microseconds. The copies go through all `pieces`
 * pieces of the buffer, again and again. */
static double time_pieces(copy_fn *copy, char *to, const char *from, int64_t pieces)
{
    double took[ROUNDS];
    int64_t turns = tt_max(pieces, LEAST);
    for (int round = 0; round < ROUNDS; round++) {
        double begin = seconds();
        for (int64_t i = 0; i < turns; i++)
            copy(to + i % pieces * PIECE, from + i % pieces * PIECE, PIECE);
        took[round] = (seconds() - begin) / (double)turns;
    }
    return 1e6 * median(took, ROUNDS);
}

static void print_time(double us)
{
    if (forbidden)
        printf("%11s", "-");
    else
        printf("%11.2f", us);
    forbidden = false;
}

static void print_row(int behind, char *to, const char *from, int64_t pieces)
{
    copy_fn *const copies[] = {by_memcpy, by_tt_memcpy, by_kernel};
    printf("%6d", behind);
    for (int part = 0; part < 2; part++)
        for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
            print_time(time_pieces(copies[i], to + behind, from, part ? pieces : 1));
    printf("\n");
}

int main(int argc, char **argv)
{
    static const int behind[] = {0, 1, 8, 15, 16, 24, 32, 48, 63, 64, 128, 2048, 4032, 4080, 4095};
    int64_t bytes = argc > 1 ? strtoll(argv[1], NULL, 10) : 64 << 20, pieces = bytes / PIECE;
    if (argc > 2 || pieces < 1) die("usage: copies [BYTES], %d or more", PIECE);
    char *from = pages(bytes), *to = pages(bytes + PAGE);
    memset(from, 1, (size_t)bytes);
    memset(to, 1, (size_t)bytes + PAGE);
    printf("%6s%33s%33s\n", "", "in the caches", "from memory");
    printf("%6s%11s%11s%11s%11s%11s%11s\n", "behind", "memcpy", "tt_memcpy", "CMA", "memcpy",
           "tt_memcpy", "CMA");
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++)
        print_row(behind[i], to, from, pieces);
    return 0;
}
