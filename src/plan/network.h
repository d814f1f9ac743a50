/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks as text. A problem string names its network after the @, in this form:
 *
 *     KIND:NUMBERxNUMBER...     see topo/net.h
 *     +reduce                   after a tree: its network adapters reduce the data that pass them
 *     -hole(3,3,3)  -hole(17)   a missing node, by its coordinates in a grid or by its number
 *     -wall(x=4)                all nodes whose x (y z u v w) is 4 are missing
 *     -random(50,7)             50 missing nodes, drawn with seed 7
 *     file:PATH                 the same text in a file, on any number of lines, with # comments
 */
#ifndef TT_PLAN_NETWORK_H
#define TT_PLAN_NETWORK_H

#include "plan/reader.h"
#include "topo/net.h"

/* The names of all kinds in one string, for messages. */
#define TT_NET_WORD(name) #name " "
#define TT_NET_WORDS TT_NET_LIST(TT_NET_WORD)

/* Parses a network. Returns TUTTI_OK, and then the caller frees the network; or ERR_ARG or
 * ERR_MEMORY, and sets *error if it is not NULL. A network in which two nodes cannot reach each
 * other is refused; the message names two such nodes. */
tutti_status tt_network_parse(const char *text, struct tt_net *net, struct tt_reader_error *error);
/* Sets *ranks to the number of nodes of the network without finding their routes. Errors are those
 * of tt_network_parse. */
tutti_status tt_network_ranks(const char *text, int *ranks, struct tt_reader_error *error);
/* The kind's name, such as "ring". */
const char *tt_network_kind(enum tt_net_kind kind);
/* Returns whether the text begins as a network does: with file: or with the name of a kind and a
 * colon. */
bool tt_network_is_one(const char *text);
/* Returns the path in a network string that is file:PATH; NULL if `text` is another string or
 * NULL. */
const char *tt_network_path(const char *text);

#endif
