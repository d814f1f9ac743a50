/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The messages of messages.c, for the library that port.h chooses.
 */
#ifndef BENCH_MESSAGES_PORT_H
#define BENCH_MESSAGES_PORT_H

enum { MESSAGES_WINDOW = 16 }; /* messages of a stream that are in flight at once */

#ifdef BENCH_MPI
#include "messages-mpi.h"
#else
#include "messages-tutti.h"
#endif

#endif
