/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chooses the library that a measuring program calls, at compile time: MPI with BENCH_MPI,
 * otherwise Tutti.
 */
#ifndef BENCH_PORT_H
#define BENCH_PORT_H

#ifdef BENCH_MPI
#include "port-mpi.h"
#else
#include "port-tutti.h"
#endif

#endif
