/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the ranks of a job exchange short values before they can communicate: a table of functions,
 * which two providers implement. PMIx asks the server of the launcher (pmix.c). The other provider
 * uses an allgather function that the caller of tutti_init_with gives (gathered.c).
 *
 * A process belongs to one job, so it uses one provider. Functions may be called from any thread.
 */
#ifndef TT_DIRECTORY_H
#define TT_DIRECTORY_H

#include <tutti/tutti.h>

#include "base/base.h"
#include "job/segment.h"

enum { TT_DIRECTORY_KEY = 48 }; /* bytes of a key, with the 0 at its end */

/* The ranks that can get a published value. */
enum tt_scope { TT_SCOPE_LOCAL, TT_SCOPE_REMOTE, TT_SCOPE_ALL };

struct tt_reply;

/* A provider. Over the caller's allgather, `open`, `fence` and `refuse` wait for the other ranks,
 * and no other function waits. Over PMIx, `open`, `put`, `leave`, and `ask` with `anew` may wait
 * for the server of this host, and no function waits for another rank or for a server on another
 * host. */
struct tt_directory {
    /* true: other ranks can get a value soon after `put`. false: they can get it after the next
     * fence, which all ranks must call. */
    bool at_once;
    /* Starts the session, which lasts until the process ends, and returns this process' rank and
     * the size of the job. Calls are counted, and each must be followed by one call of `close`.
     * Errors: BOOT. */
    tutti_status (*open)(int *rank, int *size);
    void (*close)(void);
    /* Finalizes the session for good, and returns true. If a request is under way, does nothing and
     * returns false. NULL: the session cannot be finalized. */
    bool (*leave)(void);
    /* Publishes n bytes, which are copied. Errors: BOOT, MEMORY. */
    tutti_status (*put)(enum tt_scope scope, const char *key, const void *bytes, size_t n);
    /* Asks for the value that `rank` has published under a key, or for the name of its host (key
     * "pmix.hname"). Returns NULL if there is no memory, or if the server is gone.
     *
     * If a rank publishes another value under a key, PMIx may go on to return the older value,
     * which its library reads in memory shared with the server (PMIx 4.2: at times, if the lengths
     * of the values differ). So values that change must contain how new they are. anew: the value
     * is fetched from the server itself, which has the newer value. A rank asks anew only after it
     * has got an older value, because older versions of PMIx do not know this request. */
    struct tt_reply *(*ask)(int rank, const char *key, bool anew);
    /* Starts a barrier of all ranks of the job, and returns its reply. All published values are
     * available when the reply is there, although `ask` may have to ask anew for them. */
    struct tt_reply *(*fence)(void);
    /* A rank that cannot go on calls this function instead of `fence`: the fence in which the other
     * ranks wait, or their next fence, fails on all of them with this text. NULL if `at_once`. */
    void (*refuse)(const char *why);
};

/* Returns the provider of this process: PMIx, until tt_directory_gather is called. */
const struct tt_directory *tt_directory(void);

/* The arguments of tutti_init_with: an allgather over the job, its argument, this process' rank,
 * and the number of ranks. */
struct tt_gather {
    tutti_allgather_fn *fn;
    void *arg;
    int rank, size;
};
/* Makes the caller's allgather the provider of this process. A later call replaces the function and
 * its argument. */
void tt_directory_gather(const struct tt_gather *gather);
/* tt_directory_is_gathered returns whether tt_directory_gather was called. tt_directory_differs
 * returns whether the rank or the size in `gather` differs from that of the last such call. */
bool tt_directory_is_gathered(void);
bool tt_directory_differs(const struct tt_gather *gather);

/* tt_directory_join records whether this process now belongs to a job whose ranks meet by the
 * provider. tt_directory_serves returns whether `job` is the page of that job; jobs of other kinds
 * have no directory. */
void tt_directory_join(bool in);
bool tt_directory_serves(const struct tt_job_page *job);

/* Returns TUTTI_PEER_TIMEOUT: for how many seconds a host or server may be silent. */
int tt_peer_timeout(void);

extern const struct tt_directory tt_directory_pmix, tt_directory_gathered;

/* ---- Replies ---- */

/* Makes a reply to a request for the value under `key`, without an answer yet. It has two owners:
 * the thread that asked, which calls tt_reply_end, and the thread that answers, which calls
 * tt_reply_settle. NULL: no memory. */
struct tt_reply *tt_reply_new(const char *key);
/* Stores the answer, bytes[n], and releases the reply for the thread that answers. After an error,
 * `error` is the text of the error, and `who` is printed before it; both must last as long as the
 * reply. Without an error, `error` is NULL. `lacks`: the answer is that no value has been published
 * under the key so far; the server may have waited for one before. */
void tt_reply_settle(struct tt_reply *reply, const char *who, const char *error, bool lacks,
                     const void *bytes, size_t n);
/* Makes a reply that has its answer already. The arguments are those of tt_reply_settle. NULL: no
 * memory. */
struct tt_reply *tt_reply_known(const char *who, const char *error, bool lacks, const void *bytes,
                                size_t n);
/* Returns whether the answer has come. Waits for the answer until `until_ns` (tt_clock_ns); does
 * not wait if `until_ns` is 0. */
bool tt_reply_answered(struct tt_reply *reply, int64_t until_ns);
/* Returns whether the answer has come and says that no value was published under the key so far. */
bool tt_reply_lacks(struct tt_reply *reply);
/* Ends the request, and releases the reply for the thread that asked. If the answer has come,
 * stores it in bytes[room] and its length in *n; n may be NULL. Errors: BOOT (there is no answer,
 * it is an error, or it is longer than `room`). */
tutti_status tt_reply_end(struct tt_reply *reply, void *bytes, size_t room, size_t *n);
/* Ends a request whose answer nobody needs any more. NULL: does nothing. */
void tt_reply_drop(struct tt_reply *reply);

#endif
