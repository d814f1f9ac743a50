/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress, of the host and of Tutti (drive.h).
 */
#include <sys/mman.h>
#include <unistd.h>

#include "mpi/drive.h"
#include "mpi/load.h"
#include "mpi/shim.h"

static struct {
    int (*progress)(void); /* Open MPI's opal_progress; NULL: another MPI */
    /* Functions of Open MPI: its progress begins to call a function, or stops calling it. */
    int (*register_progress)(int (*function)(void)), (*unregister_progress)(int (*function)(void));
    /* where MPICH's code reads the address of UCX's progress function, and this address; NULL:
     * another MPI, or not known */
    _Atomic(tt_mpi_function) *ucx_place;
    bool ucx_sealed; /* the page of ucx_place is read-only */
    tt_mpi_function ucx_progress;
    bool polled;            /* MPICH has called poll_ucx */
    bool multiple;          /* the host is MPICH, with MPI_THREAD_MULTIPLE */
    bool registered;        /* the host drives Tutti */
    tutti_context *context; /* the context that the host's progress advances */
    /* The ranks are on several nodes. A host that drives Tutti then does so even while no
     * nonblocking call is in flight, because packets of a call that has ended may still wait to be
     * sent. This includes MPICH: nobody wakes the thread of drain.h when the host's progress has
     * ended a nonblocking call. */
    bool spread;
    struct tt_mpi_flights *flights; /* nonblocking calls in flight; NULL: Tutti takes none */
} at;

/* True while this thread waits in Tutti, and Tutti calls the host's progress. Meanwhile the host
 * must not call Tutti's progress. */
static __thread bool driving __attribute__((tls_model("initial-exec")));

/* Makes MPICH progress by a call of MPI_Improbe, and receives a message if one has come.
 * MPI_Improbe makes no progress on a communicator of one rank, nor when it finds a message. Returns
 * whether there was a message (all messages on tt_handle.own are those of buffered.h). */
static int probe_host(void)
{
    int found = 0;
    MPI_Message message;
    tt_host.Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, tt_handle.own, &found, &message,
                    MPI_STATUS_IGNORE);
    if (found) tt_host.Mrecv(NULL, 0, tt_handle.byte, &message, MPI_STATUS_IGNORE);
    return found;
}

int tt_mpi_push_host(void)
{
    tt_depth++;
    int events = at.progress ? at.progress() : probe_host();
    tt_depth--;
    return events;
}

/* Calls the host's progress several times, because one call handles only a part of what has
 * arrived. With Open MPI, repeats the call until the progress has nothing to do, but at most LOOKS
 * times, because other ranks may send more all the time. MPICH says only whether there was a
 * message of buffered.h. So this function calls MPICH's progress BLIND times, and begins to count
 * anew, at 1, with each call that has found such a message. So many calls are needed because UCX
 * limits the items that a call handles. After each call that reaches the limit, UCX raises the
 * limit by one, up to 16, and so gets through its queue. */
void tt_mpi_clear_host(void)
{
    enum { LOOKS = 64, BLIND = 16 };
    if (at.progress)
        for (int looks = 0; looks < LOOKS && tt_mpi_push_host() > 0; looks++) {
        }
    else
        for (int looks = 0; looks < BLIND; looks++)
            if (tt_mpi_push_host() > 0) looks = 0;
}

void tt_mpi_drive_host(void *arg)
{
    (void)arg;
    driving = true;
    (void)tt_mpi_push_host();
    driving = false;
}

/* Advances Tutti once for all calls in flight, and then only looks at each of them. So the time
 * that it takes is proportional to the number of calls in flight. If Tutti finds an error here, the
 * next call on the team concerned reports it. Does nothing if an operation of the program has made
 * the host's progress run: Tutti is in a collective then. */
static int advance_tutti(void)
{
    int events = 0;
    if (tt_depth >= TT_MPI_IN_OPERATION) return 0;
    bool flying = at.flights && atomic_load_explicit(&at.flights->n, memory_order_relaxed) > 0;
    if ((flying || at.spread) && tt_mpi_tutti.advance(at.context, &events) != TUTTI_OK) events = 0;
    return events + (flying ? at.flights->push() : 0);
}

bool tt_mpi_push_flights(void)
{
    if (!at.flights || !at.flights->threaded || !at.context) return false;
    if (atomic_load_explicit(&at.flights->n, memory_order_acquire) > 0) (void)advance_tutti();
    return atomic_load_explicit(&at.flights->n, memory_order_relaxed) > 0;
}

/* Open MPI's progress calls this function. */
static int drive_tutti(void)
{
    return driving ? 0 : advance_tutti();
}

/* MPICH's progress calls this function in place of UCX's progress function. So it may call
 * functions of MPICH: UCX's own function also calls functions of MPICH, when messages have come. It
 * calls none that waits, and what it calls may run the progress again, which then does not advance
 * Tutti. */
static unsigned poll_ucx(void *worker)
{
    unsigned events = ((unsigned (*)(void *))at.ucx_progress)(worker);
    at.polled = true;
    if (driving) return events;
    driving = true;
    if (at.flights) at.flights->looks++;
    events += (unsigned)advance_tutti();
    driving = false;
    return events;
}

/* Makes MPICH call this function where it calls UCX's progress function. If the page with the
 * address is read-only, it is writable only meanwhile. Returns whether this succeeded. */
static bool store_ucx(tt_mpi_function function)
{
    uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)((uintptr_t)at.ucx_place & ~(size - 1));
    if (at.ucx_sealed && mprotect(page, size, PROT_READ | PROT_WRITE) != 0) return false;
    atomic_store(at.ucx_place, function);
    if (at.ucx_sealed) (void)mprotect(page, size, PROT_READ);
    return true;
}

static void restore_ucx(void)
{
    (void)store_ucx(at.ucx_progress);
}

/* Makes MPICH's progress call poll_ucx. Returns whether it does: a part of the library that MPICH's
 * progress does not call would be of no use. If not, MPICH calls UCX's function as before. A
 * communicator of one rank makes no progress. */
static bool replace_ucx(MPI_Comm comm)
{
    int found;
    at.polled = false;
    if (!store_ucx((tt_mpi_function)poll_ucx)) return false;
    tt_host.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, MPI_STATUS_IGNORE);
    if (!at.polled) restore_ucx();
    return at.polled;
}

bool tt_mpi_pushable(void)
{
    int found, level = MPI_THREAD_MULTIPLE;
    if (tt_mpi_drivable()) return true;
    if (!tt_host.has_extension) return false;
    tt_host.Query_thread(&level);
    at.multiple = level == MPI_THREAD_MULTIPLE;
    if (at.multiple) return true;
    at.ucx_place = tt_mpi_host_import("ucp_worker_progress", &at.ucx_sealed);
    if (!at.ucx_place) return false;
    /* From the first call on, the place has the address of UCX's function; before, it may have one
     * of the dynamic linker. */
    tt_host.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, tt_handle.world, &found, MPI_STATUS_IGNORE);
    at.ucx_progress = atomic_load(at.ucx_place);
    if (!replace_ucx(tt_handle.world)) return false;
    restore_ucx();
    return true;
}

/* Makes the host's progress call Tutti. Returns whether it does. */
static bool register_progress(void)
{
    if (tt_mpi_drivable()) return at.register_progress(drive_tutti) == 0;
    return replace_ucx(tt_handle.own);
}

static void unregister_progress(void)
{
    if (tt_mpi_drivable())
        at.unregister_progress(drive_tutti);
    else
        restore_ucx();
}

bool tt_mpi_drivable(void)
{
    static bool looked;
    if (!looked) {
        at.progress = (int (*)(void))tt_mpi_host_symbol("opal_progress");
        at.register_progress =
            (__typeof__(at.register_progress))tt_mpi_host_symbol("opal_progress_register");
        at.unregister_progress =
            (__typeof__(at.unregister_progress))tt_mpi_host_symbol("opal_progress_unregister");
        looked = true;
    }
    return at.progress && at.register_progress && at.unregister_progress;
}

const char *tt_mpi_drive_open(tutti_client *client, struct tt_mpi_flights *flights, bool spread)
{
    at.context = tt_mpi_tutti.context_at(client, 0);
    at.flights = flights;
    at.spread = spread;
    if (tt_mpi_tutti.client_hook(client, tt_mpi_drive_host, NULL, 200, 32) != TUTTI_OK)
        return tt_mpi_tutti.error();
    if (flights) flights->threaded = at.multiple;
    if (at.multiple || (!flights && !(spread && tt_mpi_drivable()))) return NULL;
    at.registered = register_progress();
    return at.registered ? NULL : "the MPI cannot drive Tutti now";
}

void tt_mpi_drive_close(void)
{
    if (at.registered) unregister_progress();
    at.registered = false;
    at.context = NULL;
}
