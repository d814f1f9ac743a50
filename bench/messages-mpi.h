/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The messages of messages.c in MPI. The names are the same as in messages-tutti.h.
 */
#ifndef BENCH_MESSAGES_MPI_H
#define BENCH_MESSAGES_MPI_H

#include "port-mpi.h"

static struct {
    char *memory; /* the places, which the messages of a stream use in turn */
    int bytes, places;
} messages;

static inline void messages_open(void)
{
}

static inline void messages_place(void *memory, int64_t bytes, int places)
{
    messages.memory = memory;
    messages.bytes = (int)bytes;
    messages.places = places;
}

static inline void messages_pingpong(int64_t turns)
{
    int me = port_rank(), peer = !me;
    uint64_t ball = 0;
    for (int64_t turn = 0; turn < turns; turn++) {
        if (me == 0) MPI_Send(&ball, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
        MPI_Recv(&ball, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (me != 0) MPI_Send(&ball, 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    }
}

static inline void messages_begin(int64_t i, MPI_Request *request)
{
    char *at = messages.memory + i % messages.places * messages.bytes;
    if (port_rank() == 0) {
        MPI_Isend(at, messages.bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, request);
    } else {
        MPI_Irecv(at, messages.bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, request);
    }
}

/* Sends `count` messages from rank 0 to rank 1. A new message starts as soon as the oldest one is
 * complete. */
static inline void messages_stream(int64_t count)
{
    MPI_Request window[MESSAGES_WINDOW];
    char all = 0;
    for (int i = 0; i < MESSAGES_WINDOW; i++) window[i] = MPI_REQUEST_NULL;
    for (int64_t i = 0; i < count; i++) {
        MPI_Wait(&window[i % MESSAGES_WINDOW], MPI_STATUS_IGNORE);
        messages_begin(i, &window[i % MESSAGES_WINDOW]);
    }
    for (int i = 0; i < MESSAGES_WINDOW; i++) MPI_Wait(&window[i], MPI_STATUS_IGNORE);
    if (port_rank() == 1) MPI_Send(&all, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    if (port_rank() == 0) MPI_Recv(&all, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

#endif
