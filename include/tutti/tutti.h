/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tutti: collective communication between processes and threads.
 *
 * A program is started as several ranks (`tutti run -n 8 ./app`). Each rank calls tutti_init, and
 * after that the ranks of a team call the same collectives in the same order:
 *
 *     tutti_client *client;
 *     tutti_init(&client);
 *     tutti_team *world = tutti_world(client);
 *     double mine = tutti_rank(world), sum;
 *     tutti_allreduce(world, &mine, &sum, 1, TUTTI_F64, TUTTI_SUM);
 *     tutti_finalize(client);
 *
 * Started without a launcher, the same program is a job of one rank.
 *
 * The comment above each function states what the function does, the shapes and units of its
 * arguments, its errors, who owns what and until when, which thread may call it, whether all ranks
 * must call it (collective) or one rank may (local), and whether it blocks. Unless a comment says
 * otherwise, counts and displacements are in elements and sizes are in bytes, a function sets its
 * output arguments only on TUTTI_OK, and the library keeps no pointer that it was given after the
 * function has returned. Functions of the program that the library calls must return: they must not
 * end by longjmp, by a C++ exception, or, except for a tutti_thread_fn, by pthread_exit. While the
 * program uses the library, it must not close file descriptors that it did not open.
 *
 * This header includes client.h, team.h and collectives.h with the functions, status.h with the
 * status codes, and type.h with the types and operations. message.h declares point-to-point
 * messages.
 */
#ifndef TUTTI_TUTTI_H
#define TUTTI_TUTTI_H

#include <tutti/client.h>
#include <tutti/collectives.h>
#include <tutti/status.h>
#include <tutti/team.h>
#include <tutti/type.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. */
#define TUTTI_VERSION_MAJOR 0
#define TUTTI_VERSION_MINOR 1
#define TUTTI_VERSION_PATCH 0
#define TUTTI_VERSION "0.1.0"

/* Returns the version of the library that is loaded; TUTTI_VERSION is the version of this header.
 * The text is static. Local, any thread, does not block. */
TUTTI_API const char *tutti_version(void);

/* Returns the version of the library that is loaded and, behind a slash, a hash of its sources, as
 * in "0.1.0/1a2b3c4d". It must be the same on all ranks of a job. The text is static. Local, any
 * thread, does not block. */
TUTTI_API const char *tutti_build(void);

#ifdef __cplusplus
}
#endif

#endif
