/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes layouts out of other layouts, and checks that no two fields share a byte.
 */
#include "type/layout.h"

#include <stdlib.h>

enum { DEEPEST = 32 }; /* packing recurses once per level */
#define MOST ((int64_t)1 << 40)

/* ---- Signatures: polynomials in an odd number, so the hash of a sequence follows from those of
 * its parts ---- */

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

/* Checks whether all blocks, or all fields as a whole, are apart. */
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

static bool has_interleaved(const struct tt_layout *l)
{
    for (int k = 0; k < l->n; k++) {
        const struct tt_layout *inner = l->field[k].inner;
        if (l->field[k].count > 1 && inner->extent < inner->end - inner->begin) return true;
    }
    return false;
}

/* There may be many blocks. They are compared only if the fields as a whole overlap or
 * interleave. */
static tutti_status check_apart(const struct tt_layout *l)
{
    bool are_apart = false;
    if (l->solid) return TUTTI_OK;
    if (!has_interleaved(l)) TT_TRY(look(l, false, &are_apart));
    if (!are_apart) TT_TRY(look(l, true, &are_apart));
    return are_apart ? TUTTI_OK : tt_fail(TUTTI_ERR_ARG, "fields of the type overlap");
}

/* ---- Making ---- */

/* Sets *product = a * b. Returns false if that is too large. */
static bool fits(int64_t a, int64_t b, int64_t *product)
{
    return !__builtin_mul_overflow(a, b, product) && *product <= MOST;
}

/* Updates the layout for a field, which is its last one. Returns false if the layout gets too
 * large. */
static bool grow(struct tt_layout *l, const struct tt_field *f)
{
    const struct tt_layout *inner = f->inner;
    int64_t packed, steps, blocks = 1;
    if (f->offset > MOST || !fits(f->count, inner->packed, &packed) ||
        !fits(f->count - 1, inner->extent, &steps) ||
        (!inner->solid && !fits(f->count, inner->blocks, &blocks)))
        return false;
    l->uniform = l->n == 1 || l->uniform == inner->uniform ? inner->uniform : TUTTI_TYPES;
    l->solid = l->solid && inner->solid && f->offset == l->packed;
    l->packed += packed;
    l->blocks += blocks;
    l->begin = tt_min(l->begin, f->offset + inner->begin);
    l->end = tt_max(l->end, f->offset + steps + inner->end);
    l->depth = (int)tt_max(l->depth, inner->depth + 1);
    l->signature = joined(l->signature, repeated(inner->signature, f->count));
    return l->packed <= MOST && l->end <= MOST && l->blocks <= MOST;
}

static tutti_status add(struct tt_layout *l, int i, const tutti_field *field)
{
    if (field->offset < 0 || field->count < 0)
        return tt_fail(TUTTI_ERR_ARG, "field %d: offset or count is negative: %lld, %lld", i,
                       (long long)field->offset, (long long)field->count);
    struct tt_layout *inner = tt_layout_hold(field->type);
    if (!inner)
        return tt_fail(TUTTI_ERR_ARG,
                       "field %d: type %d is neither a basic type nor an existing derived type", i,
                       (int)field->type);
    if (field->count == 0) {
        tt_layout_drop(inner);
        return TUTTI_OK;
    }
    l->field[l->n++] = (struct tt_field){field->offset, field->count, inner};
    if (grow(l, &l->field[l->n - 1])) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_ARG, "field %d: %lld elements at %lld make the type too large", i,
                   (long long)field->count, (long long)field->offset);
}

static tutti_status complete(struct tt_layout *l)
{
    if (l->extent <= 0 || l->extent > MOST)
        return tt_fail(TUTTI_ERR_ARG, "extent is not in 1..2^40: %lld", (long long)l->extent);
    if (l->packed == 0) return tt_fail(TUTTI_ERR_ARG, "the type has no elements");
    if (l->depth > DEEPEST)
        return tt_fail(TUTTI_ERR_LIMIT, "types are nested more than %d deep", DEEPEST);
    TT_TRY(check_apart(l));
    l->solid = l->solid && l->packed == l->extent;
    return TUTTI_OK;
}

bool tt_layout_valid(const struct tt_layout *l)
{
    const int64_t numbers[] = {l->packed, l->extent, l->begin, l->end, l->blocks};
    int64_t packed = 0;
    bool valid = l->begin < l->end;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        valid = valid && numbers[i] >= 0 && numbers[i] < INT64_C(1) << 41;
    for (int k = 0; k < l->n; k++) packed += l->field[k].count * l->field[k].inner->packed;
    return valid && packed == l->packed;
}

tutti_status tt_layout_new(int n, const tutti_field *fields, int64_t extent,
                           struct tt_layout **layout)
{
    struct tt_layout *l = tt_calloc(1, sizeof *l + (size_t)n * sizeof *l->field);
    tutti_status status = TUTTI_OK;
    if (!l) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a type of %d fields", n);
    l->refs = 1;
    l->field = (struct tt_field *)(l + 1);
    l->extent = extent;
    l->begin = INT64_MAX;
    l->solid = true;
    l->signature.power = 1;
    for (int i = 0; i < n && status == TUTTI_OK; i++) status = add(l, i, &fields[i]);
    if (status == TUTTI_OK) status = complete(l);
    tt_assert(status != TUTTI_OK || tt_layout_valid(l));
    if (status == TUTTI_OK)
        *layout = l;
    else
        tt_layout_drop(l);
    return status;
}

void tt_layout_drop(struct tt_layout *l)
{
    if (!l->field) return; /* a basic type */
    if (atomic_fetch_sub(&l->refs, 1) > 1) return;
    for (int k = 0; k < l->n; k++) tt_layout_drop(l->field[k].inner);
    tt_free(l);
}
