/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti calibrate --network`: measures what messages between two nodes cost.
 */
#ifndef TT_TOOLS_CALIBRATE_NETWORK_H
#define TT_TOOLS_CALIBRATE_NETWORK_H

#include "api/api.h"

/* Measures the network of the model between the two ranks of `world`, which are on two nodes.
 * Collective; the result is for rank 0 only, whose model `machine` already has everything but the
 * network. Errors: those of collectives. */
tutti_status tt_calibrate_network(tutti_team *world, struct tt_machine *machine);

#endif
