/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A backend: the functions that Tutti puts into the table of exported functions (shim.h), which
 * take or count calls, and what happens when MPI begins and ends.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mpi/again.h"
#include "mpi/agree.h"
#include "mpi/buffered.h"
#include "mpi/drain.h"
#include "mpi/greet.h"
#include "mpi/left.h"
#include "mpi/local-names.h"
#include "mpi/take-v.h"

/* ---- State ---- */

static struct {
    /* maps a predefined type to the number that stands for its name (tt_mpi_text); guarded by
     * tt_mpi_lock */
    struct tt_mpi_map type;
    int derived, user; /* the numbers that stand for the texts "derived" and "user" */
    int64_t began_ns;
    bool spawned;                 /* whether other processes have spawned this world */
    bool pushes;                  /* whether Tutti does nonblocking calls */
    bool prepares;                /* whether Tutti takes persistent calls */
    struct tt_mpi_map persistent; /* from requests to struct persistent; guarded by tt_mpi_lock */
} state;

/* ---- Types and operations ---- */

static int64_t size_of(MPI_Datatype type)
{
    MPI_Count size = 0;
    if (type == tt_handle.no_type) return 0;
    tt_host.Type_size_x(type, &size);
    return size;
}

static int type_of(MPI_Datatype type)
{
    int n;
    char name[TT_MPI_NAME] = "";
    const int64_t *known = tt_mpi_map_find(&state.type, TT_MPI_KEY(type));
    if (known) return (int)*known;
    if (type == tt_handle.no_type) return 0;
    if (!tt_mpi_is_predefined(type)) return state.derived;
    tt_host.Type_get_name(type, name, &n);
    int number = tt_mpi_text(name);
    tt_mpi_map_set(&state.type, TT_MPI_KEY(type), number);
    return number;
}

static int operation_of(MPI_Op op)
{
    const int64_t *known = tt_mpi_map_find(&tt_handle.operation, TT_MPI_KEY(op));
    return known ? (int)*known : state.user;
}

/* ---- What a call moves ---- */

/* The data that a collective moves, for the counts of a report. `bytes` are the bytes that this
 * rank contributes; for a scatter, those that it receives. */
struct fact {
    struct tt_mpi_comm c;
    int type, operation;
    int64_t bytes;
};

/* Returns the count of this rank in a list of counts, if `buffer` is MPI_IN_PLACE. With another
 * buffer, MPI does not require that the list is valid on this rank, and the function returns 0. */
static int64_t mine(struct tt_mpi_counts list, const void *buffer, MPI_Comm comm)
{
    return buffer == MPI_IN_PLACE ? tt_mpi_at(list, tt_mpi_comm_value(comm).rank) : 0;
}
#define TT_MPI_MINE(COUNTS, BUFFER, COMM) mine(TT_MPI_LIST(COUNTS), BUFFER, COMM)

static int64_t sum(struct tt_mpi_counts list, int n)
{
    int64_t all = 0;
    for (int i = 0; i < n; i++) all += tt_mpi_at(list, i);
    return all;
}

static struct fact fact(MPI_Comm comm, int64_t count, MPI_Datatype type)
{
    return (struct fact){
        .c = tt_mpi_comm_value(comm), .type = type_of(type), .bytes = count * size_of(type)};
}

static struct fact with(struct fact f, MPI_Op op)
{
    f.operation = operation_of(op);
    return f;
}

/* Returns whether 0 bytes of a gather, scatter or reduce are counted for this rank. That is so, in
 * an intercommunicator, for all ranks of the root's group: the root only receives in a gather or
 * reduce and only sends in a scatter, and the other ranks of its group do nothing. */
static bool is_silent(MPI_Comm comm, int root)
{
    return tt_mpi_comm_value(comm).inter && (root == MPI_PROC_NULL || root == MPI_ROOT);
}

static struct fact fact_nothing(MPI_Comm comm)
{
    return (struct fact){.c = tt_mpi_comm_value(comm)};
}

static struct fact fact_bcast(int64_t count, MPI_Datatype type, int root, MPI_Comm comm)
{
    if (tt_mpi_comm_value(comm).inter && root == MPI_PROC_NULL) return fact_nothing(comm);
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

/* For a scatter, functions.h passes the receive buffer in place of the send buffer, and the send
 * buffer in place of the receive buffer. So fact_gather returns the right facts for a scatter,
 * too. */
#define fact_scatter fact_gather

static struct fact fact_alltoall(const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype,
                                 int64_t recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    struct fact f = fact_allgather(sendbuf, sendcount, sendtype, recvcount, recvtype, comm);
    f.bytes *= f.c.peers;
    return f;
}

static struct fact fact_alltoallv(const void *sendbuf, struct tt_mpi_counts sendcounts,
                                  MPI_Datatype sendtype, struct tt_mpi_counts recvcounts,
                                  MPI_Datatype recvtype, MPI_Comm comm)
{
    int n = tt_mpi_comm_value(comm).peers;
    if (sendbuf == MPI_IN_PLACE) return fact(comm, sum(recvcounts, n), recvtype);
    return fact(comm, sum(sendcounts, n), sendtype);
}

/* Adds up the bytes for n peers, each with its own type. The type in the report is that of the
 * first peer. */
static struct fact each_type(struct tt_mpi_counts counts, const MPI_Datatype *types, int n,
                             MPI_Comm comm)
{
    struct fact f = fact_nothing(comm);
    for (int i = 0; i < n; i++)
        f.bytes += tt_mpi_at(counts, i) ? tt_mpi_at(counts, i) * size_of(types[i]) : 0;
    if (n > 0) f.type = type_of(types[0]);
    return f;
}

static struct fact fact_alltoallw(const void *sendbuf, struct tt_mpi_counts sendcounts,
                                  const MPI_Datatype *sendtypes, struct tt_mpi_counts recvcounts,
                                  const MPI_Datatype *recvtypes, MPI_Comm comm)
{
    int n = tt_mpi_comm_value(comm).peers;
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

static struct fact fact_reduce_scatter(struct tt_mpi_counts counts, MPI_Datatype type, MPI_Op op,
                                       MPI_Comm comm)
{
    struct tt_mpi_comm c = tt_mpi_comm_value(comm);
    return fact_allreduce(sum(counts, c.inter ? c.members - c.peers : c.members), type, op, comm);
}

static struct fact fact_reduce_scatter_block(int64_t count, MPI_Datatype type, MPI_Op op,
                                             MPI_Comm comm)
{
    struct tt_mpi_comm c = tt_mpi_comm_value(comm);
    return fact_allreduce(count * (c.inter ? c.members - c.peers : c.members), type, op, comm);
}

static struct fact fact_neighbor_allgather(int64_t count, MPI_Datatype type, MPI_Comm comm)
{
    return fact(comm, count, type);
}

static struct fact fact_neighbor_alltoall(int64_t count, MPI_Datatype type, MPI_Comm comm)
{
    return fact(comm, count * tt_mpi_comm_value(comm).neighbours, type);
}

static struct fact fact_neighbor_alltoallv(struct tt_mpi_counts counts, MPI_Datatype type,
                                           MPI_Comm comm)
{
    return fact(comm, sum(counts, tt_mpi_comm_value(comm).neighbours), type);
}

static struct fact fact_neighbor_alltoallw(struct tt_mpi_counts counts, const MPI_Datatype *types,
                                           MPI_Comm comm)
{
    return each_type(counts, types, tt_mpi_comm_value(comm).neighbours, comm);
}

/* ---- Counting ---- */

static struct tt_mpi_shape shape_of(int function, enum tt_mpi_choice choice, const struct fact *f)
{
    return (struct tt_mpi_shape){.handle = f->c.handle,
                                 .function = function,
                                 .ranks = f->c.members,
                                 .type = f->type,
                                 .operation = f->operation,
                                 .choice = choice};
}

static void keep(int function, enum tt_mpi_choice choice, const struct fact *f, int64_t ns,
                 const struct tt_mpi_costs *costs)
{
    const struct tt_mpi_shape shape = shape_of(function, choice, f);
    tt_mpi_count(TT_MPI_CALL, &shape, f->bytes, ns, costs);
}

/* ---- Persistent requests ---- */

/* The properties of a persistent request of a collective. The program starts and frees requests of
 * all kinds by the same functions; requests that are not in state.persistent are not of a
 * collective. */
struct persistent {
    struct tt_mpi_shape shape; /* the shape under which its starts are counted */
    int64_t bytes;
    struct tt_mpi_later *later; /* Tutti's call; NULL: the host does the collective */
};

/* Records in state.persistent the persistent request that a function of MPI has made. `request` is
 * NULL if that function makes no persistent request; nothing is recorded then. `later`: Tutti's
 * call, or NULL if the host does the call. The caller holds the lock. False: there is no memory. */
static bool keep_persistent(const MPI_Request *request, int function, enum tt_mpi_choice choice,
                            const struct fact *f, struct tt_mpi_later *later)
{
    if (!request) return true;
    struct persistent *p = malloc(sizeof *p);
    if (!p) return false;
    p->shape = shape_of(function, choice, f);
    p->bytes = f->bytes;
    p->later = later;
    if (tt_mpi_map_set(&state.persistent, TT_MPI_KEY(*request), (intptr_t)p)) return true;
    free(p);
    return false;
}

/* `ending` holds, for each thread, the TT_MPI_KEY of the communicator that the host is just freeing
 * in this thread; NULL: none. `ending` is read only while `endings`, the number of threads that are
 * freeing a communicator, is not 0. It is not a __thread variable, because there is little room for
 * __thread variables where the dynamic linker loads this library late. */
static pthread_key_t ending;
static pthread_once_t ending_made = PTHREAD_ONCE_INIT;
static atomic_int endings;

static void make_ending(void)
{
    if (pthread_key_create(&ending, NULL) != 0) abort();
}

/* Returns whether a call goes to the host and is neither counted nor taken. That is so if the host
 * or Tutti makes the call. It is also so if the program's delete function of an attribute makes the
 * call on the communicator that is being freed: the record of that communicator is gone, and a new
 * record would outlive the handle. */
static inline bool stays(MPI_Comm comm, const void *caller)
{
    bool ends = atomic_load_explicit(&endings, memory_order_relaxed) > 0 &&
                (uintptr_t)pthread_getspecific(ending) == (uintptr_t)TT_MPI_KEY(comm);
    return tt_depth > 0 || ends || tt_mpi_in_host(caller);
}

/* Returns what is recorded of a request; NULL: it is not one of a persistent collective. The caller
 * holds the lock. */
static struct persistent *persistent_of(MPI_Request request)
{
    const int64_t *at = tt_mpi_map_find(&state.persistent, TT_MPI_KEY(request));
    return at ? (struct persistent *)(intptr_t)*at : NULL;
}

/* Call this when the host has started n requests. Counts the starts of persistent collectives among
 * them. For each persistent collective that Tutti does, the host has started only a stand-in
 * (later.h), so this function starts Tutti's call. */
static void start_persistent(int n, const MPI_Request *requests)
{
    for (int i = 0; i < n; i++) {
        tt_mpi_lock();
        const struct persistent *p = persistent_of(requests[i]);
        struct tt_mpi_later *later = p ? p->later : NULL;
        if (p && tt_mpi_setting.report) tt_mpi_count(TT_MPI_START, &p->shape, p->bytes, 0, NULL);
        tt_mpi_unlock();
        if (!later) continue;
        tt_depth++;
        tt_mpi_later_start(later);
        tt_depth--;
    }
}

static int start_Start(MPI_Request *request)
{
    int code = tt_host.Start(request);
    if (code == MPI_SUCCESS) start_persistent(1, request);
    return code;
}

static int start_Startall(int count, MPI_Request requests[])
{
    int code = tt_host.Startall(count, requests);
    if (code == MPI_SUCCESS) start_persistent(count, requests);
    return code;
}

/* Frees a request at the host. What is recorded of a persistent one is removed first, because the
 * host may give the handle to another request as soon as it is free. */
static int end_Request_free(MPI_Request *request)
{
    struct persistent *p = NULL;
    if (request) {
        tt_mpi_lock();
        p = persistent_of(*request);
        if (p) tt_mpi_map_remove(&state.persistent, TT_MPI_KEY(*request));
        tt_mpi_unlock();
    }
    int code = tt_host.Request_free(request);
    if (p && p->later) tt_mpi_later_free(p->later);
    free(p);
    return code;
}

/* The array says for each function whether it is one of the nonblocking and persistent functions
 * that Tutti can take, with some hosts. */
#define STARTED(NAME, STARTED, ...) [TT_MPI_##STARTED] = true,
#define PREPARED(NAME, PREPARED, ...) [TT_MPI_##PREPARED] = true,
static const bool is_started[TT_MPI_N] = {TT_MPI_STARTED(STARTED) TT_MPI_KEPT(PREPARED)};

/* Returns why the host does all calls of a function, which are only counted. */
static enum tt_mpi_choice reason_of(int function)
{
    if (tt_mpi_setting.left[function]) return TT_MPI_LEFT_SETTING;
    if (!is_started[function] || !tt_mpi_takes(tt_mpi_setting.mode)) return TT_MPI_LEFT_KIND;
    bool undriven = tt_mpi_setting.mode == TT_MPI_TAKE && !state.pushes;
    return undriven ? TT_MPI_LEFT_UNDRIVEN : TT_MPI_LEFT_NONBLOCKING;
}

/* The functions that count calls. The host does the call first, and the arguments are read only if
 * the host has accepted them: so a wrong argument causes the host's error, and no other. */
#define COUNTING(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES)                                         \
    COUNTING_REQUEST(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES, NULL)
#define COUNTING_PREPARED(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES)                                \
    COUNTING_REQUEST(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES, request)
#define COUNTING_X(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES)                                       \
    COUNTING_REQUEST(X_##NAME, PARAMETERS, ARGUMENTS, FACT, ROLES, request)
#define COUNTING_REQUEST(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES, REQUEST)                        \
    static int count_##NAME PARAMETERS                                                             \
    {                                                                                              \
        if (stays(comm, __builtin_return_address(0))) return tt_host.NAME ARGUMENTS;               \
        int64_t began = tt_mpi_now_ns();                                                           \
        int code = tt_host.NAME ARGUMENTS;                                                         \
        int64_t ended = tt_mpi_now_ns();                                                           \
        if (code != MPI_SUCCESS) return code;                                                      \
        tt_mpi_lock();                                                                             \
        struct fact f = fact_##FACT ROLES;                                                         \
        keep(TT_MPI_##NAME, reason_of(TT_MPI_##NAME), &f, ended - began, NULL);                    \
        (void)keep_persistent(REQUEST, TT_MPI_##NAME, reason_of(TT_MPI_##NAME), &f, NULL);         \
        tt_mpi_unlock();                                                                           \
        return code;                                                                               \
    }
TT_MPI_IMMEDIATE(COUNTING)
TT_MPI_PREPARED(COUNTING_PREPARED)
TT_MPI_EXTENSION(COUNTING_X)

/* ---- Taking ---- */

#define DO(NAME, ...) TT_MPI_DO_##NAME(__VA_ARGS__)
#define BY(NAME, ...) TT_MPI_BY_##NAME(__VA_ARGS__)
#define RANK_LEFT(NAME) tt_left[TT_MPI_INDEX_##NAME].rank
#define RANK_NOW(NAME) call.record->rank
#define AGAIN(NAME, ...) TT_MPI_AGAIN_##NAME(__VA_ARGS__)

/* Does a call without reading its arguments, if it agrees with the call that is kept for the
 * collective (again.h), and returns from the function of MPI. INDEX is the number of the
 * collective, KEY has the arguments of the call, IN and OUT are its buffers, and RUN calls Tutti's
 * function. */
#define REPEAT(INDEX, KEY, IN, OUT, RUN)                                                           \
    const struct tt_mpi_again *again = &record->again[INDEX];                                      \
    if (again->kept && tt_mpi_agrees(again, KEY, IN, OUT)) {                                       \
        tt_depth++;                                                                                \
        tutti_status status = RUN;                                                                 \
        tt_depth--;                                                                                \
        if (has_attached()) tt_mpi_clear_host();                                                   \
        return status == TUTTI_OK ? MPI_SUCCESS : failed_again(function, comm, record, status);    \
    }
/* Leaves the time of reading the arguments out of the time of a trial's call that repeats the one
 * before, because Tutti would do such a call at once (again.h). */
#define COMPARE(INDEX, KEY, IN, OUT, RUN)                                                          \
    const struct tt_mpi_again *tried = &call.record->again[INDEX];                                 \
    if (tried->tried && tt_mpi_agrees(tried, KEY, IN, OUT)) call.began_ns = call.read_ns;
#define KEEP_AGAIN(INDEX, KEY, IN, OUT, RUN) tt_mpi_keep_again(&call, INDEX, KEY);

/* Whether the program has attached a buffer for messages (buffered.h). */
static atomic_bool keeps_messages;

static void keep_messages(bool keeps)
{
    atomic_store_explicit(&keeps_messages, keeps, memory_order_relaxed);
    tt_mpi_buffered_set(keeps);
}

static bool has_attached(void)
{
    return atomic_load_explicit(&keeps_messages, memory_order_relaxed);
}

/* The functions that attach and detach a buffer for messages. */
#define KEEPS(ATTACH, DETACH, COUNT)                                                               \
    static int begin_##ATTACH(void *buffer, COUNT size)                                            \
    {                                                                                              \
        int code = tt_host.ATTACH(buffer, size);                                                   \
        if (code == MPI_SUCCESS) keep_messages(true);                                              \
        return code;                                                                               \
    }                                                                                              \
    static int end_##DETACH(void *buffer, COUNT *size)                                             \
    {                                                                                              \
        int code = tt_host.DETACH(buffer, size);                                                   \
        if (code == MPI_SUCCESS) keep_messages(false);                                             \
        return code;                                                                               \
    }
TT_MPI_BUFFERS(KEEPS)

/* The functions that take calls: Tutti does the call, or the host. read_NAME reads the arguments of
 * a call that is neither left to the host nor done at once. tt_depth says how deep this thread is
 * in calls of the host that Tutti made; a collective that is called while it is not 0 counts as
 * Tutti's. tt_depth is not raised while the host does a call of the program: an error handler of
 * the program may leave that call by longjmp or an exception, and tt_depth would stay raised.
 * tt_mpi_in_host recognises calls from inside the host. */
#define TAKING(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES)                                           \
    static int read_##NAME PARAMETERS;                                                             \
    static int take_##NAME PARAMETERS                                                              \
    {                                                                                              \
        if (tt_mpi_is_left(comm, BY(NAME, RANK_LEFT, TT_MPI_OPEN ARGUMENTS)) ||                    \
            stays(comm, __builtin_return_address(0)))                                              \
            return tt_host.NAME ARGUMENTS;                                                         \
        const int function = TT_MPI_##NAME;                                                        \
        struct tt_mpi_comm *record = tt_mpi_repeats(comm);                                         \
        if (record && !has_attached()) {                                                           \
            AGAIN(NAME, REPEAT, again, record, TT_MPI_OPEN ARGUMENTS)                              \
        }                                                                                          \
        (void)function;                                                                            \
        return read_##NAME ARGUMENTS;                                                              \
    }                                                                                              \
    static __attribute__((noinline)) int read_##NAME PARAMETERS                                    \
    {                                                                                              \
        _Alignas(64) char small[TT_MPI_SMALL];                                                     \
        struct tt_mpi_call call;                                                                   \
        const bool recognises = tt_mpi_repeats(comm) && !has_attached();                           \
        start_call(&call, small, TT_MPI_##NAME, comm);                                             \
        int64_t began = tt_mpi_setting.report ? tt_mpi_now_ns() : 0;                               \
        tt_depth++;                                                                                \
        bool taken = DO(NAME, &call, TT_MPI_OPEN ARGUMENTS);                                       \
        if (taken && !call.record->one_node) tt_mpi_drain(call.status);                            \
        tt_depth--;                                                                                \
        int code = taken ? call.code : tt_host.NAME ARGUMENTS;                                     \
        if (has_attached()) tt_mpi_clear_host();                                                   \
        if (call.scratches) tt_mpi_release(&call);                                                 \
        if (call.measured >= 0) {                                                                  \
            int64_t ended_ns = tt_mpi_now_ns();                                                    \
            if (taken && recognises) {                                                             \
                AGAIN(NAME, COMPARE, tried, call.record, TT_MPI_OPEN ARGUMENTS)                    \
            }                                                                                      \
            tt_mpi_measured(&call, ended_ns);                                                      \
        }                                                                                          \
        if (call.status != TUTTI_OK) return tt_mpi_failed(&call, NULL);                            \
        int64_t ended = tt_mpi_setting.report ? tt_mpi_now_ns() : 0;                               \
        if (call.choice == TT_MPI_LEFT_SLOWER && !tt_mpi_setting.report)                           \
            tt_mpi_remember_left(&call, BY(NAME, RANK_NOW, TT_MPI_OPEN ARGUMENTS));                \
        if (call.plain.n >= 0) {                                                                   \
            AGAIN(NAME, KEEP_AGAIN, none, call.record, TT_MPI_OPEN ARGUMENTS)                      \
        }                                                                                          \
        if (!tt_mpi_setting.report || code != MPI_SUCCESS) return code;                            \
        struct tt_mpi_costs costs = costs_of(&call);                                               \
        tt_mpi_lock();                                                                             \
        struct fact f = fact_##FACT ROLES;                                                         \
        keep(TT_MPI_##NAME, call.choice, &f, ended - began, &costs);                               \
        tt_mpi_unlock();                                                                           \
        return code;                                                                               \
    }

static inline void start_call(struct tt_mpi_call *call, char *small, int function, MPI_Comm comm)
{
    call->function = function;
    call->comm = comm;
    call->code = MPI_SUCCESS;
    call->status = TUTTI_OK;
    call->choice = TT_MPI_TAKEN;
    call->scratches = 0;
    call->small = small;
    call->used = 0;
    call->copies = call->user = call->prepares = false;
    call->shape = call->measured = -1;
    call->began_ns = call->read_ns = 0;
    call->later = NULL;
    call->plain.n = -1;
}

/* Calls the communicator's error handler after Tutti's function has failed in a call whose
 * arguments were not read, because the call agreed with the one before (REPEAT). Returns the code
 * that the function of MPI returns to the program. */
static __attribute__((noinline)) int failed_again(int function, MPI_Comm comm,
                                                  struct tt_mpi_comm *record, tutti_status status)
{
    struct tt_mpi_call call;
    start_call(&call, NULL, function, comm);
    call.record = record;
    call.status = status;
    return tt_mpi_failed(&call, NULL);
}

/* Returns the costs that were measured for the call's shape, and, if Tutti does the call, the time
 * that this saves: the cost by the host minus the cost by Tutti. All are zero for a call that does
 * not follow a decision. */
static struct tt_mpi_costs costs_of(const struct tt_mpi_call *call)
{
    if (call->shape < 0 || call->choice == TT_MPI_LEFT_EARLY ||
        call->record->trials->calls[call->shape] < TT_MPI_FOR_HOST)
        return (struct tt_mpi_costs){0};
    struct tt_mpi_decision d = tt_mpi_trial_decision(call->record->trials, call->shape);
    return (struct tt_mpi_costs){.host_ns = d.host_ns,
                                 .tutti_ns = d.tutti_ns,
                                 .saved_ns = d.tutti ? d.host_ns - d.tutti_ns : 0};
}

TT_MPI_TAKEN(TAKING)

/* ---- Starting ---- */

/* The functions for nonblocking calls: Tutti starts the call, or the host. The struct tt_mpi_call
 * is freed when the program's request does not need it any more. */
#define STARTING(NAME, STARTED, PARAMETERS, ARGUMENTS, FACT, ROLES)                                \
    static int start_##NAME(TT_MPI_OPEN PARAMETERS, MPI_Request *request)                          \
    {                                                                                              \
        if (stays(comm, __builtin_return_address(0)))                                              \
            return tt_host.STARTED(TT_MPI_OPEN ARGUMENTS, request);                                \
        struct tt_mpi_call *call = new_call(TT_MPI_##STARTED, comm);                               \
        if (!call) return no_memory(comm);                                                         \
        int64_t began = tt_mpi_setting.report ? tt_mpi_now_ns() : 0;                               \
        tt_depth++;                                                                                \
        bool taken = request ? DO(NAME, call, TT_MPI_OPEN ARGUMENTS) : lacks_request(call);        \
        enum tt_mpi_choice choice = call->choice;                                                  \
        int code = tt_mpi_later_begun(call, taken ? request : NULL);                               \
        tt_depth--;                                                                                \
        if (!taken) code = tt_host.STARTED(TT_MPI_OPEN ARGUMENTS, request);                        \
        if (!tt_mpi_setting.report || code != MPI_SUCCESS) return code;                            \
        int64_t ended = tt_mpi_now_ns();                                                           \
        tt_mpi_lock();                                                                             \
        struct fact f = fact_##FACT ROLES;                                                         \
        keep(TT_MPI_##STARTED, choice, &f, ended - began, NULL);                                   \
        tt_mpi_unlock();                                                                           \
        return code;                                                                               \
    }

static struct tt_mpi_call *new_call(int function, MPI_Comm comm)
{
    struct tt_mpi_call *call = tt_mpi_later_new();
    if (!call) return NULL;
    struct tt_mpi_later *later = call->later;
    start_call(call, NULL, function, comm);
    call->later = later;
    call->request = NULL;
    call->team = NULL;
    return call;
}

static int no_memory(MPI_Comm comm)
{
    tt_host.Comm_call_errhandler(comm, MPI_ERR_NO_MEM);
    return MPI_ERR_NO_MEM;
}

static bool lacks_request(struct tt_mpi_call *call)
{
    call->choice = TT_MPI_LEFT_WRONG;
    return false;
}

TT_MPI_STARTED(STARTING)

/* ---- Preparing ---- */

/* The functions that prepare persistent calls: Tutti prepares the call, or the host. The struct
 * tt_mpi_call is freed when the program frees the request. */
#define PREPARING(NAME, PREPARED, PARAMETERS, ARGUMENTS, FACT, ROLES)                              \
    static int prepare_##NAME(TT_MPI_OPEN PARAMETERS, MPI_Info info, MPI_Request *request)         \
    {                                                                                              \
        if (stays(comm, __builtin_return_address(0)))                                              \
            return tt_host.PREPARED(TT_MPI_OPEN ARGUMENTS, info, request);                         \
        struct tt_mpi_call *call = new_call(TT_MPI_##PREPARED, comm);                              \
        if (!call) return no_memory(comm);                                                         \
        call->prepares = true;                                                                     \
        int64_t began = tt_mpi_setting.report ? tt_mpi_now_ns() : 0;                               \
        tt_depth++;                                                                                \
        bool taken = request ? DO(NAME, call, TT_MPI_OPEN ARGUMENTS) : lacks_request(call);        \
        enum tt_mpi_choice choice = call->choice;                                                  \
        int code = tt_mpi_later_prepared(call, taken ? request : NULL);                            \
        tt_depth--;                                                                                \
        if (!taken) code = tt_host.PREPARED(TT_MPI_OPEN ARGUMENTS, info, request);                 \
        if (code != MPI_SUCCESS) return code;                                                      \
        int64_t ended = tt_mpi_setting.report ? tt_mpi_now_ns() : 0;                               \
        tt_mpi_lock();                                                                             \
        struct fact f = fact_##FACT ROLES;                                                         \
        if (tt_mpi_setting.report) keep(TT_MPI_##PREPARED, choice, &f, ended - began, NULL);       \
        bool kept =                                                                                \
            keep_persistent(request, TT_MPI_##PREPARED, choice, &f, taken ? call->later : NULL);   \
        tt_mpi_unlock();                                                                           \
        if (kept || !taken) return code;                                                           \
        tt_host.Request_free(request);                                                             \
        tt_mpi_later_free(call->later);                                                            \
        return no_memory(comm);                                                                    \
    }

TT_MPI_KEPT(PREPARING)

/* ---- Beginning and end ---- */

static void fill_table(void);

static void begin(void)
{
    tt_depth++;
    struct tt_mpi_all ranks;
    MPI_Comm parent = tt_handle.no_comm;
    tt_host.Comm_get_parent(&parent);
    state.spawned = parent != tt_handle.no_comm;
    bool all = tt_mpi_greet();
    enum tt_mpi_mode mode = all ? tt_mpi_agree(&ranks) : TT_MPI_OFF;
    if (all) tt_mpi_local_withdraw(); /* no rank looks up the name of another any more */
    state.pushes = mode == TT_MPI_TAKE && ranks.pushes;
    if (tt_mpi_takes(mode) && !tt_mpi_begin(&ranks, state.pushes ? &tt_mpi_in_flight : NULL))
        mode = TT_MPI_OFF;
    tt_mpi_setting.mode = mode;
    state.prepares =
        mode == TT_MPI_TAKE && state.pushes && tt_host.has_extension && tt_mpi_later_open();
    tt_depth--;
    fill_table();
    tt_mpi_table_changed();
    state.began_ns = tt_mpi_now_ns();
}

static int begin_Init(int *argc, char ***argv)
{
    tt_depth++;
    int code = tt_host.Init(argc, argv);
    tt_depth--;
    if (code == MPI_SUCCESS && tt_depth == 0) begin();
    return code;
}

static int begin_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    tt_depth++;
    int code = tt_host.Init_thread(argc, argv, required, provided);
    tt_depth--;
    if (code == MPI_SUCCESS && tt_depth == 0) begin();
    return code;
}

/* Writes the name that the program gave to a communicator. A name that Open MPI made itself counts
 * as no name, because each communicator has a different one. */
static void name_of(uint64_t handle, char name[TT_MPI_NAME])
{
    _Static_assert(MPI_MAX_OBJECT_NAME <= TT_MPI_NAME, "names of communicators would be cut");
    int n = 0;
    name[0] = '\0';
    tt_host.Comm_get_name((MPI_Comm)(uintptr_t)handle, name, &n);
    if (strncmp(name, "MPI COMMUNICATOR ", 17) == 0) name[0] = '\0';
}

/* Counts what was counted on a communicator, which is about to be freed, for its name. Persistent
 * requests on it may be started after that. */
static void count_freed(uint64_t handle)
{
    char name[TT_MPI_NAME];
    name_of(handle, name);
    tt_mpi_lock();
    int number = tt_mpi_count_freed(handle, name);
    for (size_t i = 0; i < state.persistent.size; i++) {
        struct tt_mpi_entry *entry = &state.persistent.entry[i];
        struct persistent *p = entry->handle ? (struct persistent *)(intptr_t)entry->number : NULL;
        if (!p || p->shape.handle != handle) continue;
        p->shape.handle = 0;
        p->shape.communicator = number;
    }
    tt_mpi_unlock();
}

/* Removes the record of a communicator, and frees it unless requests need it. Must be called before
 * the communicator is freed: the host may then give its handle to another communicator, which
 * another thread uses at once. */
static void forget(MPI_Comm comm)
{
    struct tt_mpi_comm *record = tt_mpi_comm_remove(comm);
    if (record && tt_mpi_setting.report) count_freed(TT_MPI_KEY(comm));
    if (!record || tt_mpi_outlives(record)) return;
    tt_mpi_drop(record);
    free(record);
}

static bool is_predefined(MPI_Comm comm)
{
    return comm == tt_handle.world || comm == tt_handle.self;
}

/* The functions that free a communicator. Meanwhile the host calls the program's delete functions
 * of attributes, which may do collectives on the communicator (`stays` recognises these). */
#define ENDS(NAME)                                                                                 \
    static int end_##NAME(MPI_Comm *comm)                                                          \
    {                                                                                              \
        if (!comm || is_predefined(*comm)) return tt_host.NAME(comm);                              \
        forget(*comm);                                                                             \
        pthread_once(&ending_made, make_ending);                                                   \
        void *before = pthread_getspecific(ending);                                                \
        pthread_setspecific(ending, (void *)(uintptr_t)TT_MPI_KEY(*comm));                         \
        atomic_fetch_add(&endings, 1);                                                             \
        int code = tt_host.NAME(comm);                                                             \
        atomic_fetch_sub(&endings, 1);                                                             \
        pthread_setspecific(ending, before);                                                       \
        return code;                                                                               \
    }
ENDS(Comm_free)
ENDS(Comm_disconnect)
#undef ENDS

/* Gathers the rows of all ranks at rank 0, in report->row. `type`: the type of a row, because all
 * rows together may have more bytes than an int can count. False: there was no memory on some rank,
 * or the host failed. */
static bool gather(struct tt_mpi_report *report, struct tt_mpi_row *rows, int n, int rank,
                   MPI_Datatype type)
{
    int ranks = report->ranks, *sizes = NULL, *offsets = NULL, all = 0;
    bool ok = true;
    if (rank == 0) {
        sizes = calloc((size_t)ranks, sizeof *sizes);
        offsets = calloc((size_t)ranks, sizeof *offsets);
        ok = sizes && offsets;
    }
    int fine = ok && rows, fine_everywhere = 0;
    tt_host.Allreduce(&fine, &fine_everywhere, 1, tt_handle.integer, tt_handle.min,
                      tt_handle.world);
    ok = fine_everywhere && tt_host.Gather(&n, 1, tt_handle.integer, sizes, 1, tt_handle.integer, 0,
                                           tt_handle.world) == MPI_SUCCESS;
    for (int r = 0; ok && rank == 0 && r < ranks; r++) {
        offsets[r] = all;
        all += sizes[r];
    }
    if (ok && rank == 0) {
        report->n = (size_t)all;
        report->row = malloc(((size_t)all + 1) * sizeof *report->row);
    }
    fine = ok && (rank != 0 || report->row);
    tt_host.Allreduce(&fine, &fine_everywhere, 1, tt_handle.integer, tt_handle.min,
                      tt_handle.world);
    ok = fine_everywhere && tt_host.Gatherv(rows, n, type, report->row, sizes, offsets, type, 0,
                                            tt_handle.world) == MPI_SUCCESS;
    free(sizes);
    free(offsets);
    return ok;
}

/* Returns the longest time in seconds that has passed at any rank since its MPI_Init. */
static double seconds_since(int64_t began_ns)
{
    int64_t own = began_ns - tt_mpi_now_ns(), least = own;
    tt_host.Allreduce(&own, &least, 1, tt_handle.wide, tt_handle.min, tt_handle.world);
    return (double)least * -1e-9;
}

static void report_all(void)
{
    char name[128];
    int rank = 0;
    size_t n = 0;
    struct tt_mpi_report report = {.host = name,
                                   .spawned = state.spawned,
                                   .seconds = seconds_since(state.began_ns),
                                   .choices = tt_mpi_takes(tt_mpi_setting.mode)};
    struct tt_mpi_row *rows = tt_mpi_rows(&n, name_of);
    tt_mpi_host_name(name, sizeof name);
    tt_host.Comm_rank(tt_handle.world, &rank);
    tt_host.Comm_size(tt_handle.world, &report.ranks);
    MPI_Datatype row = tt_handle.no_type;
    tt_host.Type_contiguous(sizeof *rows, tt_handle.byte, &row);
    tt_host.Type_commit(&row);
    bool ok = gather(&report, rows, (int)n, rank, row);
    tt_host.Type_free(&row);
    if (rank == 0 && ok) tt_mpi_report(&report);
    if (rank == 0 && !ok) tt_mpi_say("the ranks could not gather their counts");
    free(report.row);
    free(rows);
}

static int end_Finalize(void)
{
    tt_depth++;
    if (tt_mpi_setting.report) report_all();
    if (state.prepares) tt_mpi_later_close();
    tt_mpi_end();
    tt_mpi_leave_all();
    int code = tt_host.Finalize();
    tt_depth--;
    return code;
}

/* ---- The table ---- */

static tt_mpi_function *table; /* the table in stub.c */

#define COUNT(NAME, ...) table[TT_MPI_##NAME] = (tt_mpi_function)count_##NAME;
#define COUNT_X(NAME, ...) table[TT_MPI_X_##NAME] = (tt_mpi_function)count_X_##NAME;
#define TAKE(NAME, ...)                                                                            \
    if (!tt_mpi_setting.left[TT_MPI_##NAME]) table[TT_MPI_##NAME] = (tt_mpi_function)take_##NAME;
#define START(NAME, STARTED, ...)                                                                  \
    if (!tt_mpi_setting.left[TT_MPI_##STARTED])                                                    \
        table[TT_MPI_##STARTED] = (tt_mpi_function)start_##NAME;

#define PREPARE(NAME, PREPARED, ...)                                                               \
    if (!tt_mpi_setting.left[TT_MPI_##PREPARED])                                                   \
        table[TT_MPI_##PREPARED] = (tt_mpi_function)prepare_##NAME;

#define KEEP(ATTACH, DETACH, COUNT)                                                                \
    table[TT_MPI_##ATTACH] = (tt_mpi_function)begin_##ATTACH;                                      \
    table[TT_MPI_##DETACH] = (tt_mpi_function)end_##DETACH;

/* Fills the table for the time between the beginning and the end of MPI. */
static void fill_table(void)
{
    if (tt_mpi_setting.mode == TT_MPI_OFF || tt_mpi_setting.mode == TT_MPI_DOUBT) {
        tt_mpi_leave_all();
        return;
    }
    table[TT_MPI_Finalize] = (tt_mpi_function)end_Finalize;
    table[TT_MPI_Comm_free] = (tt_mpi_function)end_Comm_free;
    table[TT_MPI_Comm_disconnect] = (tt_mpi_function)end_Comm_disconnect;
    if (tt_mpi_setting.report) {
        TT_MPI_COLLECTIVES(COUNT)
        if (tt_host.has_extension) {
            TT_MPI_EXTENSION(COUNT_X)
        }
    }
    if (tt_mpi_takes(tt_mpi_setting.mode)) {
        TT_MPI_TAKEN(TAKE)
        TT_MPI_BUFFERS(KEEP)
    }
    if (tt_mpi_setting.mode == TT_MPI_TAKE && state.pushes) {
        TT_MPI_STARTED(START)
        table[TT_MPI_Op_free] = (tt_mpi_function)tt_mpi_op_free;
    }
    if (state.prepares) {
        TT_MPI_KEPT(PREPARE)
    }
    if (tt_mpi_setting.report || state.prepares) {
        table[TT_MPI_Start] = (tt_mpi_function)start_Start;
        table[TT_MPI_Startall] = (tt_mpi_function)start_Startall;
        table[TT_MPI_Request_free] = (tt_mpi_function)end_Request_free;
    }
}

static void take(tt_mpi_function *stubs)
{
    table = stubs;
    state.derived = tt_mpi_text("derived");
    state.user = tt_mpi_text("user");
    table[TT_MPI_Init] = (tt_mpi_function)begin_Init;
    table[TT_MPI_Init_thread] = (tt_mpi_function)begin_Init_thread;
}

const struct tt_mpi_backend TT_MPI_BACKEND = {
    .version = TT_MPI_VERSION, .open = tt_mpi_open_host, .take = take};
