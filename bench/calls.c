/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Records which functions one operation calls, for scripts/count-calls, which builds this program
 * and the library with -finstrument-functions and turns the addresses into names.
 *
 *   calls FILE allreduce         rank 0 records an allreduce of 8 bytes
 *   calls FILE message BYTES     rank 0 records the sending of a message, and its completion;
 *                                rank 1 records its receiving
 *
 * The partner of the rank that records does its part first, so that the recording rank polls in
 * vain as little as possible. The ranks take turns by a counter in FILE, which both map. A rank
 * that waits for its turn does not call the library, because that would already move the message.
 * The operation is repeated, and the recording with the fewest calls is printed, one line for each
 * call, in order:
 *
 *     RANK DEPTH ADDRESS      (the address is relative to the start of the program)
 */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tutti/message.h>

#include "port-tutti.h"

enum {
    WARM = 40,
    REPEATS = 40,
    CALLS = 1 << 16,
};

struct recorded_call {
    const void *function;
    int depth;
};

/* The recording. `now` holds the first CALLS calls of the current repetition, which has made `made`
 * calls so far. `best` holds the calls of the repetition that made the fewest calls, and `least` is
 * their number. */
static struct {
    bool on, instrumented;
    int depth, made, least;
    struct recorded_call now[CALLS], best[CALLS];
} calls = {.least = CALLS + 1};

extern const char __executable_start[];

void __cyg_profile_func_enter(void *function, void *from);
void __cyg_profile_func_exit(void *function, void *from);

__attribute__((no_instrument_function)) void __cyg_profile_func_enter(void *function, void *from)
{
    (void)from;
    calls.instrumented = true;
    if (!calls.on) return;
    if (calls.made < CALLS)
        calls.now[calls.made] = (struct recorded_call){.function = function, .depth = calls.depth};
    calls.made++;
    calls.depth++;
}

__attribute__((no_instrument_function)) void __cyg_profile_func_exit(void *function, void *from)
{
    (void)function;
    (void)from;
    if (calls.on) calls.depth--;
}

__attribute__((no_instrument_function)) static void start_recording(void)
{
    calls.depth = calls.made = 0;
    calls.on = true;
}

__attribute__((no_instrument_function)) static void pause_recording(void)
{
    calls.on = false;
}

__attribute__((no_instrument_function)) static void continue_recording(void)
{
    calls.on = true;
}

__attribute__((no_instrument_function)) static void end_recording(void)
{
    calls.on = false;
    if (calls.made >= calls.least) return;
    calls.least = calls.made;
    memcpy(calls.best, calls.now, (size_t)calls.made * sizeof calls.now[0]);
}

__attribute__((noreturn)) static void fail(const char *why)
{
    fprintf(stderr, "calls: %s\n", why);
    exit(2);
}

static void print_recording(void)
{
    if (calls.least > CALLS) fail("has more calls to record than it can");
    for (int i = 0; i < calls.least; i++)
        printf("%d %d %#tx\n", port_rank(), calls.best[i].depth,
               (const char *)calls.best[i].function - __executable_start);
}

/* ---- Taking turns ---- */

static _Atomic int *turn;

static void map_turn(const char *name)
{
    int file = open(name, O_RDWR);
    if (file < 0 || ftruncate(file, sizeof *turn) != 0) fail("cannot open its file");
    turn = mmap(NULL, sizeof *turn, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (turn == MAP_FAILED) fail("cannot map its file");
    close(file);
}

static void await_turn(int n)
{
    while (atomic_load(turn) < n) sched_yield();
}

static void pass_turn(int n)
{
    atomic_store(turn, n);
}

/* ---- An allreduce ---- */

/* Records the k-th allreduce of rank 0. First rank 1 starts its part, then rank 0 makes the whole
 * call, and rank 1 completes its part. */
static void record_allreduce(int k)
{
    double one = 1, sum = 0;
    tutti_request *request;
    await_turn(2 * k + (port_rank() == 0));
    if (port_rank() == 0) {
        start_recording();
        port_check(tutti_allreduce(port_team, &one, &sum, 1, TUTTI_F64, TUTTI_SUM));
        end_recording();
        pass_turn(2 * k + 2);
    } else {
        port_check(tutti_iallreduce(port_team, &one, &sum, 1, TUTTI_F64, TUTTI_SUM, &request));
        pass_turn(2 * k + 1);
        port_check(tutti_wait(request));
        port_check(tutti_request_free(request));
        await_turn(2 * k + 2);
    }
    if (sum != 2) fail("the sum is wrong");
}

/* ---- A message ---- */

static struct {
    tutti_context *context;
    tutti_endpoint *peer;
    char *memory;
    size_t bytes;
    int sent, come;
} message;

static void on_sent(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    (void)arg;
    port_check(status);
    message.sent++;
}

static void on_come(tutti_context *context, void *arg, tutti_status status)
{
    (void)context;
    (void)arg;
    port_check(status);
    message.come++;
}

static void on_message(tutti_context *context, const tutti_message *m, tutti_receive *receive,
                       void *arg)
{
    (void)context;
    (void)m;
    (void)arg;
    *receive = (tutti_receive){
        .to = message.memory, .count = (int64_t)message.bytes, .type = TUTTI_U8, .done = on_come};
}

static void advance(void)
{
    port_check(tutti_advance(message.context, NULL));
}

static void send_one(void)
{
    tutti_send send = {.to = message.peer,
                       .data = message.memory,
                       .count = (int64_t)message.bytes,
                       .type = TUTTI_U8,
                       .sent = on_sent};
    port_check(tutti_message_send(message.context, &send));
}

/* Records the parts of the k-th message one after the other: the origin sends it, the target
 * receives it, and the origin completes it. */
static void record_message(int k)
{
    bool sends = port_rank() == 0;
    await_turn(3 * k + !sends);
    start_recording();
    if (sends) {
        send_one();
        pause_recording();
        pass_turn(3 * k + 1);
        await_turn(3 * k + 2);
        continue_recording();
        while (message.sent <= k) advance();
    } else
        while (message.come <= k) advance();
    end_recording();
    pass_turn(3 * k + 2 + sends);
}

static void open_messages(const char *bytes)
{
    message.bytes = strtoul(bytes, NULL, 10);
    message.memory = calloc(1, message.bytes);
    if (!message.memory) fail("has no memory for the message");
    message.context = tutti_context_at(port_client, 0);
    port_check(tutti_endpoint_to(port_client, !port_rank(), 0, &message.peer));
    port_check(tutti_dispatch(port_client, 0, on_message, NULL));
    port_check(tutti_barrier(port_team));
}

int main(int argc, char **argv)
{
    bool allreduce = argc == 3 && strcmp(argv[2], "allreduce") == 0;
    bool messages = argc == 4 && strcmp(argv[2], "message") == 0;
    if (!allreduce && !messages) fail("wants FILE allreduce, or FILE message BYTES");
    port_init(&argc, &argv);
    if (!calls.instrumented)
        fail("was built without -finstrument-functions: use scripts/count-calls");
    if (port_size() != 2) fail("needs two ranks");
    map_turn(argv[1]);
    if (messages) open_messages(argv[3]);
    for (int k = 0; k < WARM + REPEATS; k++) {
        if (k == WARM) calls.least = CALLS + 1;
        if (messages)
            record_message(k);
        else
            record_allreduce(k);
    }
    if (messages || port_rank() == 0) print_recording();
    port_check(tutti_barrier(port_team));
    free(message.memory);
    port_finish();
    return 0;
}
