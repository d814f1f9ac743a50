/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chooses the library that a measuring program calls, at compile time: MPI with BENCH_MPI,
 * otherwise Tutti. With BENCH_HOST too, the program calls MPI in two ways, and port_use chooses the
 * way. With BENCH_LATER, its functions only begin calls of MPI (port-later.h).
 */
#ifndef BENCH_PORT_H
#define BENCH_PORT_H

#ifdef BENCH_MPI
#include "port-mpi.h"
#else
#include "port-tutti.h"
#endif

#ifndef BENCH_HOST
enum { PORT_WAYS = 1 };

static inline void port_use(int way)
{
    (void)way;
}
#endif

#endif
