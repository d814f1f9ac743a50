/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types and operations of MPI, as Tutti uses them, and packing.
 */
#ifndef TT_MPI_TYPE_H
#define TT_MPI_TYPE_H

#include "mpi/host.h"

/* A type, as far as Tutti has to know it. */
struct tt_mpi_layout {
    MPI_Datatype type;
    int64_t size, extent;
    bool bytes;         /* an element is `size` bytes without gaps, and so are many */
    bool relative;      /* it is known to have no absolute addresses */
    unsigned group;     /* for which predefined operations are defined; 0: none */
    tutti_type reduced; /* the type of Tutti that has its operations, if there is a group */
};
/* A buffer of `count` elements: `bytes` of data. */
struct tt_mpi_side {
    void *buffer;
    int64_t count, bytes;
    struct tt_mpi_layout layout;
};

/* Reads the handles of all predefined types and operations. MPI has begun. False: no memory. */
#define tt_mpi_read_types TT_MPI_OWN(read_types)
bool tt_mpi_read_types(void);
/* Returns the size of the predefined type with this TT_MPI_KEY; 0: the type is another one. */
#define tt_mpi_predefined_size TT_MPI_OWN(predefined_size)
int64_t tt_mpi_predefined_size(uint64_t key);
#define tt_mpi_layout_of TT_MPI_OWN(layout_of)
bool tt_mpi_layout_of(MPI_Datatype type, struct tt_mpi_layout *layout);
/* Describes a buffer. False: an argument is wrong, and the host will say so. */
#define tt_mpi_side_of TT_MPI_OWN(side_of)
bool tt_mpi_side_of(struct tt_mpi_call *call, struct tt_mpi_side *side, const void *buffer,
                    int64_t count, MPI_Datatype type);
/* Does what tt_mpi_side_of does if the layout of the type is known. */
static inline bool tt_mpi_side_with(struct tt_mpi_call *call, struct tt_mpi_side *side,
                                    const void *buffer, int64_t count,
                                    const struct tt_mpi_layout *layout)
{
    bool right = count >= 0 && !__builtin_mul_overflow(count, layout->size, &side->bytes);
    /* The address 0 is MPI_BOTTOM, which types with absolute addresses go with. */
    if (right && !buffer && side->bytes > 0 && layout->relative) right = false;
    side->layout = *layout;
    side->buffer = (void *)(uintptr_t)buffer;
    side->count = count;
    if (!right) call->choice = TT_MPI_LEFT_WRONG;
    return right;
}

/* Copy `count` elements that begin at `from` to bytes without gaps, and back. False: the host had
 * an error, which is in call->code. */
#define tt_mpi_pack TT_MPI_OWN(pack)
bool tt_mpi_pack(struct tt_mpi_call *call, const struct tt_mpi_layout *layout, const void *from,
                 int64_t count, void *to);
#define tt_mpi_unpack TT_MPI_OWN(unpack)
bool tt_mpi_unpack(struct tt_mpi_call *call, const struct tt_mpi_layout *layout, const void *from,
                   int64_t count, void *to);

/* An operation on elements of a type, as Tutti is to do it. */
struct tt_mpi_reduction {
    tutti_type type;
    tutti_op op;
    bool packed; /* elements have to be packed; else they are reduced where they lie */
    /* For operations of users: */
    bool user;
    MPI_Op host_op;
    struct tt_mpi_layout layout;
};
/* Finds Tutti's operation and type. False: Tutti has none, and call->choice says why. */
#define tt_mpi_reduction_of TT_MPI_OWN(reduction_of)
bool tt_mpi_reduction_of(struct tt_mpi_call *call, struct tt_mpi_reduction *r, MPI_Datatype type,
                         MPI_Op op);
/* Makes the operation ready for one call; `r` must live until it is released. False: there is no
 * memory, and call->status says so. */
#define tt_mpi_reduction_bind TT_MPI_OWN(reduction_bind)
bool tt_mpi_reduction_bind(struct tt_mpi_call *call, struct tt_mpi_reduction *r);
#define tt_mpi_reduction_release TT_MPI_OWN(reduction_release)
void tt_mpi_reduction_release(struct tt_mpi_reduction *r);

#endif
