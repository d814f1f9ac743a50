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
  tables[] = {TT_MACHINE_TABLES(ROW)
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

static bool in_bounds(int64_t time)
{
    return time >= 1 && time <= TT_MACHINE_MOST;
}

bool tt_machine_valid(const struct tt_machine *machine)
{
    bool valid = true;
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++) valid = valid && in_bounds(machine->number[i]);
    for (int t = 0; t < TT_MACHINE_TABLES_N; t++)
        for (int i = 0; i < TT_MACHINE_POINTS; i++)
            valid = valid && in_bounds(machine->table[t][i]);
    return valid;
}

/* The point between two others; a, b <= TT_MACHINE_MOST and the distances below 2^22, so that the
 * product fits. */
static int64_t between(int64_t a, int64_t b, int64_t part, int64_t whole)
{
    return a + (b - a) * part / whole;
}

int64_t tt_machine_time(const struct tt_machine *machine, enum tt_machine_table table,
                        int64_t bytes)
{
    const int64_t *time = machine->table[table], *at = tt_machine_bytes;
    enum { LAST = TT_MACHINE_POINTS - 1 };
    if (bytes <= at[0]) return bytes > 0 ? time[0] : 0;
    if (bytes >= at[LAST]) {
        int64_t whole = bytes / at[LAST], rest = bytes % at[LAST];
        return whole * time[LAST] + between(0, time[LAST], rest, at[LAST]);
    }
    int i = 1;
    while (bytes > at[i]) i++;
    return between(time[i - 1], time[i], bytes - at[i - 1], at[i] - at[i - 1]);
}
