/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures what the machine itself can do, as a lower bound for the figures of loop.c:
 *
 *   line    two processes on two cores: each writes its cache line and waits for the other's
 *   stream  two processes on two cores: one writes lines, up to 32 ahead, and the other reads them
 *   switch  two processes on one core: one hands a turn to the other and yields until it is back
 *   memcpy  one process copies a number of bytes
 *   cma     one process reads a number of bytes of another process with process_vm_readv
 *
 * memcpy and cma are timed twice: "rotated", in which each transfer uses the next bytes of a pool
 * of memory, so that it finds no data in the caches if the pool is larger than these; and "same",
 * in which all transfers use the same bytes. The other process sleeps meanwhile. The output is one
 * line of JSON for each figure, with null for what the machine does not support.
 */
#include "measure.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_SIZES = 64, BATCHES = 5, LINE_TURNS = 20000, AHEAD = 32, SWITCH_TURNS = 50 };

struct machine_line {
    _Alignas(64) _Atomic uint32_t turn;
};

struct machine_pool {
    char *in, *out;
    int64_t half;
};

/* Returns the i-th processor that this process may use, or -1. */
static int processor(int i)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return -1;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &set) && i-- == 0) return cpu;
    }
    return -1;
}

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) die("cannot pin to processor %d", cpu);
}

static void exchange_lines(struct machine_line *lines, int me)
{
    for (uint32_t turn = 1; turn <= LINE_TURNS * (BATCHES + 1); turn++) {
        atomic_store_explicit(&lines[me].turn, turn, memory_order_release);
        while (atomic_load_explicit(&lines[!me].turn, memory_order_acquire) < turn) continue;
    }
}

/* Exchanges lines with the other process, which runs exchange_lines. Returns the median of the
 * seconds for each exchange; the first batch warms up. */
static double time_lines(struct machine_line *lines)
{
    double times[BATCHES];
    uint32_t turn = 0;
    for (int batch = -1; batch < BATCHES; batch++) {
        double begin = seconds();
        for (int i = 0; i < LINE_TURNS; i++) {
            atomic_store_explicit(&lines[0].turn, ++turn, memory_order_release);
            while (atomic_load_explicit(&lines[1].turn, memory_order_acquire) < turn) continue;
        }
        if (batch >= 0) times[batch] = (seconds() - begin) / LINE_TURNS;
    }
    return median(times, BATCHES);
}

/* Writes line after line into a ring of AHEAD lines, and waits while the reader is a whole ring
 * behind. In lines[AHEAD] the reader publishes how many lines it has read. */
static void write_stream(struct machine_line *lines)
{
    for (uint32_t i = 0; i < LINE_TURNS * (BATCHES + 1); i++) {
        while (i - atomic_load_explicit(&lines[AHEAD].turn, memory_order_acquire) >= AHEAD)
            continue;
        atomic_store_explicit(&lines[i % AHEAD].turn, i + 1, memory_order_release);
    }
}

/* Reads the lines that the other process writes (write_stream), and returns the seconds for each.
 * Publishes after every few lines how many it has read. */
static double time_stream(struct machine_line *lines)
{
    double times[BATCHES];
    uint32_t at = 0;
    for (int batch = -1; batch < BATCHES; batch++) {
        double begin = seconds();
        for (int i = 0; i < LINE_TURNS; i++) {
            while (atomic_load_explicit(&lines[at % AHEAD].turn, memory_order_acquire) != at + 1)
                continue;
            if (++at % (AHEAD / 4) == 0)
                atomic_store_explicit(&lines[AHEAD].turn, at, memory_order_release);
        }
        if (batch >= 0) times[batch] = (seconds() - begin) / LINE_TURNS;
    }
    return median(times, BATCHES);
}

/* Takes the turns of process `me`: the even turns if it is 0, the odd turns if it is 1. Yields the
 * processor while it is the turn of the other process. */
static void hand_over(struct machine_line *line, uint32_t me)
{
    for (uint32_t turn = me; turn < 2 * SWITCH_TURNS; turn += 2) {
        while (atomic_load_explicit(&line->turn, memory_order_acquire) != turn) sched_yield();
        atomic_store_explicit(&line->turn, turn + 1, memory_order_release);
    }
}

/* Returns the seconds for each switch: the least of the batches, because another program on the
 * processor makes a switch take a time slice. */
static double time_switches(struct machine_line *line)
{
    double least = 1e9;
    for (int batch = -1; batch < BATCHES; batch++) {
        double begin = seconds();
        hand_over(&line[batch + 1], 0);
        double each = (seconds() - begin) / (2 * SWITCH_TURNS);
        if (batch >= 0 && each < least) least = each;
    }
    return least;
}

static void print_limit(const char *name, double each)
{
    printf("{\"limit\": \"%s\", \"us\": %.4f}\n", name, 1e6 * each);
}

/* The lines that the two processes share, for each measurement. */
struct machine_lines {
    struct machine_line exchanged[2], streamed[AHEAD + 1], turns[BATCHES + 1];
};

/* Does the part of the other process in the measurements line, stream and switch. cpu[] holds two
 * processors; if there is only one, cpu[1] is -1, and only switch is measured. */
static void answer_signals(struct machine_lines *lines, const int *cpu)
{
    if (cpu[1] >= 0) {
        pin(cpu[1]);
        exchange_lines(lines->exchanged, 1);
        write_stream(lines->streamed);
    }
    pin(cpu[0]);
    for (int batch = 0; batch <= BATCHES; batch++) hand_over(&lines->turns[batch], 1);
}

static void measure_signals(struct machine_lines *lines, const int *cpu)
{
    pin(cpu[0]);
    if (cpu[1] >= 0) {
        print_limit("line", time_lines(lines->exchanged));
        print_limit("stream", time_stream(lines->streamed));
    }
    print_limit("switch", time_switches(lines->turns));
}

typedef bool transfer_fn(pid_t peer, char *to, char *from, int64_t bytes);

static bool by_memcpy(pid_t peer, char *to, char *from, int64_t bytes)
{
    (void)peer;
    memcpy(to, from, (size_t)bytes);
    __asm__ volatile("" : : "r"(to) : "memory");
    return true;
}

/* Reads bytes of the peer's memory with process_vm_readv. The peer's pool is at the same addresses
 * as this process' pool. Returns whether the system allows it. */
static bool by_cma(pid_t peer, char *to, char *from, int64_t bytes)
{
    for (int64_t done = 0; done < bytes;) {
        struct iovec here = {to + done, (size_t)(bytes - done)};
        struct iovec there = {from + done, (size_t)(bytes - done)};
        ssize_t got = process_vm_readv(peer, &here, 1, &there, 1, 0);
        if (got <= 0) return false;
        done += got;
    }
    return true;
}

struct machine_walk {
    const struct machine_pool *pool;
    int64_t step, end, at;
};

static bool time_batch(struct machine_walk *walk, transfer_fn *transfer, pid_t peer, int64_t bytes,
                       int64_t calls, double *took)
{
    double begin = seconds();
    for (int64_t i = 0; i < calls; i++) {
        if (!transfer(peer, walk->pool->out + walk->at, walk->pool->in + walk->at, bytes))
            return false;
        walk->at = walk->at + walk->step >= walk->end ? 0 : walk->at + walk->step;
    }
    *took = seconds() - begin;
    return true;
}

/* Returns the seconds for each transfer; negative if the system refuses the transfer. */
static double time_transfer(const struct machine_pool *pool, transfer_fn *transfer, pid_t peer,
                            int64_t bytes, bool rotated)
{
    int64_t step = line_up(bytes);
    struct machine_walk walk = {pool, step, rotated ? pool->half / step * step : step, 0};
    double times[BATCHES], took;
    int64_t calls = 1;
    do {
        calls *= 2;
        if (!time_batch(&walk, transfer, peer, bytes, calls, &took)) return -1;
    } while (took < 0.001);
    for (int i = 0; i < BATCHES; i++) {
        if (!time_batch(&walk, transfer, peer, bytes, calls, &times[i])) return -1;
        times[i] /= (double)calls;
    }
    return median(times, BATCHES);
}

static void print_transfer(const char *name, const struct machine_pool *pool, transfer_fn *transfer,
                           pid_t peer, int64_t bytes)
{
    for (int rotated = 1; rotated >= 0; rotated--) {
        double each = time_transfer(pool, transfer, peer, bytes, rotated);
        printf("{\"limit\": \"%s\", \"bytes\": %lld, \"buffers\": \"%s\", \"us\": ", name,
               (long long)bytes, rotated ? "rotated" : "same");
        if (each < 0) {
            printf("null, \"why\": \"%s\"}\n", strerror(errno));
        } else {
            printf("%.4f}\n", 1e6 * each);
        }
    }
}

/* Runs the child process: it fills its pool, takes part in the measurements line, stream and
 * switch, and sleeps until it is killed. */
static void be_peer(struct machine_lines *lines, const struct machine_pool *pool, const int *cpu,
                    int ready)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    memset(pool->in, 1, (size_t)pool->half);
    if (write(ready, "", 1) != 1) _exit(1);
    answer_signals(lines, cpu);
    for (;;) pause();
}

static pid_t start_peer(struct machine_lines *lines, const struct machine_pool *pool,
                        const int *cpu)
{
    int ready[2];
    char byte;
    if (pipe(ready) != 0) die("no pipe: %s", strerror(errno));
    pid_t peer = fork();
    if (peer < 0) die("no process: %s", strerror(errno));
    if (peer == 0) be_peer(lines, pool, cpu, ready[1]);
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1) die("the other process ended");
    return peer;
}

int main(int argc, char **argv)
{
    int64_t sizes[MAX_SIZES];
    if (argc != 3) die("usage: machine POOL-BYTES BYTES,...");
    int n = parse_list(argv[2], sizes, MAX_SIZES);
    int64_t half = atoll(argv[1]) / 2;
    char *memory = pages(2 * half);
    struct machine_pool pool = {memory, memory + half, half};
    struct machine_lines *lines =
        mmap(NULL, sizeof *lines, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (lines == MAP_FAILED) die("no shared memory");

    const int cpu[] = {processor(0), processor(1)};
    pid_t peer = start_peer(lines, &pool, cpu);
    memset(memory, 1, (size_t)(2 * half));
    measure_signals(lines, cpu);
    for (int i = 0; i < n; i++) {
        if (sizes[i] == 0 || sizes[i] > half) continue;
        print_transfer("memcpy", &pool, by_memcpy, 0, sizes[i]);
        print_transfer("cma", &pool, by_cma, peer, sizes[i]);
    }
    kill(peer, SIGKILL);
    waitpid(peer, NULL, 0);
    return 0;
}
