/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs correct plans on the stage: every algorithm with many problems and many seeds, none of which
 * may fail. So if a mutant fails there (oracle.c), the mutation is the cause. A cast is a random
 * problem with its plans (cast.h). The default numbers of casts and seeds are the least with which
 * a run that is not brief tries each radix with two casts of each algorithm, and each kind of
 * timing (stage.h) with every cast.
 *
 *     test-run-stage-good [CASTS SEEDS [FIRST]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "brief.h"
#include "prove/prove.h"
#include "run/cast.h"
#include "run/stage.h"

enum { TIMES = 6 };

static bool run_cast(const struct cast *cast, uint64_t first, int seeds)
{
    struct stage_case c = {.p = cast->p,
                           .times = TIMES,
                           .in_flight = TT_PROOF_SLOTS,
                           .plans = (const struct tt_plan *const *)cast->plans,
                           .calls = cast->calls,
                           .win_bytes = cast->map.win_bytes,
                           .low_bytes = cast->map.low_bytes};
    for (int i = 0; i < seeds; i++) {
        enum stage_result result = stage_run(&c, first + (uint64_t)i);
        if (result == STAGE_GOOD) continue;
        printf("%s: seed %llu: %s\n", cast->text, (unsigned long long)first + (uint64_t)i,
               stage_result_name(result));
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    int casts = argc > 1 ? atoi(argv[1]) : brief(28, 10);
    int seeds = argc > 2 ? atoi(argv[2]) : brief(4, 3), failed = 0;
    struct tt_random random;
    struct cast cast;
    stage_open();
    tt_random_seed(&random, argc > 3 ? (uint64_t)atoi(argv[3]) : 1);
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        int good = 0;
        for (int i = 0; i < casts; i++) {
            cast_draw(&cast, *a, &random, CAST_RANKS, i % 2 ? 2 + i / 2 % 7 : 0);
            good += run_cast(&cast, (uint64_t)(1000 * i), seeds);
            cast_free(&cast);
        }
        printf("%s %s: %d of %d\n", tt_coll_name((*a)->coll), (*a)->name, good, casts);
        failed += casts - good;
    }
    return failed != 0;
}
