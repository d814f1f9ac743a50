/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the ranks of a job learn short values of each other before they can communicate: a narrow
 * table, with two providers. PMIx asks the server of the launcher (pmix.c). The other provider
 * needs nothing but a function of the caller that gathers bytes from all ranks (gathered.c).
 *
 * A process belongs to one job, so it uses one provider. Functions may be called from any thread.
 */
#ifndef TT_DIRECTORY_H
#define TT_DIRECTORY_H

#include <tutti/tutti.h>

#include "base/base.h"

enum { TT_DIRECTORY_KEY = 48 }; /* bytes of a key, with the 0 at its end */

/* The ranks that can get a published value. */
enum tt_scope { TT_SCOPE_LOCAL, TT_SCOPE_REMOTE, TT_SCOPE_ALL };

struct tt_reply;

/* A provider. No function waits longer than its caller asks for, except for `open` and, of the
 * caller's allgather, `fence`. */
struct tt_directory {
    /* Whether a value is available soon after it was put. Otherwise it is available after the next
     * fence, which all ranks must call. */
    bool at_once;
    /* Starts the session, which lasts until the process ends. Calls are counted, and each must be
     * followed by one `close`. Errors: BOOT. */
    tutti_status (*open)(int *rank, int *size);
    void (*close)(void);
    /* Finalizes the session for good (tt_pmix_leave); NULL if the provider has no session. */
    bool (*leave)(void);
    /* Publishes n bytes, which are copied. Errors: BOOT, MEMORY. */
    tutti_status (*put)(enum tt_scope scope, const char *key, const void *bytes, size_t n);
    /* Asks for what `rank` has published under a key, or for the name of its host ("pmix.hname").
     * NULL: no memory, or the server is gone. */
    struct tt_reply *(*ask)(int rank, const char *key);
    /* Starts a barrier of all ranks of the job, after which all values are available. */
    struct tt_reply *(*fence)(void);
    /* Instead of a fence: makes the fence in which the other ranks are fail with this text at all
     * of them. Only where values are not available at once; otherwise NULL. */
    void (*refuse)(const char *why);
};

/* The provider of this process: PMIx, until tt_directory_gather is called. */
const struct tt_directory *tt_directory(void);

/* The caller's means to start a job (tutti_init_with). */
struct tt_gather {
    tutti_allgather_fn *fn;
    void *arg;
    int rank, size;
};
/* Makes the caller's allgather the provider of this process, or gives it another function. */
void tt_directory_gather(const struct tt_gather *gather);
/* Whether tt_directory_gather was called; whether it was called with other numbers than these. */
bool tt_directory_is_gathered(void);
bool tt_directory_differs(const struct tt_gather *gather);

extern const struct tt_directory tt_directory_pmix, tt_directory_gathered;

/* ---- Replies ---- */

/* Makes a reply that waits for its answer. It has two owners: the thread that asked, which calls
 * tt_reply_end, and whoever answers, by tt_reply_settle. NULL: no memory. */
struct tt_reply *tt_reply_new(const char *key);
/* Stores the answer and drops the reference of the one who answers. `error` is NULL or a text that
 * lasts; `who` begins the text of an error. `lacks`: there is no such value so far. */
void tt_reply_settle(struct tt_reply *reply, const char *who, const char *error, bool lacks,
                     const void *bytes, size_t n);
/* Makes a reply that has its answer already. NULL: no memory. */
struct tt_reply *tt_reply_known(const char *who, const char *error, bool lacks, const void *bytes,
                                size_t n);
/* Returns whether the answer has come; waits for it until `until_ns` (tt_clock_ns; 0: not at
 * all). */
bool tt_reply_answered(struct tt_reply *reply, int64_t until_ns);
/* Whether the answer has come and says that no such value was published so far. */
bool tt_reply_lacks(struct tt_reply *reply);
/* Ends the request. If its answer has come, stores *n bytes of it in bytes[room]; n may be NULL.
 * Errors: BOOT (there is no answer, or one that is too long). */
tutti_status tt_reply_end(struct tt_reply *reply, void *bytes, size_t room, size_t *n);

#endif
