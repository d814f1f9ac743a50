/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What ranks on other machines say of themselves when a job begins. What is accepted is written
 * again as the same bytes; what is refused leaves nothing.
 */
#include "boot/card.h"
#include "fuzz.h"

static void as_card(const uint8_t *data, size_t size)
{
    uint8_t again[TT_CARD_BYTES];
    struct tt_card card, before;
    memset(&card, 0x5a, sizeof card);
    before = card;
    if (!tt_card_read(&card, data, size)) {
        fuzz_check(memcmp(&card, &before, sizeof card) == 0, "refused, but set");
        return;
    }
    fuzz_check(card.addresses <= TT_CARD_ADDRESSES, "%d", card.addresses);
    fuzz_check(card.wire_bytes <= TT_WIRE_ADDRESS, "%d", card.wire_bytes);
    size_t n = tt_card_write(&card, again);
    fuzz_check(n == size && memcmp(again, data, n) == 0, "%zu bytes of %zu", n, size);
}

static void as_terms(const uint8_t *data, size_t size)
{
    uint8_t again[TT_TERMS_BYTES];
    struct tt_terms terms, before;
    memset(&terms, 0x5a, sizeof terms);
    before = terms;
    if (!tt_terms_read(&terms, data, size)) {
        fuzz_check(memcmp(&terms, &before, sizeof terms) == 0, "refused, but set");
        return;
    }
    fuzz_check(strlen(terms.version) < sizeof terms.version && terms.cores >= 1, "%d", terms.cores);
    size_t n = tt_terms_write(&terms, again);
    fuzz_check(n <= sizeof again && n == size && memcmp(again, data, n) == 0, "%zu bytes of %zu", n,
               size);
}

/* What is found in a list lies in it. */
static void as_list(const uint8_t *data, size_t size)
{
    const uint8_t *card;
    size_t bytes;
    for (int client = 0; client < 3; client++)
        if (tt_cards_find(data, size, client, &card, &bytes))
            fuzz_check(card >= data + 8 && bytes <= size - 8 && card + bytes <= data + size,
                       "%zu bytes of %zu", bytes, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size + !size); /* so that reading past the end is seen */
    if (!exact) abort();
    if (size) memcpy(exact, data, size);
    as_card(exact, size);
    as_terms(exact, size);
    as_list(exact, size);
    free(exact);
    return 0;
}
