/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which library a measuring program calls is chosen when it is compiled: with BENCH_MPI an MPI,
 * without it Tutti.
 */
#ifndef BENCH_PORT_H
#define BENCH_PORT_H

#ifdef BENCH_MPI
#include "port-mpi.h"
#else
#include "port-tutti.h"
#endif

#endif
