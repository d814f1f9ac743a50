/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What Tutti asks of a PMIx server: who is in the job and where, small texts passed between its
 * ranks, and a barrier. The library (libpmix) is loaded when it is first wanted, so that a program
 * needs it only where a launcher speaks PMIx. Nothing here waits longer than it is told to.
 *
 * Functions may be called from any thread.
 */
#ifndef TT_PMIX_H
#define TT_PMIX_H

#include "base/base.h"

enum { TT_PMIX_KEY = 48 }; /* bytes of a key, with the 0 at its end */

/* Whether the environment says that a launcher with PMIx started this process (and TUTTI_PMIX is
 * not 0). */
bool tt_pmix_there(void);
/* The version of the library, in its own words. Errors: BOOT, saying what is missing or too old. */
tutti_status tt_pmix_version(const char **text);

/* Begins to speak with the server, which lasts until the process ends; counted: each is followed by
 * one tt_pmix_close, or the process does not end in good order. Errors: BOOT. */
tutti_status tt_pmix_open(int *rank, int *size);
void tt_pmix_close(void);
/* Takes leave of the server for good, as a process does that ends well: what becomes of this one
 * then is no affair of the server's. What others asked for before, they have; nothing can be put,
 * asked or fenced any more (BOOT). Once, in a session; false, and the session goes on, if another
 * thread waits for an answer. */
bool tt_pmix_leave(void);

/* The ranks that can get a value that was put. */
enum tt_pmix_scope { TT_PMIX_LOCAL, TT_PMIX_REMOTE, TT_PMIX_ALL };
/* Tells the ranks in `scope` these bytes, which are copied. Errors: BOOT. */
tutti_status tt_pmix_put(enum tt_pmix_scope scope, const char *key, const void *bytes, size_t n);

/* A request that PMIx has not answered yet. */
struct tt_pmix_reply;
/* Asks for what `rank` put, or what the server knows of it ("pmix.hname"). NULL: no memory, or the
 * server is gone. */
struct tt_pmix_reply *tt_pmix_ask(int rank, const char *key);
/* An answer that was kept from before tt_pmix_leave; of none (n = 0), that there is no answer.
 * NULL: no memory. */
struct tt_pmix_reply *tt_pmix_known(const void *bytes, size_t n);
/* A barrier of all ranks of the job, after which what was put for all is at hand everywhere. One
 * that carried nothing would be a barrier of each machine's ranks only under some launchers
 * (Slurm). */
struct tt_pmix_reply *tt_pmix_fence(void);
/* Whether the answer came, waiting at most until then (tt_clock_ns; 0: not at all). */
bool tt_pmix_answered(struct tt_pmix_reply *reply, int64_t until_ns);
/* Whether the answer came and is that no such text was put, so far. */
bool tt_pmix_lacks(struct tt_pmix_reply *reply);
/* Ends it, with its answer if that came: *n bytes of it in bytes[room]; n may be NULL. Errors: BOOT
 * (there is no answer, or one that is too long). */
tutti_status tt_pmix_end(struct tt_pmix_reply *reply, void *bytes, size_t room, size_t *n);

#endif
