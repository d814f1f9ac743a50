/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cards in PMIx: where the clients of a rank, and their further contexts, can be reached. One key
 * holds the cards of all clients of a rank that have not ended (machines.c says why).
 */
#include "boot/machines.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "boot/pmix.h"
#include "boot/watch.h"

#define CARDS_KEY "tutti.cards"

/* This rank's cards, of its clients that have not ended. */
static struct {
    pthread_mutex_t lock;
    int n;
    struct {
        int client;
        size_t bytes;
        uint8_t card[TT_CARD_BYTES];
    } of[TT_CARDS];
} cards = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The cards of ranks on other nodes, as they were when this rank left PMIx. They stay until the
 * process ends. */
static struct {
    struct kept {
        uint8_t *bytes;
        size_t n;
    } * of;
} kept;

/* Before each card the number of its client and its length. */
static tutti_status put_cards_locked(void)
{
    uint8_t *bytes = tt_alloc(TT_CARDS_BYTES), *at = bytes;
    if (!bytes) return tt_fail(TUTTI_ERR_MEMORY, "no memory to tell this rank's addresses");
    for (int i = 0; i < cards.n; i++)
        at += tt_cards_add(at, cards.of[i].client, cards.of[i].card, cards.of[i].bytes);
    tutti_status status = tt_pmix_put(TT_PMIX_REMOTE, CARDS_KEY, bytes, (size_t)(at - bytes));
    tt_free(bytes);
    return status;
}

tutti_status tt_machines_put_card(const struct tt_fabric *f, uint16_t port, const void *wire,
                                  size_t wire_bytes)
{
    struct tt_card card = {
        .port = port, .process = tt_watch_process_port(), .wire_bytes = (uint16_t)wire_bytes};
    card.addresses = (uint8_t)tt_machines_addresses(card.address);
    if (wire_bytes) memcpy(card.wire, wire, wire_bytes);
    tutti_status status = TUTTI_ERR_LIMIT;
    pthread_mutex_lock(&cards.lock);
    if (cards.n < TT_CARDS) {
        int i = cards.n++;
        cards.of[i].client = f->client;
        cards.of[i].bytes = tt_card_write(&card, cards.of[i].card);
        status = put_cards_locked();
    } else
        (void)tt_fail(status, "this rank has %d clients that have not ended", cards.n);
    pthread_mutex_unlock(&cards.lock);
    return status;
}

/* The others learn it with the cards of the next client. */
void tt_machines_hide(int client)
{
    pthread_mutex_lock(&cards.lock);
    for (int i = 0; i < cards.n; i++)
        if (cards.of[i].client == client) cards.of[i--] = cards.of[--cards.n];
    pthread_mutex_unlock(&cards.lock);
}

struct tt_pmix_reply *tt_machines_ask_card(const struct tt_fabric *f, int rank)
{
    if (!tt_machines_has(f->job)) return NULL;
    if (kept.of) return tt_pmix_known(kept.of[rank].bytes, kept.of[rank].n);
    if (tt_log_on(TT_LOG_boot)) tt_log("asks for the card of rank %d", rank);
    return tt_pmix_ask(rank, CARDS_KEY);
}

static tutti_status read_card(const struct tt_fabric *f, int rank, const uint8_t *bytes, size_t n,
                              struct tt_card *card)
{
    const uint8_t *its;
    size_t its_bytes;
    if (!tt_cards_find(bytes, n, f->client, &its, &its_bytes))
        return tt_fail(TUTTI_ERR_PEER, "rank %d has left client %d", rank, f->client);
    if (tt_card_read(card, its, its_bytes)) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_BOOT, "the card of rank %d is nonsense: %zu bytes", rank, its_bytes);
}

tutti_status tt_machines_end_card(const struct tt_fabric *f, struct tt_pmix_reply *reply, int rank,
                                  struct tt_card *card)
{
    size_t n = 0;
    uint8_t *bytes = tt_alloc(TT_CARDS_BYTES);
    tutti_status status = tt_pmix_end(reply, bytes, bytes ? TT_CARDS_BYTES : 0, &n);
    if (status == TUTTI_OK) status = read_card(f, rank, bytes, n, card);
    tt_free(bytes);
    return status;
}

/* ---- Leaving PMIx early ----
 *
 * Slurm's server takes the end of a connection for an end of the job: its handler of errors kills
 * the step, whatever srun was told (src/plugins/mpi/pmix, to Slurm 24 at least). A process that has
 * taken leave is none of its affair. So with TUTTI_DETACH=1 each rank fetches the cards of all
 * others, which the fence before has brought to its server, and leaves. Further contexts are then
 * asked for by messages, as those of later clients are. */

/* A card that the fence did not bring (under an older Slurm) is asked for again while it may
 * come. */
static tutti_status fetch_card(int rank, uint8_t *room, struct kept *card, int64_t until_ns)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    struct tt_pmix_reply *reply = tt_pmix_ask(rank, CARDS_KEY);
    while (reply && tt_pmix_answered(reply, until_ns) && tt_pmix_lacks(reply) &&
           tt_clock_ns() < until_ns) {
        (void)tt_pmix_end(reply, NULL, 0, NULL);
        (void)nanosleep(&pause, NULL);
        reply = tt_pmix_ask(rank, CARDS_KEY);
    }
    TT_TRY(tt_pmix_end(reply, room, TT_CARDS_BYTES, &card->n));
    card->bytes = tt_alloc(card->n);
    if (!card->bytes)
        return tt_fail(TUTTI_ERR_MEMORY, "no memory for the address of rank %d", rank);
    memcpy(card->bytes, room, card->n);
    return TUTTI_OK;
}

static tutti_status fetch_cards(const struct tt_fabric *f, struct kept *of)
{
    int64_t until_ns = tt_clock_ns() + tt_machines_peer_timeout() * INT64_C(1000000000);
    uint8_t *room = tt_alloc(TT_CARDS_BYTES);
    tutti_status status = room ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "no memory for addresses");
    for (int r = 0; r < f->size && status == TUTTI_OK; r++)
        if (f->job->rank[r].node != f->job->rank[f->me].node)
            status = fetch_card(r, room, &of[r], until_ns);
    tt_free(room);
    return status;
}

static void drop_cards(struct kept *of, int size)
{
    for (int r = 0; of && r < size; r++) tt_free(of[r].bytes);
    tt_free(of);
}

tutti_status tt_machines_detach(const struct tt_fabric *f)
{
    if (kept.of || !tt_machines_has(f->job) || !tt_setting_int("TUTTI_DETACH", 0, 0, 1))
        return TUTTI_OK;
    struct kept *of = tt_calloc((size_t)f->size, sizeof *of);
    tutti_status status = of ? fetch_cards(f, of) : tt_fail(TUTTI_ERR_MEMORY, "no memory");
    if (status != TUTTI_OK || !tt_pmix_leave()) {
        drop_cards(of, f->size);
        return status;
    }
    kept.of = of;
    if (tt_log_on(TT_LOG_boot))
        tt_log("left PMIx: what becomes of this process does not end the job");
    return TUTTI_OK;
}

/* ---- Further contexts ---- */

/* Contexts are told when they are made, which no fence follows, so each has a key of its own, and
 * only the first client of a job tells of them in this way. Those of later clients, and of a rank
 * that has left PMIx, are asked for by messages (wired.c), which the target's context 0 answers. */
static char *context_key(char key[TT_PMIX_KEY], int context)
{
    snprintf(key, TT_PMIX_KEY, "tutti.context.%d", context);
    return key;
}

tutti_status tt_machines_show_context(const struct tt_fabric *f, int context, const void *wire,
                                      size_t bytes)
{
    char key[TT_PMIX_KEY];
    if (f->client > 0 || kept.of) return TUTTI_OK;
    return tt_pmix_put(TT_PMIX_REMOTE, context_key(key, context), wire, bytes);
}

struct tt_pmix_reply *tt_machines_ask_context(const struct tt_fabric *f, int rank, int context)
{
    char key[TT_PMIX_KEY];
    if (!tt_machines_has(f->job) || f->client > 0 || kept.of) return NULL;
    if (tt_log_on(TT_LOG_boot)) tt_log("asks for context %d of rank %d", context, rank);
    return tt_pmix_ask(rank, context_key(key, context));
}
