/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names by which processes of one host find each other, without a server. A name is that of an
 * abstract Unix socket (unix(7)): it is no file, and it is gone when its process ends. Processes in
 * different network namespaces do not find each other's names, nor do those of different users.
 * Only one thread of a process may call these functions at a time.
 */
#ifndef TT_MPI_LOCAL_NAMES_H
#define TT_MPI_LOCAL_NAMES_H

#include <stdbool.h>

/* The longest name, without the 0 at its end. */
enum { TT_MPI_LOCAL_NAME = 100 };

/* Publishes a name until tt_mpi_local_withdraw, or until the process ends. False: the name is too
 * long, another process has it, this process has published too many names, or the system refuses.
 */
bool tt_mpi_local_publish(const char *name);
/* Returns whether a process of this user has published the name. */
bool tt_mpi_local_find(const char *name);
/* Withdraws all names that this process has published. */
void tt_mpi_local_withdraw(void);

#endif
