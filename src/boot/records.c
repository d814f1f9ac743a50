/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The lists of address records that ranks publish, and how they are asked for and read.
 */
#include "boot/records.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- Address records ---- */

#define RECORDS_KEY "tutti.address_records"

/* The address records of those clients of this rank that have not ended. */
static struct {
    pthread_mutex_t lock;
    int n;
    struct {
        int client;
        size_t bytes;
        uint8_t record[TT_ADDRESS_RECORD_BYTES];
    } of[TT_ADDRESS_RECORDS];
} records = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The address records of ranks on other nodes, as they were when this rank left PMIx
 * (TUTTI_DETACH=1). The records stay until the process ends. */
static struct {
    struct kept {
        uint8_t *bytes;
        size_t n;
    } * of;
} kept;

/* Publishes all address records of this rank. The caller holds the lock. */
static tutti_status put_records_locked(void)
{
    uint8_t *bytes = tt_alloc(TT_ADDRESS_RECORDS_BYTES), *at = bytes;
    if (!bytes) return tt_fail(TUTTI_ERR_MEMORY, "no memory to publish this rank's addresses");
    for (int i = 0; i < records.n; i++)
        at += tt_address_records_add(at, records.of[i].client, records.of[i].record,
                                     records.of[i].bytes);
    tutti_status status =
        tt_directory()->put(TT_SCOPE_REMOTE, RECORDS_KEY, bytes, (size_t)(at - bytes));
    tt_free(bytes);
    return status;
}

tutti_status tt_records_put(int client, const struct tt_address_record *record)
{
    tutti_status status = TUTTI_ERR_LIMIT;
    pthread_mutex_lock(&records.lock);
    if (records.n < TT_ADDRESS_RECORDS) {
        int i = records.n++;
        records.of[i].client = client;
        records.of[i].bytes = tt_address_record_write(record, records.of[i].record);
        status = put_records_locked();
    } else
        (void)tt_fail(status, "this rank has %d clients that have not ended", records.n);
    pthread_mutex_unlock(&records.lock);
    return status;
}

/* Removes a client's address record from the list of this rank, but does not publish the shorter
 * list: the other ranks get it when this rank publishes the address record of its next client. */
void tt_records_hide(int client)
{
    pthread_mutex_lock(&records.lock);
    for (int i = 0; i < records.n; i++)
        if (records.of[i].client == client) records.of[i--] = records.of[--records.n];
    pthread_mutex_unlock(&records.lock);
}

struct tt_reply *tt_records_ask(const struct tt_fabric *f, int rank, bool anew)
{
    if (!tt_directory_serves(f->job)) return NULL;
    if (kept.of)
        return tt_reply_known("", kept.of[rank].n ? NULL : "the rank had no address", false,
                              kept.of[rank].bytes, kept.of[rank].n);
    if (tt_log_on(TT_LOG_boot))
        tt_log("asks%s for the address record of rank %d", anew ? " anew" : "", rank);
    return tt_directory()->ask(rank, RECORDS_KEY, anew);
}

static tutti_status read_record(int client, int rank, const uint8_t *bytes, size_t n,
                                struct tt_address_record *record)
{
    const uint8_t *its;
    size_t its_bytes;
    tutti_status found = tt_address_records_find(bytes, n, client, &its, &its_bytes);
    if (found == TUTTI_ERR_PEER) return tt_fail(found, "rank %d has left client %d", rank, client);
    if (found != TUTTI_OK) return found;
    if (tt_address_record_read(record, its, its_bytes)) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_BOOT,
                   "rank %d published an invalid address record of %zu bytes: does its host run "
                   "another version?",
                   rank, its_bytes);
}

tutti_status tt_records_end(int client, struct tt_reply *reply, int rank,
                            struct tt_address_record *record)
{
    size_t n = 0;
    uint8_t *bytes = tt_alloc(TT_ADDRESS_RECORDS_BYTES);
    tutti_status status = tt_reply_end(reply, bytes, bytes ? TT_ADDRESS_RECORDS_BYTES : 0, &n);
    if (status == TUTTI_OK) status = read_record(client, rank, bytes, n, record);
    tt_free(bytes);
    return status;
}

/* ---- Leaving PMIx early ----
 *
 * If a process dies, Slurm's PMIx server kills the whole job step when the connection to the
 * process ends, whatever options srun has (src/plugins/mpi/pmix, up to Slurm 24 at least). The
 * server ignores a process that has finalized PMIx. So with TUTTI_DETACH=1 each rank fetches the
 * address records of all ranks on other nodes, which the last fence has brought to its server, and
 * finalizes PMIx. After that, ranks get the addresses of contexts other than context 0 by messages,
 * as for later clients. */

/* Asks for the address records of a rank, and stores them in `room` and their length in record->n.
 * If `*anew` is true, older records that the PMIx library has kept do not count, and the PMIx
 * server is asked (directory.h). Before until_ns, returns AGAIN if there are no records yet, or if
 * they are older than the client; sets *anew in the second case only. */
static tutti_status ask_for_records(int client, int rank, uint8_t *room, struct kept *record,
                                    bool *anew, int64_t until_ns)
{
    const uint8_t *its;
    size_t its_bytes;
    struct tt_reply *reply = tt_directory()->ask(rank, RECORDS_KEY, *anew);
    bool lacks = reply && tt_reply_answered(reply, until_ns) && tt_reply_lacks(reply);
    tutti_status status = tt_reply_end(reply, room, TT_ADDRESS_RECORDS_BYTES, &record->n);
    *anew = status == TUTTI_OK &&
            tt_address_records_find(room, record->n, client, &its, &its_bytes) == TUTTI_AGAIN;
    return (lacks || *anew) && tt_clock_ns() < until_ns ? TUTTI_AGAIN : status;
}

/* Fetches the address records of a rank into *record; `room` is scratch memory. Under an older
 * Slurm a fence may not bring the records at once, so this function asks again until until_ns. */
static tutti_status fetch_record(int client, int rank, uint8_t *room, struct kept *record,
                                 int64_t until_ns)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    bool anew = false;
    tutti_status status;
    while ((status = ask_for_records(client, rank, room, record, &anew, until_ns)) == TUTTI_AGAIN)
        (void)nanosleep(&pause, NULL);
    if (status != TUTTI_OK) return status;
    record->bytes = tt_alloc(record->n);
    if (!record->bytes)
        return tt_fail(TUTTI_ERR_MEMORY, "no memory for the address of rank %d", rank);
    memcpy(record->bytes, room, record->n);
    return TUTTI_OK;
}

static tutti_status fetch_records(const struct tt_fabric *f, struct kept *of)
{
    int64_t until_ns = tt_clock_ns() + tt_peer_timeout() * INT64_C(1000000000);
    uint8_t *room = tt_alloc(TT_ADDRESS_RECORDS_BYTES);
    tutti_status status = room ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "no memory for addresses");
    for (int r = 0; r < f->size && status == TUTTI_OK; r++)
        if (f->job->rank[r].node != f->job->rank[f->me].node)
            status = fetch_record(f->client, r, room, &of[r], until_ns);
    tt_free(room);
    return status;
}

static void drop_records(struct kept *of, int size)
{
    for (int r = 0; of && r < size; r++) tt_free(of[r].bytes);
    tt_free(of);
}

tutti_status tt_records_detach(const struct tt_fabric *f)
{
    if (kept.of || !tt_directory()->leave || !tt_directory_serves(f->job) ||
        !tt_setting_int("TUTTI_DETACH"))
        return TUTTI_OK;
    struct kept *of = tt_calloc((size_t)f->size, sizeof *of);
    tutti_status status = of ? fetch_records(f, of) : tt_fail(TUTTI_ERR_MEMORY, "no memory");
    if (status != TUTTI_OK || !tt_directory()->leave()) {
        drop_records(of, f->size);
        return status;
    }
    kept.of = of;
    if (tt_log_on(TT_LOG_boot))
        tt_log("left PMIx: if this process dies, its launcher does not end the job");
    return TUTTI_OK;
}

/* ---- Further contexts ---- */

/* The address of a context other than context 0 is published when the context is made, and no fence
 * follows. So each context has a key of its own, and only the first client of a job publishes its
 * contexts in this way. To get the address of a context of a later client, or of a rank that has
 * left PMIx, a rank sends a message to context 0 of the target, which answers (wired.c). */
static char *context_key(char key[TT_DIRECTORY_KEY], int context)
{
    snprintf(key, TT_DIRECTORY_KEY, "tutti.context.%d", context);
    return key;
}

tutti_status tt_records_put_context(const struct tt_fabric *f, int context, const void *wire,
                                    size_t bytes)
{
    char key[TT_DIRECTORY_KEY];
    if (f->client > 0 || kept.of || !tt_directory()->at_once) return TUTTI_OK;
    return tt_directory()->put(TT_SCOPE_REMOTE, context_key(key, context), wire, bytes);
}

struct tt_reply *tt_records_ask_context(const struct tt_fabric *f, int rank, int context)
{
    char key[TT_DIRECTORY_KEY];
    if (!tt_directory_serves(f->job) || f->client > 0 || kept.of || !tt_directory()->at_once)
        return NULL;
    if (tt_log_on(TT_LOG_boot)) tt_log("asks for context %d of rank %d", context, rank);
    return tt_directory()->ask(rank, context_key(key, context), false);
}
