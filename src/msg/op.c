/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of what a context has started and is to be told of.
 *
 * An id is (how many times the place was used) << 32 | place + 1: an answer that comes twice, late,
 * or from somebody else finds nothing.
 */
#include <string.h>

#include "msg/help.h"

enum {
    DEEP = 16
}; /* completion functions within each other, each having sent what completes at once */

static bool grow(tutti_context *c)
{
    int room = c->op_room ? 2 * c->op_room : 16;
    struct tt_op **op = tt_alloc_lines((size_t)room * sizeof *op);
    if (!op) return false;
    if (c->ops) memcpy(op, c->op, (size_t)c->ops * sizeof *op);
    tt_free(c->op);
    c->op = op;
    c->op_room = room;
    return true;
}

static struct tt_op *add(tutti_context *c)
{
    if (c->ops == c->op_room && !grow(c)) return NULL;
    struct tt_op *op = tt_alloc_lines(sizeof *op);
    if (!op) return NULL;
    *op = (struct tt_op){.id = (uint64_t)c->ops + 1};
    c->op[c->ops++] = op;
    return op;
}

struct tt_op *tt_op_new(tutti_context *c, enum tt_op_kind kind, struct tt_peer *peer)
{
    struct tt_op *op = c->free_op;
    if (op)
        c->free_op = op->next;
    else if (!(op = add(c))) {
        (void)tt_fail(TUTTI_ERR_MEMORY, "no memory to start a message");
        return NULL;
    }
    *op = (struct tt_op){.kind = kind, .id = op->id + (UINT64_C(1) << 32), .peer = peer};
    return op;
}

struct tt_op *tt_op_find(tutti_context *c, uint64_t id, const struct tt_peer *peer)
{
    uint64_t place = (id & UINT32_MAX) - 1;
    if (place >= (uint64_t)c->ops) return NULL;
    struct tt_op *op = c->op[place];
    bool same =
        op->kind != TT_OP_NONE && !op->ended && op->id == id && op->peer->rank == peer->rank;
    return same ? op : NULL;
}

void tt_op_free(tutti_context *c, struct tt_op *op)
{
    const struct tt_wire_ops *wire = c->msg->ops;
    if (op->region) wire->unmap(op->region);
    if (op->key) wire->key_close(op->key);
    tt_free(op->packed);
    op->region = NULL;
    op->key = NULL;
    op->packed = NULL;
    op->kind = TT_OP_NONE;
    op->next = c->free_op;
    c->free_op = op;
}

/* ---- Telling ---- */

static void tell_sent(tutti_context *c, struct tt_op *op, tutti_status status)
{
    tutti_done_fn *sent = op->sent;
    op->sent = NULL;
    if (sent) sent(c, op->arg, status);
}

/* Its place is free for what the functions start. */
static void tell(tutti_context *c, struct tt_op *op)
{
    struct tt_op told = *op;
    tt_op_free(c, op);
    c->depth++;
    c->events++;
    bool buffer = told.status != TUTTI_ERR_PEER; /* else it is given up, and that told */
    tell_sent(c, &told, buffer ? TUTTI_OK : told.status);
    if (told.done) told.done(c, told.arg, told.status);
    c->depth--;
}

/* Whether its loss matters to a fence. Of short messages that nobody is told of the peer counts
 * all. */
static bool is_risked(const struct tt_op *op)
{
    return (op->kind == TT_OP_TOLD && op->done) || op->kind == TT_OP_LONG || op->kind == TT_OP_PUT;
}

void tt_op_end(tutti_context *c, struct tt_op *op, tutti_status status)
{
    op->status = status;
    if (tt_unlikely(status == TUTTI_ERR_PEER) && !op->peer->gone) op->peer->risked += is_risked(op);
    if (!op->sent && !op->done) {
        tt_op_free(c, op);
        return;
    }
    if (c->depth < DEEP) {
        tell(c, op);
        return;
    }
    op->ended = true;
    tt_context_used(c);
    op->next = c->ended;
    c->ended = op;
}

void tt_op_tell_ended(tutti_context *c)
{
    struct tt_op *op = c->ended, *first = NULL;
    c->ended = NULL;
    for (struct tt_op *next; op; op = next) {
        next = op->next;
        op->next = first;
        first = op;
    }
    for (struct tt_op *next; first; first = next) {
        next = first->next;
        tell(c, first);
    }
}

/* Of a long message a part has gone that was asked for. */
static void part_gone(tutti_context *c, struct tt_op *op)
{
    if (--op->flows == 0 && op->answered) tt_op_end(c, op, op->status);
}

static void buffer_free(tutti_context *c, struct tt_op *op)
{
    if (!op->done) {
        tt_op_end(c, op, TUTTI_OK);
        return;
    }
    if (c->depth >= DEEP) return; /* it is told with the end */
    c->depth++;
    tell_sent(c, op, TUTTI_OK);
    c->depth--;
}

void tt_op_gone(tutti_context *c, struct tt_op *op)
{
    if (op->kind == TT_OP_TOLD)
        buffer_free(c, op);
    else if (op->kind == TT_OP_LONG && op->flows > 0)
        part_gone(c, op);
}

void tt_op_answer(tutti_context *c, struct tt_op *op, tutti_status status)
{
    if (op->kind == TT_OP_PULL)
        tt_pull_answered(c, op, status);
    else if (op->kind == TT_OP_FENCE)
        tt_fence_answered(c, op, status);
    else if (op->flows == 0)
        tt_op_end(c, op, status);
    else {
        op->answered = true;
        op->status = status;
    }
}

/* What fences are to tell: before a function is called that may begin another one. */
static void note_missed(tutti_context *c, struct tt_peer *peer)
{
    for (int i = 0; i < c->ops; i++)
        peer->risked += c->op[i]->peer == peer && !c->op[i]->ended && is_risked(c->op[i]);
    if (peer->risked == peer->settled) return;
    bool told = false;
    for (int i = 0; i < c->ops; i++) {
        if (c->op[i]->kind != TT_OP_FENCE || c->op[i]->peer != peer) continue;
        c->op[i]->missed = true;
        told |= tt_fence_is_heard(c->op[i]);
    }
    if (told) peer->settled = peer->risked;
}

static void end_lost(tutti_context *c, struct tt_op *op)
{
    switch (op->kind) {
    case TT_OP_PULL: tt_pull_answered(c, op, TUTTI_ERR_PEER); break;
    case TT_OP_HELP: tt_help_lost(c, op); break;
    case TT_OP_FENCE: tt_op_end(c, op, op->missed ? TUTTI_ERR_PEER : TUTTI_OK); break;
    default: tt_op_end(c, op, TUTTI_ERR_PEER);
    }
}

void tt_op_end_lost(tutti_context *c, struct tt_peer *peer)
{
    note_missed(c, peer);
    for (int i = 0; i < c->ops; i++) {
        struct tt_op *op = c->op[i];
        bool open = op->kind != TT_OP_NONE && !op->ended && !op->on_wire && op->peer == peer;
        if (open) end_lost(c, op);
    }
}

void tt_op_close_keys(tutti_context *c)
{
    for (int i = 0; i < c->ops; i++) {
        struct tt_op *op = c->op[i];
        if (op->key) c->msg->ops->key_close(op->key);
        op->key = NULL;
    }
}

void tt_op_close(tutti_context *c)
{
    for (int i = 0; i < c->ops; i++) {
        if (c->op[i]->kind == TT_OP_FENCE) tt_fence_drop(c->op[i]);
        tt_op_free(c, c->op[i]);
        tt_free(c->op[i]);
    }
    tt_free(c->op);
}
