/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking calls that Tutti does.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/later.h"

/* With the host alone, a rank that waits for a dead one waits until the launcher ends it. */
enum { LAST_SECONDS = 10 };
/* A blocking call looks so many times in vain before it yields the processor each time. */
enum { LOOKS_BEFORE_YIELD = 200 };

/* Data that are unpacked when the call has ended. */
struct to_unpack {
    struct tt_mpi_layout layout; /* its type is a duplicate, unless it is bytes */
    const void *from;
    void *to;
    int64_t count;
};

struct tt_mpi_later {
    struct tt_mpi_call call;
    struct tt_mpi_later *next; /* in the list */
    MPI_Request host;
    bool has_host; /* the host's request is made, and frees all this */
    struct to_unpack *delivery;
    int deliveries;
    int64_t failed_ns; /* when another rank was found dead; 0: none was */
    bool told;         /* the error handler knows of call.status */
    char error[256];
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

/* Tutti's request is freed if it has ended with this status. The team is held. */
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

bool tt_mpi_outlives(struct tt_mpi_comm *record)
{
    tt_mpi_lock();
    bool used = record->requests > 0;
    if (used) atomic_store_explicit(&record->removed, true, memory_order_relaxed);
    tt_mpi_unlock();
    return used;
}

static void take_record(struct tt_mpi_comm *record)
{
    tt_mpi_lock();
    record->requests++;
    tt_mpi_unlock();
}

static void give_record(struct tt_mpi_comm *record)
{
    tt_mpi_lock();
    bool last =
        --record->requests == 0 && atomic_load_explicit(&record->removed, memory_order_relaxed);
    tt_mpi_unlock();
    if (last) free_record(record);
}

/* ---- The host's request ---- */

/* The status says nothing, as after a nonblocking collective of the host. The communicator's error
 * handler hears of an error here, where the program waits for the call. Then Open MPI calls the
 * handler of the world with the code that this function returns. */
static int query(void *state, MPI_Status *status)
{
    struct tt_mpi_later *later = state;
    struct tt_mpi_call *call = &later->call;
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    tt_host.Status_set_elements(status, tt_handle.byte, 0);
    tt_host.Status_set_cancelled(status, 0);
    if (call->status == TUTTI_OK || later->told) return call->code;
    later->told = true;
    bool removed = atomic_load_explicit(&call->record->removed, memory_order_relaxed);
    if (removed || call->comm == tt_handle.world) call->comm = tt_handle.no_comm;
    call->code = tt_mpi_failed(call, later->error);
    return call->code;
}

/* Nobody can cancel a collective. */
static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static void delete (struct tt_mpi_later *later)
{
    tt_mpi_release(&later->call);
    for (int i = 0; i < later->deliveries; i++)
        if (!later->delivery[i].layout.bytes) tt_host.Type_free(&later->delivery[i].layout.type);
    free(later->delivery);
    free(later);
}

/* The host calls this when the call has ended and the program has completed or freed its request.
 */
static int free_state(void *state)
{
    struct tt_mpi_later *later = state;
    struct tt_mpi_comm *record = later->call.record;
    delete (later);
    give_record(record);
    return MPI_SUCCESS;
}

/* ---- Beginning ---- */

struct tt_mpi_call *tt_mpi_later_new(void)
{
    struct tt_mpi_later *later = malloc(sizeof *later);
    if (!later) return NULL;
    later->call.later = later;
    later->next = NULL;
    later->has_host = later->told = false;
    later->delivery = NULL;
    later->deliveries = 0;
    later->failed_ns = 0;
    return &later->call;
}

bool tt_mpi_before_start(struct tt_mpi_call *call)
{
    struct tt_mpi_later *later = call->later;
    if (later) {
        take_record(call->record);
        later->has_host =
            tt_host.Grequest_start(query, free_state, cancel, later, &later->host) == MPI_SUCCESS;
        if (!later->has_host) {
            give_record(call->record);
            call->status = TUTTI_ERR_MEMORY;
            return false;
        }
    }
    hold(call->record);
    return true;
}

tutti_status tt_mpi_after_start(struct tt_mpi_call *call, tutti_status status)
{
    release(call->record);
    return call->later || status != TUTTI_OK ? status : wait_for(call);
}

void tt_mpi_deliver(struct tt_mpi_call *call, const struct tt_mpi_layout *layout, const void *from,
                    int64_t count, void *to)
{
    struct tt_mpi_later *later = call->later;
    if (!later) {
        tt_mpi_unpack(call, layout, from, count, to);
        return;
    }
    if (count == 0 || layout->size == 0) return;
    struct to_unpack d = {.layout = *layout, .from = from, .to = to, .count = count};
    struct to_unpack *all = realloc(later->delivery, (size_t)(later->deliveries + 1) * sizeof *all);
    if (all) later->delivery = all;
    if (all && !layout->bytes) call->code = tt_host.Type_dup(layout->type, &d.layout.type);
    if (!all) call->code = MPI_ERR_NO_MEM;
    if (call->code == MPI_SUCCESS) all[later->deliveries++] = d;
}

/* ---- The list ---- */

static struct {
    _Atomic(struct tt_mpi_later *) fresh; /* begun since the list was last walked, the last first */
    atomic_bool walked;                   /* a thread goes through the list */
    struct tt_mpi_later *first, **end;    /* only the walking thread uses these */
} list;

/* Whether the call has ended, also with an error. Advances nothing: the host's progress has done so
 * before it goes through the list. */
static bool has_ended(struct tt_mpi_later *later)
{
    struct tt_mpi_call *call = &later->call;
    if (later->failed_ns)
        return tt_mpi_now_ns() - later->failed_ns > LAST_SECONDS * INT64_C(1000000000);
    if (!try_hold(call->record)) return false;
    tutti_status status = free_if_ended(call, tt_mpi_tutti.request_check(call->request));
    release(call->record);
    if (status == TUTTI_AGAIN) return false;
    call->status = status;
    if (status != TUTTI_OK) snprintf(later->error, sizeof later->error, "%s", tt_mpi_tutti.error());
    if (status == TUTTI_ERR_PEER) later->failed_ns = tt_mpi_now_ns();
    return later->failed_ns == 0;
}

/* Completes the host's request. It may be freed then. */
static void end(struct tt_mpi_later *later)
{
    struct tt_mpi_call *call = &later->call;
    MPI_Comm comm = call->comm;
    call->comm = tt_handle.world; /* the program may have freed its own */
    for (int i = 0; well(call) && i < later->deliveries; i++) {
        const struct to_unpack *d = &later->delivery[i];
        tt_mpi_unpack(call, &d->layout, d->from, d->count, d->to);
    }
    call->comm = comm;
    atomic_fetch_sub_explicit(&tt_mpi_in_flight.n, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&call->record->started, 1, memory_order_release);
    tt_host.Grequest_complete(later->host);
}

static void take_fresh(void)
{
    struct tt_mpi_later *fresh = atomic_exchange_explicit(&list.fresh, NULL, memory_order_acquire);
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

/* Appends a call to the list. */
static void append(struct tt_mpi_later *later)
{
    struct tt_mpi_later *before = atomic_load_explicit(&list.fresh, memory_order_relaxed);
    atomic_fetch_add_explicit(&tt_mpi_in_flight.n, 1, memory_order_relaxed);
    do {
        later->next = before;
    } while (!atomic_compare_exchange_weak_explicit(&list.fresh, &before, later,
                                                    memory_order_release, memory_order_relaxed));
}

int tt_mpi_later_begun(struct tt_mpi_call *call, MPI_Request *request)
{
    struct tt_mpi_later *later = call->later;
    if (request && call->status == TUTTI_OK && call->request) {
        *request = later->host;
        atomic_fetch_add_explicit(&call->record->started, 1, memory_order_relaxed);
        append(later);
        return MPI_SUCCESS;
    }
    int code = call->code;
    if (request && call->status != TUTTI_OK) code = tt_mpi_failed(call, NULL);
    if (later->has_host) {
        tt_host.Grequest_complete(later->host);
        tt_host.Request_free(&later->host);
    } else {
        delete (later);
    }
    return code;
}
