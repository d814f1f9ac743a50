/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of derived types whose data lie at odd places: before the address that the call gets, as
 * parts of arrays, and nested at random. Origin and target have different types that pack to the
 * same words; every byte of the target is compared, including the gaps. The sizes are such that
 * both protocols, eager and rendezvous, are used. A message that is too long for the receive fills
 * all elements of the receive.
 */
#include "brief.h"
#include "lib.h"
#include "type/typemap.h"

enum { LAYOUT = 1, MADE = 24, WORD = sizeof(uint32_t), MOST_SPAN = 1 << 21, MOST_BYTES = 100000 };

struct layout_memory {
    char *memory, *user; /* `user` is the address for the call; the data may lie before it */
    int64_t bytes;
};

static struct layout_memory memory_new(const struct typemap *map, int64_t n)
{
    if (n == 0) n = 1;
    int64_t low = tt_min(typemap_begin(map, n), 0);
    struct layout_memory m = {.bytes = tt_max(typemap_end(map, n), 0) - low};
    m.memory = malloc((size_t)m.bytes);
    if (!m.memory) abort();
    memset(m.memory, 0x5c, (size_t)m.bytes);
    m.user = m.memory - low;
    return m;
}

/* Writes the first `bytes` packed bytes of a payload to where the type has them. */
static void put_payload(const struct typemap *map, struct layout_memory m, int64_t bytes,
                        uint64_t seed)
{
    for (int64_t i = 0; i < bytes; i++)
        m.user[i / map->n * map->extent + map->at[i % map->n]] = (char)byte_of(seed, i);
}

/* A message to be received: its buffer, and what is expected to arrive there. */
struct layout_arrival {
    const struct typemap *map;
    struct layout_memory got, expected;
    int64_t count;
    tutti_status status;
    int done;
};

static void arrived(tutti_context *context, void *arg, tutti_status status)
{
    struct layout_arrival *a = arg;
    (void)context;
    a->status = status;
    a->done++;
}

static void on_layout(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                      void *arg)
{
    struct layout_arrival *a = arg;
    (void)context;
    (void)m;
    *receive = (tutti_receive){a->got.user, a->count, a->map->type, arrived, a, 0};
}

/* Sends `sent` elements of one type to the next rank, which receives up to `room` elements of
 * another type. */
static void exchange(struct rank *r, const struct typemap *from, int64_t sent,
                     const struct typemap *to, int64_t room)
{
    int64_t bytes = sent * from->n, fits = tt_min(bytes, room * to->n);
    int before = (r->me + r->p - 1) % r->p, completed = 0;
    struct layout_memory data = memory_new(from, sent);
    struct layout_arrival a = {to, memory_new(to, room), memory_new(to, room), room, TUTTI_OK, 0};
    struct layout_arrival delivered = {0};
    put_payload(from, data, bytes, (uint64_t)r->me);
    put_payload(to, a.expected, fits, (uint64_t)before);
    must(tutti_dispatch(r->client, LAYOUT, on_layout, &a));
    meet(r);
    tutti_send send = {.to = endpoint(r, (r->me + 1) % r->p, 0),
                       .dispatch = LAYOUT,
                       .data = data.user,
                       .count = sent,
                       .type = from->type,
                       .delivered = arrived,
                       .arg = &delivered};
    must(tutti_message_send(r->context[0], &send));
    until(r, &delivered.done, 1);
    until(r, &a.done, 1);
    completed = fits < bytes ? TUTTI_ERR_TRUNCATED : TUTTI_OK;
    check((int)a.status == completed && (int)delivered.status == completed, "%d", (int)a.status);
    check(memcmp(a.got.memory, a.expected.memory, (size_t)a.got.bytes) == 0,
          "%lld bytes into %lld elements of %lld bytes, the first at %lld", (long long)bytes,
          (long long)room, (long long)to->n, (long long)typemap_begin(to, 1));
    meet(r);
    free(data.memory);
    free(a.got.memory);
    free(a.expected.memory);
}

/* Sends n elements of the type to contiguous words, first with room for all words and then with
 * room for one word less. Sends all words, and then one word less, to n elements of the type.
 * Finally sends n elements of the type to n elements of the type. */
static void try_layout(struct rank *r, const struct typemap *map, int64_t n)
{
    struct typemap word;
    int64_t words = map->n / WORD * n;
    (void)typemap_basic(TUTTI_U32, &word);
    if (!typemap_overlaps(map, n) && typemap_end(map, n) - typemap_begin(map, n) < MOST_SPAN) {
        exchange(r, map, n, &word, words);
        exchange(r, map, n, &word, words - 1);
        exchange(r, &word, words, map, n);
        exchange(r, &word, words - 1, map, n);
        exchange(r, map, n, map, n);
    }
    typemap_free(&word);
}

/* Makes type `number`, a random type that is the same on all ranks. A type with an odd number is
 * moved so that all its data lie before the address that the call gets. */
static void make_type(struct typemap *map, int number)
{
    struct tt_random random;
    struct typemap moved;
    tt_random_seed(&random, 99 + (uint64_t)number);
    (void)typemap_basic(TUTTI_U32, map);
    while (map->n < 40 * WORD && tt_random_below(&random, 5) > 0) (void)typemap_wrap(map, &random);
    if (number % 2 == 0) return;
    int64_t end = typemap_end(map, MOST_BYTES / map->n);
    must(typemap_struct(map, 1, &(int64_t){1}, &(int64_t){-end - 8}, map->extent, &moved));
    typemap_free(map);
    *map = moved;
}

static void try_all(struct rank *r)
{
    for (int i = 0; i < brief(MADE, 10); i++) {
        struct typemap map;
        make_type(&map, i);
        try_layout(r, &map, 1);
        try_layout(r, &map, 5);
        try_layout(r, &map, MOST_BYTES / map.n);
        typemap_free(&map);
    }
}

int main(int argc, char **argv)
{
    return run_ranks(argc, argv, 2, try_all);
}
