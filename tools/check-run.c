/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Proves many cases. Threads take units of work, largest first, so that no thread is left alone
 * with a large unit at the end. A unit is all cases of one algorithm on one number of ranks, or all
 * sequences of executions on one number of ranks. The set of cases that are proven does not depend
 * on the threads.
 */
#include "check-run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { SEQUENCE_P = 9, SEQUENCES = 60, PLANS = 5, PRINTED = 20, CASE_TEXT = TT_PROBLEM_TEXT + 160 };

struct work {
    const struct tt_check_job *job;
    struct tt_check_tally *tally;
    _Atomic int next;
    int units, sequence_units;
    pthread_mutex_t lock; /* guards the members below and the tally */
    int done;
    int64_t printed_ns;
    tutti_status status;
};

/* ---- Printing ---- */

static void show_progress(struct work *w)
{
    int64_t now = tt_clock_ns();
    if (!w->job->progress || (now - w->printed_ns < 100000000 && w->done < w->units)) return;
    w->printed_ns = now;
    fprintf(stderr, "\rtutti check: %3d %%, %lu cases proven, %lu refuted %s",
            (int)(100.0 * w->done / w->units), (unsigned long)w->tally->cases,
            (unsigned long)w->tally->refuted, w->done == w->units ? "\n" : "");
    fflush(stderr);
}

static void print_result(struct work *w, enum tt_check_result result, const char *what,
                         const struct tt_proof *proof)
{
    uint64_t printed = w->tally->refuted + w->tally->failed;
    if (w->job->progress) fprintf(stderr, "\r%60s\r", "");
    if (printed < PRINTED && result == TT_CHECK_REFUTED)
        printf("refuted: %s\n    %s: %s\n", what, tt_fault_text(proof->fault), proof->text);
    if (printed < PRINTED && result == TT_CHECK_FAILED)
        printf("failed: %s\n    %s\n", what, tutti_error());
    if (printed == PRINTED) printf("... and more, which are only counted\n");
    fflush(stdout);
}

static void enter(struct work *w, enum tt_check_result result, const char *what,
                  const struct tt_proof *proof)
{
    pthread_mutex_lock(&w->lock);
    if (result == TT_CHECK_PROVEN)
        w->tally->steps += proof->steps;
    else
        print_result(w, result, what, proof);
    w->tally->refuted += result == TT_CHECK_REFUTED;
    w->tally->failed += result == TT_CHECK_FAILED;
    pthread_mutex_unlock(&w->lock);
}

/* ---- One algorithm on p ranks ---- */

/* Returns how many cases to prove for one algorithm on p ranks. There are fewer cases for larger p,
 * because the time of a proof grows about with p², and the time to build a plan with p. */
static uint64_t enough(const struct tt_check_job *job, int p)
{
    if (job->most > 0) return (uint64_t)job->most;
    return p <= 5 ? 900 : p <= 9 ? 480 : p <= 17 ? 120 : p <= 33 ? 45 : 6;
}

/* Returns the number of the first case to prove on p ranks. Up to 33 ranks, the first case differs
 * for each number of ranks, so that all numbers of ranks together try many more combinations of
 * parameters. The numbers of the first cases are further apart than the number of cases that are
 * proven by default (see the function `enough`). With more ranks the first case is case 0, which is
 * cheap, because its vectors are empty. */
static uint64_t first_case(int p)
{
    enum { APART = 1009 };
    return p <= 33 ? (uint64_t)p * APART : 0;
}

/* Proves a case, which is the i-th that is proven for an algorithm. Every second case is executed
 * twice in a row, and in every fourth case both executions are in flight at once. */
static enum tt_check_result prove_one(struct tt_checker *checker, const struct tt_check_case *c,
                                      uint64_t i, struct tt_proof *proof)
{
    const char *why;
    return tt_check_prove(checker, c, i % 2 ? 2 : 1, i % 4 == 3 ? 2 : 1, proof, &why);
}

static uint64_t prove_algorithm(struct work *w, struct tt_checker *checker,
                                const struct tt_algorithm *algorithm, int p)
{
    uint64_t all = tt_check_cases(algorithm, p), most = enough(w->job, p), proven = 0, tried = 0;
    for (uint64_t i = 0; i < all && tried < most; i++) {
        struct tt_check_case c = tt_check_case(algorithm, p, first_case(p) + i);
        struct tt_proof proof = {.steps = 0};
        char text[CASE_TEXT];
        enum tt_check_result result = prove_one(checker, &c, tried, &proof);
        if (result == TT_CHECK_REFUSED) continue;
        tried++;
        proven += result == TT_CHECK_PROVEN;
        enter(w, result, result == TT_CHECK_PROVEN ? "" : tt_check_case_text(&c, text, sizeof text),
              &proof);
    }
    return proven;
}

/* ---- Sequences of different plans ---- */

/* Draws an algorithm and a case to which it applies. If `first` is not NULL, the case has the map,
 * window size and kinds of access of `first`. Returns false if 200 tries find no such case. */
static bool draw_case(struct work *w, struct tt_checker *checker, struct tt_random *random, int p,
                      const struct tt_check_case *first, struct tt_check_case *c)
{
    for (int tries = 0; tries < 200; tries++) {
        const struct tt_algorithm *a =
            w->job->algorithms[tt_random_below(random, (uint64_t)w->job->n)];
        *c = tt_check_case(a, p, tt_random_below(random, tt_check_cases(a, p)));
        if (first) {
            memcpy(c->problem.map, first->problem.map, sizeof c->problem.map);
            c->win_bytes = first->win_bytes;
            c->direct = first->direct;
            c->mapped = first->mapped;
            c->scattered = first->scattered;
        }
        if (!tt_check_refused(checker, c)) return true;
    }
    return false;
}

static char *sequence_text(const struct tt_check_case *cases, const int *order, int n,
                           int in_flight, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "a sequence with %d in flight:", in_flight);
    for (int k = 0; k < n && used < size; k++) {
        char one[CASE_TEXT];
        used += (size_t)snprintf(text + used, size - used, "\n    execution %d: %s", k,
                                 tt_check_case_text(&cases[order[k]], one, sizeof one));
    }
    return text;
}

static bool prove_sequence(struct work *w, struct tt_checker *checker, struct tt_random *random,
                           int p)
{
    struct tt_check_case cases[PLANS];
    struct tt_proof proof = {.steps = 0};
    int order[2 * PLANS], in_flight = 1 + (int)tt_random_below(random, TT_PROOF_SLOTS);
    for (int i = 0; i < PLANS; i++)
        if (!draw_case(w, checker, random, p, i ? cases : NULL, &cases[i])) return false;
    for (int k = 0; k < 2 * PLANS; k++)
        order[k] = k < PLANS ? k : (int)tt_random_below(random, PLANS);
    enum tt_check_result result =
        tt_check_sequence(checker, cases, PLANS, order, 2 * PLANS, in_flight, &proof);
    char text[2 * PLANS * CASE_TEXT];
    text[0] = '\0';
    if (result != TT_CHECK_PROVEN)
        sequence_text(cases, order, 2 * PLANS, in_flight, text, sizeof text);
    enter(w, result, text, &proof);
    return result == TT_CHECK_PROVEN;
}

static uint64_t prove_sequences(struct work *w, struct tt_checker *checker, int p)
{
    struct tt_random random;
    uint64_t proven = 0;
    tt_random_seed(&random, (uint64_t)p);
    for (int i = 0; i < SEQUENCES; i++) proven += prove_sequence(w, checker, &random, p);
    return proven;
}

/* ---- The threads ---- */

/* Proves the cases or sequences of a unit. Units are numbered so that the algorithms on the largest
 * p come first and the sequences last. */
static void do_unit(struct work *w, struct tt_checker *checker, int unit)
{
    int singles = w->units - w->sequence_units, n = w->job->n;
    bool sequence = unit >= singles;
    int p = sequence ? w->job->first_p + unit - singles : w->job->last_p - unit / n;
    uint64_t proven = sequence ? prove_sequences(w, checker, p)
                               : prove_algorithm(w, checker, w->job->algorithms[unit % n], p);
    pthread_mutex_lock(&w->lock);
    w->tally->cases += sequence ? 0 : proven;
    w->tally->sequences += sequence ? proven : 0;
    if (!sequence) w->tally->by_algorithm[unit % n] += proven;
    w->done++;
    show_progress(w);
    pthread_mutex_unlock(&w->lock);
}

static void *worker(void *arg)
{
    struct work *w = arg;
    struct tt_checker *checker = tt_checker_new();
    if (!checker) {
        pthread_mutex_lock(&w->lock);
        w->status = TUTTI_ERR_MEMORY;
        pthread_mutex_unlock(&w->lock);
        return NULL;
    }
    for (int unit; (unit = atomic_fetch_add(&w->next, 1)) < w->units;) do_unit(w, checker, unit);
    tt_checker_free(checker);
    return NULL;
}

static void run_threads(struct work *w)
{
    enum { MOST = 64 };
    pthread_t thread[MOST];
    int n = w->job->threads < MOST ? w->job->threads : MOST, started = 0;
    while (started < n - 1 && pthread_create(&thread[started], NULL, worker, w) == 0) started++;
    worker(w);
    for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
}

tutti_status tt_check_run(const struct tt_check_job *job, struct tt_check_tally *tally)
{
    int last = job->last_p < SEQUENCE_P ? job->last_p : SEQUENCE_P;
    struct work w = {.job = job, .tally = tally, .lock = PTHREAD_MUTEX_INITIALIZER};
    w.sequence_units = last >= job->first_p ? last - job->first_p + 1 : 0;
    w.units = job->n * (job->last_p - job->first_p + 1) + w.sequence_units;
    run_threads(&w);
    pthread_mutex_destroy(&w.lock);
    if (w.status != TUTTI_OK) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a prover");
    return TUTTI_OK;
}
