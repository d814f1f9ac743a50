/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A machine model for tests: all numbers are 1 ns, and all tables are in proportion to the bytes.
 */
#ifndef TESTS_CHOOSE_MODEL_H
#define TESTS_CHOOSE_MODEL_H

#include "topo/map.h"

static inline struct tt_machine model_of(int64_t number_ps, int64_t byte_ps)
{
    struct tt_machine m;
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++) m.number[i] = number_ps;
    for (int t = 0; t < TT_MACHINE_TABLES_N; t++)
        for (int i = 0; i < TT_MACHINE_POINTS; i++) m.table[t][i] = byte_ps * tt_machine_bytes[i];
    for (int i = 0; i < TT_MACHINE_POINTS; i++)
        m.table[TT_MACHINE_copy_shared][i] = m.table[TT_MACHINE_read_shared][i] = 1000;
    return m;
}

/* One node with p ranks on so many processors, with direct access. */
static inline struct tt_map map_of(int p, int cores, const struct tt_machine *machine)
{
    return (struct tt_map){.p = p,
                           .cores = cores,
                           .win_bytes = 128 << 10,
                           .direct = true,
                           .read_cost = 1,
                           .nodes = 1,
                           .machine = machine};
}

#endif
