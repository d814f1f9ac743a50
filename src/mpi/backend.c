/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A backend: what Tutti does under one host. This file is compiled with the mpi.h of each host, and
 * is linked with none: `host` has the functions of the host, which were looked up by name, and is
 * the only way to call it. TT_MPI_BACKEND is the name of the backend, and TT_MPI_VERSION what the
 * host's MPI_Get_library_version begins with.
 */
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mpi/shim.h"

/* Open MPI's predefined handles are addresses of its variables, which would be undefined symbols
 * here. read_handles looks the variables up, and every other function uses `handle`. */
#ifdef OMPI_PREDEFINED_GLOBAL
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)tt_mpi_host_variable(#global))
#endif

/* ---- The host ---- */

/* The collectives that the host's mpi.h declares; in a program that is linked statically, those of
 * MPI 3 (static.c). */
#if MPI_VERSION >= 4 && !defined TT_MPI_STATIC
#define COLLECTIVES(F) TT_MPI_COLLECTIVES_3(F) TT_MPI_COLLECTIVES_4(F)
#else
#define COLLECTIVES(F) TT_MPI_COLLECTIVES_3(F)
#endif

#define MEMBER(NAME, ...) __typeof__(PMPI_##NAME) *NAME;
static struct {
    TT_MPI_LIFE(MEMBER)
    COLLECTIVES(MEMBER)
    TT_MPI_NEEDED(MEMBER)
} host;

/* The parameters in the table are those of mpi.h. */
#define SAME(NAME, PARAMETERS, ...)                                                                \
    _Static_assert(__builtin_types_compatible_p(__typeof__(PMPI_##NAME), int PARAMETERS), #NAME);
TT_MPI_LIFE(SAME)
COLLECTIVES(SAME)

/* clang-format off */
#define OPERATIONS(F) \
    F(MAX) F(MIN) F(SUM) F(PROD) F(LAND) F(BAND) F(LOR) F(BOR) F(LXOR) F(BXOR) F(MAXLOC) F(MINLOC) \
    F(REPLACE) F(NO_OP)
/* clang-format on */

static struct {
    MPI_Comm world;
    MPI_Datatype no_type, byte, integer, wide;
    MPI_Op min;
    struct tt_mpi_map operation; /* predefined operations: their names */
} handle;

#define KEY(HANDLE) ((uint64_t)(uintptr_t)(HANDLE))

static bool read_handles(void)
{
    handle.world = MPI_COMM_WORLD;
    handle.no_type = MPI_DATATYPE_NULL;
    handle.byte = MPI_BYTE;
    handle.integer = MPI_INT;
    handle.wide = MPI_INT64_T;
    handle.min = MPI_MIN;
    bool there = handle.world && handle.no_type && handle.byte && handle.integer && handle.wide &&
                 handle.min;
#define OPERATION(NAME)                                                                            \
    there = there && MPI_##NAME &&                                                                 \
            tt_mpi_map_set(&handle.operation, KEY(MPI_##NAME), tt_mpi_text("MPI_" #NAME));
    OPERATIONS(OPERATION)
    return there;
}

static const char *open_host(void)
{
#define LOOK_UP(NAME, ...)                                                                         \
    host.NAME = (__typeof__(PMPI_##NAME) *)tt_mpi_host_symbol("PMPI_" #NAME);                      \
    if (!host.NAME) return "PMPI_" #NAME;
    TT_MPI_LIFE(LOOK_UP)
    COLLECTIVES(LOOK_UP)
    TT_MPI_NEEDED(LOOK_UP)
    return read_handles() ? NULL : "predefined handle that mpi.h names";
}

/* ---- State ---- */

/* How deep this thread is in calls of the host that Tutti made: calls from there are the host's. */
static __thread int depth __attribute__((tls_model("initial-exec")));

/* Guards what follows. No thread holds it while it waits for another rank. */
static atomic_flag busy = ATOMIC_FLAG_INIT;

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
    }
}

static void unlock(void)
{
    atomic_flag_clear_explicit(&busy, memory_order_release);
}

/* A communicator that was used. Unnamed communicators of the same size share a record. */
struct communicator {
    int label;   /* its name */
    int members; /* ranks that take part in a call: of both groups, if there are two */
    int peers;   /* ranks that data go to: of the remote group, if there is one */
    int rank;
    bool inter;
    int neighbours;
};

static struct {
    struct communicator *record;
    int n, size, free;
    struct tt_mpi_map of_handle; /* of communicators: their records */
    struct tt_mpi_map type;      /* predefined types: their names */
    int derived, user;           /* the texts for derived types and user operations */
    enum tt_mpi_mode mode;
    int64_t began_ns;
} state;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- Communicators ---- */

/* The number of neighbours that a rank sends to, in a communicator with a topology. */
static int neighbours_of(MPI_Comm comm, int rank)
{
    int kind = MPI_UNDEFINED, n = 0, from, weighted;
    host.Topo_test(comm, &kind);
    if (kind == MPI_GRAPH) host.Graph_neighbors_count(comm, rank, &n);
    if (kind == MPI_DIST_GRAPH) host.Dist_graph_neighbors_count(comm, &from, &n, &weighted);
    if (kind == MPI_CART) {
        host.Cartdim_get(comm, &n);
        n *= 2;
    }
    return n;
}

/* The name that the program gave. Open MPI names communicators itself, each differently. */
static int label_of(MPI_Comm comm)
{
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    int n = 0;
    host.Comm_get_name(comm, name, &n);
    return tt_mpi_text(strncmp(name, "MPI COMMUNICATOR ", 17) == 0 ? "" : name);
}

static struct communicator describe(MPI_Comm comm)
{
    struct communicator c = {.label = label_of(comm)};
    int inter = 0;
    host.Comm_test_inter(comm, &inter);
    host.Comm_rank(comm, &c.rank);
    host.Comm_size(comm, &c.members);
    c.peers = c.members;
    c.inter = inter;
    if (c.inter) {
        host.Comm_remote_size(comm, &c.peers);
        c.members += c.peers;
    } else {
        c.neighbours = neighbours_of(comm, c.rank);
    }
    tt_mpi_count(&(struct tt_mpi_shape){-1, c.members, c.label, 0, 0}, 0, 0);
    return c;
}

/* Returns a free record, or NULL. The numbers of free records form a list through `rank`. */
static struct communicator *new_record(void)
{
    if (state.free >= 0) {
        struct communicator *c = &state.record[state.free];
        state.free = c->rank;
        return c;
    }
    if (state.n == state.size) {
        int size = state.size ? 2 * state.size : 16;
        struct communicator *record = realloc(state.record, (size_t)size * sizeof *record);
        if (!record) return NULL;
        state.record = record;
        state.size = size;
    }
    return &state.record[state.n++];
}

static void put_back(int number)
{
    state.record[number].rank = state.free;
    state.free = number;
}

static struct communicator communicator(MPI_Comm comm)
{
    const int *at = tt_mpi_map_find(&state.of_handle, KEY(comm));
    if (at) return state.record[*at];
    struct communicator c = describe(comm), *record = new_record();
    if (record) {
        *record = c;
        int number = (int)(record - state.record);
        if (!tt_mpi_map_set(&state.of_handle, KEY(comm), number)) put_back(number);
    }
    return c;
}

/* Must be called before the communicator is freed: the host may then give its handle to another
 * communicator, which another thread uses at once. */
static void forget(MPI_Comm comm)
{
    lock();
    const int *at = tt_mpi_map_find(&state.of_handle, KEY(comm));
    if (at) {
        put_back(*at);
        tt_mpi_map_remove(&state.of_handle, KEY(comm));
    }
    unlock();
}

/* ---- Types and operations ---- */

static int64_t size_of(MPI_Datatype type)
{
    MPI_Count size = 0;
    if (type == handle.no_type) return 0;
    host.Type_size_x(type, &size);
    return size;
}

static int type_of(MPI_Datatype type)
{
    int integers, addresses, types, combiner = MPI_COMBINER_NAMED, n;
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    const int *known = tt_mpi_map_find(&state.type, KEY(type));
    if (known) return *known;
    if (type == handle.no_type) return 0;
    host.Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED) return state.derived;
    host.Type_get_name(type, name, &n);
    int number = tt_mpi_text(name);
    tt_mpi_map_set(&state.type, KEY(type), number);
    return number;
}

static int operation_of(MPI_Op op)
{
    const int *known = tt_mpi_map_find(&handle.operation, KEY(op));
    return known ? *known : state.user;
}

/* ---- What a call moves ---- */

/* What a call of a collective moves: `bytes` are the bytes that this rank contributes; for a
 * scatter, those that it receives. */
struct fact {
    struct communicator c;
    int type, operation;
    int64_t bytes;
};

/* An array of counts of type int or MPI_Count. */
struct counts {
    const void *at;
    size_t width;
};
#define TT_MPI_LIST(COUNTS) ((struct counts){COUNTS, sizeof *(COUNTS)})

static int64_t count_at(struct counts list, int i)
{
    return list.width == sizeof(int) ? ((const int *)list.at)[i] : ((const MPI_Count *)list.at)[i];
}

/* The count of this rank, which a call in place reads; a call that is not in place does not. */
static int64_t mine(struct counts list, const void *buffer, MPI_Comm comm)
{
    return buffer == MPI_IN_PLACE ? count_at(list, communicator(comm).rank) : 0;
}
#define TT_MPI_MINE(COUNTS, BUFFER, COMM) mine(TT_MPI_LIST(COUNTS), BUFFER, COMM)

static int64_t sum(struct counts list, int n)
{
    int64_t all = 0;
    for (int i = 0; i < n; i++) all += count_at(list, i);
    return all;
}

static struct fact fact(MPI_Comm comm, int64_t count, MPI_Datatype type)
{
    return (struct fact){
        .c = communicator(comm), .type = type_of(type), .bytes = count * size_of(type)};
}

static struct fact with(struct fact f, MPI_Op op)
{
    f.operation = operation_of(op);
    return f;
}

/* Ranks of the root's group move nothing, or are the root, in an intercommunicator. */
static bool is_silent(MPI_Comm comm, int root)
{
    return communicator(comm).inter && (root == MPI_PROC_NULL || root == MPI_ROOT);
}

static struct fact fact_nothing(MPI_Comm comm)
{
    return (struct fact){.c = communicator(comm)};
}

static struct fact fact_bcast(int64_t count, MPI_Datatype type, int root, MPI_Comm comm)
{
    if (communicator(comm).inter && root == MPI_PROC_NULL) return fact_nothing(comm);
    return fact(comm, count, type);
}

static struct fact fact_allgather(const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype,
                                  int64_t recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    if (sendbuf == MPI_IN_PLACE) return fact(comm, recvcount, recvtype);
    return fact(comm, sendcount, sendtype);
}

static struct fact fact_gather(const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype,
                               int64_t recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    if (is_silent(comm, root)) return fact_nothing(comm);
    return fact_allgather(sendbuf, sendcount, sendtype, recvcount, recvtype, comm);
}

/* Like a gather, with the ends exchanged. */
#define fact_scatter fact_gather

static struct fact fact_alltoall(const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype,
                                 int64_t recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    struct fact f = fact_allgather(sendbuf, sendcount, sendtype, recvcount, recvtype, comm);
    f.bytes *= f.c.peers;
    return f;
}

static struct fact fact_alltoallv(const void *sendbuf, struct counts sendcounts,
                                  MPI_Datatype sendtype, struct counts recvcounts,
                                  MPI_Datatype recvtype, MPI_Comm comm)
{
    int n = communicator(comm).peers;
    if (sendbuf == MPI_IN_PLACE) return fact(comm, sum(recvcounts, n), recvtype);
    return fact(comm, sum(sendcounts, n), sendtype);
}

/* The type is that of the first peer. */
static struct fact each_type(struct counts counts, const MPI_Datatype *types, int n, MPI_Comm comm)
{
    struct fact f = fact_nothing(comm);
    for (int i = 0; i < n; i++)
        f.bytes += count_at(counts, i) ? count_at(counts, i) * size_of(types[i]) : 0;
    if (n > 0) f.type = type_of(types[0]);
    return f;
}

static struct fact fact_alltoallw(const void *sendbuf, struct counts sendcounts,
                                  const MPI_Datatype *sendtypes, struct counts recvcounts,
                                  const MPI_Datatype *recvtypes, MPI_Comm comm)
{
    int n = communicator(comm).peers;
    if (sendbuf == MPI_IN_PLACE) return each_type(recvcounts, recvtypes, n, comm);
    return each_type(sendcounts, sendtypes, n, comm);
}

static struct fact fact_allreduce(int64_t count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return with(fact(comm, count, type), op);
}

static struct fact fact_reduce(int64_t count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    return is_silent(comm, root) ? fact_nothing(comm) : fact_allreduce(count, type, op, comm);
}

static struct fact fact_reduce_scatter(struct counts counts, MPI_Datatype type, MPI_Op op,
                                       MPI_Comm comm)
{
    struct communicator c = communicator(comm);
    return fact_allreduce(sum(counts, c.inter ? c.members - c.peers : c.members), type, op, comm);
}

static struct fact fact_reduce_scatter_block(int64_t count, MPI_Datatype type, MPI_Op op,
                                             MPI_Comm comm)
{
    struct communicator c = communicator(comm);
    return fact_allreduce(count * (c.inter ? c.members - c.peers : c.members), type, op, comm);
}

static struct fact fact_neighbor_allgather(int64_t count, MPI_Datatype type, MPI_Comm comm)
{
    return fact(comm, count, type);
}

static struct fact fact_neighbor_alltoall(int64_t count, MPI_Datatype type, MPI_Comm comm)
{
    return fact(comm, count * communicator(comm).neighbours, type);
}

static struct fact fact_neighbor_alltoallv(struct counts counts, MPI_Datatype type, MPI_Comm comm)
{
    return fact(comm, sum(counts, communicator(comm).neighbours), type);
}

static struct fact fact_neighbor_alltoallw(struct counts counts, const MPI_Datatype *types,
                                           MPI_Comm comm)
{
    return each_type(counts, types, communicator(comm).neighbours, comm);
}

/* ---- Counting ---- */

static void keep(int function, const struct fact *f, int64_t ns)
{
    const struct tt_mpi_shape shape = {function, f->c.members, f->c.label, f->type, f->operation};
    tt_mpi_count(&shape, f->bytes, ns);
}

/* The host has the call first, and only a call that it accepted is looked at: so a wrong argument
 * causes the host's error, and no other. */
#define COUNTING(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES)                                         \
    static int count_##NAME PARAMETERS                                                             \
    {                                                                                              \
        if (depth > 0 || tt_mpi_in_host(__builtin_return_address(0))) return host.NAME ARGUMENTS;  \
        int64_t began = now_ns();                                                                  \
        depth++;                                                                                   \
        int code = host.NAME ARGUMENTS;                                                            \
        depth--;                                                                                   \
        int64_t ended = now_ns();                                                                  \
        if (code != MPI_SUCCESS) return code;                                                      \
        lock();                                                                                    \
        struct fact f = fact_##FACT ROLES;                                                         \
        keep(TT_MPI_##NAME, &f, ended - began);                                                    \
        unlock();                                                                                  \
        return code;                                                                               \
    }
COLLECTIVES(COUNTING)

/* ---- Beginning and end ---- */

/* Returns the mode of all ranks. If they differ, nothing is counted, and rank 0 says which rank has
 * which setting. */
static enum tt_mpi_mode agree(enum tt_mpi_mode mode)
{
    static const char *const text[] = {"off", "in doubt", "on", "count"};
    int rank = 0;
    host.Comm_rank(handle.world, &rank);
    /* The least mode and the lowest rank with it; the greatest mode, negated, and the same. */
    const int64_t unit = INT64_C(1) << 32;
    int64_t own[] = {mode * unit + rank, -(mode * unit) + rank}, all[2];
    if (host.Allreduce(own, all, 2, handle.wide, handle.min, handle.world) != MPI_SUCCESS)
        return TT_MPI_OFF;
    int64_t least = all[0] >> 32, most = -(all[1] >> 32);
    if (least == most) return (enum tt_mpi_mode)least;
    if (rank == 0)
        tt_mpi_say("off on all ranks: rank %d is %s, and rank %d is %s (TUTTI_MPI)",
                   (int)(all[0] & (unit - 1)), text[least], (int)(all[1] & (unit - 1)), text[most]);
    return TT_MPI_OFF;
}

static void begin(void)
{
    depth++;
    state.mode = agree(state.mode);
    depth--;
    if (state.mode != TT_MPI_COUNT) tt_mpi_leave_all();
    state.began_ns = now_ns();
}

static int begin_Init(int *argc, char ***argv)
{
    depth++;
    int code = host.Init(argc, argv);
    depth--;
    if (code == MPI_SUCCESS && depth == 0) begin();
    return code;
}

static int begin_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    depth++;
    int code = host.Init_thread(argc, argv, required, provided);
    depth--;
    if (code == MPI_SUCCESS && depth == 0) begin();
    return code;
}

static int end_Comm_free(MPI_Comm *comm)
{
    if (comm) forget(*comm);
    return host.Comm_free(comm);
}

static int end_Comm_disconnect(MPI_Comm *comm)
{
    if (comm) forget(*comm);
    return host.Comm_disconnect(comm);
}

/* Gathers the rows of all ranks at rank 0, whose report is then filled. False: there was no memory,
 * on some rank, or the host failed. */
static bool gather(struct tt_mpi_report *report, struct tt_mpi_row *rows, int bytes, int rank)
{
    int ranks = report->ranks, *sizes = NULL, *offsets = NULL, all = 0;
    bool ok = true;
    if (rank == 0) {
        sizes = calloc((size_t)ranks, sizeof *sizes);
        offsets = calloc((size_t)ranks, sizeof *offsets);
        ok = sizes && offsets;
    }
    int fine = ok && rows, fine_everywhere = 0;
    host.Allreduce(&fine, &fine_everywhere, 1, handle.integer, handle.min, handle.world);
    ok = fine_everywhere && host.Gather(&bytes, 1, handle.integer, sizes, 1, handle.integer, 0,
                                        handle.world) == MPI_SUCCESS;
    for (int r = 0; ok && rank == 0 && r < ranks; r++) {
        offsets[r] = all;
        all += sizes[r];
    }
    if (ok && rank == 0) {
        report->n = (size_t)all / sizeof *report->row;
        report->row = malloc((size_t)all + 1);
    }
    fine = ok && (rank != 0 || report->row);
    host.Allreduce(&fine, &fine_everywhere, 1, handle.integer, handle.min, handle.world);
    ok = fine_everywhere && host.Gatherv(rows, bytes, handle.byte, report->row, sizes, offsets,
                                         handle.byte, 0, handle.world) == MPI_SUCCESS;
    free(sizes);
    free(offsets);
    return ok;
}

/* "Open MPI v4.1.4" or "MPICH 4.0.2", from a text of several lines. */
static void host_name(char *name, size_t n)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    host.Get_library_version(version, &length);
    version[strcspn(version, "\n,")] = '\0';
    const char *number = strchr(version, '\t');
    if (number)
        snprintf(name, n, "MPICH %s", number + 1);
    else
        snprintf(name, n, "%s", version);
}

/* The longest time of a rank since its MPI_Init. */
static double seconds_since(int64_t began_ns)
{
    int64_t own = began_ns - now_ns(), least = own;
    host.Allreduce(&own, &least, 1, handle.wide, handle.min, handle.world);
    return (double)least * -1e-9;
}

static void report_all(void)
{
    char name[128];
    int rank = 0;
    size_t n = 0;
    struct tt_mpi_report report = {.host = name, .seconds = seconds_since(state.began_ns)};
    struct tt_mpi_row *rows = tt_mpi_rows(&n);
    host_name(name, sizeof name);
    host.Comm_rank(handle.world, &rank);
    host.Comm_size(handle.world, &report.ranks);
    bool ok = gather(&report, rows, (int)(n * sizeof *rows), rank);
    if (rank == 0 && ok) tt_mpi_report(&report);
    if (rank == 0 && !ok) tt_mpi_say("the ranks could not gather their counts");
    free(report.row);
    free(rows);
}

static int end_Finalize(void)
{
    depth++;
    if (state.mode == TT_MPI_COUNT) report_all();
    int code = host.Finalize();
    depth--;
    return code;
}

/* ---- The table ---- */

static void take(tt_mpi_function *table, enum tt_mpi_mode mode)
{
    state.mode = mode;
    state.free = -1;
    table[TT_MPI_Init] = (tt_mpi_function)begin_Init;
    table[TT_MPI_Init_thread] = (tt_mpi_function)begin_Init_thread;
    if (mode != TT_MPI_COUNT) return;
    state.derived = tt_mpi_text("derived");
    state.user = tt_mpi_text("user");
    table[TT_MPI_Finalize] = (tt_mpi_function)end_Finalize;
    table[TT_MPI_Comm_free] = (tt_mpi_function)end_Comm_free;
    table[TT_MPI_Comm_disconnect] = (tt_mpi_function)end_Comm_disconnect;
#define TAKE(NAME, ...) table[TT_MPI_##NAME] = (tt_mpi_function)count_##NAME;
    COLLECTIVES(TAKE)
}

const struct tt_mpi_backend TT_MPI_BACKEND = {
    .version = TT_MPI_VERSION, .open = open_host, .take = take};
