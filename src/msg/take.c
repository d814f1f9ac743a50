/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What comes, by its kind. Every number in a packet is checked here, or where it is used: ids by
 * the table of operations, offsets and lengths against what was asked for.
 */
#include <stdio.h>
#include <string.h>

#include "msg/help.h"
#include "msg/wired.h"

void tt_take_fault(tutti_context *c, tutti_status status)
{
    if (c->status != TUTTI_OK) return;
    c->status = status;
    snprintf(c->why, sizeof c->why, "%s", tutti_error());
}

/* What a rank that died had sent before may answer what has ended since. */
static void broken(tutti_context *c, const struct tt_peer *peer, const char *what)
{
    if (peer->gone) return;
    tt_take_fault(c, tt_fail(TUTTI_ERR_ARG, "context %d of rank %d sent %s", peer->context,
                             peer->rank, what));
}

/* What an operation can end with, as a packet tells it. */
static bool is_end(uint64_t status)
{
    return status <= TUTTI_ERR_SYSTEM && status != TUTTI_AGAIN;
}

static void take_ack(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    struct tt_op *op = tt_op_find(c, p->arg[0], peer);
    tutti_status status = (tutti_status)p->arg[1];
    bool asked = op && is_end(p->arg[1]);
    if (asked && op->kind == TT_OP_HELP)
        asked = tt_help_told(c, op, status);
    else if (asked)
        tt_op_answer(c, op, status);
    if (!asked) broken(c, peer, "an answer to nothing");
}

/* Sends `bytes` bytes to the operation `id` of the peer. */
static void stream(tutti_context *c, struct tt_peer *peer, uint64_t id, const char *from,
                   int64_t bytes, struct tt_op *op)
{
    struct tt_packet p = {.kind = TT_PACKET_DATA, .arg = {id, 0}, .data = from};
    if (op) op->flows++;
    tutti_status status = tt_post_packet(c, peer, &p, bytes, op, true);
    if (status == TUTTI_OK) return;
    if (op) op->flows--;
    tt_post_answer(c, peer, TT_PACKET_ACK, id, (uint64_t)status);
}

static bool is_part(uint64_t offset, uint64_t bytes, int64_t whole)
{
    return bytes > 0 && bytes <= (uint64_t)whole && offset <= (uint64_t)whole - bytes;
}

static void take_pull(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    struct tt_op *op = tt_op_find(c, p->arg[0], peer);
    if (!op || op->kind != TT_OP_LONG || op->answered || !is_part(p->arg[1], p->arg[2], op->bytes))
        tt_post_answer(c, peer, TT_PACKET_ACK, p->arg[3], TUTTI_ERR_ARG);
    else
        stream(c, peer, p->arg[3], op->data + p->arg[1], (int64_t)p->arg[2], op);
}

static void take_data(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    struct tt_op *op = tt_op_find(c, p->arg[0], peer);
    bool asked = op && (op->kind == TT_OP_PULL || op->kind == TT_OP_GET);
    if (!asked || p->arg[1] != (uint64_t)(op->bytes - op->left) || p->bytes > (uint64_t)op->left) {
        broken(c, peer, "data that nobody asked for");
        return;
    }
    if (p->bytes) tt_memcpy(op->to + (op->bytes - op->left), p->data, p->bytes);
    op->left -= (int64_t)p->bytes;
    if (op->left == 0) tt_op_answer(c, op, TUTTI_OK);
}

static void take_get(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    const char *from = tt_region_find(c->msg, p->arg[0], p->arg[1], p->arg[2]);
    if (from)
        stream(c, peer, p->arg[3], from, (int64_t)p->arg[2], NULL);
    else
        tt_post_answer(c, peer, TT_PACKET_ACK, p->arg[3], TUTTI_ERR_ARG);
}

static void take_put(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    char *to = tt_region_find(c->msg, p->arg[0], p->arg[1], p->bytes);
    if (to && p->bytes) tt_memcpy(to, p->data, p->bytes);
    if (p->arg[2]) tt_post_answer(c, peer, TT_PACKET_ACK, p->arg[2], to ? TUTTI_OK : TUTTI_ERR_ARG);
}

tutti_status tt_take(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    if (tt_unlikely(!tt_parcel_reserve(c) || !tt_receive_reserve(c))) return TUTTI_ERR_MEMORY;
    c->events++;
    switch (p->kind) {
    case TT_PACKET_EAGER:
    case TT_PACKET_EAGER_TOLD:
    case TT_PACKET_RTS: tt_receive_packet(c, peer, p); break;
    case TT_PACKET_ACK: take_ack(c, peer, p); break;
    case TT_PACKET_PULL: take_pull(c, peer, p); break;
    case TT_PACKET_DATA: take_data(c, peer, p); break;
    case TT_PACKET_GET: take_get(c, peer, p); break;
    case TT_PACKET_PUT: take_put(c, peer, p); break;
    case TT_PACKET_FENCE: tt_receive_fence(c, peer, p->arg[0]); break;
    case TT_PACKET_CARD: tt_wired_card(c, peer, p); break;
    case TT_PACKET_CARD_IS: tt_wired_card_is(c, peer, p); break;
    case TT_PACKET_BYE: tt_wired_bye(c, peer); break;
    case TT_PACKET_LEAVING: tt_leave_heard(c, peer->rank); break;
    case TT_PACKET_HELP: tt_help_asked(c, peer, p); break;
    case TT_PACKET_BULK: broken(c, peer, "where a ring's data lie"); break; /* inbox.c */
    case TT_PACKET_NOTHING:
    case TT_PACKET_KINDS: break;
    }
    return TUTTI_OK;
}
