/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks as text, which is what follows the @ of a problem:
 *
 *     KIND:NUMBERxNUMBER...     see topo/net.h
 *     +reduce                   behind a tree: its adapters reduce
 *     -hole(3,3,3)  -hole(17)   a node that is missing, by its place in a grid or its number
 *     -wall(x=4)                all whose x (y z u v w) is 4
 *     -random(50,7)             50, drawn with seed 7
 *     file:PATH                 all that in a file, over several lines, with # before comments
 */
#ifndef TT_PLAN_NETWORK_H
#define TT_PLAN_NETWORK_H

#include "plan/reader.h"
#include "topo/net.h"

/* All kinds, for messages. */
#define TT_NET_WORD(name) #name " "
#define TT_NET_WORDS TT_NET_LIST(TT_NET_WORD)

/* ARG with *error filled in (if not NULL): a network whose members cannot all reach each other is
 * refused, with two of them named; MEMORY. The caller frees the network of an OK. */
tutti_status tt_network_parse(const char *text, struct tt_net *net, struct tt_reader_error *error);
/* How many members it has, without finding their routes: errors as above. */
tutti_status tt_network_ranks(const char *text, int *ranks, struct tt_reader_error *error);
/* "ring" ... */
const char *tt_network_kind(enum tt_net_kind kind);
/* Whether the text begins as one of a network does: KIND and : */
bool tt_network_is_one(const char *text);

#endif
