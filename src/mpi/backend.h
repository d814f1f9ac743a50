/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of a backend share. They are compiled with the mpi.h of each host, and are linked
 * with none: `tt_host` has the functions of the host, which were looked up by name, and is the only
 * way to call it. TT_MPI_BACKEND is the name of the backend; the names of all that is defined once
 * for each host are derived from it.
 *
 *     backend.c   the host's functions and handles, communicators, counting, beginning and end
 *     team.c      Tutti's client in this process, the teams of communicators, progress
 *     type.c      types and operations, packing
 *     take.c, takev.c   the collectives that Tutti does (take.h)
 */
#ifndef TT_MPI_BACKEND_H
#define TT_MPI_BACKEND_H

#include <mpi.h>

#include "mpi/load.h"
#include "mpi/shim.h"

#define TT_MPI_JOIN_(a, b) a##_##b
#define TT_MPI_JOIN(a, b) TT_MPI_JOIN_(a, b)
#define TT_MPI_OWN(name) TT_MPI_JOIN(TT_MPI_BACKEND, name)

/* Open MPI's predefined handles are addresses of its variables, which would be undefined symbols
 * here. They are looked up when MPI begins, and every other function uses tt_handle. */
#ifdef OMPI_PREDEFINED_GLOBAL
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)tt_mpi_host_variable(#global))
#endif

/* ---- The host: backend.c ---- */

/* The collectives that the host's mpi.h declares; in a program that is linked statically, those of
 * MPI 3 (static.c). */
#if MPI_VERSION >= 4 && !defined TT_MPI_STATIC
#define TT_MPI_COLLECTIVES(F) TT_MPI_COLLECTIVES_3(F) TT_MPI_COLLECTIVES_4(F)
#define TT_MPI_TAKEN(F) TT_MPI_TAKEN_3(F) TT_MPI_TAKEN_4(F)
#else
#define TT_MPI_COLLECTIVES(F) TT_MPI_COLLECTIVES_3(F)
#define TT_MPI_TAKEN(F) TT_MPI_TAKEN_3(F)
#endif

#define TT_MPI_HOST_MEMBER(NAME, ...) __typeof__(PMPI_##NAME) *NAME;
struct tt_mpi_host {
    TT_MPI_LIFE(TT_MPI_HOST_MEMBER)
    TT_MPI_COLLECTIVES(TT_MPI_HOST_MEMBER)
    TT_MPI_NEEDED(TT_MPI_HOST_MEMBER)
};
#define tt_host TT_MPI_OWN(host)
extern struct tt_mpi_host tt_host;

struct tt_mpi_handles {
    MPI_Comm world, no_comm;
    MPI_Datatype no_type, byte, integer, wide;
    MPI_Op min, no_op;
    struct tt_mpi_map operation; /* predefined operations: their names */
};
#define tt_handle TT_MPI_OWN(handle)
extern struct tt_mpi_handles tt_handle;

#define TT_MPI_KEY(HANDLE) ((uint64_t)(uintptr_t)(HANDLE))

/* How deep this thread is in calls of the host that Tutti made: calls from there are the host's. */
#define tt_depth TT_MPI_OWN(depth)
extern __thread int tt_depth __attribute__((tls_model("initial-exec")));

/* An array of counts of type int or MPI_Count. */
struct tt_mpi_counts {
    const void *at;
    size_t width;
};
#define TT_MPI_LIST(COUNTS) ((struct tt_mpi_counts){COUNTS, sizeof *(COUNTS)})

static inline int64_t tt_mpi_at(struct tt_mpi_counts list, int i)
{
    return list.width == sizeof(int) ? ((const int *)list.at)[i] : ((const int64_t *)list.at)[i];
}

/* A communicator that was used. */
struct tt_mpi_comm {
    int label;   /* its name */
    int members; /* ranks that take part in a call: of both groups, if there are two */
    int peers;   /* ranks that data go to: of the remote group, if there is one */
    int rank;
    bool inter;
    int neighbours;
    /* Of team.c: */
    tutti_team *team; /* NULL: not made yet, or never */
    int calls;        /* that Tutti could have done before there was a team */
    enum tt_mpi_choice left; /* TT_MPI_TAKEN, or why the host does all calls for ever */
};

/* Returns the record of a communicator, which lives until the communicator is freed. NULL: there is
 * no memory, or the handle is MPI_COMM_NULL. */
#define tt_mpi_comm_of TT_MPI_OWN(comm_of)
struct tt_mpi_comm *tt_mpi_comm_of(MPI_Comm comm);

/* ---- Teams: team.c ---- */

/* A call that Tutti may do. */
struct tt_mpi_call {
    int function; /* tt_mpi_number */
    MPI_Comm comm;
    struct tt_mpi_comm *record;
    tutti_team *team;
    enum tt_mpi_choice choice; /* TT_MPI_TAKEN, or why the host does it */
    int code;                  /* an error of the host's, while data were packed */
    tutti_status status;       /* of Tutti's collective */
    void *scratch[8];          /* memory that the call needs until its end */
    int scratches;
};

/* Starts Tutti in this process. Collective over the world; on all ranks or none. */
#define tt_mpi_begin TT_MPI_OWN(begin)
bool tt_mpi_begin(void);
/* Ends it. Collective over the world. */
#define tt_mpi_end TT_MPI_OWN(end)
void tt_mpi_end(void);

/* Whether Tutti can do calls on this communicator at all. False: call->choice says why not. Local;
 * equal on all ranks. */
#define tt_mpi_known TT_MPI_OWN(known)
bool tt_mpi_known(struct tt_mpi_call *call);
/* Whether Tutti does this call, which it can do: call->team is the team then. The call at which a
 * team is made is collective. */
#define tt_mpi_ready TT_MPI_OWN(ready)
bool tt_mpi_ready(struct tt_mpi_call *call);
/* Frees the team of a communicator that is about to be freed. Waits for nobody. */
#define tt_mpi_drop TT_MPI_OWN(drop)
void tt_mpi_drop(struct tt_mpi_comm *record);
/* Frees the memory that the call needed. */
#define tt_mpi_release TT_MPI_OWN(release)
void tt_mpi_release(struct tt_mpi_call *call);
/* Tells the communicator's error handler of call->status, which is an error, and returns its code.
 */
#define tt_mpi_failed TT_MPI_OWN(failed)
int tt_mpi_failed(struct tt_mpi_call *call);

/* Returns memory of so many bytes, which lives until the call ends. NULL: there is none, and
 * call->status says so. */
#define tt_mpi_room TT_MPI_OWN(room)
void *tt_mpi_room(struct tt_mpi_call *call, int64_t bytes);

/* ---- Types and operations: type.c ---- */

/* A type, as far as Tutti has to know it. */
struct tt_mpi_layout {
    MPI_Datatype type;
    int64_t size, extent;
    bool bytes;         /* an element is `size` bytes without gaps, and so are many */
    bool named;         /* and in Tutti's table */
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
#define tt_mpi_layout_of TT_MPI_OWN(layout_of)
bool tt_mpi_layout_of(MPI_Datatype type, struct tt_mpi_layout *layout);
/* Describes a buffer. False: an argument is wrong, and the host will say so. */
#define tt_mpi_side_of TT_MPI_OWN(side_of)
bool tt_mpi_side_of(struct tt_mpi_call *call, struct tt_mpi_side *side, const void *buffer,
                    int64_t count, MPI_Datatype type);

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
