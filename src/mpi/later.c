/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking and persistent calls that Tutti does.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/drain.h"
#include "mpi/drive.h"
#include "mpi/later.h"

/* After so many tests in vain, a blocking call yields the processor after each further test. */
enum { LOOKS_BEFORE_YIELD = 200 };

/* Data that are packed when a call starts, or unpacked when it has ended. */
struct copy {
    /* layout.type belongs to this struct (hold_type), unless layout.bytes is true */
    struct tt_mpi_layout layout;
    const void *from;
    void *to;
    int64_t count;
};

struct copies {
    struct copy *copy;
    int n;
};

struct tt_mpi_later {
    struct tt_mpi_call call;
    struct tt_mpi_later *next;        /* the next call in a stack or in the list of list.first */
    struct tt_mpi_later *next_failed; /* the next call in stand_in.failed */
    MPI_Request host;
    /* whether the generalized request `host` was made: the host then frees this struct when it
     * frees the request */
    bool has_host;
    bool over; /* the call ended in its start, and Tutti's request is freed */
    struct copies packs, deliveries;
    /* The reduction of a call by an operation of the program, which lies in the call's memory;
     * NULL: the call has none. derived: if the type of the reduction is derived, a type that was
     * made of it; otherwise tt_handle.no_type. */
    struct tt_mpi_reduction *reduction;
    MPI_Datatype derived;
    unsigned looks;  /* tt_mpi_in_flight.looks when MPICH last polled the request */
    int64_t last_ns; /* tt_mpi_last_ns of this call; 0: the call has not failed */
    bool reported;   /* the error handler was called for call.status */
    char error[256];
    atomic_bool active; /* started, and not yet ended */
    bool freed;         /* the program freed the request while the call was active */
    /* The following is for persistent calls, which do not use `host`. */
    int tag; /* the tag of the message that completes the stand-in */
};

static bool well(const struct tt_mpi_call *call)
{
    return call->status == TUTTI_OK && call->code == MPI_SUCCESS;
}

/* ---- Teams in use ---- */

static bool try_hold(struct tt_mpi_comm *record)
{
    return !atomic_exchange_explicit(&record->held, true, memory_order_acquire);
}

static void hold(struct tt_mpi_comm *record)
{
    while (!try_hold(record)) sched_yield();
}

static void release(struct tt_mpi_comm *record)
{
    atomic_store_explicit(&record->held, false, memory_order_release);
}

/* Frees Tutti's request if `status` says that it has ended, and returns `status`. The caller holds
 * the lock of the team (`held`). */
static tutti_status free_if_ended(struct tt_mpi_call *call, tutti_status status)
{
    if (status != TUTTI_AGAIN) (void)tt_mpi_tutti.request_free(call->request);
    return status;
}

static tutti_status wait_for(struct tt_mpi_call *call)
{
    for (int looks = 0;; looks++) {
        hold(call->record);
        tutti_status status = free_if_ended(call, tt_mpi_tutti.test(call->request));
        release(call->record);
        if (status != TUTTI_AGAIN) return status;
        tt_mpi_push_host();
        if (looks >= LOOKS_BEFORE_YIELD) sched_yield();
    }
}

/* ---- Records ---- */

static void free_record(struct tt_mpi_comm *record)
{
    tt_mpi_drop(record);
    free(record);
}

static void take_record(struct tt_mpi_comm *record)
{
    atomic_fetch_add_explicit(&record->requests, 1, memory_order_relaxed);
}

static void give_record(struct tt_mpi_comm *record)
{
    unsigned before = atomic_fetch_sub_explicit(&record->requests, 1, memory_order_acq_rel);
    if (before == TT_MPI_REMOVED + 1) free_record(record);
}

/* ---- The host's request ---- */

/* Fills the status of the program's request, with no source, tag or bytes, as after a nonblocking
 * collective of the host. The host calls this function where the program waits for the call. So if
 * the call has failed, this function calls the communicator's error handler. It does not for a call
 * on MPI_COMM_WORLD, or on a communicator that was freed. If this function returns an error code,
 * Open MPI calls the handler of MPI_COMM_WORLD in any case. The handler may call MPI, also with
 * MPI_THREAD_MULTIPLE: MPICH calls this function without its lock. */
static int query(void *state, MPI_Status *status)
{
    struct tt_mpi_later *later = state;
    struct tt_mpi_call *call = &later->call;
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    tt_host.Status_set_elements(status, tt_handle.byte, 0);
    tt_host.Status_set_cancelled(status, 0);
    if (call->status == TUTTI_OK || later->reported) return call->code;
    later->reported = true;
    if (tt_mpi_removed(call->record) || call->comm == tt_handle.world)
        call->comm = tt_handle.no_comm;
    call->code = tt_mpi_failed(call, later->error);
    return call->code;
}

/* Does nothing: a collective cannot be cancelled. */
static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static void delete_copies(struct copies *all)
{
    for (int i = 0; i < all->n; i++)
        if (!all->copy[i].layout.bytes) tt_host.Type_free(&all->copy[i].layout.type);
    free(all->copy);
}

/* ---- Operations of the program ---- */

/* The operations of the program that calls use: for each, twice the number of these calls, plus 1
 * if the program has freed the operation. Guarded by tt_mpi_lock. */
static struct tt_mpi_map operations;

static bool hold_operation(MPI_Op op)
{
    tt_mpi_lock();
    const int64_t *at = tt_mpi_map_find(&operations, TT_MPI_KEY(op));
    bool held = tt_mpi_map_set(&operations, TT_MPI_KEY(op), at ? *at + 2 : 2);
    tt_mpi_unlock();
    return held;
}

/* Ends the use of an operation by a call. If no other call uses it and the program has freed it,
 * the host frees it now. */
static void give_operation(MPI_Op op)
{
    tt_mpi_lock();
    int64_t left = *tt_mpi_map_find(&operations, TT_MPI_KEY(op)) -= 2;
    if (left < 2) tt_mpi_map_remove(&operations, TT_MPI_KEY(op));
    tt_mpi_unlock();
    if (left == 1) tt_host.Op_free(&op);
}

int tt_mpi_op_free(MPI_Op *op)
{
    tt_mpi_lock();
    int64_t *at = op ? tt_mpi_map_find(&operations, TT_MPI_KEY(*op)) : NULL;
    if (at) *at |= 1;
    tt_mpi_unlock();
    if (!at) return tt_host.Op_free(op);
    *op = tt_handle.no_op;
    return MPI_SUCCESS;
}

static void free_reduction(struct tt_mpi_later *later)
{
    if (later->reduction) {
        tt_mpi_reduction_release(later->reduction);
        give_operation(later->reduction->host_op);
    }
    if (later->derived != tt_handle.no_type) tt_host.Type_free(&later->derived);
}

static void delete (struct tt_mpi_later *later)
{
    free_reduction(later);
    tt_mpi_release(&later->call);
    delete_copies(&later->packs);
    delete_copies(&later->deliveries);
    free(later);
}

static void free_started(struct tt_mpi_later *later)
{
    struct tt_mpi_comm *record = later->call.record;
    delete (later);
    give_record(record);
}

/* A list of calls, to which any thread may push, without waiting. */
struct stack {
    _Atomic(struct tt_mpi_later *) top;
};

static void stack_push(struct stack *stack, struct tt_mpi_later *later)
{
    struct tt_mpi_later *before = atomic_load_explicit(&stack->top, memory_order_relaxed);
    do {
        later->next = before;
    } while (!atomic_compare_exchange_weak_explicit(&stack->top, &before, later,
                                                    memory_order_release, memory_order_relaxed));
}

/* Takes all calls off the stack, and returns them in a list, the latest first. */
static struct tt_mpi_later *stack_take(struct stack *stack)
{
    if (!atomic_load_explicit(&stack->top, memory_order_relaxed)) return NULL;
    return atomic_exchange_explicit(&stack->top, NULL, memory_order_acquire);
}

static struct stack dead; /* calls that are to be freed */

static void free_dead(void)
{
    for (struct tt_mpi_later *at = stack_take(&dead), *next; at; at = next) {
        next = at->next;
        free_started(at);
    }
}

/* Frees a call. The host calls this function when the call has ended and the program has completed
 * or freed its request. MPICH also calls it if the program frees the request of a call that is in
 * flight, which MPI forbids; the call is then freed when it has ended. With MPI_THREAD_MULTIPLE,
 * MPICH holds its lock, and the call is freed later (drive.h). */
static int free_state(void *state)
{
    struct tt_mpi_later *later = state;
    if (atomic_load_explicit(&later->active, memory_order_acquire))
        later->freed = true;
    else if (tt_mpi_in_flight.threaded)
        stack_push(&dead, later);
    else
        free_started(later);
    return MPI_SUCCESS;
}

bool tt_mpi_outlives(struct tt_mpi_comm *record)
{
    free_dead();
    return atomic_fetch_add_explicit(&record->requests, TT_MPI_REMOVED, memory_order_acq_rel) > 0;
}

#ifdef MPICH_NAME
/* MPICH calls this function for each request that a function of MPI waits for or tests. MPI_Wait
 * only calls this function again and again, so it must run the host's progress. The other functions
 * run the progress themselves, once for all requests. So this function does so only if the progress
 * has not run since it was last called for this request. */
static int poll(void *state, MPI_Status *status)
{
    struct tt_mpi_later *later = state;
    (void)status;
    (void)tt_mpi_push_flights();
    if (later->looks == tt_mpi_in_flight.looks) (void)tt_mpi_push_host();
    later->looks = tt_mpi_in_flight.looks;
    return MPI_SUCCESS;
}

/* MPI_Waitall of MPICH calls this function until the request is complete. Without it, MPI_Waitall
 * would stop the program if it finds a generalized request that is not complete, and an entry of
 * the list is MPI_REQUEST_NULL. */
static int look_again(int n, void **states, double seconds, MPI_Status *status)
{
    (void)n, (void)states, (void)seconds, (void)status;
    (void)tt_mpi_push_flights();
    (void)tt_mpi_push_host();
    return MPI_SUCCESS;
}

static int start_request(struct tt_mpi_later *later)
{
    return tt_host.X_Grequest_start(query, free_state, cancel, poll, look_again, later,
                                    &later->host);
}
#else
static int start_request(struct tt_mpi_later *later)
{
    return tt_host.Grequest_start(query, free_state, cancel, later, &later->host);
}
#endif

/* ---- Beginning ---- */

struct tt_mpi_call *tt_mpi_later_new(void)
{
    free_dead();
    struct tt_mpi_later *later = malloc(sizeof *later);
    if (!later) return NULL;
    later->call.later = later;
    later->next = NULL;
    later->has_host = later->reported = later->over = false;
    later->packs = later->deliveries = (struct copies){0};
    later->reduction = NULL;
    later->derived = tt_handle.no_type;
    later->last_ns = 0;
    later->looks = 0;
    later->freed = false;
    atomic_init(&later->active, false);
    return &later->call;
}

bool tt_mpi_before_start(struct tt_mpi_call *call)
{
    struct tt_mpi_later *later = call->later;
    if (later) {
        take_record(call->record);
        later->has_host = start_request(later) == MPI_SUCCESS;
        if (!later->has_host) {
            give_record(call->record);
            tt_mpi_no_memory(call);
            return false;
        }
    }
    hold(call->record);
    return true;
}

/* Returns whether a call that was just started has ended without an error. Most short calls have,
 * if the other ranks have started theirs. As after a blocking call, packets may be left behind. */
static bool is_over(const struct tt_mpi_call *call)
{
    if (tt_mpi_tutti.request_check(call->request) != TUTTI_OK) return false;
    if (!call->record->one_node) tt_mpi_drain(TUTTI_OK);
    return true;
}

tutti_status tt_mpi_after_start(struct tt_mpi_call *call, tutti_status status)
{
    if (call->later && status == TUTTI_OK && is_over(call)) {
        call->later->over = true;
        (void)tt_mpi_tutti.request_free(call->request);
    }
    release(call->record);
    return call->later || status != TUTTI_OK ? status : wait_for(call);
}

const struct tt_mpi_layout tt_mpi_bytes = {.size = 1, .extent = 1, .bytes = true};

/* Replaces a type, which the program may free, by one of the same layout. MPI_Type_dup would call
 * the copy functions of the program's attributes, which may fail; a type that is made by
 * MPI_Type_contiguous gets no attributes. Returns the host's code. */
static int hold_type(MPI_Datatype *type)
{
    MPI_Datatype held;
    int code = tt_host.Type_contiguous(1, *type, &held);
    if (code == MPI_SUCCESS) code = tt_host.Type_commit(&held);
    if (code == MPI_SUCCESS) *type = held;
    return code;
}

bool tt_mpi_hold_reduction(struct tt_mpi_call *call, struct tt_mpi_reduction *r)
{
    struct tt_mpi_later *later = call->later;
    struct tt_mpi_reduction *own = tt_mpi_room(call, sizeof *own);
    MPI_Datatype type = r->layout.type;
    if (!own) return false;
    *own = *r;
    if (tt_mpi_predefined_size(TT_MPI_KEY(type)) == 0) {
        call->code = hold_type(&type);
        if (call->code != MPI_SUCCESS) return false;
        later->derived = type;
    }
    if (!tt_mpi_reduction_bind(call, own)) return false;
    if (!hold_operation(own->host_op)) {
        tt_mpi_reduction_release(own);
        tt_mpi_no_memory(call);
        return false;
    }
    later->reduction = own;
    r->type = own->type;
    r->op = own->op;
    return true;
}

/* Adds a copy to `all`, to be made when the call starts or when it has ended. On an error, sets
 * call->code. Only a persistent call without memory gets an error in call->status, too: a
 * nonblocking call has started already, and its error is reported when the program completes it. */
static void keep_copy(struct tt_mpi_call *call, struct copies *all, struct copy copy)
{
    if (copy.count == 0 || copy.layout.size == 0) return;
    struct copy *larger = realloc(all->copy, (size_t)(all->n + 1) * sizeof *larger);
    if (larger) all->copy = larger;
    if (larger && !copy.layout.bytes) call->code = hold_type(&copy.layout.type);
    if (!larger) call->code = MPI_ERR_NO_MEM;
    if (!larger && call->prepares) tt_mpi_no_memory(call);
    if (call->code == MPI_SUCCESS) all->copy[all->n++] = copy;
}

void tt_mpi_collect(struct tt_mpi_call *call, const struct tt_mpi_layout *layout, const void *from,
                    int64_t count, void *to)
{
    const struct copy copy = {.layout = *layout, .from = from, .to = to, .count = count};
    if (call->prepares)
        keep_copy(call, &call->later->packs, copy);
    else
        tt_mpi_pack(call, layout, from, count, to);
}

void tt_mpi_deliver(struct tt_mpi_call *call, const struct tt_mpi_layout *layout, const void *from,
                    int64_t count, void *to)
{
    const struct copy copy = {.layout = *layout, .from = from, .to = to, .count = count};
    if (call->later)
        keep_copy(call, &call->later->deliveries, copy);
    else
        tt_mpi_unpack(call, layout, from, count, to);
}

/* Packs data before a call (`packs`), or unpacks them after it. Does nothing if the call has
 * failed. */
static void do_copies(struct tt_mpi_later *later, const struct copies *all, bool packs)
{
    struct tt_mpi_call *call = &later->call;
    MPI_Comm comm = call->comm;
    if (!well(call)) return;
    call->comm = tt_handle.world; /* the program may have freed its communicator */
    for (int i = 0; well(call) && i < all->n; i++) {
        const struct copy *c = &all->copy[i];
        if (packs)
            tt_mpi_pack(call, &c->layout, c->from, c->count, c->to);
        else
            tt_mpi_unpack(call, &c->layout, c->from, c->count, c->to);
    }
    call->comm = comm;
    if (!well(call))
        snprintf(later->error, sizeof later->error, "the MPI cannot %s the data of this call",
                 packs ? "pack" : "unpack");
}

static void keep_error(struct tt_mpi_later *later)
{
    snprintf(later->error, sizeof later->error, "%s", tt_mpi_tutti.error());
}

/* ---- The stand-in of a persistent call ---- */

static struct {
    MPI_Comm self;        /* a duplicate of MPI_COMM_SELF, for messages that complete stand-ins */
    atomic_uint prepared; /* how many calls were prepared: each gets the next tag, so that tags
                           * differ until all were used */
    unsigned tags;        /* the tags of calls are less than this */
    /* Calls whose errors were not reported yet. The mutex guards this list. A thread that holds the
     * mutex calls neither MPI nor an error handler, so a function that MPICH calls with its lock
     * may wait for the mutex. */
    struct tt_mpi_later *failed;
    pthread_mutex_t mutex;
} stand_in = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Prints the error of a call, and stores the call until `hear` reports it. MPICH calls `hear` only
 * in MPI_Wait and MPI_Test, and otherwise the error handler of MPI_COMM_WORLD. */
static void add_failed(struct tt_mpi_later *later)
{
    tt_mpi_say("%s: %s", tt_mpi_names[later->call.function], later->error);
    pthread_mutex_lock(&stand_in.mutex);
    later->next_failed = stand_in.failed;
    stand_in.failed = later;
    pthread_mutex_unlock(&stand_in.mutex);
}

/* Removes a call from the list of those that have failed, if it is there. A thread does this before
 * it starts the call again or frees it. So a call in the list, and the record of its communicator,
 * exist as long as another thread holds the mutex. */
static void remove_failed(const struct tt_mpi_later *later)
{
    if (well(&later->call)) return;
    pthread_mutex_lock(&stand_in.mutex);
    struct tt_mpi_later **at = &stand_in.failed;
    while (*at && *at != later) at = &(*at)->next_failed;
    if (*at) *at = later->next_failed;
    pthread_mutex_unlock(&stand_in.mutex);
}

/* Removes the latest call from the list of those that have failed, and stores in *call what the
 * report of its error needs. Returns false if there is none. */
static bool take_failed(struct tt_mpi_call *call)
{
    pthread_mutex_lock(&stand_in.mutex);
    const struct tt_mpi_later *failed = stand_in.failed;
    if (failed) {
        bool removed = tt_mpi_removed(failed->call.record);
        stand_in.failed = failed->next_failed;
        *call = (struct tt_mpi_call){.function = failed->call.function,
                                     .comm = removed ? tt_handle.world : failed->call.comm,
                                     .status = failed->call.status};
    }
    pthread_mutex_unlock(&stand_in.mutex);
    return failed != NULL;
}

/* The error handler of the communicator on which the stand-ins receive (stand_in.self). The host
 * calls it when the program completes requests of which one has failed. Calls the error handlers of
 * the calls that have failed. Open MPI's function then returns what `code` is set to. */
static void hear(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    for (struct tt_mpi_call call; take_failed(&call);) {
        if (call.status == TUTTI_OK) call.status = TUTTI_ERR_MEMORY;  /* a copy failed */
        if (tt_mpi_in_flight.threaded) call.comm = tt_handle.no_comm; /* MPICH holds its lock */
        *code = tt_mpi_failed(&call, "");
    }
}

bool tt_mpi_later_open(void)
{
    MPI_Errhandler handler;
    int *most = NULL, found = 0;
    tt_host.Comm_get_attr(tt_handle.world, MPI_TAG_UB, &most, &found);
    stand_in.tags = found ? (unsigned)*most : 32767; /* MPI guarantees the tags 0 to 32767 */
    if (tt_host.Comm_dup(tt_handle.self, &stand_in.self) != MPI_SUCCESS ||
        tt_host.Comm_create_errhandler(hear, &handler) != MPI_SUCCESS)
        return false;
    bool ok = tt_host.Comm_set_errhandler(stand_in.self, handler) == MPI_SUCCESS;
    tt_host.Errhandler_free(&handler);
    return ok;
}

/* Frees a persistent call that is not active. */
static void delete_prepared(struct tt_mpi_later *later)
{
    if (later->call.request) (void)tt_mpi_tutti.request_free(later->call.request);
    if (later->call.team) tt_mpi_drop_prepared(later->call.team);
    delete (later);
}

static void free_prepared(struct tt_mpi_later *later)
{
    struct tt_mpi_comm *record = later->call.record;
    remove_failed(later);
    delete_prepared(later);
    give_record(record);
}

/* Sends a message to a stand-in. MPICH does so at once, because the stand-in waits for the message.
 * But a function of MPICH that waits looks at the stand-in only after another event; the second
 * message, which this process sends and receives, is such an event. `awaited`: whether a function
 * may be waiting for the stand-in already. */
static void send_to_stand_in(int bytes, int tag, bool awaited)
{
    static char byte;
#ifdef MPICH_NAME
    int other = (int)stand_in.tags;
    tt_host.Send(&byte, bytes, tt_handle.byte, 0, tag, stand_in.self);
    if (!awaited) return;
    tt_host.Sendrecv(NULL, 0, tt_handle.byte, 0, other, NULL, 0, tt_handle.byte, 0, other,
                     stand_in.self, MPI_STATUS_IGNORE);
#else
    MPI_Request sent;
    (void)awaited;
    if (tt_host.Isend(&byte, bytes, tt_handle.byte, 0, tag, stand_in.self, &sent) == MPI_SUCCESS)
        tt_host.Request_free(&sent);
#endif
}

/* Sends the message that completes the stand-in of a call that has ended. From then on another
 * thread may start the call again, or free it. If the program has freed the request of the call
 * while it was active, which MPI forbids, frees the call instead. `awaited`: see
 * send_to_stand_in. */
static void complete_stand_in(struct tt_mpi_later *later, bool awaited)
{
    int bytes = !well(&later->call), tag = later->tag;
    if (later->freed) {
        free_prepared(later);
        return;
    }
    if (bytes) add_failed(later);
    atomic_store_explicit(&later->active, false, memory_order_release);
    send_to_stand_in(bytes, tag, awaited);
}

/* Returns the error code that the program gets for a call that Tutti has not started. If the call's
 * status is an error, calls the error handler, unless `request` is NULL: the host does the call
 * then. `ended` is a copy of the call. The caller has freed the call itself, because the error
 * handler may jump out of this function. */
static int code_of_ended(const struct tt_mpi_call *ended, const MPI_Request *request)
{
    return request && ended->status != TUTTI_OK ? tt_mpi_failed(ended, NULL) : ended->code;
}

int tt_mpi_later_prepared(struct tt_mpi_call *call, MPI_Request *request)
{
    struct tt_mpi_later *later = call->later;
    if (request && well(call) && call->request) {
        unsigned number = atomic_fetch_add_explicit(&stand_in.prepared, 1, memory_order_relaxed);
        later->tag = (int)(number % stand_in.tags);
        call->code =
            tt_host.Recv_init(NULL, 0, tt_handle.byte, 0, later->tag, stand_in.self, request);
        if (call->code == MPI_SUCCESS) {
            take_record(call->record);
            return MPI_SUCCESS;
        }
    }
    const struct tt_mpi_call ended = *call;
    delete_prepared(later);
    return code_of_ended(&ended, request);
}

/* ---- The list of calls in flight ---- */

static struct {
    struct stack fresh; /* calls that were started since a thread last went through the list */
    atomic_bool walked; /* a thread is going through the list */
    struct tt_mpi_later *first, **end; /* the list, and the place where to append to it; only the
                                           * thread that has set `walked` uses these */
} list;

/* Returns whether the call has ended, perhaps with an error. Does not advance the call: the host's
 * progress has advanced Tutti before it goes through the list. */
static bool has_ended(struct tt_mpi_later *later)
{
    struct tt_mpi_call *call = &later->call;
    if (later->last_ns) return tt_mpi_now_ns() >= later->last_ns;
    tutti_status status;
    if (call->prepares) { /* a persistent call has its own team, and its request is used again */
        status = tt_mpi_tutti.request_check(call->request);
    } else {
        if (!try_hold(call->record)) return false;
        status = free_if_ended(call, tt_mpi_tutti.request_check(call->request));
        release(call->record);
    }
    if (status == TUTTI_AGAIN) return false;
    call->status = status;
    if (status == TUTTI_OK) return true;
    keep_error(later);
    later->last_ns = tt_mpi_last_ns(call);
    return tt_mpi_now_ns() >= later->last_ns;
}

/* Unpacks the data of a call that has ended, and completes the program's request: the generalized
 * request of a nonblocking call, or the stand-in of a persistent call. From then on another thread
 * may free the call. */
static void end(struct tt_mpi_later *later)
{
    struct tt_mpi_call *call = &later->call;
    do_copies(later, &later->deliveries, false);
    atomic_fetch_sub_explicit(&tt_mpi_in_flight.n, 1, memory_order_relaxed);
    if (call->prepares) {
        complete_stand_in(later, true);
        return;
    }
    atomic_fetch_sub_explicit(&call->record->started, 1, memory_order_release);
    bool freed = later->freed;
    atomic_store_explicit(&later->active, false, memory_order_release);
    tt_host.Grequest_complete(later->host);
    if (freed) free_started(later);
}

static void take_fresh(void)
{
    struct tt_mpi_later *fresh = stack_take(&list.fresh);
    struct tt_mpi_later *behind = NULL;
    if (!list.first) list.end = &list.first;
    struct tt_mpi_later **last = fresh ? &fresh->next : list.end;
    for (struct tt_mpi_later *next; fresh; fresh = next) {
        next = fresh->next;
        fresh->next = behind;
        behind = fresh;
    }
    *list.end = behind;
    list.end = last;
}

static int push(void)
{
    int ended = 0;
    if (atomic_exchange_explicit(&list.walked, true, memory_order_acquire)) return 0;
    take_fresh();
    struct tt_mpi_later **at = &list.first;
    while (*at) {
        struct tt_mpi_later *later = *at;
        if (!has_ended(later)) {
            at = &later->next;
            continue;
        }
        *at = later->next;
        end(later);
        ended++;
    }
    list.end = at;
    atomic_store_explicit(&list.walked, false, memory_order_release);
    return ended;
}

struct tt_mpi_flights tt_mpi_in_flight = {.push = push};

/* Waits until no thread goes through the list, and keeps all threads from doing so afterwards: the
 * program has completed its calls, but the thread of drain.h may still be in send_to_stand_in for
 * the last of them. */
void tt_mpi_later_close(void)
{
    while (atomic_exchange_explicit(&list.walked, true, memory_order_acquire)) sched_yield();
    free_dead();
    tt_host.Comm_free(&stand_in.self);
}

/* Pushes a call that was started onto list.fresh, from which `push` appends it to the list. */
static void append(struct tt_mpi_later *later)
{
    atomic_fetch_add_explicit(&tt_mpi_in_flight.n, 1, memory_order_relaxed);
    stack_push(&list.fresh, later);
    if (tt_mpi_in_flight.threaded) tt_mpi_drain_wake();
}

/* Makes the host's progress, or a thread, advance a nonblocking call that was started. */
static void fly(struct tt_mpi_later *later)
{
    atomic_fetch_add_explicit(&later->call.record->started, 1, memory_order_relaxed);
    atomic_store_explicit(&later->active, true, memory_order_relaxed);
    append(later);
}

/* Ranks do not end their nonblocking calls at the same time, and a blocking call is started while
 * nonblocking calls are in flight. So if blocking functions measure, which all ranks must do
 * together, all ranks start all further calls on this communicator, and measure no more there. */
static void start_all(struct tt_mpi_comm *record)
{
    if (!tt_mpi_setting.measures || atomic_exchange(&record->mixed, true)) return;
    atomic_fetch_add_explicit(&record->started, 1, memory_order_relaxed);
}

/* Completes the program's request of a nonblocking call that ended in its start. */
static void complete_host(struct tt_mpi_later *later)
{
    do_copies(later, &later->deliveries, false);
    tt_host.Grequest_complete(later->host);
}

int tt_mpi_later_begun(struct tt_mpi_call *call, MPI_Request *request)
{
    struct tt_mpi_later *later = call->later;
    if (request && call->status == TUTTI_OK && call->request) {
        start_all(call->record);
        *request = later->host;
        if (later->over)
            complete_host(later);
        else
            fly(later);
        return MPI_SUCCESS;
    }
    const struct tt_mpi_call ended = *call;
    if (later->has_host) {
        tt_host.Grequest_complete(later->host);
        tt_host.Request_free(&later->host);
    } else {
        delete (later);
    }
    return code_of_ended(&ended, request);
}

/* ---- Starting and freeing persistent calls ---- */

void tt_mpi_later_start(struct tt_mpi_later *later)
{
    struct tt_mpi_call *call = &later->call;
    remove_failed(later);
    call->status = TUTTI_OK;
    call->code = MPI_SUCCESS;
    later->last_ns = 0;
    later->error[0] = '\0';
    atomic_store_explicit(&later->active, true, memory_order_relaxed);
    do_copies(later, &later->packs, true);
    if (well(call)) {
        call->status = tt_mpi_tutti.start(call->request);
        if (call->status != TUTTI_OK) keep_error(later);
    }
    bool over = well(call) && is_over(call);
    if (over) do_copies(later, &later->deliveries, false);
    if (well(call) && !over)
        append(later);
    else
        complete_stand_in(later, false);
}

void tt_mpi_later_free(struct tt_mpi_later *later)
{
    if (atomic_load_explicit(&later->active, memory_order_acquire))
        later->freed = true;
    else
        free_prepared(later);
}
