/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types and operations of MPI, as Tutti uses them, and packing.
 */
#ifndef TT_MPI_TYPE_H
#define TT_MPI_TYPE_H

#include "mpi/host.h"

/* The properties of an MPI type that Tutti needs. */
struct tt_mpi_layout {
    MPI_Datatype type;
    int64_t size, extent;
    bool bytes;    /* an element is `size` bytes without gaps, and there are no gaps between
                         * elements */
    bool relative; /* the type is known not to contain absolute addresses (MPI_BOTTOM) */
    /* bit mask: the groups of types (type.c) that the type belongs to, which decide by which
     * operations it can be reduced; 0: by none */
    unsigned group;
    tutti_type reduced; /* if `group` is not 0: the type of Tutti that reductions use */
};
/* A buffer that the program passed: `count` elements, which contain `bytes` bytes of data. */
struct tt_mpi_side {
    void *buffer;
    int64_t count, bytes;
    struct tt_mpi_layout layout;
};

/* Reads the handles of all predefined types and operations. Is called after MPI_Init. False: there
 * is no memory. */
#define tt_mpi_read_types TT_MPI_OWN(read_types)
bool tt_mpi_read_types(void);
/* Returns the size of the predefined type whose handle, as a number (TT_MPI_KEY), is `key`; 0: no
 * predefined type has this handle. */
#define tt_mpi_predefined_size TT_MPI_OWN(predefined_size)
int64_t tt_mpi_predefined_size(uint64_t key);
/* Returns whether a type is a predefined one; false also if the host does not know the type. */
#define tt_mpi_is_predefined TT_MPI_OWN(is_predefined)
bool tt_mpi_is_predefined(MPI_Datatype type);
#define tt_mpi_layout_of TT_MPI_OWN(layout_of)
bool tt_mpi_layout_of(MPI_Datatype type, struct tt_mpi_layout *layout);
/* Fills in *side from the arguments of a call. False: an argument is wrong, call->choice says so,
 * and the host is to report the error. */
#define tt_mpi_side_of TT_MPI_OWN(side_of)
bool tt_mpi_side_of(struct tt_mpi_call *call, struct tt_mpi_side *side, const void *buffer,
                    int64_t count, MPI_Datatype type);
/* Fills in *side from the arguments of a call with a type whose layout is known. False: an argument
 * is wrong, call->choice says so, and the host is to report the error. */
static inline bool tt_mpi_side_with(struct tt_mpi_call *call, struct tt_mpi_side *side,
                                    const void *buffer, int64_t count,
                                    const struct tt_mpi_layout *layout)
{
    bool right = count >= 0 && !__builtin_mul_overflow(count, layout->size, &side->bytes);
    /* The address 0 is MPI_BOTTOM, with which only a type of absolute addresses makes sense. */
    if (right && !buffer && side->bytes > 0 && layout->relative) right = false;
    side->layout = *layout;
    side->buffer = (void *)(uintptr_t)buffer;
    side->count = count;
    if (!right) call->choice = TT_MPI_LEFT_WRONG;
    return right;
}

/* Pack `count` elements at `from` into bytes without gaps at `to`, or unpack such bytes at `from`
 * into elements at `to`. False: the host had an error, which is in call->code. */
#define tt_mpi_pack TT_MPI_OWN(pack)
bool tt_mpi_pack(struct tt_mpi_call *call, const struct tt_mpi_layout *layout, const void *from,
                 int64_t count, void *to);
#define tt_mpi_unpack TT_MPI_OWN(unpack)
bool tt_mpi_unpack(struct tt_mpi_call *call, const struct tt_mpi_layout *layout, const void *from,
                   int64_t count, void *to);

/* A reduction of MPI, in terms of Tutti. */
struct tt_mpi_reduction {
    tutti_type type;
    tutti_op op;
    bool packed; /* elements must be packed first; otherwise they are reduced where they lie */
    /* The following is for operations of the program: */
    bool user;
    bool own_type; /* `type` is for this call only */
    int commutes;
    MPI_Op host_op;
    struct tt_mpi_layout layout;
};
/* Fills in *r for a reduction. False: Tutti cannot do it, and call->choice says why. */
#define tt_mpi_reduction_of TT_MPI_OWN(reduction_of)
bool tt_mpi_reduction_of(struct tt_mpi_call *call, struct tt_mpi_reduction *r, MPI_Datatype type,
                         MPI_Op op);
/* Makes the operation ready for one call. `r` must stay at its address until
 * tt_mpi_reduction_release. False: there is no memory, and call->status says so. */
#define tt_mpi_reduction_bind TT_MPI_OWN(reduction_bind)
bool tt_mpi_reduction_bind(struct tt_mpi_call *call, struct tt_mpi_reduction *r);
#define tt_mpi_reduction_release TT_MPI_OWN(reduction_release)
void tt_mpi_reduction_release(struct tt_mpi_reduction *r);

#endif
