/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cards in PMIx: where the clients of a rank, and their further contexts, can be reached. One key holds the cards of all
 * clients of a rank that have not ended (machines.c says why).
 */
#include "boot/machines.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "boot/pmix.h"

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
    struct tt_card card = {.port = port, .wire_bytes = (uint16_t)wire_bytes};
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
    if (tt_log_on(TT_LOG_boot)) tt_log("asks for the card of rank %d", rank);
    return tt_pmix_ask(rank, CARDS_KEY);
}

static tutti_status read_card(const struct tt_fabric *f, int rank, const uint8_t *bytes, size_t n,
                              struct tt_card *card)
{
    const uint8_t *its;
    size_t its_bytes;
    if (!tt_cards_find(bytes, n, f->client, &its, &its_bytes))
        return tt_fail(TUTTI_ERR_BOOT, "rank %d has no card for client %d", rank, f->client);
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

/* ---- Further contexts ---- */

/* Contexts are told when they are made, which no fence follows, so each has a key of its own, and only the first client of
 * a job tells of them in this way. Those of later clients are asked for by messages (wired.c). */
static char *context_key(char key[TT_PMIX_KEY], int context)
{
    snprintf(key, TT_PMIX_KEY, "tutti.context.%d", context);
    return key;
}

tutti_status tt_machines_show_context(const struct tt_fabric *f, int context, const void *wire,
                                      size_t bytes)
{
    char key[TT_PMIX_KEY];
    if (f->client > 0) return TUTTI_OK;
    return tt_pmix_put(TT_PMIX_REMOTE, context_key(key, context), wire, bytes);
}

struct tt_pmix_reply *tt_machines_ask_context(const struct tt_fabric *f, int rank, int context)
{
    char key[TT_PMIX_KEY];
    if (!tt_machines_has(f->job) || f->client > 0) return NULL;
    if (tt_log_on(TT_LOG_boot)) tt_log("asks for context %d of rank %d", context, rank);
    return tt_pmix_ask(rank, context_key(key, context));
}
