/* SPDX-License-Identifier: BSD-3-Clause
 *
 *   packing [BYTES]
 *
 * Measures how fast elements of derived types are packed and unpacked, against a plain C loop of
 * memcpy over the same addresses. Each kind of type is measured on elements whose pieces have BYTES
 * bytes in all (1 MiB by default), and has a row in the output. The library and the loop run in
 * turn. A row has the median speed of the library and that of the loop, in GB/s of packed bytes,
 * and the speed of the library in percent of that of the loop.
 */
#include "measure.h"
#include "type/layout.h"

enum { ROUNDS = 301, WARM = 20 };

/* One measurement: pieces of memory, and a derived type of which one element consists of all these
 * pieces, in this order. */
struct packing_case {
    const char *name;
    int64_t piece; /* bytes of each piece; 0: they differ */
    int n;
    int64_t *length, *offset;
    tutti_type type;
    int64_t bytes, span;
};

/* ---- The plain C loops. There is one for each length that all pieces may have in common, so that
 * this length is a constant for the compiler, and one for pieces of different lengths ---- */

#define LOOP(name, length)                                                                         \
    static __attribute__((noinline)) void name(const struct packing_case *c, char *packed,         \
                                               char *user, bool unpack)                            \
    {                                                                                              \
        if (unpack)                                                                                \
            for (int i = 0; i < c->n; packed += (length), i++)                                     \
                memcpy(user + c->offset[i], packed, (size_t)(length));                             \
        else                                                                                       \
            for (int i = 0; i < c->n; packed += (length), i++)                                     \
                memcpy(packed, user + c->offset[i], (size_t)(length));                             \
    }
LOOP(loop_8, 8)
LOOP(loop_64, 64)
LOOP(loop_256, 256)
LOOP(loop_1000, 1000)
LOOP(loop_4096, 4096)
LOOP(loop_any, c->length[i])

static void run_loop(const struct packing_case *c, char *packed, char *user, bool unpack)
{
    switch (c->piece) {
    case 8: loop_8(c, packed, user, unpack); break;
    case 64: loop_64(c, packed, user, unpack); break;
    case 256: loop_256(c, packed, user, unpack); break;
    case 1000: loop_1000(c, packed, user, unpack); break;
    case 4096: loop_4096(c, packed, user, unpack); break;
    default: loop_any(c, packed, user, unpack);
    }
}

static void run_library(const struct packing_case *c, char *packed, char *user, bool unpack)
{
    const struct tt_layout *layout = tt_layout_find(c->type);
    if (unpack)
        tt_layout_unpack(layout, packed, user, 1);
    else
        tt_layout_pack(layout, packed, user, 1);
}

/* ---- Types ---- */

/* Makes pieces until they have `bytes` bytes in all. Each piece has c->piece bytes; if that is 0,
 * each has a random length of at least `least` bytes. The gap after a piece is as long as the piece
 * if the type is to be a vector (`strided`), and otherwise 8 to 256 bytes long. */
static void set_pieces(struct packing_case *c, int64_t bytes, bool strided, int64_t least)
{
    struct tt_random random;
    tt_random_seed(&random, 1);
    c->length = malloc((size_t)bytes / (size_t)least * sizeof *c->length);
    c->offset = malloc((size_t)bytes / (size_t)least * sizeof *c->offset);
    if (!c->length || !c->offset) die("no memory");
    while (c->bytes < bytes) {
        int64_t left = bytes - c->bytes, length = c->piece;
        if (length == 0) length = least + 8 * (int64_t)tt_random_below(&random, 61);
        if (c->piece == 0 && left - length < least) length = left;
        if (length > left) break;
        c->length[c->n] = length;
        c->offset[c->n++] = c->span;
        c->bytes += length;
        c->span += length + (strided ? length : 8 + 8 * (int64_t)tt_random_below(&random, 32));
    }
}

static void make_type(struct packing_case *c, bool strided)
{
    tutti_status status = strided
                              ? tutti_type_vector(c->n, c->piece, 2 * c->piece, TUTTI_U8, &c->type)
                              : tutti_type_hindexed(c->n, c->length, c->offset, TUTTI_U8, &c->type);
    if (status != TUTTI_OK) die("no type: %s", tutti_error());
}

/* ---- Measuring ---- */

static double timed(void (*run)(const struct packing_case *, char *, char *, bool),
                    const struct packing_case *c, char *packed, char *user, bool unpack)
{
    double begin = seconds();
    run(c, packed, user, unpack);
    return seconds() - begin;
}

static void print_rates(const struct packing_case *c, char *packed, char *user, bool unpack)
{
    double library[ROUNDS], loop[ROUNDS];
    for (int i = -WARM; i < ROUNDS; i++) {
        double a = timed(run_library, c, packed, user, unpack);
        double b = timed(run_loop, c, packed, user, unpack);
        if (i >= 0) library[i] = a, loop[i] = b;
    }
    double of_library = median(library, ROUNDS), of_loop = median(loop, ROUNDS);
    printf("%10.2f%10.2f%8.0f %%", 1e-9 * (double)c->bytes / of_library,
           1e-9 * (double)c->bytes / of_loop, 100 * of_loop / of_library);
}

static void check(const struct packing_case *c, char *packed, char *other, char *user)
{
    for (int64_t i = 0; i < c->span; i++) user[i] = (char)(i * 7 + i / 251);
    run_library(c, packed, user, false);
    run_loop(c, other, user, false);
    if (memcmp(packed, other, (size_t)c->bytes) != 0) die("%s: packed something else", c->name);
}

static void print_row(const char *name, int64_t piece, bool strided, int64_t bytes)
{
    struct packing_case c = {.name = name, .piece = piece};
    set_pieces(&c, bytes, strided, piece ? piece : 8);
    make_type(&c, strided);
    char *user = pages(c.span), *packed = pages(bytes), *other = pages(bytes);
    check(&c, packed, other, user);
    printf("%-24s", name);
    print_rates(&c, packed, user, false);
    print_rates(&c, packed, user, true);
    printf("\n");
    munmap(user, (size_t)c.span);
    munmap(packed, (size_t)bytes);
    munmap(other, (size_t)bytes);
    free(c.length);
    free(c.offset);
    (void)tutti_type_free(c.type);
}

int main(int argc, char **argv)
{
    enum { LEAST = 4096 };
    int64_t bytes = argc > 1 ? strtoll(argv[1], NULL, 10) : 1 << 20;
    if (argc > 2 || bytes < LEAST || bytes % LEAST)
        die("usage: packing [BYTES], a multiple of %d", LEAST);
    printf("%-24s%30s%30s\n", "", "packing", "unpacking");
    printf("%-24s%10s%10s%10s%10s%10s%10s\n", "pieces of bytes", "Tutti", "memcpy", "ratio",
           "Tutti", "memcpy", "ratio");
    print_row("8, strided", 8, true, bytes);
    print_row("64, strided", 64, true, bytes);
    print_row("256, strided", 256, true, bytes);
    print_row("256, indexed", 256, false, bytes);
    print_row("1000, strided", 1000, true, bytes);
    print_row("1000, indexed", 1000, false, bytes);
    print_row("4096, indexed", 4096, false, bytes);
    print_row("8 to 488, indexed", 0, false, bytes);
    return 0;
}
