/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The choice of an algorithm by tables, for calls that nobody has measured on this machine.
 */
#ifndef TT_TABLE_H
#define TT_TABLE_H

#include "coll/coll.h"

/* The cost of reading (read_cost of struct tt_map) from which on the tables tell no costs apart. */
enum { TT_TABLE_DEAREST = 3 };

/* Returns the algorithm of the first row that fits, or else the first algorithm that applies; NULL:
 * none applies. Access to the memory of other nodes is the last choice. */
const struct tt_algorithm *tt_table_choose(const struct tt_call *call, const struct tt_map *map);
/* Returns whether some row of the tables that are used for this map names the algorithm. */
bool tt_table_names(const struct tt_algorithm *a, const struct tt_map *map);

#endif
