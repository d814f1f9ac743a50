/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Address records, terms and notices as bytes: a tag, and after it fields in a fixed order; numbers
 * have the lowest byte first. The length of a field of variable length comes before the field.
 */
#include "boot/address-record.h"

#include <string.h>

#define RECORD_TAG 0x33435454u /* "TTC3" */
#define TERMS_TAG 0x38545454u  /* "TTT8" */
#define NOTICE_TAG 0x324e5454u /* "TTN2" */

/* ---- Writing: the sizes in address-record.h are upper bounds ---- */

static uint8_t *put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) *at++ = (uint8_t)(value >> 8 * i);
    return at;
}

static uint8_t *put_bytes(uint8_t *at, const void *from, size_t n)
{
    memcpy(at, from, n);
    return at + n;
}

size_t tt_address_record_write(const struct tt_address_record *record, uint8_t *to)
{
    uint8_t *at = put(to, RECORD_TAG, 4);
    at = put(at, record->port, 2);
    at = put(at, record->process, 2);
    at = put(at, record->network, 8);
    at = put(at, record->addresses, 1);
    at = put_bytes(at, record->address, (size_t)record->addresses * 16);
    at = put(at, record->wire_bytes, 2);
    at = put_bytes(at, record->wire, record->wire_bytes);
    return (size_t)(at - to);
}

static uint8_t *put_machine(uint8_t *at, const struct tt_machine_in_force *machine)
{
    at = put(at, machine->use, 1);
    at = put(at, machine->measures, 1);
    at = put(at, (uint32_t)machine->link.mbit, 4);
    at = put(at, (uint32_t)machine->link.start_ns, 4);
    if (machine->use == TT_MACHINE_UNKNOWN) return at;
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++)
        at = put(at, (uint64_t)machine->model.number[i], 8);
    for (int i = 0; i < TT_MACHINE_TABLES_N * TT_MACHINE_POINTS; i++)
        at = put(at, (uint64_t)machine->model.table[i / TT_MACHINE_POINTS][i % TT_MACHINE_POINTS],
                 8);
    at = put(at, (uint64_t)machine->model.network.look, 8);
    for (int i = 0; i < TT_MACHINE_WIRES_N * TT_MACHINE_POINTS; i++)
        at = put(
            at, (uint64_t)machine->model.network.wire[i / TT_MACHINE_POINTS][i % TT_MACHINE_POINTS],
            8);
    return at;
}

static uint8_t *put_wisdom(uint8_t *at, const struct tt_wisdom *wisdom)
{
    at = put(at, wisdom->n, 4);
    for (const struct tt_wise *w = wisdom->line; w < wisdom->line + wisdom->n; w++) {
        at = put(at, (uint64_t)w->bytes, 8);
        at = put(at, (uint64_t)w->slice, 8);
        at = put(at, (uint32_t)w->radix, 4);
        at = put(at, (uint32_t)w->p, 4);
        at = put(at, (uint32_t)w->cores, 4);
        at = put(at, w->layout, 4);
        at = put(at, w->coll, 1);
        at = put(at, w->type, 1);
        at = put(at, w->op, 1);
        at = put(at, w->reach, 1);
        at = put(at, w->algorithm, 2);
        at = put(at, w->lanes, 2);
    }
    return at;
}

static uint8_t *put_warnings(uint8_t *at, const struct tt_warnings *warnings)
{
    at = put(at, (uint32_t)warnings->n, 4);
    for (int i = 0; i < warnings->n; i++) {
        at = put(at, warnings->warning[i].id, 8);
        at = put(at, (uint32_t)warnings->warning[i].first, 4);
        at = put(at, (uint32_t)warnings->warning[i].ranks, 4);
    }
    return at;
}

size_t tt_terms_write(const struct tt_terms *terms, uint8_t *to)
{
    size_t why = strnlen(terms->why, sizeof terms->why - 1);
    uint8_t *at = put(to, TERMS_TAG, 4);
    at = put_bytes(at, terms->version, sizeof terms->version);
    at = put(at, (uint32_t)terms->status, 4);
    at = put(at, (uint32_t)terms->cores, 4);
    at = put(at, (uint32_t)terms->online, 4);
    at = put(at, (uint32_t)terms->accesses, 4);
    at = put(at, (uint32_t)terms->read_cost, 4);
    at = put(at, (uint64_t)terms->stamp, 8);
    at = put(at, terms->kernel, 8);
    at = put(at, (uint32_t)terms->ranks, 4);
    at = put(at, terms->token, 8);
    at = put(at, terms->inbox, 2);
    at = put(at, terms->addresses, 1);
    at = put_bytes(at, terms->address, (size_t)terms->addresses * 16);
    for (int i = 0; i < TT_MUST_MATCH_SETTINGS; i++)
        at = put(at, (uint64_t)terms->must_match[i], 8);
    at = put_machine(at, &terms->machine);
    at = put_wisdom(at, &terms->wisdom);
    at = put_warnings(at, &terms->warnings);
    at = put(at, why, 1);
    at = put_bytes(at, terms->why, why);
    return (size_t)(at - to);
}

/* ---- Reading ---- */

struct reader {
    const uint8_t *at;
    size_t left;
    bool good; /* no read has failed so far; when it is false, all reads return 0 */
};

static const uint8_t *take(struct reader *r, size_t n)
{
    const uint8_t *at = r->at;
    r->good = r->good && n <= r->left;
    if (!r->good) return NULL;
    r->at += n;
    r->left -= n;
    return at;
}

static uint64_t get(struct reader *r, int bytes)
{
    uint64_t value = 0;
    const uint8_t *at = take(r, (size_t)bytes);
    for (int i = 0; at && i < bytes; i++) value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static void get_bytes(struct reader *r, void *to, size_t n, size_t room)
{
    r->good = r->good && n <= room;
    const uint8_t *at = take(r, n);
    if (at) memcpy(to, at, n);
}

static bool ends(const struct reader *r)
{
    return r->good && r->left == 0;
}

bool tt_address_record_read(struct tt_address_record *record, const uint8_t *bytes, size_t n)
{
    struct tt_address_record c = {0};
    struct reader r = {bytes, n, true};
    r.good = get(&r, 4) == RECORD_TAG;
    c.port = (uint16_t)get(&r, 2);
    c.process = (uint16_t)get(&r, 2);
    c.network = get(&r, 8);
    c.addresses = (uint8_t)get(&r, 1);
    get_bytes(&r, c.address, (size_t)c.addresses * 16, sizeof c.address);
    c.wire_bytes = (uint16_t)get(&r, 2);
    get_bytes(&r, c.wire, c.wire_bytes, sizeof c.wire);
    if (!ends(&r)) return false;
    *record = c;
    return true;
}

static bool is_text(const char *text, size_t n)
{
    for (size_t i = 0; i < n && text[i]; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) return false;
    return true;
}

/* Returns whether text[n] is a text that ends with 0 and is followed by zeros only. The padding
 * must be zeros, so that equal terms are equal bytes. */
static bool is_padded(const char *text, size_t n)
{
    size_t length = strnlen(text, n);
    for (size_t i = length; i < n; i++)
        if (text[i]) return false;
    return length < n;
}

static void get_machine(struct reader *r, struct tt_machine_in_force *machine)
{
    machine->use = (uint32_t)get(r, 1);
    machine->measures = (uint32_t)get(r, 1);
    machine->link.mbit = (int32_t)get(r, 4);
    machine->link.start_ns = (int32_t)get(r, 4);
    r->good = r->good && machine->use < TT_MACHINE_USES && machine->measures <= 1 &&
              machine->link.mbit >= 0 && machine->link.start_ns >= 0;
    if (!r->good || machine->use == TT_MACHINE_UNKNOWN) return;
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++) machine->model.number[i] = (int64_t)get(r, 8);
    for (int i = 0; i < TT_MACHINE_TABLES_N * TT_MACHINE_POINTS; i++)
        machine->model.table[i / TT_MACHINE_POINTS][i % TT_MACHINE_POINTS] = (int64_t)get(r, 8);
    struct tt_machine_network *network = &machine->model.network;
    network->look = (int64_t)get(r, 8);
    for (int i = 0; i < TT_MACHINE_WIRES_N * TT_MACHINE_POINTS; i++)
        network->wire[i / TT_MACHINE_POINTS][i % TT_MACHINE_POINTS] = (int64_t)get(r, 8);
    r->good = r->good && tt_machine_valid(&machine->model);
}

static void get_wisdom(struct reader *r, struct tt_wisdom *wisdom)
{
    uint32_t n = (uint32_t)get(r, 4);
    r->good = r->good && n <= TT_WISDOM_MOST;
    for (uint32_t i = 0; r->good && i < n; i++) {
        struct tt_wise *w = &wisdom->line[i];
        w->bytes = (int64_t)get(r, 8);
        w->slice = (int64_t)get(r, 8);
        w->radix = (int32_t)get(r, 4);
        w->p = (int32_t)get(r, 4);
        w->cores = (int32_t)get(r, 4);
        w->layout = (uint32_t)get(r, 4);
        w->coll = (uint8_t)get(r, 1);
        w->type = (uint8_t)get(r, 1);
        w->op = (uint8_t)get(r, 1);
        w->reach = (uint8_t)get(r, 1);
        w->algorithm = (uint16_t)get(r, 2);
        w->lanes = (uint16_t)get(r, 2);
        r->good = r->good && tt_wise_valid(w);
    }
    wisdom->n = n;
}

static void get_warnings(struct reader *r, struct tt_warnings *warnings)
{
    uint32_t n = (uint32_t)get(r, 4);
    r->good = r->good && n <= TT_WARNINGS;
    for (uint32_t i = 0; r->good && i < n; i++) {
        struct tt_warning *w = &warnings->warning[i];
        w->id = get(r, 8);
        w->first = (int32_t)get(r, 4);
        w->ranks = (int32_t)get(r, 4);
        r->good = r->good && w->id != 0 && w->first >= 0 && w->ranks > 0;
    }
    warnings->n = r->good ? (int)n : 0;
}

bool tt_terms_read(struct tt_terms *terms, const uint8_t *bytes, size_t n)
{
    struct tt_terms t = {0};
    struct reader r = {bytes, n, true};
    r.good = get(&r, 4) == TERMS_TAG;
    get_bytes(&r, t.version, sizeof t.version, sizeof t.version);
    t.status = (int32_t)get(&r, 4);
    t.cores = (int32_t)get(&r, 4);
    t.online = (int32_t)get(&r, 4);
    t.accesses = (int32_t)get(&r, 4);
    t.read_cost = (int32_t)get(&r, 4);
    t.stamp = (int64_t)get(&r, 8);
    t.kernel = get(&r, 8);
    t.ranks = (int32_t)get(&r, 4);
    t.token = get(&r, 8);
    t.inbox = (uint16_t)get(&r, 2);
    t.addresses = (uint8_t)get(&r, 1);
    get_bytes(&r, t.address, (size_t)t.addresses * 16, sizeof t.address);
    for (int i = 0; i < TT_MUST_MATCH_SETTINGS; i++) t.must_match[i] = (int64_t)get(&r, 8);
    get_machine(&r, &t.machine);
    get_wisdom(&r, &t.wisdom);
    get_warnings(&r, &t.warnings);
    size_t why = get(&r, 1);
    get_bytes(&r, t.why, why, sizeof t.why - 1);
    if (!ends(&r) || !is_padded(t.version, sizeof t.version) || strlen(t.why) != why ||
        !is_text(t.version, sizeof t.version) || !is_text(t.why, sizeof t.why) || t.cores < 1 ||
        t.online < 1 || t.ranks < 1)
        return false;
    *terms = t;
    return true;
}

/* ---- Notices ---- */

enum { NOTICE_LEFT = 1, NOTICE_ASKS = 2 };

size_t tt_notice_write(const struct tt_notice *notice, uint64_t token, uint8_t to[TT_NOTICE_BYTES])
{
    size_t why = strnlen(notice->why, sizeof notice->why - 1);
    uint8_t *at = put(to, NOTICE_TAG, 4);
    at = put(at, notice->client, 4);
    at = put(at, token, 8);
    at = put(at, (uint32_t)notice->from, 4);
    at = put(at, (uint32_t)notice->about, 4);
    at = put(at, (notice->left ? NOTICE_LEFT : 0) | (notice->asks ? NOTICE_ASKS : 0), 2);
    at = put(at, (uint32_t)notice->cause, 2);
    at = put(at, (uint32_t)notice->code, 4);
    at = put(at, notice->team, 8);
    at = put(at, why, 2);
    at = put_bytes(at, notice->why, why);
    return (size_t)(at - to);
}

bool tt_notice_read(struct tt_notice *notice, uint64_t token, const uint8_t *bytes, size_t length)
{
    struct reader r = {bytes, length, true};
    bool known = get(&r, 4) == NOTICE_TAG;
    struct tt_notice n = {.client = (uint32_t)get(&r, 4)};
    bool mine = get(&r, 8) == token;
    n.from = (int32_t)get(&r, 4);
    n.about = (int32_t)get(&r, 4);
    uint64_t flags = get(&r, 2);
    n.left = flags == NOTICE_LEFT;
    n.asks = flags == NOTICE_ASKS;
    n.cause = (int32_t)get(&r, 2);
    n.code = (int32_t)get(&r, 4);
    n.team = get(&r, 8);
    size_t why = get(&r, 2);
    get_bytes(&r, n.why, why, sizeof n.why - 1);
    if (!known || !mine || !ends(&r) || flags > NOTICE_ASKS || n.cause > TT_CAUSE_SILENT ||
        strlen(n.why) != why || !is_text(n.why, sizeof n.why))
        return false;
    *notice = n;
    return true;
}

/* ---- Lists ---- */

size_t tt_address_records_add(uint8_t *to, int client, const uint8_t *record, size_t bytes)
{
    uint8_t *at = put(to, (uint32_t)client, 4);
    at = put(at, bytes, 4);
    return (size_t)(put_bytes(at, record, bytes) - to);
}

tutti_status tt_address_records_find(const uint8_t *list, size_t n, int client,
                                     const uint8_t **record, size_t *bytes)
{
    int64_t newest = TT_ANY_CLIENT;
    struct reader r = {list, n, true};
    while (r.good && r.left > 0) {
        int64_t number = (int64_t)get(&r, 4);
        *bytes = get(&r, 4);
        *record = take(&r, *bytes);
        if (r.good && (client == TT_ANY_CLIENT || number == client)) return TUTTI_OK;
        newest = tt_max(newest, number);
    }
    return r.good && newest < client ? TUTTI_AGAIN : TUTTI_ERR_PEER;
}
