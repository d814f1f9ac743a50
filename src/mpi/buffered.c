/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Records which ranks of the node have attached a buffer for MPI_Bsend. Before a collective that
 * Tutti does, makes the host send its pending acknowledgements to these ranks, which need them to
 * free room in their buffers (buffered.h says why).
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "mpi/buffered.h"
#include "mpi/meet.h"

/* The data about a rank that other ranks need in order to write into its memory. */
struct access {
    int there;     /* 0: the rank has no memory for other ranks to write into */
    uint64_t node; /* equal on ranks of one node */
    tutti_key key;
};

static struct {
    tutti_client *client;
    MPI_Comm own;
    int rank, ranks;
    struct access mine;    /* what other ranks need to write into the memory of this rank */
    struct access *access; /* what each rank has put into its `mine`; NULL: not exchanged */
    int begun;             /* how many stores into the memory of other ranks were begun */
    atomic_int written;    /* how many of the begun stores have ended */
} at;

unsigned char *tt_mpi_buffers;

/* Allocates the memory into which other ranks write, and makes a key to it. */
static void make_memory(uint64_t node)
{
    void *memory = NULL;
    tutti_region *region = NULL;
    size_t bytes = 1 + (size_t)at.ranks;
    at.mine.there = tt_mpi_tutti.alloc(at.client, bytes, &memory) == TUTTI_OK &&
                    tt_mpi_tutti.region_register(at.client, memory, bytes, &region) == TUTTI_OK &&
                    tt_mpi_tutti.region_key(region, &at.mine.key) == TUTTI_OK;
    at.mine.node = node;
    if (at.mine.there) tt_mpi_buffers = memory;
}

const char *tt_mpi_buffered_open(tutti_client *client, MPI_Comm own, uint64_t node)
{
    at.client = client;
    at.own = own;
    tt_host.Comm_rank(own, &at.rank);
    tt_host.Comm_size(own, &at.ranks);
    at.access = malloc((size_t)at.ranks * sizeof *at.access);
    if (!at.access) return "no memory for the keys of the ranks";
    make_memory(node);
    return NULL;
}

void tt_mpi_buffered_meet(void)
{
    if (tt_mpi_gather_all(&at.mine, at.access, sizeof at.mine, &at.own) != 0)
        tt_mpi_buffered_close();
}

void tt_mpi_buffered_close(void)
{
    free(at.access);
    at.access = NULL;
    tt_mpi_buffers = NULL;
}

/* ---- The rank that has a buffer ---- */

static void count_written(tutti_context *context, void *arg, tutti_status status)
{
    (void)context, (void)arg, (void)status;
    at.written++;
}

/* Returns whether this rank writes into the memory of rank r: r is another rank on this node, and
 * has memory for other ranks to write into. */
static bool writes_to(int r)
{
    return r != at.rank && at.access[r].there && at.access[r].node == at.mine.node;
}

/* Writes the byte at `number` to offset `place` in the memory of every other rank on this node, and
 * waits until the stores have ended. */
static void write_all(int place, const unsigned char *number)
{
    tutti_context *context = tt_mpi_tutti.context_at(at.client, 0);
    int events;
    for (int r = 0; r < at.ranks; r++) {
        tutti_endpoint *to;
        if (!writes_to(r)) continue;
        at.begun += tt_mpi_tutti.endpoint_to(at.client, r, 0, &to) == TUTTI_OK &&
                    tt_mpi_tutti.put(context, to, number, &at.access[r].key, place, 1,
                                     count_written, NULL) == TUTTI_OK;
    }
    while (at.written < at.begun && tt_mpi_tutti.advance(context, &events) == TUTTI_OK) {
    }
}

void tt_mpi_buffered_set(bool has)
{
    static const unsigned char number[] = {0, 1};
    if (!at.access) return;
    write_all(1 + at.rank, &number[has]);
    if (has) write_all(0, &number[1]);
}

/* ---- The ranks that have received messages from a buffer ---- */

/* Sends an empty message to a rank, and waits until the host has sent it. The host sends to a rank
 * in order, so everything that it had to send to that rank before is then sent, too. */
static void hand_over(int rank)
{
    enum { LOOKS = 100 };
    MPI_Request request;
    int sent = 0;
    if (tt_host.Isend(NULL, 0, tt_handle.byte, rank, 0, at.own, &request) != MPI_SUCCESS) return;
    for (int looks = 0; !sent; looks++) {
        if (tt_host.Test(&request, &sent, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
        if (!sent && looks >= LOOKS) sched_yield();
    }
}

void tt_mpi_buffered_hand_over(int n, const int *members)
{
    for (int i = 0; i < n; i++) {
        int rank = members ? members[i] : i;
        if (rank != at.rank && __atomic_load_n(&tt_mpi_buffers[1 + rank], __ATOMIC_RELAXED))
            hand_over(rank);
    }
}
