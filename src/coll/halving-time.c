/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long recursive halving by messages takes where all ranks do alike: p a power of two, radix 2,
 * slices that are equal.
 *
 *     L / 4      [send]  [send]                    [send]  [send]    s slices a step; what came
 *                        [reduce][reduce]                            in one is reduced in the next
 *     L / 8                      [send]  [send]
 *                                        [reduce][reduce]
 *
 * A turn takes as long as its message or its reduction, whichever is longer; the first of a step
 * has its own message and the last reduction of the step before, which is of twice as much. So
 * without start-ups (t_s = 0), and with l_0 and l_last slices of the first and last step, the times
 * of CN101206588 are met but for a slice:
 *
 *     allreduce   (p-1)/p L (max(gamma, t_w') + t_w') + min(t_w', max(0, 2 gamma - t_w')) (l_0 -
 *                 l_last)
 *     reduce      (p-1)/p L (max(gamma, t_w') + t_w)  + the same + max(0, min(gamma, t_w') - t_w)
 *                                                     l_last
 */
#include "coll/halving.h"

static int64_t bytes_of_all(const struct tt_halving *h)
{
    return tt_halving_span(h, (struct tt_run){0, h->q}).len;
}

static bool is_even(const struct tt_halving *h)
{
    return h->w == 1 && h->pairs == 0 &&
           bytes_of_all(h) / h->call->sz % ((int64_t)h->q * h->s) == 0;
}

int64_t tt_halving_time_ps(const struct tt_halving *h, const struct tt_costs *c, int rounds,
                           int64_t tw)
{
    int64_t time = 0, reduction = 0, slice;
    if (!is_even(h)) return -1;
    for (int k = 0; k < h->m; k++) {
        slice = (bytes_of_all(h) >> (k + 1)) / h->s;
        int64_t turn = c->ts + c->tw_both * slice;
        time += tt_max(turn, reduction);
        reduction = c->gamma * slice;
        time += (h->s - 1) * tt_max(turn, reduction);
    }
    for (int t = 0; t < rounds; t++) {
        slice = (bytes_of_all(h) >> (h->m - t)) / h->s;
        int64_t turn = c->ts + tw * slice;
        time += tt_max(turn, reduction) + (h->s - 1) * turn;
        reduction = 0;
    }
    return time + reduction;
}
