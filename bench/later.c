/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times nonblocking and persistent collectives of an MPI: the whole call, its start alone, and how
 * far it overlaps with computing.
 *
 * A batch is a series of calls, each of which is started and then completed by MPI_Wait. There is
 * no barrier between the calls, and each call uses the same buffers. There are four kinds of
 * batches. In the first, the rank does nothing between start and wait (t_pure is the time of a
 * call). In the second, a clock is read around each start. In the third, the rank computes between
 * start and wait, without calling MPI, for about t_pure (t_total). In the fourth, it computes as
 * long without calls (t_compute). As in the benchmarks of OSU and IMB, the overlap in per cent is
 *
 *     100 * max(0, 1 - (t_total - t_compute) / t_pure)
 *
 * The four batches follow each other; a figure is the median over these groups. Each result is
 * verified before the call is timed, and if one is wrong, the call is not timed. Rank 0 prints one
 * line of JSON for each point, which is a collective and a size.
 */
#define BENCH_LATER
#include "collectives.h"
#include "measure.h"
#include "port.h"

#include <getopt.h>

enum { MAX_SIZES = 64, MAX_BATCHES = 100, LEAST_CALLS = 2, MOST_CALLS = 1 << 20 };

struct later_options {
    double batch; /* a batch lasts about so many seconds */
    double limit; /* if so many seconds have passed since the program began, no point is started */
    int batches;  /* groups of batches */
    bool persistent;
    char **points; /* collectives and the bytes of their blocks, as in "allreduce:8,4096"; ends with
                    * NULL */
};

struct later_point {
    const struct collective *coll;
    double *in, *out;
    int64_t n; /* elements in a block */
    bool persistent;
};

/* Returns the largest of the ranks' values, on every rank. */
static double most_of(double value)
{
    double most;
    MPI_Allreduce(&value, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

/* ---- Computing ---- */

static double each_turn; /* seconds that a turn of `compute` takes */

static void compute(int64_t turns)
{
    double x = 1;
    for (int64_t i = 0; i < turns; i++) {
        x = x * 0.999 + 0.001;
        __asm__ volatile("" : "+x"(x));
    }
}

/* Measures each_turn, the same on all ranks. */
static void measure_turn(void)
{
    enum { TURNS = 100000, TIMES = 9 };
    double times[TIMES];
    for (int i = 0; i < TIMES; i++) {
        double begin = seconds();
        compute(TURNS);
        times[i] = (seconds() - begin) / TURNS;
    }
    each_turn = most_of(median(times, TIMES));
}

/* ---- Calls ---- */

/* Starts a nonblocking call, or prepares a persistent one. */
static void call_first(const struct later_point *point)
{
    port_prepares = point->persistent;
    point->coll->call(point->in, point->out, point->n);
}

static void start(const struct later_point *point)
{
    if (point->persistent)
        MPI_Start(&port_request);
    else
        point->coll->call(point->in, point->out, point->n);
}

static void complete(void)
{
    MPI_Wait(&port_request, MPI_STATUS_IGNORE);
}

/* Makes two calls and compares the result of each with the expected one. Leaves a persistent
 * request that is not active. Returns whether the results are right, the same on all ranks. */
static bool verify(const struct later_point *point)
{
    int64_t wrong = -1;
    for (int i = 0; i < 2; i++) {
        clear_output(point->coll, point->out, point->n);
        if (i == 0) call_first(point);
        if (i == 1 || point->persistent) start(point);
        complete();
        if (wrong < 0) wrong = wrong_at(point->coll, point->out, point->n);
    }
    return most_of((double)wrong) < 0;
}

/* ---- Batches ---- */

/* Returns the seconds for each call, from the first rank's start to the slowest rank's end; the
 * same on all ranks. The ranks compute so many turns in each call. `calls_mpi`: whether there are
 * calls at all. */
static double time_batch(const struct later_point *point, int64_t calls, int64_t turns,
                         bool calls_mpi)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = seconds();
    for (int64_t i = 0; i < calls; i++) {
        if (calls_mpi) start(point);
        if (turns > 0) compute(turns);
        if (calls_mpi) complete();
    }
    double end = seconds();
    return (most_of(end) + most_of(-begin)) / (double)calls;
}

/* Returns the seconds that a start takes, at the rank where it takes longest. They include one
 * reading of the clock. */
static double time_starts(const struct later_point *point, int64_t calls)
{
    double all = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int64_t i = 0; i < calls; i++) {
        double begin = seconds();
        start(point);
        all += seconds() - begin;
        complete();
    }
    return most_of(all / (double)calls);
}

/* Returns the number of calls with which a batch lasts `batch` seconds. Finding this number also
 * warms up the library. */
static int64_t calls_for(const struct later_point *point, double batch)
{
    int64_t calls = LEAST_CALLS;
    double each_call = time_batch(point, calls, 0, true);
    while ((double)calls * each_call < batch / 2 && calls < MOST_CALLS) {
        calls *= 2;
        each_call = time_batch(point, calls, 0, true);
    }
    int64_t wanted = (int64_t)(batch / (each_call > 1e-9 ? each_call : 1e-9));
    return wanted < LEAST_CALLS ? LEAST_CALLS : wanted < MOST_CALLS ? wanted : MOST_CALLS;
}

static double overlap_of(double pure, double total, double computing)
{
    double share = 1 - (total - computing) / pure;
    return 100 * (share < 0 ? 0 : share > 1 ? 1 : share);
}

static void print_point(const struct later_point *point, const char *rest)
{
    if (me != 0) return;
    printf("{\"collective\": \"%s\", \"ranks\": %d, \"bytes\": %lld, %s}\n", point->coll->name, p,
           (long long)point->n * 8, rest);
    fflush(stdout);
}

static void measure(const struct later_point *point, const struct later_options *options)
{
    double pure[MAX_BATCHES], starts[MAX_BATCHES], overlap[MAX_BATCHES];
    char rest[120];
    int64_t calls = calls_for(point, options->batch);
    for (int i = 0; i < options->batches; i++) {
        pure[i] = time_batch(point, calls, 0, true);
        starts[i] = time_starts(point, calls);
        int64_t turns = (int64_t)(pure[i] / each_turn) + 1;
        double total = time_batch(point, calls, turns, true);
        overlap[i] = overlap_of(pure[i], total, time_batch(point, calls, turns, false));
    }
    snprintf(rest, sizeof rest, "\"us\": %.4f, \"start_us\": %.4f, \"overlap\": %.2f",
             1e6 * median(pure, options->batches), 1e6 * median(starts, options->batches),
             median(overlap, options->batches));
    print_point(point, rest);
}

static void measure_size(const struct collective *coll, int64_t bytes,
                         const struct later_options *options)
{
    int64_t room = line_up(p * bytes) + 4096;
    if (bytes % 8) die("%lld bytes are no f64s", (long long)bytes);
    char *memory = pages(2 * room);
    struct later_point point = {.coll = coll,
                                .in = (double *)memory,
                                .out = (double *)(memory + room),
                                .n = bytes / 8,
                                .persistent = options->persistent};
    for (int64_t i = 0; i < room / 8; i++) point.in[i] = value(me, i);
    memset(point.out, 1, (size_t)room);
    if (verify(&point))
        measure(&point, options);
    else
        print_point(&point, "\"wrong\": true");
    if (point.persistent) MPI_Request_free(&port_request);
    munmap(memory, (size_t)(2 * room));
}

/* Measures a collective with a list of sizes, such as "allreduce:8,4096". */
static void measure_list(const char *list, const struct later_options *options, double begin)
{
    const char *text;
    const struct collective *coll = find_collective(list, &text);
    int64_t sizes[MAX_SIZES];
    int n = parse_list(text, sizes, MAX_SIZES);
    for (int k = 0; k < n; k++)
        if (most_of(seconds() - begin) <= options->limit) measure_size(coll, sizes[k], options);
}

static struct later_options parse_options(int argc, char **argv)
{
    struct later_options options = {.batch = 0.02, .limit = 1e9, .batches = 3};
    int letter;
    while ((letter = getopt(argc, argv, "t:l:b:p")) != -1) {
        switch (letter) {
        case 't': options.batch = atof(optarg); break;
        case 'l': options.limit = atof(optarg); break;
        case 'b': options.batches = atoi(optarg); break;
        case 'p': options.persistent = true; break;
        default: exit(2);
        }
    }
    options.points = argv + optind;
    if (!*options.points || options.batches < 1 || options.batches > MAX_BATCHES ||
        options.batch <= 0)
        die("usage: later [-t seconds a batch] [-b groups of batches, 1..%d] [-l seconds in all] "
            "[-p: persistent] COLLECTIVE:BYTES,... ...",
            MAX_BATCHES);
    return options;
}

int main(int argc, char **argv)
{
    double begin = seconds();
    port_init(&argc, &argv);
    struct later_options options = parse_options(argc, argv);
    me = port_rank();
    p = port_size();
    if (p > MAX_RANKS) die("%d ranks are more than %d", p, MAX_RANKS);
    measure_turn();
    for (char **list = options.points; *list; list++) measure_list(*list, &options, begin);
    MPI_Barrier(MPI_COMM_WORLD);
    port_finish();
    return 0;
}
