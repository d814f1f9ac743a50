/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flags, in a table with open addressing that doubles when it is three quarters full.
 */
#include "sim/sim-inside.h"

struct tt_flags {
    struct tt_flag *flag;
    uint64_t n, room; /* room: a power of two */
};

static uint64_t key_of(int writer, int lane, int reader)
{
    return 1 +
           ((uint64_t)(uint32_t)writer << 36 | (uint64_t)(uint32_t)reader << 8 | (uint64_t)lane);
}

static struct tt_flag *place(const struct tt_flags *flags, uint64_t key)
{
    uint64_t at = key * 0x9e3779b97f4a7c15u >> 20;
    for (;; at++) {
        struct tt_flag *flag = &flags->flag[at & (flags->room - 1)];
        if (flag->key == key || flag->key == 0) return flag;
    }
}

static bool grow(struct tt_flags *flags)
{
    struct tt_flags larger = {.n = flags->n, .room = flags->room ? 2 * flags->room : 1024};
    larger.flag = tt_calloc(larger.room, sizeof *larger.flag);
    if (!larger.flag) return false;
    for (uint64_t i = 0; i < flags->room; i++)
        if (flags->flag[i].key) *place(&larger, flags->flag[i].key) = flags->flag[i];
    tt_free(flags->flag);
    *flags = larger;
    return true;
}

struct tt_flag *tt_flag(struct tt_sim *sim, int writer, int lane, int reader)
{
    if (!sim->flags && !(sim->flags = tt_calloc(1, sizeof *sim->flags))) return NULL;
    struct tt_flags *flags = sim->flags;
    if (4 * flags->n >= 3 * flags->room && !grow(flags)) return NULL;
    uint64_t key = key_of(writer, lane, reader);
    struct tt_flag *flag = place(flags, key);
    if (flag->key == 0) {
        flag->key = key;
        flags->n++;
    }
    return flag;
}

void tt_flags_free(struct tt_sim *sim)
{
    if (sim->flags) tt_free(sim->flags->flag);
    tt_free(sim->flags);
    sim->flags = NULL;
}
