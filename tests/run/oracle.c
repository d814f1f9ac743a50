/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests the prover against an independent judge. The test takes correct plans, makes one random
 * change in the plan of one rank, and runs the mutant on the stage (stage.h), whose schedules try
 * to make it fail. The prover must have rejected every mutant that fails there. A mutant that the
 * prover rejects although it never failed is counted by the kind of the report. Such a report is
 * right if another transport, another caller or another timing could make the mutant fail
 * (docs/proof.md explains some of them).
 *
 *     test-run-oracle [--mutants N] [--first I] [--seed S] [--seeds K] [--explain M] [--fault NAME]
 *                     [--radix K] [--algorithms N]
 *
 * Mutant i depends only on S, i and the N of --algorithms; the mutants are made from plans of the
 * first N algorithms (default: all) in turn. The test judges mutants I, I + 1, ... A mutant that
 * the prover accepts runs with K seeds. A rejected mutant runs with one seed of each kind of timing
 * (stage.h), which is enough for the table of counts; if M is not 0, it runs with K seeds. Of the
 * rejected mutants that never failed the test prints M; --fault prints only those with that report.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/mutate.h"
#include "prove/prove.h"
#include "text/text.h"
#include "run/cast.h"
#include "run/stage.h"

/* TIMES: executions of a plan, enough that slots are used again. TIMINGS: the number of kinds of
 * timing, and so the number of seeds with which a rejected mutant runs (see above). */
enum { TIMES = 6, MOST_RANKS = 6, TIMINGS = 4 };

struct oracle {
    struct tt_prover *prover;
    long mutants, first, seed, seeds, explain, radix, algorithms;
    const char *fault;
    long failed[TT_FAULTS][STAGE_RESULTS]; /* number of mutants by the prover's verdict and the
                                            * result on the stage */
    long wrong;
};

struct oracle_mutant {
    struct cast cast;
    int rank;
    struct tt_plan *good, *bad;
    char what[MUTATE_TEXT];
};

/* ---- Making a mutant ---- */

static const struct tt_algorithm *algorithm(const struct oracle *o, long i)
{
    long n = 0;
    while (tt_algorithms[n] && (!o->algorithms || n < o->algorithms)) n++;
    return tt_algorithms[i % n];
}

static void make(struct oracle_mutant *m, const struct oracle *o, long i)
{
    struct tt_random random;
    tt_random_seed(&random, (uint64_t)o->seed * 1000003 + (uint64_t)i);
    for (m->bad = NULL; !m->bad;) {
        cast_draw(&m->cast, algorithm(o, i), &random, MOST_RANKS, (int)o->radix);
        m->rank = (int)tt_random_below(&random, (uint64_t)m->cast.p);
        m->good = m->cast.plans[m->rank];
        m->bad = mutate(m->good, &random, m->what, sizeof m->what);
        if (!m->bad || tt_plan_equal(m->good, m->bad)) {
            tt_plan_free(m->bad);
            m->bad = NULL;
            cast_free(&m->cast);
        }
    }
    m->cast.plans[m->rank] = m->bad;
}

static void drop(struct oracle_mutant *m)
{
    cast_free(&m->cast); /* cast_free also frees the mutant */
    tt_plan_free(m->good);
}

/* ---- Judging a mutant ---- */

static enum stage_result run(const struct oracle_mutant *m, long seeds, long *seed)
{
    struct stage_case c = {.p = m->cast.p,
                           .times = TIMES,
                           .in_flight = TT_PROOF_SLOTS,
                           .plans = (const struct tt_plan *const *)m->cast.plans,
                           .calls = m->cast.calls,
                           .win_bytes = m->cast.map.win_bytes,
                           .low_bytes = m->cast.map.low_bytes};
    enum stage_result result = STAGE_GOOD;
    for (*seed = 0; *seed < seeds && result == STAGE_GOOD; ++*seed)
        result = stage_run(&c, (uint64_t)*seed);
    return result;
}

static void prove(const struct oracle *o, const struct oracle_mutant *m, struct tt_proof *proof)
{
    struct tt_proof_execution once = {(const struct tt_plan *const *)m->cast.plans, m->cast.calls};
    struct tt_proof_execution all[TIMES];
    for (int i = 0; i < TIMES; i++) all[i] = once;
    struct tt_proof_case c = {.p = m->cast.p,
                              .executions = TIMES,
                              .in_flight = TT_PROOF_SLOTS,
                              .execution = all,
                              .map = &m->cast.map};
    if (tt_prove(o->prover, &c, proof) == TUTTI_OK) return;
    fprintf(stderr, "%s: %s\n", m->cast.text, tutti_error());
    exit(2);
}

/* ---- Printing ---- */

enum { LINES = 400 };

/* Splits the printed plan into lines. The caller frees *text, into which the lines point. */
static int split(const struct tt_plan *plan, char **text, char *lines[LINES])
{
    size_t size;
    int n = 0;
    FILE *out = open_memstream(text, &size);
    tt_plan_print(plan, out);
    fclose(out);
    for (char *at = strtok(*text, "\n"); at && n < LINES; at = strtok(NULL, "\n")) lines[n++] = at;
    return n;
}

/* Prints the difference of the two plans: first the common lines at the beginning, with a blank,
 * then the lines of the good plan with - and those of the mutant with +. The common lines at the
 * end are left out. */
static void print_difference(const struct oracle_mutant *m)
{
    char *text[2], *good[LINES], *bad[LINES];
    int g = split(m->good, &text[0], good), b = split(m->bad, &text[1], bad), same = 0;
    while (same < g && same < b && strcmp(good[same], bad[same]) == 0)
        printf("  %s\n", good[same++]);
    for (; g > same && b > same && strcmp(good[g - 1], bad[b - 1]) == 0; b--) g--;
    for (int i = same; i < g; i++) printf("- %s\n", good[i]);
    for (int i = same; i < b; i++) printf("+ %s\n", bad[i]);
    free(text[0]);
    free(text[1]);
}

static void print_result(const struct oracle_mutant *m, long i, enum stage_result result,
                         const struct tt_proof *proof)
{
    printf("\nmutant %ld: %s: rank %d, %s\n", i, m->cast.text, m->rank, m->what);
    printf("on the stage: %s; the prover: %s %s\n", stage_result_name(result),
           tt_fault_name(proof->fault), proof->text);
    print_difference(m);
}

static void judge(struct oracle *o, long i)
{
    struct oracle_mutant m;
    struct tt_proof proof;
    long seed;
    make(&m, o, i);
    prove(o, &m, &proof);
    bool rejected = proof.fault != TT_FAULT_NONE;
    long seeds = rejected && o->explain == 0 ? tt_min(o->seeds, TIMINGS) : o->seeds;
    enum stage_result result = run(&m, seeds, &seed);
    o->failed[proof.fault][result]++;
    bool asked = !o->fault || strcmp(o->fault, tt_fault_name(proof.fault)) == 0;
    if (result != STAGE_GOOD && !rejected) {
        printf("ACCEPTED THOUGH IT FAILS, with seed %ld:", seed - 1);
        print_result(&m, i, result, &proof);
        o->wrong++;
    } else if (result == STAGE_GOOD && rejected && asked && o->explain > 0) {
        o->explain--;
        print_result(&m, i, result, &proof);
    }
    drop(&m);
}

static void print_table(const struct oracle *o)
{
    printf("%-46s", "the prover's report");
    printf("%8s%8s%8s%8s%8s%8s\n", "good", "wrong", "stuck", "error", "outside", "late");
    for (int f = 0; f < TT_FAULTS; f++) {
        long all = 0;
        for (int s = 0; s < STAGE_RESULTS; s++) all += o->failed[f][s];
        if (all == 0) continue;
        printf("%-46s", tt_fault_text((enum tt_fault)f));
        for (int s = 0; s < STAGE_RESULTS; s++) printf("%8ld", o->failed[f][s]);
        printf("\n");
    }
}

static bool take(struct oracle *o, const char *key, const char *value)
{
    struct {
        const char *key;
        long *value;
    } all[] = {{"--mutants", &o->mutants}, {"--radix", &o->radix}, {"--algorithms", &o->algorithms},
               {"--first", &o->first},     {"--seed", &o->seed},   {"--seeds", &o->seeds},
               {"--explain", &o->explain}};
    if (strcmp(key, "--fault") == 0) {
        o->fault = value;
        return true;
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(key, all[i].key) != 0) continue;
        *all[i].value = atol(value);
        return true;
    }
    fprintf(stderr, "oracle: what is %s?\n", key);
    return false;
}

int main(int argc, char **argv)
{
    struct oracle o = {.mutants = 2000, .seed = 1, .seeds = 20};
    for (int i = 1; i + 1 < argc; i += 2)
        if (!take(&o, argv[i], argv[i + 1])) return 2;
    stage_open();
    o.prover = tt_prover_new();
    if (!o.prover) return 2;
    for (long i = 0; i < o.mutants; i++) judge(&o, o.first + i);
    print_table(&o);
    tt_prover_free(o.prover);
    return o.wrong != 0;
}
