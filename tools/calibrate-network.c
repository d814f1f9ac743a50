/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures messages between two nodes by plans of two ranks, which take the same path as the plans
 * of collectives. Rank 0 measures:
 *
 *     wire_time      half of a round trip, minus the time of the step that waits for the message
 *     wire_send      the time that rank 0 works for each message of a stream that it sends
 *     wire_receive   the time that rank 0 works for a message in a round trip, minus wire_send
 *     wire_gap       the time of each further message of a stream
 *     look           the time of an advance that finds nothing
 *
 * A rank *works* while an advance does something: it handles an event, or it takes clearly longer
 * than an advance that finds nothing. Each measurement is repeated; struct message_times says which
 * of the times count.
 */
#include "calibrate-network.h"

#include <sched.h>
#include <stdlib.h>

#include "run/exec.h"

enum { PS_OF_NS = 1000, ACK = 8 };

/* the call signature of the plans that are measured here, which belong to no collective */
static const struct tt_call_signature network_signature = {.coll = -1};

/* How often messages of a size are sent in a plan, and how often the plan is executed. */
struct effort {
    int64_t most_bytes;
    uint32_t rounds, stream;
    int repeats;
};
static const struct effort efforts[] = {{4 << 10, 8, 32, 120},
                                        {64 << 10, 5, 16, 60},
                                        {256 << 10, 3, 8, 30},
                                        {1 << 20, 2, 6, 20},
                                        {INT64_MAX, 1, 4, 10}};
/* All sizes are measured PASSES times, so that a disturbance which lasts for a while does not
 * affect all executions of a plan. */
enum { PASSES = 3, REPEATS_MOST = 120, REPEATS_LEAST = 3 };

static const struct effort *effort_for(int64_t bytes)
{
    const struct effort *e = efforts;
    while (bytes > e->most_bytes) e++;
    return e;
}

/* ---- Plans ---- */

/* Appends round trips of messages of `bytes` bytes, which rank 0 begins. */
static void round_trips(struct tt_builder *b, int me, int64_t bytes, const struct effort *effort)
{
    tt_started sent = 0, received;
    tt_loop(b, effort->rounds);
    if (me == 0) sent = tt_send(b, 1, tt_own(TT_IN, 0), bytes);
    received = tt_recv(b, 1 - me, tt_own(TT_OUT, 0), bytes);
    if (me == 0) tt_wait(b, sent);
    tt_wait(b, received);
    if (me == 1) tt_wait(b, tt_send(b, 0, tt_own(TT_IN, 0), bytes));
    tt_end(b);
}

/* Appends a stream of messages from rank 0 to rank 1, which acknowledges the last of them. */
static void stream(struct tt_builder *b, int me, int64_t bytes, const struct effort *effort)
{
    tt_loop(b, effort->stream);
    tt_started started =
        me == 0 ? tt_send(b, 1, tt_own(TT_IN, 0), bytes) : tt_recv(b, 0, tt_own(TT_OUT, 0), bytes);
    tt_wait_ago(b, started, TT_IN_FLIGHT - 1);
    tt_end(b);
    for (int ago = TT_IN_FLIGHT - 2; ago >= 0; ago--) tt_wait_ago(b, started, ago);
    tt_wait(b,
            me == 0 ? tt_recv(b, 1, tt_own(TT_OUT, 0), ACK) : tt_send(b, 0, tt_own(TT_IN, 0), ACK));
}

typedef void append(struct tt_builder *b, int me, int64_t bytes, const struct effort *effort);

static struct tt_plan *make_plan(append *steps, int me, int64_t bytes)
{
    const struct tt_call call = {.coll = TT_COLL_barrier, .type = TUTTI_U8, .sz = 1};
    struct tt_builder *b = tt_builder_new(2, me, &call, "messages");
    if (b) steps(b, me, bytes, effort_for(bytes));
    struct tt_plan *plan = b ? tt_builder_finish(b) : NULL;
    tt_builder_free(b);
    return plan;
}

/* ---- Executions ---- */

/* The times of an execution of a plan. A pass yields the median over its executions, because the
 * fastest execution is not typical. Of the medians of all passes, the least counts, because other
 * programs can only make messages slower. */
struct message_times {
    int64_t all_ns;  /* from the begin of an execution to its end */
    int64_t work_ns; /* the time for which the rank worked */
};

struct network {
    tutti_team *world;
    struct tt_team *team;
    struct tt_machine *machine;
    char *in, *out;
    int64_t look_ns;
    struct message_times trip[TT_MACHINE_POINTS], flow[TT_MACHINE_POINTS];
};

/* Executes the plan. Returns the time that this rank worked. If no message comes for two seconds,
 * waits by tt_exec_wait, which notices if the other rank has died. */
static int64_t work(struct network *n, struct tt_exec *exec)
{
    const int64_t patience_ns = 2000000000;
    struct tt_team *t = n->team;
    int64_t begin = tt_clock_ns(), worked, last = begin;
    tt_exec_start(exec);
    tt_exec_advance(exec);
    worked = tt_clock_ns() - begin;
    while (exec->state != TT_EXEC_IDLE && begin - last < patience_ns) {
        uint64_t events = t->events;
        begin = tt_clock_ns();
        tt_team_advance_all(t);
        int64_t took = tt_clock_ns() - begin;
        bool moves = t->events != events || exec->state == TT_EXEC_IDLE;
        if (moves) last = begin;
        if (moves || took > 2 * n->look_ns)
            worked += took;
        else
            (void)sched_yield();
    }
    if (exec->state != TT_EXEC_IDLE) (void)tt_exec_wait(exec);
    return worked;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t median(int64_t *times, int n)
{
    qsort(times, (size_t)n, sizeof *times, compare);
    return times[n / 2];
}

/* Executes the plan `repeats` times in each of two ways: to measure how long an execution takes,
 * and how long this rank works in it. Keeps the medians if they are less than those of an earlier
 * pass. */
static tutti_status execute(struct network *n, struct tt_exec *exec, int repeats,
                            struct message_times *times)
{
    int64_t all_ns[REPEATS_MOST], work_ns[REPEATS_MOST];
    for (int i = 0; i < repeats; i++) {
        int64_t begin = tt_clock_ns();
        tt_exec_start(exec);
        TT_TRY(tt_exec_wait(exec));
        all_ns[i] = tt_clock_ns() - begin;
        work_ns[i] = work(n, exec);
        if (exec->status != TUTTI_OK) return tt_team_error(n->team);
    }
    times->all_ns = tt_min(times->all_ns, median(all_ns, repeats));
    times->work_ns = tt_min(times->work_ns, median(work_ns, repeats));
    return TUTTI_OK;
}

/* Executes the plan once. Sets *repeats to how often to execute it then: `most` times, or fewer if
 * the network is so slow that this would last long. Rank 0 decides. */
static tutti_status find_repeats(struct network *n, struct tt_exec *exec, int most,
                                 int32_t *repeats)
{
    const int64_t budget_ns = 500000000, begin = tt_clock_ns();
    tt_exec_start(exec);
    TT_TRY(tt_exec_wait(exec));
    int64_t fit = budget_ns / tt_max(1, tt_clock_ns() - begin);
    *repeats = (int32_t)tt_max(REPEATS_LEAST, tt_min(most, fit));
    return tutti_bcast(n->world, repeats, 1, TUTTI_I32, 0);
}

static tutti_status measure(struct network *n, append *steps, int64_t bytes,
                            struct message_times *times)
{
    struct tt_plan *plan = make_plan(steps, n->team->me, bytes);
    struct tt_exec *exec = plan ? tt_exec_new(n->team, plan, TT_SHORT_WINDOWS) : NULL;
    tutti_status status = TUTTI_ERR_MEMORY;
    if (exec) {
        exec->buffer[TT_IN] = n->in;
        exec->buffer[TT_OUT] = n->out;
        exec->bytes[TT_IN] = exec->bytes[TT_OUT] = bytes;
        exec->signature = &network_signature;
        exec->shape = 1;
        int32_t repeats;
        status = find_repeats(n, exec, effort_for(bytes)->repeats, &repeats);
        if (status == TUTTI_OK) status = execute(n, exec, repeats, times);
    }
    tt_exec_free(exec);
    tt_plan_free(plan);
    return status;
}

/* Measures an advance that finds nothing. Called when both ranks have ended a plan, so that no
 * message is under way. */
static void measure_look(struct network *n)
{
    enum { LOOKS = 100, BATCHES = 100 };
    int64_t least = INT64_MAX;
    for (int batch = 0; batch < BATCHES; batch++) {
        int64_t begin = tt_clock_ns();
        for (int i = 0; i < LOOKS; i++) tt_team_advance_all(n->team);
        least = tt_min(least, tt_clock_ns() - begin);
    }
    n->look_ns = tt_max(1, least / LOOKS);
    n->machine->network.look = tt_max(1, least * PS_OF_NS / LOOKS);
}

static tutti_status measure_points(struct network *n)
{
    for (int i = 0; i < TT_MACHINE_POINTS; i++) {
        TT_TRY(measure(n, round_trips, tt_machine_bytes[i], &n->trip[i]));
        TT_TRY(measure(n, stream, tt_machine_bytes[i], &n->flow[i]));
    }
    return TUTTI_OK;
}

/* Returns `ps`, but at least 1 and at most TT_MACHINE_MOST. */
static int64_t bounded(int64_t ps)
{
    return tt_max(1, tt_min(ps, TT_MACHINE_MOST));
}

/* Sets the entries for messages of the i-th size in the model's tables from the measured times. */
static void set_point(struct network *n, int i)
{
    int64_t(*wire)[TT_MACHINE_POINTS] = n->machine->network.wire;
    const struct effort *effort = effort_for(tt_machine_bytes[i]);
    int64_t rounds = effort->rounds, messages = effort->stream;
    int64_t one_way = n->trip[i].all_ns * PS_OF_NS / (2 * rounds);
    int64_t time = tt_max(1, one_way - n->machine->number[TT_MACHINE_step]);
    int64_t ack = i > 0 ? wire[TT_MACHINE_wire_time][0] : time;
    int64_t send = n->flow[i].work_ns * PS_OF_NS / messages;
    int64_t further = n->flow[i].all_ns * PS_OF_NS - time - ack;
    wire[TT_MACHINE_wire_time][i] = time;
    int64_t receive = n->trip[i].work_ns * PS_OF_NS / rounds - send;
    wire[TT_MACHINE_wire_send][i] = bounded(send);
    wire[TT_MACHINE_wire_receive][i] = bounded(tt_min(receive, time));
    wire[TT_MACHINE_wire_gap][i] = bounded(further / (messages - 1));
}

/* If a time in the tables is less than the time for fewer bytes, raises it to the latter. */
static void straighten(struct tt_machine_network *network)
{
    for (int t = 0; t < TT_MACHINE_WIRES_N; t++)
        for (int i = 1; i < TT_MACHINE_POINTS; i++)
            network->wire[t][i] = tt_max(network->wire[t][i], network->wire[t][i - 1]);
}

static tutti_status measure_all(struct network *n)
{
    const struct message_times none = {INT64_MAX, INT64_MAX};
    struct message_times warm = none;
    for (int i = 0; i < TT_MACHINE_POINTS; i++) n->trip[i] = n->flow[i] = none;
    TT_TRY(measure(n, round_trips, ACK, &warm)); /* opens the connection */
    measure_look(n);
    for (int i = 0; i < PASSES; i++) TT_TRY(measure_points(n));
    for (int i = 0; i < TT_MACHINE_POINTS; i++) set_point(n, i);
    straighten(&n->machine->network);
    return TUTTI_OK;
}

tutti_status tt_calibrate_network(tutti_team *world, struct tt_machine *machine)
{
    size_t most = (size_t)tt_machine_bytes[TT_MACHINE_POINTS - 1];
    struct network n = {.world = world,
                        .team = &world->run,
                        .machine = machine,
                        .in = tt_calloc(1, most),
                        .out = tt_calloc(1, most),
                        .look_ns = PS_OF_NS};
    bool good = n.in && n.out;
    tutti_status status =
        good ? measure_all(&n) : tt_fail(TUTTI_ERR_MEMORY, "no memory for messages of 4 MiB");
    tt_free(n.in);
    tt_free(n.out);
    return status;
}
