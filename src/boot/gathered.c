/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The provider of the directory that uses the allgather of the caller of tutti_init_with. A fence
 * gathers what the ranks have put since the last fence; after the fence, each rank has all values
 * of all ranks.
 *
 *     packet   head | up to ROOM bytes of the rank's new values: { two lengths, key, value }
 *
 * The two lengths are those of the key and of the value. Every call of the caller's function
 * gathers one packet of each rank, so all calls have the same form. The heads of the first packets
 * of a fence say how many bytes each rank has, and so how many calls follow.
 *
 * Why no rank waits in a call that the other ranks do not make: a rank that cannot go on makes
 * exactly one more call, whose packet carries the error. The other ranks make this call too, since
 * each rank makes the same calls in the same order, and all of them stop after it. A rank on which
 * the function failed also makes one more call. After an error, no rank calls the function again.
 */
#include "boot/directory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/host-name.h"

#define MAGIC UINT64_C(0x7265687461676174)

enum { PACKET = 1024, WHY = 160 };

struct packet_head {
    uint64_t magic;
    uint64_t bytes; /* the bytes of all values that the rank publishes in this fence */
    int32_t rank, size;
    char version[TT_VERSION];
    char why[WHY]; /* why the rank cannot go on; "": it can */
};

enum { ROOM = PACKET - sizeof(struct packet_head) };

/* A value that a rank has published. */
struct published {
    struct published *next;
    uint32_t key, n; /* lengths of the key and of the value, which follow */
    char bytes[];
};

/* The state of this process in the exchange of values with the other ranks. `all` and `values` have
 * an entry for each rank. One thread at a time begins the session or a fence. Meanwhile other
 * threads, with other clients, may put values and ask for them; the lock guards `fresh` and
 * `values` with its lists. */
static struct {
    atomic_bool chosen; /* tt_directory_gather was called */
    struct tt_gather gather;
    int calls;          /* how many times this process has called gather.fn */
    bool over;          /* an error has ended the exchange */
    bool all_know;      /* all ranks have got the error that has ended the exchange */
    char why[WHY + 96]; /* the text of the error */
    pthread_mutex_t lock;
    uint8_t *fresh; /* what this rank has put since the last fence began */
    size_t fresh_bytes;
    struct published **values; /* NULL: the session has not begun */
    uint8_t *all;              /* the packets that a call gathers, one of each rank */
} me = {.lock = PTHREAD_MUTEX_INITIALIZER};

void tt_directory_gather(const struct tt_gather *gather)
{
    me.gather = *gather;
    atomic_store(&me.chosen, true);
}

bool tt_directory_is_gathered(void)
{
    return atomic_load(&me.chosen);
}

bool tt_directory_differs(const struct tt_gather *gather)
{
    return me.gather.rank != gather->rank || me.gather.size != gather->size;
}

/* ---- Values ---- */

static struct published *find(struct published *list, const char *key)
{
    size_t n = strlen(key);
    while (list && (list->key != n || memcmp(list->bytes, key, n) != 0)) list = list->next;
    return list;
}

/* Adds a value of n bytes, which follows its key in memory, to the front of the list, and frees an
 * older value with the same key. Returns false if there is no memory. */
static bool add(struct published **list, const uint8_t *key, uint32_t key_bytes, uint32_t n)
{
    struct published *v = tt_alloc(sizeof *v + key_bytes + n);
    if (!v) return false;
    *v = (struct published){.next = *list, .key = key_bytes, .n = n};
    memcpy(v->bytes, key, (size_t)key_bytes + n);
    *list = v;
    for (struct published **at = &v->next; *at; at = &(*at)->next) {
        struct published *old = *at;
        if (old->key != key_bytes || memcmp(old->bytes, key, key_bytes) != 0) continue;
        *at = old->next;
        tt_free(old);
        break;
    }
    return true;
}

/* Adds to a rank's list the n bytes of values that the rank has published. Returns false if there
 * is no memory, or if the bytes are no list of values. */
static bool read_values(struct published **list, const uint8_t *from, size_t n)
{
    uint32_t length[2];
    for (size_t at = 0; at < n; at += sizeof length + length[0] + length[1]) {
        if (n - at < sizeof length) return false;
        memcpy(length, from + at, sizeof length);
        if ((uint64_t)length[0] + length[1] > n - at - sizeof length) return false;
        if (!add(list, from + at + sizeof length, length[0], length[1])) return false;
    }
    return true;
}

static tutti_status put_locked(const char *key, const void *bytes, size_t n)
{
    const uint32_t length[2] = {(uint32_t)strlen(key), (uint32_t)n};
    size_t more = sizeof length + length[0] + n;
    uint8_t *fresh = tt_alloc(me.fresh_bytes + more);
    if (!fresh) return tt_fail(TUTTI_ERR_MEMORY, "no memory to publish %s", key);
    if (me.fresh_bytes) memcpy(fresh, me.fresh, me.fresh_bytes);
    memcpy(fresh + me.fresh_bytes, length, sizeof length);
    memcpy(fresh + me.fresh_bytes + sizeof length, key, length[0]);
    memcpy(fresh + me.fresh_bytes + sizeof length + length[0], bytes, n);
    tt_free(me.fresh);
    me.fresh = fresh;
    me.fresh_bytes += more;
    return TUTTI_OK;
}

static tutti_status put(enum tt_scope scope, const char *key, const void *bytes, size_t n)
{
    (void)scope;
    pthread_mutex_lock(&me.lock);
    tutti_status status = put_locked(key, bytes, n);
    pthread_mutex_unlock(&me.lock);
    return status;
}

/* ---- Calls of the function ---- */

static const char *end_by(const char *why)
{
    if (!me.over) snprintf(me.why, sizeof me.why, "%s", why);
    me.over = true;
    return me.why;
}

static struct packet_head head_of(int rank)
{
    struct packet_head head;
    memcpy(&head, me.all + (size_t)rank * PACKET, sizeof head);
    head.why[WHY - 1] = head.version[sizeof head.version - 1] = 0;
    return head;
}

/* Returns a text that says what is wrong with the packet of a rank; NULL: nothing is wrong. */
static const char *refuse_packet(int rank, char *text, size_t n)
{
    char mine[TT_VERSION];
    const struct packet_head head = head_of(rank);
    if (head.magic == MAGIC && head.why[0])
        snprintf(text, n, "%s", head.why);
    else if (head.magic != MAGIC || head.rank != rank)
        snprintf(text, n,
                 "the allgather given to tutti_init_with returned other bytes for rank %d than "
                 "that rank gave to it",
                 rank);
    else if (head.size != me.gather.size)
        snprintf(text, n, "rank %d called tutti_init_with for %d ranks, rank %d for %d", rank,
                 (int)head.size, me.gather.rank, me.gather.size);
    else if (strcmp(head.version, tt_version(mine)) != 0)
        snprintf(text, n, "rank %d is linked to version %s, rank %d to %s", rank, head.version,
                 me.gather.rank, mine);
    else
        return NULL;
    return text;
}

static int call(uint64_t bytes, const uint8_t *values, size_t n, const char *why)
{
    uint8_t packet[PACKET] = {0};
    struct packet_head head = {
        .magic = MAGIC, .bytes = bytes, .rank = me.gather.rank, .size = me.gather.size};
    tt_version(head.version);
    snprintf(head.why, sizeof head.why, "%s", why);
    memcpy(packet, &head, sizeof head);
    if (n) memcpy(packet + sizeof head, values, n);
    memset(me.all, 0, (size_t)me.gather.size * PACKET);
    me.calls++;
    return me.gather.fn(packet, me.all, PACKET, me.gather.arg);
}

static void refuse(const char *why)
{
    if (me.all_know || !me.all) return;
    (void)end_by(why);
    me.all_know = true;
    (void)call(0, NULL, 0, me.why);
}

/* Gathers one packet of each rank. This rank's packet has n bytes of `values`; `bytes` is the
 * length of all values that this rank publishes in the fence. Returns the text of the error that
 * ends the exchange; NULL: there was no error. */
static const char *gather(uint64_t bytes, const uint8_t *values, size_t n)
{
    char text[WHY + 96];
    int result = call(bytes, values, n, "");
    if (result != 0) {
        snprintf(text, sizeof text,
                 "the allgather given to tutti_init_with returned %d to rank %d in its call %d",
                 result, me.gather.rank, me.calls);
        refuse(text);
        return me.why;
    }
    for (int r = 0; r < me.gather.size; r++) {
        if (!refuse_packet(r, text, sizeof text)) continue;
        /* If the packet of rank r carries an error, all ranks have got this error. But if its bytes
         * are wrong here, they may be right on other ranks, so this rank must send the error. */
        me.all_know = head_of(r).magic == MAGIC && head_of(r).why[0];
        if (!me.all_know) refuse(text);
        return end_by(text);
    }
    return NULL;
}

/* ---- A fence ---- */

/* The state of a fence: the values that this rank sends, and the values of all ranks, which arrive
 * in pieces. */
struct gathering {
    uint8_t **from; /* the values of each rank */
    size_t *bytes;
    size_t most; /* the maximum of bytes[] */
    uint8_t *mine;
    size_t mine_bytes;
};

/* Takes what this rank has put so far. What other threads put from now on waits for the next
 * fence. */
static void take_fresh(struct gathering *a)
{
    pthread_mutex_lock(&me.lock);
    a->mine = me.fresh;
    a->mine_bytes = me.fresh_bytes;
    me.fresh = NULL;
    me.fresh_bytes = 0;
    pthread_mutex_unlock(&me.lock);
}

static bool make_room(struct gathering *a)
{
    a->most = 0;
    for (int r = 0; r < me.gather.size; r++) {
        a->bytes[r] = (size_t)head_of(r).bytes;
        if (a->bytes[r] > a->most) a->most = a->bytes[r];
        if (!(a->from[r] = tt_alloc(a->bytes[r] + 1))) return false;
    }
    return true;
}

static void keep(const struct gathering *a, size_t at)
{
    for (int r = 0; r < me.gather.size; r++) {
        const uint8_t *values = me.all + (size_t)r * PACKET + sizeof(struct packet_head);
        if (at >= a->bytes[r]) continue;
        memcpy(a->from[r] + at, values, (size_t)tt_min((int64_t)(a->bytes[r] - at), ROOM));
    }
}

static const char *no_memory(void)
{
    char text[WHY];
    snprintf(text, sizeof text, "rank %d has no memory for what the ranks publish", me.gather.rank);
    return end_by(text);
}

/* Adds to the list of each rank the values of that rank that have arrived. Returns false if there
 * is no memory. */
static bool add_all(const struct gathering *a)
{
    bool good = true;
    pthread_mutex_lock(&me.lock);
    for (int r = 0; r < me.gather.size && good; r++)
        good = read_values(&me.values[r], a->from[r], a->bytes[r]);
    pthread_mutex_unlock(&me.lock);
    return good;
}

static const char *arrive(struct gathering *a)
{
    take_fresh(a);
    for (size_t at = 0; at == 0 || at < a->most; at += ROOM) {
        size_t left = at < a->mine_bytes ? a->mine_bytes - at : 0;
        const char *error =
            gather(a->mine_bytes, left ? a->mine + at : NULL, (size_t)tt_min((int64_t)left, ROOM));
        if (error) return error;
        if (at == 0 && !make_room(a)) return no_memory();
        keep(a, at);
    }
    return add_all(a) ? NULL : no_memory();
}

static const char *gather_all(void)
{
    size_t p = (size_t)me.gather.size;
    struct gathering a = {.from = tt_calloc(p, sizeof *a.from),
                          .bytes = tt_calloc(p, sizeof *a.bytes)};
    const char *error = a.from && a.bytes ? arrive(&a) : no_memory();
    for (size_t r = 0; a.from && r < p; r++) tt_free(a.from[r]);
    tt_free(a.from);
    tt_free(a.bytes);
    tt_free(a.mine);
    return error;
}

static struct tt_reply *fence(void)
{
    const char *error = me.over ? me.why : gather_all();
    return tt_reply_known("", error, false, NULL, 0);
}

/* ---- The name of a host ---- */

static tutti_status put_host(void)
{
    struct tt_host_name host;
    tt_host_name(&host);
    TT_TRY(put(TT_SCOPE_ALL, "host", host.name, strlen(host.name)));
    return put(TT_SCOPE_ALL, "space", host.space, strlen(host.space));
}

static bool same(int a, int b, const char *key)
{
    const struct published *x = find(me.values[a], key), *y = find(me.values[b], key);
    return x && y && x->n == y->n && memcmp(x->bytes + x->key, y->bytes + y->key, x->n) == 0;
}

/* Returns the name of the rank's host. If several hosts or containers have the same name, all names
 * that this function returns differ: it appends the kernel and namespaces to the name, except for
 * the host or container on which the lowest rank with this name runs. */
static struct tt_reply *host_of(int rank)
{
    char text[192];
    const struct published *host = find(me.values[rank], "host");
    const struct published *space = find(me.values[rank], "space");
    if (!host || !space) return tt_reply_known("", "a rank did not name its host", false, NULL, 0);
    int first = 0;
    while (!same(first, rank, "host")) first++;
    bool alone = same(first, rank, "space");
    snprintf(text, sizeof text, "%.*s%s%.*s", (int)host->n, host->bytes + host->key,
             alone ? "" : "/", alone ? 0 : (int)space->n, space->bytes + space->key);
    return tt_reply_known("", NULL, false, text, strlen(text));
}

static struct tt_reply *ask_locked(int rank, const char *key)
{
    if (!me.values || rank < 0 || rank >= me.gather.size) return NULL;
    if (strcmp(key, "pmix.hname") == 0) return host_of(rank);
    const struct published *v = find(me.values[rank], key);
    if (!v) return tt_reply_known("", "the rank has published no such value", true, NULL, 0);
    return tt_reply_known("", NULL, false, v->bytes + v->key, v->n);
}

/* This provider has no copies of values, so it always returns the newest one. */
static struct tt_reply *ask(int rank, const char *key, bool anew)
{
    (void)anew;
    pthread_mutex_lock(&me.lock);
    struct tt_reply *reply = ask_locked(rank, key);
    pthread_mutex_unlock(&me.lock);
    return reply;
}

/* ---- The session ---- */

/* Fails because this process was given a rank that is not in the job. The other ranks get the error
 * in their first call of the allgather. */
static tutti_status refuse_rank(void)
{
    char text[WHY];
    snprintf(text, sizeof text, "rank %d is not in 0 .. %d", me.gather.rank, me.gather.size - 1);
    refuse(text);
    return tt_fail(TUTTI_ERR_ARG, "%s", text);
}

/* Runs the first fence. If it fails on this rank and the other ranks do not know the error, this
 * rank calls the allgather once more, to send the error to them. */
static tutti_status first_fence(void)
{
    tutti_status status = tt_reply_end(fence(), NULL, 0, NULL);
    if (status == TUTTI_OK) return TUTTI_OK;
    if (!me.over) (void)no_memory();
    refuse(me.why);
    return status;
}

static tutti_status begin(void)
{
    size_t p = (size_t)me.gather.size;
    me.all = tt_calloc(p, PACKET);
    /* Without memory for the packets, this rank cannot call the allgather, and the other ranks wait
     * in it for ever. */
    if (!me.all) return tt_fail(TUTTI_ERR_MEMORY, "no memory for %d ranks", me.gather.size);
    me.values = tt_calloc(p, sizeof(struct published *));
    if (!me.values || put_host() != TUTTI_OK) {
        const char *why = no_memory();
        refuse(why);
        return tt_fail(TUTTI_ERR_MEMORY, "%s", why);
    }
    if (me.gather.rank < 0 || me.gather.rank >= me.gather.size) return refuse_rank();
    return first_fence();
}

static void forget(void)
{
    pthread_mutex_lock(&me.lock);
    for (int r = 0; me.values && r < me.gather.size; r++)
        while (me.values[r]) {
            struct published *next = me.values[r]->next;
            tt_free(me.values[r]);
            me.values[r] = next;
        }
    tt_free(me.values);
    tt_free(me.all);
    me.values = NULL;
    me.all = NULL;
    pthread_mutex_unlock(&me.lock);
}

static tutti_status open_session(int *rank, int *size)
{
    *rank = me.gather.rank;
    *size = me.gather.size;
    if (me.values) return TUTTI_OK;
    tutti_status status = begin();
    if (status != TUTTI_OK) forget();
    return status;
}

/* Does nothing: the values stay, because ranks ask for address records as long as a client
 * exists. */
static void close_session(void)
{
}

const struct tt_directory tt_directory_gathered = {.open = open_session,
                                                   .close = close_session,
                                                   .put = put,
                                                   .ask = ask,
                                                   .fence = fence,
                                                   .refuse = refuse};
