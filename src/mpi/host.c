/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's (the program's MPI's) functions and handles, and the records of communicators that
 * were used.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/host.h"

/* ---- The host ---- */

struct tt_mpi_host tt_host;
struct tt_mpi_handles tt_handle;

/* Checks that the parameters in functions.h are those in mpi.h. */
#define SAME(NAME, PARAMETERS, ...)                                                                \
    _Static_assert(__builtin_types_compatible_p(__typeof__(PMPI_##NAME), int PARAMETERS), #NAME);
TT_MPI_LIFE(SAME)
TT_MPI_COLLECTIVES(SAME)
#define SAME_X(NAME, PARAMETERS, ...)                                                              \
    _Static_assert(__builtin_types_compatible_p(__typeof__(PMPIX_##NAME), int PARAMETERS), #NAME);
TT_MPI_EXTENSION(SAME_X)

/* clang-format off */
#define OPERATIONS(F) \
    F(MAX) F(MIN) F(SUM) F(PROD) F(LAND) F(BAND) F(LOR) F(BOR) F(LXOR) F(BXOR) F(MAXLOC) F(MINLOC) \
    F(REPLACE) F(NO_OP)
/* clang-format on */

static bool read_handles(void)
{
    tt_handle.world = MPI_COMM_WORLD;
    tt_handle.self = MPI_COMM_SELF;
    tt_handle.no_comm = tt_handle.own = MPI_COMM_NULL;
    tt_handle.errors_return = MPI_ERRORS_RETURN;
    tt_handle.no_op = MPI_OP_NULL;
    tt_handle.no_type = MPI_DATATYPE_NULL;
    tt_handle.byte = MPI_BYTE;
    tt_handle.integer = MPI_INT;
    tt_handle.wide = MPI_INT64_T;
    tt_handle.min = MPI_MIN;
    tt_handle.bor = MPI_BOR;
    bool there = tt_handle.world && tt_handle.self && tt_handle.no_comm && tt_handle.no_op &&
                 tt_handle.no_type && tt_handle.byte && tt_handle.integer && tt_handle.wide &&
                 tt_handle.min && tt_handle.bor && tt_handle.errors_return;
#define OPERATION(NAME)                                                                            \
    there =                                                                                        \
        there && MPI_##NAME &&                                                                     \
        tt_mpi_map_set(&tt_handle.operation, TT_MPI_KEY(MPI_##NAME), tt_mpi_text("MPI_" #NAME));
    OPERATIONS(OPERATION)
    return there;
}

const char *tt_mpi_open_host(void)
{
#define LOOK_UP(NAME, ...)                                                                         \
    tt_host.NAME = (__typeof__(PMPI_##NAME) *)tt_mpi_host_symbol("PMPI_" #NAME);                   \
    if (!tt_host.NAME) return "PMPI_" #NAME;
    TT_MPI_LIFE(LOOK_UP)
    TT_MPI_COLLECTIVES(LOOK_UP)
    TT_MPI_NEEDED(LOOK_UP)
#define LOOK_UP_X(NAME, ...)                                                                       \
    tt_host.X_##NAME = (__typeof__(PMPIX_##NAME) *)tt_mpi_host_symbol("PMPIX_" #NAME);             \
    tt_host.has_extension = tt_host.has_extension && tt_host.X_##NAME;
    tt_host.has_extension = true;
    TT_MPI_EXTENSION(LOOK_UP_X)
    TT_MPI_NEEDED_X(LOOK_UP_X)
    return read_handles() ? NULL : "predefined handle that mpi.h names";
}

/* Writes a name such as "Open MPI v4.1.4" or "MPICH 4.0.2", taken from the host's version text,
 * which has several lines. */
void tt_mpi_host_name(char *name, size_t n)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    tt_host.Get_library_version(version, &length);
    version[strcspn(version, "\n,")] = '\0';
    const char *number = strchr(version, '\t');
    if (number)
        snprintf(name, n, "MPICH %s", number + 1);
    else
        snprintf(name, n, "%s", version);
}

__thread int tt_depth __attribute__((tls_model("initial-exec")));

static atomic_flag busy = ATOMIC_FLAG_INIT;

void tt_mpi_lock(void)
{
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
    }
}

void tt_mpi_unlock(void)
{
    atomic_flag_clear_explicit(&busy, memory_order_release);
}

static struct tt_mpi_map of_handle; /* from a communicator's handle to its record */

/* ---- Communicators ---- */

/* Returns the number of neighbours to which a rank sends, in a communicator with a topology. */
static int neighbours_of(MPI_Comm comm, int rank)
{
    int kind = MPI_UNDEFINED, n = 0, from, weighted;
    tt_host.Topo_test(comm, &kind);
    if (kind == MPI_GRAPH) tt_host.Graph_neighbors_count(comm, rank, &n);
    if (kind == MPI_DIST_GRAPH) tt_host.Dist_graph_neighbors_count(comm, &from, &n, &weighted);
    if (kind == MPI_CART) {
        tt_host.Cartdim_get(comm, &n);
        n *= 2;
    }
    return n;
}

/* Sets what a record says of a communicator. Asks the host only for what is needed, because
 * programs may make many communicators. False: the host returns an error, so the handle is not one
 * of a communicator. */
static bool describe(MPI_Comm comm, struct tt_mpi_comm *c)
{
    int inter = 0;
    *c = (struct tt_mpi_comm){.handle = TT_MPI_KEY(comm)};
    if (tt_host.Comm_test_inter(comm, &inter) != MPI_SUCCESS ||
        tt_host.Comm_rank(comm, &c->rank) != MPI_SUCCESS ||
        tt_host.Comm_size(comm, &c->members) != MPI_SUCCESS)
        return false;
    c->peers = c->members;
    c->inter = inter;
    if (c->inter) {
        tt_host.Comm_remote_size(comm, &c->peers);
        c->members += c->peers;
    } else if (tt_mpi_setting.report) {
        c->neighbours = neighbours_of(comm, c->rank);
    }
    c->left = c->inter ? TT_MPI_LEFT_INTER : c->members == 1 ? TT_MPI_LEFT_ALONE : TT_MPI_TAKEN;
    return true;
}

/* Returns the record of a communicator; NULL: there is none. The caller holds the lock. */
static struct tt_mpi_comm *find_record(MPI_Comm comm)
{
    const int64_t *at = tt_mpi_map_find(&of_handle, TT_MPI_KEY(comm));
    return at ? (struct tt_mpi_comm *)(intptr_t)*at : NULL;
}

/* Makes the record of a communicator out of what `describe` has set, and returns it. If another
 * thread has made the record meanwhile, returns that one. NULL: there is no memory. The caller
 * holds the lock. */
static struct tt_mpi_comm *add_record(MPI_Comm comm, const struct tt_mpi_comm *described)
{
    struct tt_mpi_comm *known = find_record(comm);
    if (known) return known;
    struct {
        struct tt_mpi_comm record;
        struct tt_mpi_trials trials;
        struct tt_mpi_again again[TT_MPI_INDEXES];
    } *all = calloc(1, sizeof *all);
    if (!all) return NULL;
    all->record = *described;
    all->record.trials = &all->trials;
    all->record.again = all->again;
    if (!tt_mpi_map_set(&of_handle, TT_MPI_KEY(comm), (intptr_t)all)) {
        free(all);
        return NULL;
    }
    if (tt_mpi_setting.report)
        tt_mpi_count(TT_MPI_CALL,
                     &(struct tt_mpi_shape){
                         .function = -1, .handle = described->handle, .ranks = described->members},
                     0, 0, NULL);
    return &all->record;
}

struct tt_mpi_comm tt_mpi_comm_value(MPI_Comm comm)
{
    struct tt_mpi_comm described;
    const struct tt_mpi_comm *record = find_record(comm);
    if (!record && describe(comm, &described)) record = add_record(comm, &described);
    return record ? *record : described;
}

atomic_uint tt_removed;

__thread struct tt_mpi_last tt_last __attribute__((tls_model("initial-exec")));

/* Returns the record of a communicator, and makes it if there is none. NULL: the handle is not one
 * of a communicator, or there is no memory. The handle may be one that the program has freed. It
 * then gets no record, since the host may give it to another communicator later. The host calls an
 * error handler of the program for such a handle, which may leave the call by longjmp or an
 * exception. So the host is asked while this thread does not hold the lock. */
static struct tt_mpi_comm *record_of(MPI_Comm comm)
{
    struct tt_mpi_comm *record, described;
    tt_mpi_lock();
    record = find_record(comm);
    tt_mpi_unlock();
    if (record) return record;
    int depth = tt_mpi_surface();
    bool is_communicator = describe(comm, &described);
    tt_depth = depth;
    if (!is_communicator) return NULL;
    tt_mpi_lock();
    record = add_record(comm, &described);
    tt_mpi_unlock();
    return record;
}

static struct tt_mpi_comm *look_up(MPI_Comm comm, unsigned now)
{
    struct tt_mpi_comm *record = comm == tt_handle.no_comm ? NULL : record_of(comm);
    tt_last.handle = record ? TT_MPI_KEY(comm) : 0;
    tt_last.removed = now;
    tt_last.record = record;
    return record;
}

bool tt_mpi_known(struct tt_mpi_call *call)
{
    unsigned now = atomic_load_explicit(&tt_removed, memory_order_acquire);
    struct tt_mpi_comm *record = tt_last.handle == TT_MPI_KEY(call->comm) && tt_last.removed == now
                                     ? tt_last.record
                                     : look_up(call->comm, now);
    call->record = record;
    if (!record || record->left != TT_MPI_TAKEN) {
        call->choice = record ? record->left : TT_MPI_LEFT_WRONG;
        return false;
    }
    unsigned char *clocked = &record->trials->clocked[call->function];
    if (*clocked > 0) {
        (*clocked)--;
        call->began_ns = tt_mpi_now_ns();
    }
    return true;
}

struct tt_mpi_comm *tt_mpi_comm_remove(MPI_Comm comm)
{
    struct tt_mpi_comm *record;
    atomic_fetch_add_explicit(&tt_removed, 1, memory_order_acq_rel);
    tt_mpi_lock();
    record = find_record(comm);
    if (record) tt_mpi_map_remove(&of_handle, TT_MPI_KEY(comm));
    tt_mpi_unlock();
    return record;
}

/* ---- Calls ---- */

void *tt_mpi_room(struct tt_mpi_call *call, int64_t bytes)
{
    call->copies = true;
    if (call->small && bytes <= (int64_t)(TT_MPI_SMALL - call->used)) {
        void *small = call->small + call->used;
        call->used += ((size_t)bytes + 63) & ~(size_t)63;
        return small;
    }
    void *room = malloc((size_t)bytes + 64);
    if (room)
        call->scratch[call->scratches++] = room;
    else
        tt_mpi_no_memory(call);
    return room;
}

void tt_mpi_release(struct tt_mpi_call *call)
{
    while (call->scratches > 0) free(call->scratch[--call->scratches]);
}
