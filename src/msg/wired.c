/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between machines.
 */
#include "msg/region.h"

tutti_status tt_wired_open(struct tt_msg *msg)
{
    for (int r = 0; r < msg->f->size; r++)
        if (!tt_fabric_shares(msg->f, r))
            return tt_fail(TUTTI_ERR_UNSUPPORTED, "rank %d is on another machine", r);
    return TUTTI_OK;
}
tutti_status tt_wired_tell(struct tt_msg *msg)
{
    (void)msg;
    return TUTTI_OK;
}
void tt_wired_close(struct tt_msg *msg)
{
    (void)msg;
}
void tt_wired_advance(tutti_context *c)
{
    (void)c;
}
size_t tt_wired_most(const tutti_context *c)
{
    (void)c;
    return TT_BODY_MOST;
}
tutti_status tt_wired_send(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p,
                           struct tt_parcel *parcel)
{
    (void)c, (void)peer, (void)p, (void)parcel;
    return TUTTI_ERR_UNSUPPORTED;
}
void tt_wired_card(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    (void)c, (void)peer, (void)p;
}
void tt_wired_card_is(tutti_context *c, struct tt_peer *peer, const struct tt_packet *p)
{
    (void)c, (void)peer, (void)p;
}
tutti_status tt_wired_map(struct tt_msg *msg, tutti_region *region)
{
    (void)msg, (void)region;
    return TUTTI_OK;
}
tutti_status tt_wired_move(tutti_context *c, struct tt_peer *peer, struct tt_op *op,
                           const struct tt_region_key *key, char *here, int64_t offset, bool put)
{
    (void)c, (void)peer, (void)op, (void)key, (void)here, (void)offset, (void)put;
    return TUTTI_ERR_UNSUPPORTED;
}
