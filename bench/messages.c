/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times messages between two ranks, in the same way for each library (port.h, messages-port.h).
 *
 *   latency          one-way time of a message of 8 bytes: half of a ping-pong
 *   bandwidth:BYTES  a stream of messages of BYTES bytes from rank 0 to rank 1, several in flight.
 *                    It ends when rank 1 has reported that it has all of them. Messages that are
 *                    in flight together have separate sources and destinations, as in a real
 *                    program
 *   one-place:BYTES  the same stream, but all messages have the same source and the same
 *                    destination, as in the tools that come with UCX and MPI libraries. A receiver
 *                    that handles one message after the other then reads again and again from the
 *                    cache
 *
 * Received data is compared with what was sent before anything is timed. Rank 0 prints one line of
 * JSON for each figure, the median of its batches.
 */
#include "port.h"
#include "measure.h"
#include "messages-port.h"

#include <getopt.h>
#include <stdbool.h>

enum { MAX_BATCHES = 100, MOST_BYTES = 64 << 20, LEAST_TURNS = 4, MOST_TURNS = 1 << 24 };

struct messages_options {
    double batch; /* seconds that a batch lasts at least */
    int batches;
};

typedef void exchange_fn(int64_t turns);

static double time_batch(exchange_fn *exchange, int64_t turns)
{
    port_barrier();
    double begin = seconds();
    exchange(turns);
    return port_max(seconds() - begin);
}

/* Returns the number of turns (ping-pongs, or messages of a stream) with which a batch lasts
 * `batch` seconds; the same on both ranks. Finding this number also warms up. */
static int64_t calibrate(exchange_fn *exchange, double batch)
{
    int64_t turns = LEAST_TURNS;
    for (;;) {
        double took = time_batch(exchange, turns);
        if (took >= batch || turns >= MOST_TURNS) return turns;
        double factor = took > 0 ? 1.2 * batch / took : 8;
        turns = (int64_t)((double)turns * (factor < 8 ? factor : 8)) + 1;
    }
}

static double seconds_a_turn(exchange_fn *exchange, const struct messages_options *options)
{
    double times[MAX_BATCHES];
    int64_t turns = calibrate(exchange, options->batch);
    for (int i = 0; i < options->batches; i++)
        times[i] = time_batch(exchange, turns) / (double)turns;
    return median(times, options->batches);
}

static void print_latency(double turn)
{
    if (port_rank() == 0) printf("{\"measure\": \"latency\", \"us\": %.4f}\n", 1e6 * turn / 2);
}

static void print_stream(const char *measure, int64_t bytes, double turn)
{
    if (port_rank() != 0) return;
    printf("{\"measure\": \"%s\", \"bytes\": %lld, \"mib_per_s\": %.2f}\n", measure,
           (long long)bytes, (double)bytes / turn / (1 << 20));
}

static char pattern(int64_t i)
{
    return (char)(i * 31 + (i >> 12));
}

/* Sends MESSAGES_WINDOW messages, at least one to each place, and compares every byte. */
static void verify(char *memory, int64_t bytes, int places)
{
    bool sends = port_rank() == 0;
    for (int64_t i = 0; i < places * bytes; i++) memory[i] = sends ? pattern(i) : 0;
    messages_place(memory, bytes, places);
    port_barrier();
    messages_stream(MESSAGES_WINDOW);
    for (int64_t i = 0; i < places * bytes; i++) {
        if (memory[i] != pattern(i))
            die("a message of %lld bytes came wrong at byte %lld", (long long)bytes, (long long)i);
    }
}

static void measure_streams(const char *measure, const char *list, int places,
                            const struct messages_options *options)
{
    int64_t sizes[32];
    int n = parse_list(list, sizes, 32);
    for (int i = 0; i < n; i++) {
        if (sizes[i] < 1 || sizes[i] > MOST_BYTES) die("messages have 1 to 64M bytes");
        char *memory = pages(places * sizes[i]);
        verify(memory, sizes[i], places);
        print_stream(measure, sizes[i], seconds_a_turn(messages_stream, options));
        port_barrier();
        munmap(memory, (size_t)(places * sizes[i]));
    }
}

/* Returns the sizes in an argument such as "bandwidth:8,4096"; NULL if it begins with another name.
 */
static const char *list_of(const char *point, const char *name)
{
    size_t n = strlen(name);
    return strncmp(point, name, n) == 0 && point[n] == ':' ? point + n + 1 : NULL;
}

static void measure_point(const char *point, const struct messages_options *options)
{
    const char *list;
    if (strcmp(point, "latency") == 0)
        print_latency(seconds_a_turn(messages_pingpong, options));
    else if ((list = list_of(point, "bandwidth")) != NULL)
        measure_streams("bandwidth", list, MESSAGES_WINDOW, options);
    else if ((list = list_of(point, "one-place")) != NULL)
        measure_streams("one-place", list, 1, options);
    else
        die("not latency, bandwidth:BYTES,... or one-place:BYTES,...: %s", point);
    fflush(stdout);
}

static struct messages_options parse_options(int argc, char **argv)
{
    struct messages_options options = {.batch = 0.02, .batches = 5};
    int letter;
    while ((letter = getopt(argc, argv, "t:b:")) != -1) {
        switch (letter) {
        case 't': options.batch = atof(optarg); break;
        case 'b': options.batches = atoi(optarg); break;
        default: exit(2);
        }
    }
    if (!argv[optind] || options.batches < 1 || options.batches > MAX_BATCHES || options.batch <= 0)
        die("usage: messages [-t seconds a batch] [-b batches, 1..%d] latency "
            "bandwidth:BYTES,... one-place:BYTES,...",
            MAX_BATCHES);
    return options;
}

int main(int argc, char **argv)
{
    port_init(&argc, &argv);
    struct messages_options options = parse_options(argc, argv);
    if (port_size() != 2) die("messages go between 2 ranks, not %d", port_size());
    messages_open();
    port_barrier();
    for (char **point = argv + optind; *point; point++) measure_point(*point, &options);
    port_barrier();
    port_finish();
    return 0;
}
