/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packing and unpacking: both walk over the blocks, the pieces of contiguous memory in an element,
 * in the order of the packed form.
 */
#include "type/layout.h"

/* Copies n blocks of `bytes` bytes each. A block begins to_step bytes after the block before it in
 * `to`, and from_step bytes in `from`. The function is inlined, so that `bytes` is a constant where
 * the caller passes a number. */
static inline __attribute__((always_inline)) void copy_strided(char *to, int64_t to_step,
                                                               const char *from, int64_t from_step,
                                                               int64_t bytes, int64_t n)
{
    for (; n > 0; n--, to += to_step, from += from_step) tt_memcpy(to, from, (size_t)bytes);
}

static void copy_blocks(char *to, int64_t to_step, const char *from, int64_t from_step,
                        int64_t bytes, int64_t n)
{
    switch (bytes) {
    case 1: copy_strided(to, to_step, from, from_step, 1, n); break;
    case 2: copy_strided(to, to_step, from, from_step, 2, n); break;
    case 4: copy_strided(to, to_step, from, from_step, 4, n); break;
    case 8: copy_strided(to, to_step, from, from_step, 8, n); break;
    case 16: copy_strided(to, to_step, from, from_step, 16, n); break;
    case 32: copy_strided(to, to_step, from, from_step, 32, n); break;
    case 64: copy_strided(to, to_step, from, from_step, 64, n); break;
    case 128: copy_strided(to, to_step, from, from_step, 128, n); break;
    default: copy_strided(to, to_step, from, from_step, bytes, n);
    }
}

/* Copies n elements, each of which is one block. Returns the end of their packed form. */
static char *walk_blocks(const struct tt_layout *l, char *packed, char *user, int64_t n,
                         bool unpack)
{
    user += l->field[0].offset;
    if (unpack)
        copy_blocks(user, l->extent, packed, l->packed, l->packed, n);
    else
        copy_blocks(packed, l->packed, user, l->extent, l->packed, n);
    return packed + n * l->packed;
}

/* Copies n elements, each of which consists of several blocks. Returns the end of their packed
 * form. */
static char *walk_pieces(const struct tt_layout *l, char *packed, char *user, int64_t n,
                         bool unpack)
{
    for (; n > 0; n--, user += l->extent)
        for (const struct tt_field *f = l->field, *end = f + l->n; f < end; f++) {
            char *piece = user + f->offset;
            tt_memcpy(unpack ? piece : packed, unpack ? packed : piece, (size_t)f->count);
            packed += f->count;
        }
    return packed;
}

/* Packs or unpacks n elements. Returns the end of their packed form. */
static char *walk(const struct tt_layout *l, char *packed, char *user, int64_t n, bool unpack)
{
    if (n == 0) return packed;
    if (l->solid) {
        int64_t bytes = n * l->packed;
        tt_memcpy(unpack ? user : packed, unpack ? packed : user, (size_t)bytes);
        return packed + bytes;
    }
    if (l->flat) return (l->n == 1 ? walk_blocks : walk_pieces)(l, packed, user, n, unpack);
    for (; n > 0; n--, user += l->extent)
        for (int k = 0; k < l->n; k++) {
            const struct tt_field *f = &l->field[k];
            packed = walk(f->inner, packed, user + f->offset, f->count, unpack);
        }
    return packed;
}

void tt_layout_pack(const struct tt_layout *layout, char *packed, const char *user, int64_t n)
{
    walk(layout, packed, (char *)user, n, false);
}

void tt_layout_unpack(const struct tt_layout *layout, const char *packed, char *user, int64_t n)
{
    walk(layout, (char *)packed, user, n, true);
}
