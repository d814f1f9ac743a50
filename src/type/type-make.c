/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions that make derived types: they check the arguments, and describe each kind of type
 * by the fields of layouts.
 */
#include "type/layout.h"

#define MOST ((int64_t)1 << 40)

/* Takes a reference to the layout of `base` and sets *layout. ARG: `type` is NULL, or `base` is no
 * type. */
static tutti_status hold_base(tutti_type base, const tutti_type *type, struct tt_layout **layout)
{
    if (!type) return tt_fail(TUTTI_ERR_ARG, "type is NULL");
    *layout = tt_layout_hold(base);
    if (*layout) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_ARG,
                   "base: type %d is neither a basic type nor an existing derived type", (int)base);
}

static tutti_status too_large(const char *what, long long i)
{
    return tt_fail(TUTTI_ERR_ARG, "%s %lld makes the type too large (at most 2^40 bytes)", what, i);
}

/* Makes a layout with one field, of `count` elements of `inner`. */
static tutti_status make_one(int64_t offset, int64_t count, struct tt_layout *inner, int64_t lower,
                             int64_t extent, struct tt_layout **layout)
{
    struct tt_layout *l = tt_layout_begin(1);
    if (!l) return TUTTI_ERR_MEMORY;
    if (!tt_layout_add(l, offset, count, inner)) {
        tt_layout_drop(l);
        return tt_fail(TUTTI_ERR_ARG,
                       "%lld elements of %lld bytes make the type too large (at most 2^40 bytes)",
                       (long long)count, (long long)inner->extent);
    }
    TT_TRY(tt_layout_end(&l, lower, extent));
    *layout = l;
    return TUTTI_OK;
}

/* Replaces *inner by a layout with one field, of `count` elements of the old *inner. Drops the old
 * *inner. */
static tutti_status wrap(struct tt_layout **inner, int64_t offset, int64_t count, int64_t lower,
                         int64_t extent)
{
    struct tt_layout *made = NULL;
    tutti_status status = make_one(offset, count, *inner, lower, extent, &made);
    tt_layout_drop(*inner);
    *inner = made;
    return status;
}

tutti_status tutti_type_struct(int n, const tutti_field *fields, int64_t extent, tutti_type *type)
{
    struct tt_layout *layout;
    if (!fields || !type) return tt_fail(TUTTI_ERR_ARG, "%s is NULL", fields ? "type" : "fields");
    if (n < 1) return tt_fail(TUTTI_ERR_ARG, "n is %d, not at least 1", n);
    TT_TRY(tt_layout_new(n, fields, extent, &layout));
    return tt_layout_enter(layout, type);
}

tutti_status tutti_type_resized(tutti_type base, int64_t lower, int64_t extent, tutti_type *type)
{
    struct tt_layout *layout;
    TT_TRY(hold_base(base, type, &layout));
    TT_TRY(wrap(&layout, 0, 1, lower, extent));
    return tt_layout_enter(layout, type);
}

/* ---- Vectors ---- */

static tutti_status check_vector(int64_t count, int64_t block, int64_t stride)
{
    if (count >= 1 && block >= 1 && stride >= block) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_ARG,
                   "%lld blocks of %lld elements every %lld: none, or they overlap (allowed: at "
                   "least 1 block of at least 1 element, and a stride of at least a block)",
                   (long long)count, (long long)block, (long long)stride);
}

/* Replaces *l by the layout of a vector: `count` blocks of `block` elements of the old *l. The
 * extent of a block is the stride. */
static tutti_status make_vector(struct tt_layout **l, int64_t count, int64_t block, int64_t stride)
{
    int64_t step, extent, lower = (*l)->lower, each = (*l)->extent;
    if (count == 1) stride = block; /* nothing lies behind the only block */
    if (__builtin_mul_overflow(stride, each, &step) ||
        __builtin_mul_overflow(count - 1, step, &extent) ||
        __builtin_add_overflow(extent, block * each, &extent) || step > MOST) {
        tt_layout_drop(*l);
        return tt_fail(TUTTI_ERR_ARG,
                       "%lld blocks every %lld elements make the type too large (at most 2^40 "
                       "bytes)",
                       (long long)count, (long long)stride);
    }
    TT_TRY(wrap(l, 0, block, lower, step));
    return wrap(l, 0, count, lower, extent);
}

tutti_status tutti_type_vector(int64_t count, int64_t block, int64_t stride, tutti_type base,
                               tutti_type *type)
{
    struct tt_layout *layout;
    TT_TRY(hold_base(base, type, &layout));
    tutti_status status = check_vector(count, block, stride);
    if (status != TUTTI_OK) {
        tt_layout_drop(layout);
        return status;
    }
    TT_TRY(make_vector(&layout, count, block, stride));
    return tt_layout_enter(layout, type);
}

/* ---- Indexed types ---- */

/* Bounds of a type, in bytes. */
struct bounds {
    int64_t lower, upper;
};

/* Adds block i of an indexed type, which has `count` elements of `base` at displacement `displ`,
 * counted in units of `unit` bytes. Widens *bounds so that the block lies within them. */
static tutti_status add_block(struct tt_layout *l, int i, int64_t count, int64_t displ,
                              int64_t unit, struct tt_layout *base, struct bounds *bounds)
{
    int64_t offset;
    if (count < 0)
        return tt_fail(TUTTI_ERR_ARG, "blocks[%d] is %lld, not at least 0", i, (long long)count);
    if (count == 0) return TUTTI_OK;
    if (__builtin_mul_overflow(displ, unit, &offset) || !tt_layout_add(l, offset, count, base))
        return too_large("block", i);
    bounds->lower = tt_min(bounds->lower, offset + base->lower);
    bounds->upper = tt_max(bounds->upper, offset + base->lower + count * base->extent);
    return TUTTI_OK;
}

static tutti_status make_indexed(int n, const int64_t *blocks, const int64_t *displs, int64_t unit,
                                 struct tt_layout *base, struct tt_layout **layout)
{
    struct bounds bounds = {INT64_MAX, INT64_MIN};
    struct tt_layout *l = tt_layout_begin(n);
    tutti_status status = l ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (int i = 0; i < n && status == TUTTI_OK; i++)
        status = add_block(l, i, blocks[i], displs[i], unit, base, &bounds);
    if (status == TUTTI_OK && l->packed == 0)
        status = tt_fail(TUTTI_ERR_ARG, "the type has no elements: all blocks are empty");
    if (status == TUTTI_OK)
        status = tt_layout_end(&l, bounds.lower, bounds.upper - bounds.lower);
    else if (l)
        tt_layout_drop(l);
    *layout = l;
    return status;
}

/* Makes an indexed type. `by_extent`: displacements count elements; otherwise they count bytes. */
static tutti_status make_indexed_type(int n, const int64_t *blocks, const int64_t *displs,
                                      bool by_extent, tutti_type base, tutti_type *type)
{
    struct tt_layout *inner, *layout;
    if (!blocks || !displs)
        return tt_fail(TUTTI_ERR_ARG, "%s is NULL", blocks ? "displs" : "blocks");
    if (n < 1) return tt_fail(TUTTI_ERR_ARG, "n is %d, not at least 1", n);
    TT_TRY(hold_base(base, type, &inner));
    tutti_status status =
        make_indexed(n, blocks, displs, by_extent ? inner->extent : 1, inner, &layout);
    tt_layout_drop(inner);
    return status == TUTTI_OK ? tt_layout_enter(layout, type) : status;
}

tutti_status tutti_type_indexed(int n, const int64_t *blocks, const int64_t *displs,
                                tutti_type base, tutti_type *type)
{
    return make_indexed_type(n, blocks, displs, true, base, type);
}

tutti_status tutti_type_hindexed(int n, const int64_t *blocks, const int64_t *displs,
                                 tutti_type base, tutti_type *type)
{
    return make_indexed_type(n, blocks, displs, false, base, type);
}

/* ---- Parts of arrays ---- */

static tutti_status check_subarray(int n, const int64_t *sizes, const int64_t *parts,
                                   const int64_t *starts, tutti_order order)
{
    if (!sizes || !parts || !starts)
        return tt_fail(TUTTI_ERR_ARG, "%s is NULL", !sizes ? "sizes" : parts ? "starts" : "parts");
    if (n < 1) return tt_fail(TUTTI_ERR_ARG, "n is %d, not at least 1", n);
    if (order != TUTTI_ORDER_C && order != TUTTI_ORDER_FORTRAN)
        return tt_fail(TUTTI_ERR_ARG, "order is %d, neither TUTTI_ORDER_C nor TUTTI_ORDER_FORTRAN",
                       (int)order);
    for (int d = 0; d < n; d++)
        if (sizes[d] < 1 || parts[d] < 1 || starts[d] < 0 || parts[d] > sizes[d] ||
            starts[d] > sizes[d] - parts[d])
            return tt_fail(TUTTI_ERR_ARG,
                           "dimension %d: %lld elements from %lld are not inside an array of %lld "
                           "(allowed: at least 1 element, from 0 on)",
                           d, (long long)parts[d], (long long)starts[d], (long long)sizes[d]);
    return TUTTI_OK;
}

/* Replaces *l, the layout of the base, by the layout of a part of an array. Goes through the
 * dimensions, beginning with the one whose index varies fastest in memory. After each dimension, an
 * element of *l is the part of the array in the dimensions so far, and its extent is that of the
 * whole array in them. So the elements for the next dimension have the right distance. */
static tutti_status make_subarray(int n, const int64_t *sizes, const int64_t *parts,
                                  const int64_t *starts, tutti_order order, struct tt_layout **l)
{
    for (int i = 0; i < n; i++) {
        int d = order == TUTTI_ORDER_C ? n - 1 - i : i;
        int64_t each = (*l)->extent, all;
        if (__builtin_mul_overflow(sizes[d], each, &all) || all > MOST) {
            tt_layout_drop(*l);
            return too_large("dimension", d);
        }
        TT_TRY(wrap(l, starts[d] * each, parts[d], 0, all));
    }
    return TUTTI_OK;
}

tutti_status tutti_type_subarray(int n, const int64_t *sizes, const int64_t *parts,
                                 const int64_t *starts, tutti_order order, tutti_type base,
                                 tutti_type *type)
{
    struct tt_layout *layout;
    TT_TRY(check_subarray(n, sizes, parts, starts, order));
    TT_TRY(hold_base(base, type, &layout));
    TT_TRY(make_subarray(n, sizes, parts, starts, order, &layout));
    return tt_layout_enter(layout, type);
}
