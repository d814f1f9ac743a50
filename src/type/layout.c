/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes layouts out of other layouts, and checks that no two fields share a byte. A *field* of a
 * layout is a number of consecutive elements of another layout. A *block* is a piece of contiguous
 * memory in an element (layout.h).
 */
#include "type/layout.h"

#include <stdlib.h>

enum { DEEPEST = 32 }; /* the most levels of nesting: packing recurses once per level */
#define MOST ((int64_t)1 << 40)

/* ---- Signatures: polynomials in an odd number, so the hash of a sequence follows from the hashes
 * of its parts ---- */

static struct tt_signature joined(struct tt_signature a, struct tt_signature b)
{
    return (struct tt_signature){a.hash * b.power + b.hash, a.power * b.power};
}

static struct tt_signature repeated(struct tt_signature s, int64_t n)
{
    struct tt_signature all = {0, 1};
    for (; n > 0; n >>= 1, s = joined(s, s))
        if (n & 1) all = joined(all, s);
    return all;
}

tutti_type tt_layout_sequence(const struct tt_layout *l, int64_t n)
{
    uint64_t h = repeated(l->signature, n).hash * 0x9e3779b97f4a7c15u;
    return (tutti_type)(TUTTI_TYPE_USER_END + (uint32_t)(h >> 36));
}

/* Computes the hash from the type and the number of bytes if the layout has one basic type only,
 * and otherwise from the signatures of n elements. */
uint32_t tt_layout_hash(const struct tt_layout *l, int64_t n)
{
    const uint64_t odd = 0x9e3779b97f4a7c15u;
    uint64_t h = l->uniform != TUTTI_TYPES
                     ? (uint64_t)(n * l->packed) * odd + (uint64_t)l->uniform + 1
                     : repeated(l->signature, n).hash;
    return (uint32_t)(((h ^ h >> 32) * odd) >> 32);
}

/* ---- Whether fields are apart ---- */

struct span {
    int64_t begin, end;
};

static int by_begin(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static bool apart(struct span *all, int64_t n)
{
    qsort(all, (size_t)n, sizeof *all, by_begin);
    for (int64_t i = 1; i < n; i++)
        if (all[i - 1].end > all[i].begin) return false;
    return true;
}

static struct span *list_blocks(const struct tt_layout *l, int64_t at, int64_t n, struct span *to)
{
    if (l->solid) {
        *to = (struct span){at, at + n * l->packed};
        return to + 1;
    }
    for (int64_t i = 0; i < n; i++, at += l->extent)
        for (int k = 0; k < l->n; k++)
            to = list_blocks(l->field[k].inner, at + l->field[k].offset, l->field[k].count, to);
    return to;
}

static void list_fields(const struct tt_layout *l, struct span *to)
{
    for (int k = 0; k < l->n; k++) {
        const struct tt_field *f = &l->field[k];
        to[k] = (struct span){f->offset + f->inner->begin,
                              f->offset + (f->count - 1) * f->inner->extent + f->inner->end};
    }
}

/* Sets *are_apart to whether no two pieces of memory overlap. If `at_blocks`, the pieces are the
 * blocks of an element; otherwise each field counts as one piece, from its first byte to its
 * last. */
static tutti_status look(const struct tt_layout *l, bool at_blocks, bool *are_apart)
{
    int64_t n = at_blocks ? l->blocks : l->n;
    struct span *all = tt_alloc((size_t)n * sizeof *all);
    if (!all) return tt_fail(TUTTI_ERR_MEMORY, "no memory to look for overlapping fields");
    if (at_blocks)
        list_blocks(l, 0, 1, all);
    else
        list_fields(l, all);
    *are_apart = apart(all, n);
    tt_free(all);
    return TUTTI_OK;
}

/* `count` pieces of memory, `stride` bytes apart. */
struct dimension {
    int64_t stride, count;
};

/* Adds a dimension to the n dimensions in d[], which are in the order of their strides. */
static void insert(struct dimension *d, int n, struct dimension more)
{
    for (; n > 0 && d[n - 1].stride > more.stride; n--) d[n] = d[n - 1];
    d[n] = more;
}

/* Returns whether the elements of a field certainly share no byte, although they may interleave, as
 * the columns of a matrix do. Each level of nesting has one field here, so the pieces of memory
 * form a grid: each piece lies at a sum of multiples of the strides. No two pieces overlap if each
 * stride is at least as long as the memory that the dimensions of smaller strides span together.
 * Proof: let two pieces differ in a dimension, and in none of a larger stride. This dimension moves
 * one of them away by at least its stride. The dimensions of smaller strides move it back by at
 * most their span less the length of a piece. So the pieces begin at least the length of a piece
 * apart. */
static bool is_grid(const struct tt_field *field)
{
    struct dimension d[DEEPEST + 2];
    int n = 0;
    const struct tt_layout *inner;
    do {
        inner = field->inner;
        if (field->count > 1) insert(d, n++, (struct dimension){inner->extent, field->count});
        field = inner->field;
    } while (!inner->solid && inner->n == 1);
    int64_t bytes = inner->end - inner->begin;
    for (int k = 0; k < n; k++) {
        if (d[k].stride < bytes) return false;
        bytes += (d[k].count - 1) * d[k].stride;
    }
    return true;
}

/* Returns whether the elements of a field may share bytes with each other. */
static bool may_overlap(const struct tt_layout *l)
{
    for (int k = 0; k < l->n; k++) {
        const struct tt_layout *inner = l->field[k].inner;
        bool interleaves = l->field[k].count > 1 && inner->extent < inner->end - inner->begin;
        if (interleaves && !is_grid(&l->field[k])) return true;
    }
    return false;
}

/* Returns ARG if two fields share a byte. There may be many blocks, so they are compared only if
 * the fields, taken as a whole, overlap, or if the elements of one field interleave and form no
 * grid. */
static tutti_status check_apart(const struct tt_layout *l)
{
    bool are_apart = false;
    if (!may_overlap(l)) TT_TRY(look(l, false, &are_apart));
    if (!are_apart) TT_TRY(look(l, true, &are_apart));
    return are_apart ? TUTTI_OK : tt_fail(TUTTI_ERR_ARG, "fields of the type overlap");
}

/* ---- Making ---- */

/* Sets *product = a * b. Returns false if the product is too large. */
static bool fits(int64_t a, int64_t b, int64_t *product)
{
    return !__builtin_mul_overflow(a, b, product) && *product <= MOST;
}

/* Updates the numbers of the layout, except `blocks`, for a field that is added. Returns false if
 * the layout gets too large. */
static bool grow(struct tt_layout *l, int64_t offset, int64_t count, const struct tt_layout *inner)
{
    int64_t packed, steps;
    if (offset < -MOST || offset > MOST || !fits(count, inner->packed, &packed) ||
        !fits(count - 1, inner->extent, &steps))
        return false;
    l->uniform = l->packed == 0 || l->uniform == inner->uniform ? inner->uniform : TUTTI_TYPES;
    l->packed += packed;
    l->begin = tt_min(l->begin, offset + inner->begin);
    l->end = tt_max(l->end, offset + steps + inner->end);
    l->signature = joined(l->signature, repeated(inner->signature, count));
    return l->packed <= MOST && l->begin >= -MOST && l->end <= MOST;
}

static bool is_bytes(const struct tt_field *f)
{
    return f->inner == tt_layout_find(TUTTI_U8);
}

/* Appends a field to the layout, or joins it with the last field. */
static bool append(struct tt_layout *l, struct tt_field f)
{
    struct tt_field *last = l->n > 0 ? &l->field[l->n - 1] : NULL;
    int64_t blocks = 1;
    l->depth = (int)tt_max(l->depth, f.inner->depth + 1);
    if (last && last->inner == f.inner &&
        last->offset + last->count * f.inner->extent == f.offset) {
        last->count += f.count;
        if (is_bytes(&f)) return true;
    } else {
        if (f.inner->field) atomic_fetch_add(&f.inner->refs, 1);
        l->field[l->n++] = f;
    }
    if (!is_bytes(&f) && !fits(f.count, f.inner->blocks, &blocks)) return false;
    l->blocks += blocks;
    return l->blocks <= MOST;
}

struct tt_layout *tt_layout_begin(int n)
{
    struct tt_layout *l = tt_calloc(1, sizeof *l + (size_t)n * sizeof *l->field);
    if (!l) {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory for a type of %d fields", n);
        return NULL;
    }
    l->refs = 1;
    l->room = n;
    l->field = (struct tt_field *)(l + 1);
    l->begin = INT64_MAX;
    l->end = INT64_MIN;
    l->signature.power = 1;
    return l;
}

bool tt_layout_add(struct tt_layout *l, int64_t offset, int64_t count, struct tt_layout *inner)
{
    if (count == 0) return true;
    tt_assert(count > 0 && l->n < l->room);
    if (!grow(l, offset, count, inner)) return false;
    if (!inner->solid) return append(l, (struct tt_field){offset, count, inner});
    return append(l, (struct tt_field){offset, count * inner->packed, tt_layout_find(TUTTI_U8)});
}

static tutti_status check(const struct tt_layout *l)
{
    if (l->extent <= 0 || l->extent > MOST)
        return tt_fail(TUTTI_ERR_ARG, "extent is not in 1..2^40: %lld", (long long)l->extent);
    if (l->lower < -MOST || l->lower > MOST)
        return tt_fail(TUTTI_ERR_ARG, "lower is not in -2^40..2^40: %lld", (long long)l->lower);
    if (l->packed == 0) return tt_fail(TUTTI_ERR_ARG, "the type has no elements");
    return check_apart(l);
}

/* Simplifies a finished layout. A layout that consists of a single element of another layout, the
 * inner layout, and differs from the inner layout only by offset and extent, takes over the fields
 * of the inner layout. So packing does not recurse through a level that adds nothing. Also frees
 * the room for fields that is not needed because fields were joined. */
static tutti_status compact(struct tt_layout **layout)
{
    struct tt_layout *old = *layout, *l;
    bool wraps = old->n == 1 && old->field[0].count == 1 && old->field[0].inner->n > 0;
    const struct tt_layout *from = wraps ? old->field[0].inner : old;
    int64_t shift = wraps ? old->field[0].offset : 0;
    if (!wraps && old->n == old->room) return TUTTI_OK;
    if (!(l = tt_layout_begin(from->n))) return TUTTI_ERR_MEMORY;
    struct tt_field *field = l->field;
    *l = *old;
    l->field = field;
    l->n = l->room = from->n;
    l->depth = wraps ? from->depth : old->depth;
    for (int k = 0; k < l->n; k++) {
        struct tt_field f = from->field[k];
        field[k] = (struct tt_field){f.offset + shift, f.count, f.inner};
        if (f.inner->field) atomic_fetch_add(&f.inner->refs, 1);
    }
    tt_layout_drop(old);
    *layout = l;
    return TUTTI_OK;
}

/* Checks how deep a layout is nested. compact() has simplified it before, so the depth counts only
 * the levels through which packing recurses. */
static tutti_status check_depth(const struct tt_layout *l)
{
    if (l->depth <= DEEPEST) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_LIMIT, "types are nested more than %d deep", DEEPEST);
}

tutti_status tt_layout_end(struct tt_layout **layout, int64_t lower, int64_t extent)
{
    (*layout)->lower = lower;
    (*layout)->extent = extent;
    tutti_status status = check(*layout);
    if (status == TUTTI_OK) status = compact(layout);
    if (status == TUTTI_OK) status = check_depth(*layout);
    struct tt_layout *l = *layout;
    if (status != TUTTI_OK) {
        tt_layout_drop(l);
        *layout = NULL;
        return status;
    }
    l->flat = true;
    for (int k = 0; k < l->n; k++) l->flat = l->flat && is_bytes(&l->field[k]);
    l->solid = l->flat && l->n == 1 && l->field[0].offset == 0 && l->packed == l->extent;
    tt_assert(tt_layout_valid(l));
    return TUTTI_OK;
}

bool tt_layout_valid(const struct tt_layout *l)
{
    const int64_t numbers[] = {l->packed, l->lower, l->extent, l->begin, l->end, l->blocks};
    int64_t packed = 0;
    bool valid = l->begin < l->end && l->packed > 0 && l->extent > 0 && l->blocks > 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        valid = valid && numbers[i] > -(INT64_C(1) << 41) && numbers[i] < INT64_C(1) << 41;
    for (int k = 0; k < l->n; k++) packed += l->field[k].count * l->field[k].inner->packed;
    return valid && packed == l->packed;
}

/* ---- Structs ---- */

static tutti_status add_field(struct tt_layout *l, int i, const tutti_field *field)
{
    if (field->count < 0)
        return tt_fail(TUTTI_ERR_ARG, "field %d: count is negative: %lld", i,
                       (long long)field->count);
    struct tt_layout *inner = tt_layout_hold(field->type);
    if (!inner)
        return tt_fail(TUTTI_ERR_ARG,
                       "field %d: type %d is neither a basic type nor an existing derived type", i,
                       (int)field->type);
    bool added = tt_layout_add(l, field->offset, field->count, inner);
    tt_layout_drop(inner);
    if (added) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_ARG,
                   "field %d: %lld elements at %lld make the type too large (at most 2^40 bytes)",
                   i, (long long)field->count, (long long)field->offset);
}

tutti_status tt_layout_new(int n, const tutti_field *fields, int64_t extent,
                           struct tt_layout **layout)
{
    struct tt_layout *l = tt_layout_begin(n);
    tutti_status status = l ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (int i = 0; i < n && status == TUTTI_OK; i++) status = add_field(l, i, &fields[i]);
    if (status == TUTTI_OK)
        status = tt_layout_end(&l, 0, extent);
    else if (l)
        tt_layout_drop(l);
    if (status == TUTTI_OK) *layout = l;
    return status;
}

void tt_layout_drop(struct tt_layout *l)
{
    if (!l->field) return; /* a basic type */
    if (atomic_fetch_sub(&l->refs, 1) > 1) return;
    for (int k = 0; k < l->n; k++) tt_layout_drop(l->field[k].inner);
    tt_free(l);
}
