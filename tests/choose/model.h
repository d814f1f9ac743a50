/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Machine models for tests.
 */
#ifndef TESTS_CHOOSE_MODEL_H
#define TESTS_CHOOSE_MODEL_H

#include "topo/map.h"

/* Returns a model in which each single cost is number_ps, and the costs in the tables are byte_ps
 * for each byte. The exceptions are copying and reading shared memory, which cost 1000 ps, whatever
 * the bytes. */
static inline struct tt_machine model_of(int64_t number_ps, int64_t byte_ps)
{
    struct tt_machine m = {0};
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++) m.number[i] = number_ps;
    for (int t = 0; t < TT_MACHINE_TABLES_N; t++)
        for (int i = 0; i < TT_MACHINE_POINTS; i++) m.table[t][i] = byte_ps * tt_machine_bytes[i];
    for (int i = 0; i < TT_MACHINE_POINTS; i++)
        m.table[TT_MACHINE_copy_shared][i] = m.table[TT_MACHINE_read_shared][i] = 1000;
    return m;
}

/* Returns the map of one node with p ranks on `cores` processors, whose ranks can read and write
 * each other's memory. */
static inline struct tt_map map_of(int p, int cores, const struct tt_machine *machine)
{
    return (struct tt_map){.p = p,
                           .cores = cores,
                           .win_bytes = 128 << 10,
                           .eager = 8 << 10,
                           .reads = true,
                           .writes = true,
                           .read_cost = 1,
                           .nodes = 1,
                           .machine = machine};
}

/* Returns a model that was measured on a machine with two processors. Its costs are as uneven as
 * those of a real machine. */
static inline struct tt_machine measured_model(void)
{
    return (struct tt_machine){
        .number = {33531, 8631, 65390, 102062, 376178, 25186850, 51553008, 110756835},
        .table =
            {
                {1250, 1250, 7531, 54500, 347531, 1322469, 10148344, 50183969, 520770344},
                {88625, 96719, 169062, 483094, 1665594, 6344469, 22871969, 109112969, 435361969},
                {140594, 142781, 162187, 767062, 1743906, 9409969, 34083969, 132606969, 576494344},
                {88281, 98000, 157187, 453375, 1619281, 5051969, 20307969, 83224969, 417016969},
                {137437, 139344, 197562, 747656, 2177781, 8358219, 29914969, 131023969, 574751969},
                {148125, 153406, 200687, 904187, 2800906, 12979219, 43861969, 199942969, 595149344},
                {106781, 106781, 154969, 449594, 1489031, 5212219, 16570969, 134840969, 606911969},
                {135562, 138062, 199437, 644344, 2194094, 7311219, 28412969, 115485969, 477148969},
                {248312, 248312, 309625, 1114250, 2885406, 13299719, 40225969, 215360969,
                 686880344},
                {88625, 96719, 169062, 483094, 1665594, 6344469, 22871969, 109112969, 435361969},
                {137437, 139344, 197562, 747656, 2177781, 8358219, 29914969, 131023969, 574751969},
                {195181, 195181, 309625, 878188, 2885406, 10234219, 30294594, 193770969, 586119344},
                {1594, 3469, 5313, 40687, 173765, 661234, 5214484, 25091984, 260385172},
                {1093, 10656, 41656, 51203, 614938, 2319000, 16171000, 26043484, 260385172},
                {1093, 17250, 57938, 193187, 554813, 1878250, 14098000, 32030000, 260385172},
                {2184000, 2294000, 2294000, 3035000, 7164000, 19106000, 63278000, 355073000,
                 1358372000},
                {2175000, 2284000, 2284000, 3046000, 7554000, 20508000, 76933000, 318373000,
                 1318448000},
                {2174000, 2254000, 2254000, 3276000, 7373000, 18535000, 70411000, 262680000,
                 1218481000},
                {2194000, 2315000, 2334000, 3156000, 7164000, 20327000, 63628000, 328322000,
                 1214084000},
                {2144000, 2244000, 2244000, 3496000, 9047000, 20008000, 68758000, 284901000,
                 1103978000},
                {1000, 1000, 1000, 1000, 1000, 1000, 1000, 1119, 2379},
                {1000, 1000, 1105, 1171, 1000, 1000, 1000, 1000, 1390},
            },
    };
}

/* Gives the model a network in which a message takes 20 us and 1 ns for each byte. */
static inline void add_network(struct tt_machine *m)
{
    const int64_t us_ps = 1000000, byte_ps = 1000;
    m->network.look = us_ps / 2;
    for (int i = 0; i < TT_MACHINE_POINTS; i++) {
        int64_t bytes_ps = byte_ps * tt_machine_bytes[i];
        m->network.wire[TT_MACHINE_wire_time][i] = 20 * us_ps + bytes_ps;
        m->network.wire[TT_MACHINE_wire_send][i] = 3 * us_ps + bytes_ps / 4;
        m->network.wire[TT_MACHINE_wire_receive][i] = 4 * us_ps + bytes_ps / 4;
        m->network.wire[TT_MACHINE_wire_gap][i] = 4 * us_ps + bytes_ps;
    }
}

#endif
