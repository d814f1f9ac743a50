/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packets that arrived early wait here for the packets before them, by link.
 */
#include "fabric/ucx-order.h"

#include <string.h>

/* A packet that waits; its head and data follow it in memory. */
struct early {
    struct early *next;
    uint32_t number;
    size_t head_bytes, data_bytes;
};

/* A link from another process, and its packets that wait, sorted by number. Packets mostly arrive
 * in this order. */
struct origin {
    uint64_t id;
    struct early *first, **last;
    struct origin *next_ready;
    uint32_t expected;
    bool ready; /* in the list order->ready */
};

struct tt_ucx_order {
    uint64_t pass;
    tt_wire_arrive_fn *arrive;
    void *arg;
    /* hash table by id, which is random; its size is a power of two, and it is at most half full */
    struct origin **table;
    size_t room, n;
    /* the link of the last packet, since the next packet mostly comes over the same link */
    struct origin *latest;
    struct origin *ready; /* links whose first waiting packet may be delivered now */
    uint64_t strangers;   /* packets with a wrong pass */
    bool open, delivering, warned;
};

enum { FIRST_ROOM = 16, LOGGED_EACH = 1000 };

struct tt_ucx_order *tt_order_create(uint64_t pass, tt_wire_arrive_fn *arrive, void *arg)
{
    struct tt_ucx_order *order = tt_calloc(1, sizeof *order);
    struct origin **table = tt_calloc(FIRST_ROOM, sizeof *table);
    if (!order || !table) {
        tt_free(order);
        tt_free(table);
        return NULL;
    }
    *order = (struct tt_ucx_order){
        .pass = pass, .arrive = arrive, .arg = arg, .table = table, .room = FIRST_ROOM};
    return order;
}

static void free_origin(struct origin *origin)
{
    for (struct early *early = origin->first, *next; early; early = next) {
        next = early->next;
        tt_free(early);
    }
    tt_free(origin);
}

void tt_order_free(struct tt_ucx_order *order)
{
    if (!order) return;
    for (size_t i = 0; i < order->room; i++) {
        if (order->table[i]) free_origin(order->table[i]);
    }
    tt_free(order->table);
    tt_free(order);
}

/* ---- Finding the link ---- */

static struct origin **place_of(struct origin **table, size_t room, uint64_t id)
{
    size_t i = id & (room - 1);
    while (table[i] && table[i]->id != id) i = (i + 1) & (room - 1);
    return &table[i];
}

static bool grow(struct tt_ucx_order *order)
{
    struct origin **table = tt_calloc(2 * order->room, sizeof *table);
    if (!table) return false;
    for (size_t i = 0; i < order->room; i++) {
        struct origin *origin = order->table[i];
        if (origin) *place_of(table, 2 * order->room, origin->id) = origin;
    }
    tt_free(order->table);
    order->table = table;
    order->room *= 2;
    return true;
}

static struct origin *add_origin(struct tt_ucx_order *order, uint64_t id)
{
    if (2 * order->n >= order->room && !grow(order)) return NULL;
    struct origin *origin = tt_calloc(1, sizeof *origin);
    if (!origin) return NULL;
    origin->id = id;
    origin->last = &origin->first;
    *place_of(order->table, order->room, id) = origin;
    order->n++;
    return origin;
}

static struct origin *find_origin(struct tt_ucx_order *order, uint64_t id)
{
    struct origin *origin = *place_of(order->table, order->room, id);
    if (!origin) origin = add_origin(order, id);
    if (origin) order->latest = origin;
    return origin;
}

/* ---- Waiting ---- */

static void note_ready(struct tt_ucx_order *order, struct origin *origin)
{
    if (origin->ready || !origin->first || origin->first->number != origin->expected) return;
    origin->ready = true;
    origin->next_ready = order->ready;
    order->ready = origin;
}

/* Returns how far a number is ahead of the expected one; negative: behind it. Numbers wrap
 * around. */
static int32_t ahead(const struct origin *origin, uint32_t number)
{
    return (int32_t)(number - origin->expected);
}

/* Returns where to insert a packet with this number in the link's list of packets that wait. This
 * is mostly the end of the list. */
static struct early **place_early(struct origin *origin, uint32_t number)
{
    struct early **at = &origin->first;
    if (origin->first) {
        struct early *last = tt_container_of(origin->last, struct early, next);
        if (ahead(origin, last->number) < ahead(origin, number)) return origin->last;
    }
    while (*at && ahead(origin, (*at)->number) < ahead(origin, number)) at = &(*at)->next;
    return at;
}

static tutti_status no_packet(struct tt_ucx_order *order, const char *why)
{
    tutti_status status =
        tt_fail(TUTTI_ERR_ARG, "a packet came that is not one of this job's: %s", why);
    if (!order->warned) tt_warn("%s; it is left out", tutti_error());
    order->warned = true;
    return status;
}

static tutti_status keep(struct tt_ucx_order *order, struct origin *origin, uint32_t number,
                         const void *head, size_t head_bytes, const void *data, size_t data_bytes)
{
    struct early **at = place_early(origin, number);
    if (*at && (*at)->number == number) return no_packet(order, "its number came twice");
    struct early *early = tt_alloc(sizeof *early + head_bytes + data_bytes);
    if (!early) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a packet that came early");
    *early = (struct early){*at, number, head_bytes, data_bytes};
    if (head_bytes) memcpy(early + 1, head, head_bytes);
    if (data_bytes) tt_memcpy((char *)(early + 1) + head_bytes, data, data_bytes);
    if (!*at) origin->last = &early->next;
    *at = early;
    note_ready(order, origin);
    return TUTTI_OK;
}

/* ---- Delivering ---- */

static void deliver(struct tt_ucx_order *order, struct origin *origin, const void *head,
                    size_t head_bytes, const void *data, size_t data_bytes)
{
    origin->expected++;
    order->delivering = true;
    order->arrive(order->arg, head, head_bytes, data, data_bytes);
    order->delivering = false;
    if (tt_unlikely(origin->first)) note_ready(order, origin);
}

static void deliver_first(struct tt_ucx_order *order, struct origin *origin)
{
    struct early *early = origin->first;
    origin->first = early->next;
    if (!origin->first) origin->last = &origin->first;
    deliver(order, origin, early + 1, early->head_bytes, (char *)(early + 1) + early->head_bytes,
            early->data_bytes);
    tt_free(early);
}

static int deliver_ready(struct tt_ucx_order *order)
{
    int n = 0;
    while (order->ready) {
        struct origin *origin = order->ready;
        order->ready = origin->next_ready;
        origin->ready = false;
        deliver_first(order, origin);
        n++;
    }
    return n;
}

int tt_order_open(struct tt_ucx_order *order, bool open)
{
    int n = order->ready && order->open && !open ? deliver_ready(order) : 0;
    order->open = open;
    return n;
}

bool tt_order_ready(const struct tt_ucx_order *order)
{
    return order->ready != NULL;
}

/* ---- Checking packets ---- */

__attribute__((cold, noinline)) static tutti_status stranger(struct tt_ucx_order *order)
{
    if (order->strangers++ % LOGGED_EACH == 0 && tt_log_on(TT_LOG_fabric))
        tt_log("a packet without this port's pass is dropped: its sender is not of the job (%llu "
               "by now)",
               (unsigned long long)order->strangers);
    return tt_fail(TUTTI_ERR_ARG,
                   "a packet with a wrong pass was dropped; its sender does not belong to the job");
}

uint64_t tt_order_strangers(const struct tt_ucx_order *order)
{
    return order->strangers;
}

tutti_status tt_order_take(struct tt_ucx_order *order, const void *bytes, size_t n)
{
    struct tt_packet_head packet;
    if (tt_unlikely(n < sizeof packet)) return stranger(order);
    memcpy(&packet, bytes, sizeof packet);
    if (tt_unlikely(packet.pass != order->pass)) return stranger(order);
    const char *head = (const char *)bytes + sizeof packet;
    if (tt_unlikely(packet.form != TT_PACKET_FORM)) return no_packet(order, "it has another form");
    if (tt_unlikely(packet.head_bytes > TT_WIRE_HEAD ||
                    packet.head_bytes + packet.gap > n - sizeof packet))
        return no_packet(order, "its head ends beyond it");
    const char *data = head + packet.head_bytes + packet.gap;
    size_t data_bytes = n - (size_t)(data - (const char *)bytes);
    struct origin *origin = order->latest;
    if (tt_unlikely(!origin || origin->id != packet.origin))
        origin = find_origin(order, packet.origin);
    if (!origin) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a link from another process");
    bool turn = packet.number == origin->expected && !origin->ready;
    if (tt_likely(turn && order->open && !order->delivering)) {
        deliver(order, origin, head, packet.head_bytes, data, data_bytes);
        return TUTTI_OK;
    }
    if (ahead(origin, packet.number) < 0) return no_packet(order, "its number came before");
    return keep(order, origin, packet.number, head, packet.head_bytes, data, data_bytes);
}
