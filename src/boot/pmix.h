/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The services of a PMIx server that Tutti uses: who is in the job and where, short values
 * published by its ranks, and a barrier. The library (libpmix) is loaded at its first use, so a
 * program needs it only if its launcher uses PMIx. No function here waits longer than its caller
 * asks for.
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
/* The version of the library, in its own words. Errors: BOOT; the text says what is missing or too
 * old. */
tutti_status tt_pmix_version(const char **text);

/* Starts the session with the server, which lasts until the process ends. Calls are counted: each
 * tt_pmix_open must be followed by one tt_pmix_close before the process ends, else the server
 * regards its end as a failure. Errors: BOOT. */
tutti_status tt_pmix_open(int *rank, int *size);
void tt_pmix_close(void);
/* Finalizes the session for good, as a process does that ends well: afterwards the server ignores
 * what happens to this one. What this process has published stays available; it can publish, ask
 * and fence nothing any more (BOOT). Once in a session. Returns false, and the session continues,
 * if another thread waits for an answer. */
bool tt_pmix_leave(void);

/* The ranks that can get a published value. */
enum tt_pmix_scope { TT_PMIX_LOCAL, TT_PMIX_REMOTE, TT_PMIX_ALL };
/* Publishes n bytes, which are copied, to the ranks in `scope`. Errors: BOOT. */
tutti_status tt_pmix_put(enum tt_pmix_scope scope, const char *key, const void *bytes, size_t n);

/* A request to PMIx, with its answer once that has come. */
struct tt_pmix_reply;
/* Asks for what `rank` has published under a key, or what the server knows of it ("pmix.hname").
 * `rank` < 0 asks about the job. NULL: no memory, or the server is gone. */
struct tt_pmix_reply *tt_pmix_ask(int rank, const char *key);
/* Makes a reply whose answer was kept from before tt_pmix_leave; n = 0: it has no answer. NULL: no
 * memory. */
struct tt_pmix_reply *tt_pmix_known(const void *bytes, size_t n);
/* Starts a barrier of all ranks of the job, after which the values published for all are available
 * at every server. It must carry values: some launchers (Slurm) make one that carries nothing a
 * barrier of each host's ranks only. */
struct tt_pmix_reply *tt_pmix_fence(void);
/* Returns whether the answer has come; waits for it until `until_ns` (tt_clock_ns; 0: not at
 * all). */
bool tt_pmix_answered(struct tt_pmix_reply *reply, int64_t until_ns);
/* Whether the answer has come and says that no such value was published so far. */
bool tt_pmix_lacks(struct tt_pmix_reply *reply);
/* Ends the request. If its answer has come, stores *n bytes of it in bytes[room]; n may be NULL.
 * Errors: BOOT (there is no answer, or one that is too long). */
tutti_status tt_pmix_end(struct tt_pmix_reply *reply, void *bytes, size_t room, size_t *n);

#endif
