/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Declarations that the files of a backend share. The files are compiled with the mpi.h of each
 * host (the MPI of the program), and are linked with no MPI: `tt_host` has the host's functions,
 * which were looked up by name, and is the only way to call them. TT_MPI_BACKEND is the name of the
 * backend; from it are derived the names of all that is defined once for each host.
 *
 *     host.c             the host's functions and handles, communicators
 *     type.c             types and operations, packing
 *     greet.c            whether all ranks have this library
 *     meet.c             how ranks meet when MPI begins and ends
 *     agree.c            what the ranks agree on before Tutti starts
 *     team.c             Tutti's client in this process, the teams of communicators
 *     drive.c            progress, of the host and of Tutti
 *     drain.c            a thread that sends what calls have left behind
 *     buffered.c         messages in a buffer that the program attached (MPI_Bsend)
 *     later.c            nonblocking and persistent calls, and their requests
 *     left.c             calls that are recognised at once as left to the host
 *     take.c, take-v.c   the collectives that Tutti does
 *     backend.c          the functions in the table, counting, beginning and end
 */
#ifndef TT_MPI_HOST_H
#define TT_MPI_HOST_H

#include <mpi.h>
#if defined OPEN_MPI && MPI_VERSION < 4
#include <mpi-ext.h>
#endif
#include <stdatomic.h>
#include <time.h>

#include "mpi/kept.h"
#include "mpi/load.h"
#include "mpi/trial.h"

#define TT_MPI_JOIN_(a, b) a##_##b
#define TT_MPI_JOIN(a, b) TT_MPI_JOIN_(a, b)
#define TT_MPI_OWN(name) TT_MPI_JOIN(TT_MPI_BACKEND, name)

/* Open MPI's predefined handles are addresses of its variables, which would be undefined symbols in
 * this library. So the constants of mpi.h, such as MPI_INT, become look-ups by name. read_handles
 * makes them when MPI begins, and other functions use tt_handle where speed matters. */
#ifdef OMPI_PREDEFINED_GLOBAL
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)tt_mpi_host_variable(#global))
#endif

/* ---- The host: host.c ---- */

/* The lists of functions.h that apply to this host: those of MPI 4 only if its mpi.h declares them,
 * and not in a program that is linked statically (static.c). */
#if MPI_VERSION >= 4 && !defined TT_MPI_STATIC
#define TT_MPI_LIFE(F) TT_MPI_LIFE_3(F) TT_MPI_LIFE_4(F)
#define TT_MPI_BUFFERS(F) TT_MPI_BUFFERS_3(F) TT_MPI_BUFFERS_4(F)
#define TT_MPI_IMMEDIATE(F) TT_MPI_COLLECTIVES_3(F) TT_MPI_IMMEDIATE_4(F)
#define TT_MPI_PREPARED(F) TT_MPI_PREPARED_4(F)
#define TT_MPI_TAKEN(F) TT_MPI_TAKEN_3(F) TT_MPI_TAKEN_4(F)
#define TT_MPI_STARTED(F) TT_MPI_STARTED_3(F) TT_MPI_STARTED_4(F)
#else
#define TT_MPI_LIFE(F) TT_MPI_LIFE_3(F)
#define TT_MPI_BUFFERS(F) TT_MPI_BUFFERS_3(F)
#define TT_MPI_IMMEDIATE(F) TT_MPI_COLLECTIVES_3(F)
#define TT_MPI_PREPARED(F)
#define TT_MPI_TAKEN(F) TT_MPI_TAKEN_3(F)
#define TT_MPI_STARTED(F) TT_MPI_STARTED_3(F)
#endif
#if MPI_VERSION >= 4
#define TT_MPI_NEEDED(F) TT_MPI_NEEDED_3(F) TT_MPI_NEEDED_4(F)
#else
#define TT_MPI_NEEDED(F) TT_MPI_NEEDED_3(F)
#endif
/* Functions of TT_MPI_IMMEDIATE begin a collective, and those of TT_MPI_PREPARED only prepare one.
 */
#define TT_MPI_COLLECTIVES(F) TT_MPI_IMMEDIATE(F) TT_MPI_PREPARED(F)

/* The functions of Open MPI's extension for persistent collectives. The library that runs need not
 * have them, even if mpi.h declares them. */
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define TT_MPI_EXTENSION(F) TT_MPI_COLLECTIVES_X(F)
#define TT_MPI_KEPT(F) TT_MPI_KEPT_X(F)
#elif MPI_VERSION >= 4 && !defined TT_MPI_STATIC
#define TT_MPI_EXTENSION(F)
#define TT_MPI_KEPT(F) TT_MPI_KEPT_4(F)
#else
#define TT_MPI_EXTENSION(F)
#define TT_MPI_KEPT(F)
#endif
/* The functions of an extension of the host that Tutti calls and does not export itself: F(NAME)
 * for MPIX_NAME. */
#ifdef MPICH_NAME
#define TT_MPI_NEEDED_X(F) F(Grequest_start)
#else
#define TT_MPI_NEEDED_X(F)
#endif

#define TT_MPI_HOST_MEMBER_X(NAME, ...) __typeof__(PMPIX_##NAME) *X_##NAME;
#define TT_MPI_HOST_MEMBER(NAME, ...) __typeof__(PMPI_##NAME) *NAME;
struct tt_mpi_host {
    TT_MPI_LIFE(TT_MPI_HOST_MEMBER)
    TT_MPI_COLLECTIVES(TT_MPI_HOST_MEMBER)
    TT_MPI_NEEDED(TT_MPI_HOST_MEMBER)
    bool has_extension; /* whether the library has all of the following */
    TT_MPI_EXTENSION(TT_MPI_HOST_MEMBER_X)
    TT_MPI_NEEDED_X(TT_MPI_HOST_MEMBER_X)
};
#define tt_host TT_MPI_OWN(host)
extern struct tt_mpi_host tt_host;

struct tt_mpi_handles {
    MPI_Comm world, self, no_comm;
    MPI_Comm own; /* Tutti's duplicate of the world, with MPI_ERRORS_RETURN; no_comm: there is
                   * none */
    MPI_Errhandler errors_return;
    MPI_Datatype no_type, byte, integer, wide;
    MPI_Op min, bor, no_op;
    struct tt_mpi_map operation; /* the number that stands for the name of a predefined operation */
};
#define tt_handle TT_MPI_OWN(handle)
extern struct tt_mpi_handles tt_handle;

#define TT_MPI_KEY(HANDLE) ((uint64_t)(uintptr_t)(HANDLE))

/* How deep this thread is in calls of the host that Tutti made. A collective that is called while
 * this is not 0 is not the program's, and goes to the host. */
#define tt_depth TT_MPI_OWN(depth)
extern __thread int tt_depth __attribute__((tls_model("initial-exec")));
/* Is added to tt_depth while this thread is in an operation of the program. The host's progress
 * does not advance Tutti then (later.h). */
enum { TT_MPI_IN_OPERATION = 1 << 16 };

/* Sets tt_depth to 0 and returns its former value, which the caller restores. Must be called before
 * Tutti passes a handle of the program to the host for the first time: if the handle is wrong, the
 * host calls an error handler of the program, which may call collectives, and may leave the call by
 * longjmp or an exception. */
static inline int tt_mpi_surface(void)
{
    int depth = tt_depth;
    tt_depth = 0;
    return depth;
}

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

/* The arguments of Tutti's function in a call for which it uses the program's buffers as they are:
 * n elements of a type, and an operation. in_bytes, out_bytes: the bytes of this rank's buffers; 0:
 * the rank uses none. */
struct tt_mpi_plain {
    int64_t n, in_bytes, out_bytes;
    tutti_type type;
    tutti_op op;
};

/* The arguments by which a call is recognised (again.h), all but the buffers. all_count and
 * all_type belong to the buffer with a piece for each rank; counts and displs are its lists. An
 * alltoallv has two such buffers: `type`, in_counts and in_displs belong to its input. An argument
 * that this rank does not use is 0. */
struct tt_mpi_key {
    int64_t count, all_count;
    uint64_t type, all_type, op;
    int root;
    struct tt_mpi_counts counts, displs, in_counts, in_displs;
};

/* The lists of a buffer in a call that is kept, with an entry for each rank: what the program gave
 * (`count`, `displ`), and what was passed to Tutti's function, in bytes (`n`, `at`). NULL: the call
 * has no such lists. */
struct tt_mpi_kept_lists {
    int64_t *count, *displ, *n, *at;
};

/* The last call of a collective that Tutti did on a communicator (again.h). */
struct tt_mpi_again {
    /* kept: a later call that agrees with this one is done without reading its arguments. tried:
     * this call belonged to a trial (trial.h), so a later call that agrees with it is done after
     * reading its arguments. If both are false, no call is recorded. */
    bool kept, tried;
    struct tt_mpi_plain plain;
    /* The lists to which `key` points belong to the program, which may change or free them: `all`
     * and `in` have copies. */
    struct tt_mpi_key key;
    int pieces; /* how many entries each list has; 0: the call has no lists */
    /* `all`: copies of the lists counts and displs of the key; `in`: copies of in_counts and
     * in_displs. All copies lie in one piece of memory, which begins at all.count and is freed with
     * the record. */
    struct tt_mpi_kept_lists all, in;
};

/* The record of a communicator that was used in a call. */
struct tt_mpi_comm {
    uint64_t handle; /* the communicator's TT_MPI_KEY */
    /* how many ranks take part in a call: in an intercommunicator, those of both groups */
    int members;
    int peers; /* how many ranks data go to: in an intercommunicator, those of the remote group */
    int rank;
    bool inter;
    /* how many neighbours this rank sends to (MPI topologies); set only for a report */
    int neighbours;
    enum tt_mpi_choice left; /* TT_MPI_TAKEN, or why the host does all calls on this communicator */
    /* Only team.c sets these. */
    tutti_team *team;   /* the communicator's team; NULL: it has none, or none yet */
    atomic_bool failed; /* a call has failed in a way that usually breaks the team */
    /* calls left to the host before there was a team; a long call counts as several */
    int64_t calls;
    /* the time that a trial subtracts from times of this rank: 0 if `one_node`, and otherwise the
     * time when the ranks last met in a barrier */
    int64_t met_ns;
    /* whether the communicator, without having a team, has already adopted the decisions that were
     * made on other communicators or by earlier programs (team.c) */
    bool inherits;
    int *world; /* the members' ranks in the world; NULL: not known yet, or the world itself */
    /* The members from one_node to layout are set when the members' ranks are found; for the world,
     * when it gets its team. */
    bool one_node;                /* whether all members share memory, and so have one clock */
    uint64_t group;               /* a hash of the members' ranks in the world */
    bool keeps;                   /* whether decisions are kept for the next program */
    char layout[TT_MPI_LAYOUT];   /* if `keeps`: how the members lie on nodes (kept.h) */
    struct tt_mpi_trials *trials; /* freed with the record */
    struct tt_mpi_again *again;   /* indexed by collective (enum tt_mpi_index); freed with the
                                   * record */
    /* Only later.c uses these. The record is freed when the communicator and the last request on it
     * are freed. */
    /* nonblocking calls in flight; with tt_mpi_setting.measures, one more from the first such call
     * on (`mixed`) */
    atomic_int started;
    atomic_bool mixed;
    atomic_bool held; /* a lock: a thread uses the team for a nonblocking call */
    /* the number of requests that are not freed yet, plus TT_MPI_REMOVED if the communicator is
     * freed */
    atomic_uint requests;
};

enum { TT_MPI_REMOVED = 1 << 30 };
static inline bool tt_mpi_removed(const struct tt_mpi_comm *record)
{
    return atomic_load_explicit(&record->requests, memory_order_relaxed) >= TT_MPI_REMOVED;
}

#define tt_mpi_open_host TT_MPI_OWN(open_host)
/* Looks up the host's functions and handles. Returns the name of one that is missing, or NULL. */
const char *tt_mpi_open_host(void);

/* Writes the host's name and version: "Open MPI v4.1.4". */
#define tt_mpi_host_name TT_MPI_OWN(host_name)
void tt_mpi_host_name(char *name, size_t n);

/* Lock and unlock what all threads use: the records of communicators, and the counts. No thread
 * holds the lock while it waits for another rank. */
#define tt_mpi_lock TT_MPI_OWN(lock)
void tt_mpi_lock(void);
#define tt_mpi_unlock TT_MPI_OWN(unlock)
void tt_mpi_unlock(void);

/* Returns the time of a clock that all ranks on one computer share. */
static inline int64_t tt_mpi_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* How many records of communicators were removed. A thread that remembers a record or a handle
 * forgets it when this number changes, because another communicator may now have that handle. */
#define tt_removed TT_MPI_OWN(removed)
extern atomic_uint tt_removed;
/* The record that this thread looked up last, since most programs make many calls on one
 * communicator. Taking the lock for each call would be expensive, as an atomic exchange waits until
 * all earlier stores of the thread are in the cache. */
struct tt_mpi_last {
    uint64_t handle;  /* the communicator's TT_MPI_KEY; 0: this thread has looked up no record */
    unsigned removed; /* tt_removed when the record was looked up */
    struct tt_mpi_comm *record;
};
#define tt_last TT_MPI_OWN(last)
extern __thread struct tt_mpi_last tt_last __attribute__((tls_model("initial-exec")));
/* Returns a copy of the record of a communicator. The caller holds the lock. */
#define tt_mpi_comm_value TT_MPI_OWN(comm_value)
struct tt_mpi_comm tt_mpi_comm_value(MPI_Comm comm);
/* Removes the record of a communicator from the map of records, and returns it for the caller to
 * free. NULL: the communicator had none. */
#define tt_mpi_comm_remove TT_MPI_OWN(comm_remove)
struct tt_mpi_comm *tt_mpi_comm_remove(MPI_Comm comm);

/* ---- Calls: host.c ---- */

/* A call that Tutti may do. */
struct tt_mpi_later;
struct tt_mpi_call {
    int function; /* an enum tt_mpi_number */
    MPI_Comm comm;
    struct tt_mpi_comm *record;
    tutti_team *team;
    struct tt_mpi_later *later; /* NULL: the call is blocking */
    bool prepares;              /* the call is persistent: its request is made, but not started */
    /* Tutti's request of a call that is started or prepared; not set for other calls */
    tutti_request *request;
    enum tt_mpi_choice choice; /* TT_MPI_TAKEN, or why the host does the call */
    bool user;                 /* whether the call reduces by an operation of the program */
    int shape;                 /* the result of tt_mpi_shape_of; -1: not computed yet */
    int measured;              /* the number under which the trial records the call's times; -1: the
                                * trial does not record them */
    tutti_status status;       /* the status of Tutti's collective */
    /* when a call that may belong to a trial began, and when its arguments had been read; 0: it is
     * not set */
    int64_t began_ns, read_ns;
    /* An error code of the host, from packing data; or MPI_ERR_NO_MEM, together with `status`, if
     * the call needs more memory than there is. This member does not lie beside `status`: the
     * compiler would read both at once, and a load that spans two earlier stores waits until all
     * stores of this thread have reached the cache, also a store to a line that another rank polls.
     */
    int code;
    bool copies;      /* whether tt_mpi_room was called for data, which are copied or packed */
    void *scratch[8]; /* memory that the call needs until its end */
    int scratches;
    /* TT_MPI_SMALL bytes, from which tt_mpi_room takes short pieces, and how many of them are in
     * use. NULL: the call is nonblocking or persistent; such a call lies in allocated memory, which
     * the C library provides faster if it is short. */
    char *small;
    size_t used;
    struct tt_mpi_plain plain; /* n < 0: Tutti's function was not called, or not with the program's
                                * own buffers */
};
enum { TT_MPI_SMALL = 2048 };
_Static_assert(offsetof(struct tt_mpi_call, code) - offsetof(struct tt_mpi_call, status) >= 8,
               "no load reads both");

/* Returns whether Tutti can do calls on this communicator at all, the same on all ranks, and sets
 * call->record to the communicator's record, which lives until the communicator is freed. False:
 * call->choice says why not. Local. Is the first step of each call: if the call may belong to a
 * trial, its time begins here, before Tutti reads its arguments. */
#define tt_mpi_known TT_MPI_OWN(known)
bool tt_mpi_known(struct tt_mpi_call *call);
/* Records in a call that there is no memory for it. */
static inline void tt_mpi_no_memory(struct tt_mpi_call *call)
{
    call->status = TUTTI_ERR_MEMORY;
    call->code = MPI_ERR_NO_MEM;
}
/* Returns memory of `bytes` bytes, which lives until the call ends. NULL: there is no memory, and
 * the call records it. */
#define tt_mpi_room TT_MPI_OWN(room)
void *tt_mpi_room(struct tt_mpi_call *call, int64_t bytes);
/* Frees the memory that tt_mpi_room returned for this call. */
#define tt_mpi_release TT_MPI_OWN(release)
void tt_mpi_release(struct tt_mpi_call *call);

#endif
