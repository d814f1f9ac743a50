/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The address records that ranks on other hosts send when a job begins, and the terms (what the
 * ranks of a node have agreed on) that nodes send. Data that are accepted must be written as the
 * same bytes again; data that are refused must leave the result unchanged.
 */
#include "boot/address-record.h"
#include "fuzz.h"

static void as_record(const uint8_t *data, size_t size)
{
    uint8_t again[TT_ADDRESS_RECORD_BYTES];
    struct tt_address_record record, before;
    memset(&record, 0x5a, sizeof record);
    before = record;
    if (!tt_address_record_read(&record, data, size)) {
        fuzz_check(memcmp(&record, &before, sizeof record) == 0, "refused, but set");
        return;
    }
    fuzz_check(record.addresses <= TT_RECORD_ADDRESSES, "%d", record.addresses);
    fuzz_check(record.wire_bytes <= TT_WIRE_ADDRESS, "%d", record.wire_bytes);
    size_t n = tt_address_record_write(&record, again);
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

/* Checks that an address record that is found in a list lies within the list. */
static void as_list(const uint8_t *data, size_t size)
{
    const uint8_t *record;
    size_t bytes;
    for (int client = 0; client < 3; client++)
        if (tt_address_records_find(data, size, client, &record, &bytes) == TUTTI_OK)
            fuzz_check(record >= data + 8 && bytes <= size - 8 && record + bytes <= data + size,
                       "%zu bytes of %zu", bytes, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size + !size); /* an exact copy, so that sanitizers notice reads
                                            * beyond its end */
    if (!exact) abort();
    if (size) memcpy(exact, data, size);
    as_record(exact, size);
    as_terms(exact, size);
    as_list(exact, size);
    free(exact);
    return 0;
}
