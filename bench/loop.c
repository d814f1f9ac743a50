/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times collectives, in the same way for each library (port.h).
 *
 * Each rank has a pool of memory with two halves, which are written before anything is timed. The
 * first half holds inputs, and the second holds outputs. Each half is divided into places as long
 * as the input or output of a call. For each collective and size there are up to four figures,
 * which differ in the places that the calls use. "rotated": each call uses the next place of each
 * half; if the pool is larger than the cache, no call finds its data in the cache. "same": every
 * call uses the first place. "anew": every call uses the first place, and each rank writes its
 * input before each call. "used": as "anew", but each rank also reads its output after the call, as
 * most programs do. The times of "anew" and "used" include the writing and reading.
 *
 * A batch is a series of calls without a barrier between them; it lasts until the slowest rank is
 * done. Each result is verified before the call is timed. Rank 0 prints one line of JSON for each
 * figure. If there are several ways to make a call (port-host.h), their batches take turns.
 */
#include "port.h"
#include "collectives.h"
#include "measure.h"

#include <getopt.h>
#include <stdbool.h>

enum {
    MAX_SIZES = 64,
    MAX_BATCHES = 100,
    LEAST_CALLS = 2,
    WARM_CALLS = 32,
    MOST_CALLS = 1 << 20,
    SMALL = 1 << 16
};

struct loop_options {
    int64_t pool;
    double batch; /* a batch lasts at least so many seconds */
    double limit; /* if so many seconds have passed since the first figure began, none is started */
    int batches;
    bool shared;
    const char *buffers; /* the figures that are wanted: "rotated,same,anew,used" */
    char **points;       /* collectives and the bytes of their blocks, as in "allreduce:8,4096";
                          * ends with NULL */
};

struct pool {
    double *in, *out;
    int64_t half; /* bytes of each half */
};

enum buffers { ROTATED, SAME, ANEW, USED, BUFFERS };
static const char *const buffers_name[BUFFERS] = {"rotated", "same", "anew", "used"};

/* A figure to measure: a collective, a size, which of the four figures it is, and where the data of
 * the next call are. */
struct point {
    const struct collective *coll;
    const struct pool *pool;
    int64_t n; /* elements in a block */
    enum buffers buffers;
    int64_t in_step, out_step, in_end, out_end; /* step: bytes of a place; end: bytes of all places
                                                 * that are used */
    int64_t in_at, out_at;
};

/* Returns the bytes that the places of one half occupy if each place takes `step` bytes. `rotated`:
 * all places are used in turn; otherwise only the first one. */
static int64_t places_end(int64_t half, int64_t step, bool rotated)
{
    if (step == 0) return 0;
    return rotated ? half / step * step : step;
}

static struct point point_make(const struct collective *coll, const struct pool *pool,
                               int64_t bytes, enum buffers buffers)
{
    struct point point = {.coll = coll, .pool = pool, .n = bytes / 8, .buffers = buffers};
    bool rotated = buffers == ROTATED;
    point.in_step = line_up(coll->in_blocks() * bytes);
    point.out_step = line_up(coll->out_blocks() * bytes);
    point.in_end = places_end(pool->half, point.in_step, rotated);
    point.out_end = places_end(pool->half, point.out_step, rotated);
    return point;
}

static inline int64_t next_place(int64_t at, int64_t step, int64_t end)
{
    return at + step >= end ? 0 : at + step;
}

/* Writes the input of the next call. Its values stay the same, which the compiler cannot know. */
static void write_input(const struct point *point)
{
    double *in = point->pool->in;
    int64_t n = point->coll->in_blocks() * point->n;
    for (int64_t i = 0; i < n; i++) in[i] += 0.0;
    __asm__ volatile("" : : "r"(in) : "memory");
}

/* Reads the output of a call by an exclusive or over the bits of all its elements. The compiler may
 * reorder this operation, unlike a sum of doubles, so it can make the reading fast. */
static void read_output(const struct point *point)
{
    const double *out = point->pool->out;
    int64_t n = point->coll->out_blocks() * point->n;
    uint64_t all = 0, bits;
    for (int64_t i = 0; i < n; i++) {
        memcpy(&bits, &out[i], sizeof bits);
        all ^= bits;
    }
    __asm__ volatile("" : : "r"(all));
}

static inline void call_next(struct point *point)
{
    const struct pool *pool = point->pool;
    if (point->buffers >= ANEW) write_input(point);
    point->coll->call(pool->in + point->in_at / 8, pool->out + point->out_at / 8, point->n);
    if (point->buffers == USED) read_output(point);
    point->in_at = next_place(point->in_at, point->in_step, point->in_end);
    point->out_at = next_place(point->out_at, point->out_step, point->out_end);
}

/* Returns the seconds for each call, from the first rank's start to the slowest rank's end; the
 * same on all ranks. If each rank used its own start, ranks that share a processor would not be
 * charged for waiting until they run. All ranks are on one host and read the same clock. */
static double time_batch(struct point *point, int64_t calls)
{
    port_barrier();
    double begin = seconds();
    for (int64_t i = 0; i < calls; i++) call_next(point);
    double end = seconds();
    return (port_max(end) + port_max(-begin)) / (double)calls;
}

/* Returns the number of calls with which a batch lasts `batch` seconds. Finding this number also
 * warms up the library and the caches. If doubling the calls makes each call clearly faster, the
 * measurement was dominated by the time that the ranks took to start, which varies much on shared
 * processors. For small calls, two doublings in a row must therefore leave the time of a call
 * nearly unchanged. Each of the first calls of a library may touch memory for the first time (in
 * Tutti each of the first 32). So the last try has at least WARM_CALLS calls, unless fewer calls
 * take a whole batch. */
static int64_t calls_for(struct point *point, double batch, double *each_call)
{
    int64_t calls = 1;
    int settled = point->n * 8 > SMALL;
    double before = time_batch(point, calls);
    for (;;) {
        calls *= 2;
        *each_call = time_batch(point, calls);
        settled = *each_call > 0.7 * before ? settled + 1 : 0;
        bool long_enough = (double)calls * *each_call >= batch / 4;
        bool warm = calls >= WARM_CALLS || (double)calls * *each_call >= batch;
        if ((settled >= 2 && long_enough && warm) || calls >= MOST_CALLS) break;
        before = *each_call;
    }
    int64_t wanted = (int64_t)(batch / (*each_call > 1e-9 ? *each_call : 1e-9));
    return wanted < LEAST_CALLS ? LEAST_CALLS : wanted;
}

/* Makes one call and compares its result with the expected one. The input is at the first place on
 * all ranks. */
static void verify(const struct point *point)
{
    const struct collective *coll = point->coll;
    double *out = point->pool->out;
    clear_output(coll, out, point->n);
    coll->call(point->pool->in, out, point->n);
    int64_t i = wrong_at(coll, out, point->n);
    if (i >= 0)
        die("rank %d: %s of %lld bytes: element %lld is %g, should be %g", me, coll->name,
            (long long)point->n * 8, (long long)i, out[i], coll->expected(0, i, point->n));
}

static void print_point(const struct collective *coll, int64_t bytes, const char *rest)
{
    if (me != 0) return;
    printf("{\"collective\": \"%s\", \"ranks\": %d, \"bytes\": %lld, %s}\n", coll->name, p,
           (long long)bytes, rest);
    fflush(stdout);
}

/* One way to make the calls: the times of its batches, and the number of calls in each batch. */
struct way {
    int64_t calls;
    double each_call, times[MAX_BATCHES];
};

/* Returns the median of the ratios of the second way's times to those of the first way. Each ratio
 * is that of two batches which followed each other. */
static double median_ratio(const struct way *ways, int n)
{
    double ratio[MAX_BATCHES];
    for (int i = 0; i < n; i++) ratio[i] = ways[1].times[i] / ways[0].times[i];
    return median(ratio, n);
}

static void print_figure(const struct point *point, struct way *ways, int n)
{
    char rest[300] = "", host[100] = "";
    if (PORT_WAYS > 1) {
        double ratio = median_ratio(ways, n);
        snprintf(host, sizeof host, ", \"host_us\": %.4f, \"ratio\": %.4f",
                 1e6 * median(ways[1].times, n), ratio);
    }
    double middle = median(ways[0].times, n);
    snprintf(rest, sizeof rest,
             "\"buffers\": \"%s\", \"us\": %.4f, \"min_us\": %.4f, \"calls\": %lld%s",
             buffers_name[point->buffers], 1e6 * middle, 1e6 * ways[0].times[0],
             (long long)ways[0].calls, host);
    print_point(point->coll, point->n * 8, rest);
}

/* Returns the number of batches: as many as wanted, but fewer if a batch lasts much longer than it
 * should. */
static int batches_of(const struct loop_options *options, double each_call, int64_t calls)
{
    double longer = each_call * (double)calls / options->batch;
    int n = (int)(options->batches / (longer > 1 ? longer : 1) + 0.5);
    return n < 1 ? 1 : n;
}

static void measure(const struct collective *coll, const struct pool *pool, int64_t bytes,
                    enum buffers buffers, const struct loop_options *options)
{
    bool wanted = coll->in_blocks == none || strstr(options->buffers, buffers_name[buffers]);
    if (!wanted) return;
    struct point point = point_make(coll, pool, bytes, buffers);
    struct way ways[2];
    int n = MAX_BATCHES;
    for (int way = 0; way < PORT_WAYS; way++) {
        struct way *t = &ways[way];
        port_use(way);
        verify(&point);
        t->calls = calls_for(&point, options->batch, &t->each_call);
        int batches = batches_of(options, t->each_call, t->calls);
        if (batches < n) n = batches;
    }
    for (int i = 0; i < PORT_WAYS * n; i++) {
        struct way *t = &ways[i % PORT_WAYS];
        port_use(i % PORT_WAYS);
        t->times[i / PORT_WAYS] = time_batch(&point, t->calls);
    }
    port_use(0);
    print_figure(&point, ways, n);
}

/* Returns whether every rank's part of a call fits into the halves of its pool; the same on all
 * ranks. */
static bool fits(const struct collective *coll, const struct pool *pool, int64_t bytes)
{
    int64_t blocks =
        coll->in_blocks() > coll->out_blocks() ? coll->in_blocks() : coll->out_blocks();
    return port_max((double)(blocks * bytes)) <= (double)pool->half;
}

static void measure_size(const struct collective *coll, const struct pool *pool, int64_t bytes,
                         const struct loop_options *options)
{
    if (bytes % 8) die("%lld bytes are no f64s", (long long)bytes);
    if (!fits(coll, pool, bytes)) {
        print_point(coll, bytes, "\"left_out\": true");
        return;
    }
    for (enum buffers buffers = ROTATED; buffers < BUFFERS; buffers++)
        if (coll->in_blocks != none || buffers == SAME)
            measure(coll, pool, bytes, buffers, options);
}

/* Measures a collective with a list of sizes, such as "allreduce:8,4096". */
static void measure_list(const char *list, const struct pool *pool,
                         const struct loop_options *options, double begin)
{
    const char *text;
    const struct collective *coll = find_collective(list, &text);
    int64_t sizes[MAX_SIZES];
    int n = parse_list(text, sizes, MAX_SIZES);
    for (int k = 0; k < n; k++) {
        if (port_max(seconds() - begin) > options->limit) {
            print_point(coll, sizes[k], "\"late\": true");
        } else {
            measure_size(coll, pool, sizes[k], options);
        }
    }
}

static struct pool pool_make(const struct loop_options *options)
{
    int64_t half = options->pool / 2 / 4096 * 4096;
    char *memory = options->shared ? port_shared_memory((size_t)(2 * half)) : pages(2 * half);
    if (!memory) die("the library has no memory of its own to offer");
    struct pool pool = {.in = (double *)memory, .out = (double *)(memory + half), .half = half};
    for (int64_t i = 0; i < half / 8; i++) pool.in[i] = value(me, i);
    memset(pool.out, 1, (size_t)half);
    return pool;
}

/* Returns whether the text contains the name of a figure, such as "rotated". */
static bool has_known(const char *buffers)
{
    for (int i = 0; i < BUFFERS; i++)
        if (strstr(buffers, buffers_name[i])) return true;
    return false;
}

static struct loop_options parse_options(int argc, char **argv)
{
    struct loop_options options = {
        .pool = 64 << 20, .batch = 0.02, .limit = 1e9, .batches = 3, .buffers = "rotated,same"};
    int letter;
    while ((letter = getopt(argc, argv, "m:t:l:b:u:S")) != -1) {
        switch (letter) {
        case 'm': options.pool = atoll(optarg); break;
        case 't': options.batch = atof(optarg); break;
        case 'l': options.limit = atof(optarg); break;
        case 'b': options.batches = atoi(optarg); break;
        case 'u': options.buffers = optarg; break;
        case 'S': options.shared = true; break;
        default: exit(2);
        }
    }
    options.points = argv + optind;
    if (!*options.points || options.batches < 1 || options.batches > MAX_BATCHES ||
        options.batch <= 0 || options.pool < 2 * 4096 || !has_known(options.buffers)) {
        die("usage: loop [-m pool bytes] [-t seconds a batch] [-b batches, 1..%d] [-l seconds in "
            "all] [-u rotated,same,anew,used] [-S: memory of the library] COLLECTIVE:BYTES,... ...",
            MAX_BATCHES);
    }
    return options;
}

int main(int argc, char **argv)
{
    double begin = seconds();
    port_init(&argc, &argv);
    struct loop_options options = parse_options(argc, argv);
    me = port_rank();
    p = port_size();
    if (p > MAX_RANKS) die("%d ranks are more than %d", p, MAX_RANKS);
    struct pool pool = pool_make(&options);
    for (char **list = options.points; *list; list++) measure_list(*list, &pool, &options, begin);
    port_barrier();
    port_finish();
    return 0;
}
