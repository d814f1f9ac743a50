/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/machine.h"

const int64_t tt_machine_bytes[TT_MACHINE_POINTS] = {
    8, 64, 512, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};

static const struct {
    const char *name, *text;
} numbers[] =
    {
#define ROW(name, text) {#name, text},
        TT_MACHINE_NUMBERS(ROW)},
  tables[] = {TT_MACHINE_TABLES(ROW)},
  wires[] = {TT_MACHINE_WIRES(ROW)
#undef ROW
};

const char *tt_machine_number_name(enum tt_machine_number number)
{
    return numbers[number].name;
}

const char *tt_machine_number_text(enum tt_machine_number number)
{
    return numbers[number].text;
}

const char *tt_machine_table_name(enum tt_machine_table table)
{
    return tables[table].name;
}

const char *tt_machine_table_text(enum tt_machine_table table)
{
    return tables[table].text;
}

const char *tt_machine_wire_name(enum tt_machine_wire table)
{
    return wires[table].name;
}

enum { MILLE = 1000 };

static bool is_per_mille(enum tt_machine_table table)
{
    return table == TT_MACHINE_copy_shared || table == TT_MACHINE_read_shared;
}

/* Returns the greatest possible entry of a table. */
static int64_t greatest_time(enum tt_machine_table table)
{
    return is_per_mille(table) ? MILLE * MILLE : TT_MACHINE_MOST;
}

static bool in_bounds(int64_t time)
{
    return time >= 1 && time <= TT_MACHINE_MOST;
}

/* Returns whether all entries are possible times, or all are 0. */
static bool is_network_valid(const struct tt_machine_network *network)
{
    bool known = network->look != 0, valid = !known || in_bounds(network->look);
    for (int t = 0; t < TT_MACHINE_WIRES_N; t++)
        for (int i = 0; i < TT_MACHINE_POINTS; i++)
            valid = valid && (known ? in_bounds(network->wire[t][i]) : network->wire[t][i] == 0);
    return valid;
}

bool tt_machine_valid(const struct tt_machine *machine)
{
    bool valid = is_network_valid(&machine->network);
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++) valid = valid && in_bounds(machine->number[i]);
    for (int t = 0; t < TT_MACHINE_TABLES_N; t++)
        for (int i = 0; i < TT_MACHINE_POINTS; i++)
            valid = valid && machine->table[t][i] >= 1 &&
                    machine->table[t][i] <= greatest_time((enum tt_machine_table)t);
    return valid;
}

/* ---- Times that no machine reaches ---- */

/* Returns the smallest value that is credible for a number, in picoseconds. An instruction takes at
 * least 100 ps. A step, or reading a signal, takes at least the time of one instruction. A signal
 * to another processor, a call or a message takes at least the time of ten instructions, and a turn
 * takes at least the time of a hundred. */
static int64_t least_number(enum tt_machine_number number)
{
    enum { INSTRUCTION = 100 };
    switch (number) {
    case TT_MACHINE_step: return INSTRUCTION;
    case TT_MACHINE_take: return INSTRUCTION;
    case TT_MACHINE_call:
    case TT_MACHINE_message:
    case TT_MACHINE_line: return 10 * INSTRUCTION;
    case TT_MACHINE_turn_2:
    case TT_MACHINE_turn_4:
    case TT_MACHINE_turn_8: return 100 * INSTRUCTION;
    case TT_MACHINE_NUMBERS_N: break;
    }
    return 1;
}

/* Returns the smallest value that is credible for an entry of a table. A processor copies, reads or
 * sums at most a byte in a picosecond. The entries of copy_shared and read_shared are thousandths
 * of the time that one processor takes alone. None of them is below 1000, because a copy does not
 * become faster if other processors copy at the same time. */
static int64_t least_time(enum tt_machine_table table, int point)
{
    return is_per_mille(table) ? MILLE : tt_machine_bytes[point];
}

/* The smallest credible time of a message between nodes is that of a message or a copy within a
 * node, whichever is longer. */
bool tt_machine_network_credible(const struct tt_machine *machine, char why[TT_MACHINE_WHY])
{
    const double ns = 0.001;
    const struct tt_machine_network *network = &machine->network;
    for (int i = 0; i < TT_MACHINE_POINTS; i++) {
        int64_t least = tt_max(least_number(TT_MACHINE_message), tt_machine_bytes[i]);
        if (network->wire[TT_MACHINE_wire_time][i] < least ||
            network->wire[TT_MACHINE_wire_time][i] > TT_MACHINE_MOST)
            return tt_file_refuse(why, "%s is %.3f ns for %lld bytes",
                                  tt_machine_wire_name(TT_MACHINE_wire_time),
                                  ns * (double)network->wire[TT_MACHINE_wire_time][i],
                                  (long long)tt_machine_bytes[i]);
    }
    return true;
}

bool tt_machine_credible(const struct tt_machine *m, char why[TT_MACHINE_WHY])
{
    double ns = 0.001;
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++) {
        enum tt_machine_number n = (enum tt_machine_number)i;
        if (m->number[i] < least_number(n) || m->number[i] > TT_MACHINE_MOST)
            return tt_file_refuse(why, "%s is %.3f ns", tt_machine_number_name(n),
                                  ns * (double)m->number[i]);
    }
    for (int t = 0; t < TT_MACHINE_TABLES_N; t++)
        for (int i = 0; i < TT_MACHINE_POINTS; i++) {
            enum tt_machine_table table = (enum tt_machine_table)t;
            if (m->table[t][i] < least_time(table, i) || m->table[t][i] > greatest_time(table))
                return tt_file_refuse(why, "%s is %.3f ns for %lld bytes",
                                      tt_machine_table_name(table), ns * (double)m->table[t][i],
                                      (long long)tt_machine_bytes[i]);
        }
    return !tt_machine_has_network(m) || tt_machine_network_credible(m, why);
}

bool tt_machine_streams(const struct tt_machine *machine, int times)
{
    /* the index of 64 KiB, the size of the copies that ranks time when they meet (struct
     * tt_cost_times) */
    enum { AS_MEASURED = 5 };
    return machine->table[TT_MACHINE_copy_cached_other][AS_MEASURED] >
           times * machine->table[TT_MACHINE_stream_cached][AS_MEASURED];
}

/* Returns the value at `part` on the straight line that has the value a at 0 and the value b at
 * `whole`. The product does not overflow, because a, b <= TT_MACHINE_MOST and part, whole <=
 * 2^22. */
static int64_t between(int64_t a, int64_t b, int64_t part, int64_t whole)
{
    return a + (b - a) * part / whole;
}

/* Returns the time that a table, which has a time for each size, gives for so many bytes. */
static int64_t time_for(const int64_t time[TT_MACHINE_POINTS], int64_t bytes)
{
    const int64_t *at = tt_machine_bytes;
    enum { LAST = TT_MACHINE_POINTS - 1 };
    if (bytes <= at[0]) return bytes > 0 ? time[0] : 0;
    if (bytes >= at[LAST]) {
        int64_t whole = bytes / at[LAST], rest = bytes % at[LAST];
        if (whole >= TT_MACHINE_LONGEST / time[LAST]) return TT_MACHINE_LONGEST;
        return whole * time[LAST] + between(0, time[LAST], rest, at[LAST]);
    }
    int i = 1;
    while (bytes > at[i]) i++;
    return between(time[i - 1], time[i], bytes - at[i - 1], at[i] - at[i - 1]);
}

int64_t tt_machine_time(const struct tt_machine *machine, enum tt_machine_table table,
                        int64_t bytes)
{
    return time_for(machine->table[table], bytes);
}

int64_t tt_machine_wire(const struct tt_machine *machine, enum tt_machine_wire table, int64_t bytes)
{
    return time_for(machine->network.wire[table], tt_max(1, bytes));
}
