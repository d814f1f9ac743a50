/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The prover's memory: pieces of powers of two out of large chunks. All of them are given back at
 * once, by forgetting them; the chunks stay for the next proof, so that thousands of small proofs
 * allocate nothing.
 */
#include "plan/prove-inside.h"

#include <string.h>

enum { CHUNK = 1 << 18, SMALLEST = 4, KEEP = 1 << 26 };

struct tt_pool_chunk {
    struct tt_pool_chunk *next;
    size_t used, room;
    _Alignas(16) char data[];
};

bool tt_prove_no_memory(struct tt_prover *p)
{
    if (p->status == TUTTI_OK)
        p->status = tt_fail(TUTTI_ERR_MEMORY, "no memory for a proof of %d ranks", p->p);
    return false;
}

/* The power of two that a piece has. */
static int class_of(size_t bytes)
{
    if (bytes <= (size_t)1 << SMALLEST) return SMALLEST;
    return 64 - __builtin_clzll(bytes - 1);
}

static struct tt_pool_chunk *chunk_new(size_t room)
{
    struct tt_pool_chunk *chunk = tt_alloc(sizeof *chunk + room);
    if (chunk) *chunk = (struct tt_pool_chunk){.room = room};
    return chunk;
}

/* The current chunk with room for so many bytes. */
static struct tt_pool_chunk *chunk_with(struct tt_pool *pool, size_t bytes)
{
    struct tt_pool_chunk *at = pool->current;
    if (at && at->room - at->used >= bytes) return at;
    struct tt_pool_chunk *next = at ? at->next : pool->first;
    if (!next || next->room < bytes) {
        struct tt_pool_chunk *fresh = chunk_new(bytes > CHUNK ? bytes : CHUNK);
        if (!fresh) return NULL;
        fresh->next = next;
        *(at ? &at->next : &pool->first) = fresh;
        next = fresh;
    }
    next->used = 0;
    return pool->current = next;
}

void *tt_prove_alloc(struct tt_prover *p, size_t bytes)
{
    struct tt_pool *pool = &p->pool;
    int class = class_of(bytes);
    void **freed = pool->freed[class];
    if (freed) {
        pool->freed[class] = *freed;
        return freed;
    }
    size_t room = (size_t)1 << class;
    struct tt_pool_chunk *chunk = chunk_with(pool, room);
    if (!chunk) {
        tt_prove_no_memory(p);
        return NULL;
    }
    chunk->used += room;
    return chunk->data + chunk->used - room;
}

void *tt_prove_zalloc(struct tt_prover *p, size_t bytes)
{
    void *memory = tt_prove_alloc(p, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

void tt_prove_release(struct tt_prover *p, void *memory, size_t bytes)
{
    int class = class_of(bytes);
    *(void **)memory = p->pool.freed[class];
    p->pool.freed[class] = memory;
}

static size_t chunks_room(const struct tt_pool *pool)
{
    size_t room = 0;
    for (const struct tt_pool_chunk *c = pool->first; c; c = c->next) room += c->room;
    return room;
}

void tt_prove_pool_reset(struct tt_prover *p)
{
    if (chunks_room(&p->pool) > KEEP) tt_prove_pool_free(p);
    p->pool.current = NULL;
    memset(p->pool.freed, 0, sizeof p->pool.freed);
}

void tt_prove_pool_free(struct tt_prover *p)
{
    struct tt_pool_chunk *c = p->pool.first;
    while (c) {
        struct tt_pool_chunk *next = c->next;
        tt_free(c);
        c = next;
    }
    p->pool = (struct tt_pool){.first = NULL};
}

void *tt_prove_grow(struct tt_prover *p, void *array, uint32_t *room, uint32_t n, size_t sz)
{
    if (n <= *room) return array;
    uint32_t more = *room ? *room : 64;
    while (more < n) more *= 2;
    void *grown = tt_realloc(array, more * sz);
    if (grown)
        *room = more;
    else
        tt_prove_no_memory(p);
    return grown;
}
