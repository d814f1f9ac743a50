/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a case as a job. Its ranks are threads of this process, or processes that run this command
 * again as `tutti bench-rank`, or threads of such processes. The process of rank 0 writes the
 * result to a memory file that it inherits from this process.
 *
 * If a launcher has started this command as the ranks of a job, this job runs all cases. Rank 0
 * leads: it alone reads the arguments, reads and writes files, decides and prints. It broadcasts
 * orders to the others. No rank waits for ever for one that cannot go on: ranks find together that
 * a case cannot run, or that its result is wrong. A rank that fails in another way finalizes its
 * client, and then the calls of the other ranks end with an error. Therefore the first case that
 * fails ends the job.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench-job.h"
#include "boot/boot.h"
#include "boot/pmix.h"
#include "launch.h"
#include "run/roll.h"
#include "choose/choose.h"
#include "choose/plan-file.h"
#include "command.h"
#include "problem.h"

enum { ALGORITHM = 32 + PATH_MAX }; /* bytes of the name of an algorithm, or of @ and a path */

static bool failed(void)
{
    fprintf(stderr, "tutti bench: %s\n", tutti_error());
    return false;
}

bool tt_bench_begin(struct tt_bench_case *c)
{
    struct tt_call *call = &c->problem.call;
    static char force[32 + ALGORITHM];
    tt_choose_force(NULL);
    tt_lab_provide(tutti_lab_plan);
    if (c->algorithm) {
        snprintf(force, sizeof force, "%s=%s", tt_coll_name(call->coll), c->algorithm);
        tt_choose_force(force);
    }
    if (!tt_coll_has_op(call->coll) || call->op < TUTTI_OP_USER) return true;
    return tutti_op_create(tt_bench_op, call->commutes, NULL, &call->op) == TUTTI_OK || failed();
}

void tt_bench_end(const struct tt_bench_case *c)
{
    const struct tt_call *call = &c->problem.call;
    if (tt_coll_has_op(call->coll) && call->op >= TUTTI_OP_USER) tutti_op_free(call->op);
    tt_choose_force(NULL);
}

/* Returns the number of ranks of the job: those of the problem, or twice as many if two teams call
 * at the same time. */
static int ranks_of(const struct tt_bench_case *c)
{
    return c->problem.p * (c->beside ? 2 : 1);
}

/* ---- Threads ---- */

struct shared {
    const struct tt_bench_case *c;
    struct tt_bench_result *result;
    _Atomic int failures;
};

static void thread_rank(tutti_client *client, void *arg)
{
    struct shared *shared = arg;
    struct tt_bench_result other, *mine = &other;
    if (tutti_rank(tutti_world(client)) == 0) mine = shared->result;
    if (!tt_bench_rank(client, shared->c, mine)) shared->failures++;
}

bool tt_bench_threads(const struct tt_bench_case *given, struct tt_bench_result *result)
{
    struct tt_bench_case c = *given;
    struct shared shared = {.c = &c, .result = result};
    if (!tt_bench_begin(&c)) return false;
    tutti_status status = tutti_threads(ranks_of(&c), thread_rank, &shared);
    if (status != TUTTI_OK) fprintf(stderr, "tutti bench: %s\n", tutti_error());
    tt_bench_end(&c);
    return status == TUTTI_OK && shared.failures == 0;
}

/* ---- Processes ---- */

static bool launch(const struct tt_bench_case *c, int fd)
{
    int ended_by = 0;
    char problem[TT_PROBLEM_TEXT], time_ns[24], batch_ns[24], iterations[24], descriptor[16],
        threads[16], shape[64];
    snprintf(shape, sizeof shape, "-%s%s%s%s", c->gaps ? "gaps" : "", c->reversed ? "reversed" : "",
             c->beside ? "beside" : "", c->identities ? "identities" : "");
    tt_problem_print(&c->problem, problem);
    snprintf(time_ns, sizeof time_ns, "%lld", (long long)c->time_ns);
    snprintf(batch_ns, sizeof batch_ns, "%lld", (long long)c->batch_ns);
    snprintf(iterations, sizeof iterations, "%lld", (long long)c->iterations);
    snprintf(descriptor, sizeof descriptor, "%d", fd);
    snprintf(threads, sizeof threads, "%d", c->threads);
    char *const argv[] = {
        "/proc/self/exe", "bench-rank", problem,    (char *)(c->algorithm ? c->algorithm : "-"),
        time_ns,          iterations,   descriptor, shape,
        batch_ns,         threads,      NULL};
    const struct tt_launch_program program = {
        .ranks = (int)tt_div_up(ranks_of(c), tt_max(c->threads, 1)), .argv = argv};
    const struct tt_launch_options options = {
        .program = &program, .programs = 1, .ended_by = &ended_by, .call_roll = tt_roll_call};
    bool good = tt_launch(&options) == 0;
    tt_launch_obey(ended_by);
    return good;
}

/* Makes a file in memory for the result. Ignores SIGXFSZ while it does so, because this signal
 * would end the process without a message if the user limits the size of files. Returns -1 after
 * printing an error. */
static int make_file(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGXFSZ, &ignore, &before);
    int fd = memfd_create("tutti-bench", 0);
    bool good =
        fd >= 0 && fchmod(fd, 0600) == 0 && ftruncate(fd, sizeof(struct tt_bench_result)) == 0;
    if (!good) perror("tutti bench: there is no file for the result");
    sigaction(SIGXFSZ, &before, NULL);
    if (!good && fd >= 0) close(fd);
    return good ? fd : -1;
}

static bool run_started(const struct tt_bench_case *c, struct tt_bench_result *result)
{
    int fd = make_file();
    if (fd < 0) return false;
    bool good = launch(c, fd) && pread(fd, result, sizeof *result, 0) == sizeof *result;
    close(fd);
    return good;
}

/* Runs the ranks of this process as threads that form one job with those of the other processes. */
static bool run_threads(tutti_client *client, const struct tt_bench_case *c,
                        struct tt_bench_result *result)
{
    tutti_team *world = tutti_world(client);
    struct shared shared = {.c = c, .result = result};
    int mine = tt_min(c->threads, ranks_of(c) - tutti_rank(world) * c->threads);
    tutti_status status = tutti_team_threads(world, mine, thread_rank, &shared);
    return (status == TUTTI_OK || failed()) && shared.failures == 0;
}

/* Runs a case as a process that is a rank, or whose threads are ranks. */
static bool run_rank(tutti_client *client, struct tt_bench_case *c, struct tt_bench_result *result)
{
    bool good = tt_bench_begin(c);
    if (good)
        good = c->threads > 0 ? run_threads(client, c, result) : tt_bench_rank(client, c, result);
    tt_bench_end(c);
    return good;
}

static bool join_and_run(struct tt_bench_case *c, int fd)
{
    struct tt_bench_result result = {0};
    tutti_client *client;
    if (tutti_init(&client) != TUTTI_OK) return failed();
    bool good = run_rank(client, c, &result);
    if (good && tutti_rank(tutti_world(client)) == 0)
        good = pwrite(fd, &result, sizeof result, 0) == sizeof result;
    return tutti_finalize(client) == TUTTI_OK && good;
}

int tt_bench_rank_main(int argc, char **argv)
{
    struct tt_bench_case c = {0};
    if (argc != 9 || !tt_problem_open("tutti bench", &c.problem, argv[1])) {
        fprintf(stderr, "tutti bench-rank: only `tutti bench` calls this\n");
        return TT_EXIT_USAGE;
    }
    if (strcmp(argv[2], "-") != 0) c.algorithm = argv[2];
    c.time_ns = atoll(argv[3]);
    c.iterations = atoll(argv[4]);
    c.gaps = strstr(argv[6], "gaps") != NULL;
    c.batch_ns = atoll(argv[7]);
    c.threads = atoi(argv[8]);
    c.reversed = strstr(argv[6], "reversed") != NULL;
    c.beside = strstr(argv[6], "beside") != NULL;
    c.identities = strstr(argv[6], "identities") != NULL;
    return join_and_run(&c, atoi(argv[5])) ? TT_EXIT_OK : TT_EXIT_FAILED;
}

/* ---- The job of a launcher ---- */

/* An order of rank 0 to the other ranks: they run a case, or end because no case is left. */
struct bench_order {
    bool ends;
    int32_t code;              /* if it ends: the exit code of all ranks */
    struct tt_bench_case c;    /* `algorithm` is a pointer of rank 0, and means nothing elsewhere */
    char algorithm[ALGORITHM]; /* "": the library chooses */
};

static bool share(tutti_client *client, struct bench_order *order)
{
    return tutti_bcast(tutti_world(client), order, sizeof *order, TUTTI_U8, 0) == TUTTI_OK ||
           failed();
}

/* Runs the case of an order, as every rank does. */
static bool obey(tutti_client *client, struct bench_order *order, struct tt_bench_result *result)
{
    order->c.algorithm = order->algorithm[0] ? order->algorithm : NULL;
    order->c.apart = true;
    return run_rank(client, &order->c, result);
}

bool tt_bench_processes(struct tt_bench_job *job, const struct tt_bench_case *c,
                        struct tt_bench_result *result)
{
    struct bench_order order = {.c = *c};
    if (!job) return run_started(c, result);
    if (job->failed) return false;
    if (c->algorithm) snprintf(order.algorithm, sizeof order.algorithm, "%s", c->algorithm);
    job->failed = !share(job->client, &order) || !obey(job->client, &order, result);
    return !job->failed;
}

static struct tt_bench_job led; /* the job that this process leads as rank 0 */

/* Orders the other ranks to end with this exit code. Returns the exit code of this rank. */
static int end_job(int code)
{
    struct bench_order last = {.ends = true, .code = code};
    return !led.failed && share(led.client, &last) ? code : TT_EXIT_FAILED;
}

/* Ends the job if rank 0 exits while it leads: argp calls exit after an error in the arguments, and
 * after it has printed the help. So the other ranks end with the same exit code, and not before
 * rank 0 has printed; a launcher might else end rank 0 because another rank has exited. */
static void end_at_exit(int code, void *arg)
{
    (void)arg;
    if (!led.client) return;
    (void)end_job(code);
    (void)tutti_finalize(led.client);
}

static int lead_job(tutti_client *client, int lead(struct tt_bench_job *job, void *arg), void *arg)
{
    led = (struct tt_bench_job){.client = client, .ranks = tutti_size(tutti_world(client))};
    int code = on_exit(end_at_exit, NULL) == 0 ? lead(&led, arg) : TT_EXIT_FAILED;
    code = end_job(code);
    led.client = NULL;
    return code;
}

static int serve_job(tutti_client *client)
{
    for (;;) {
        struct bench_order order;
        struct tt_bench_result result = {0};
        if (!share(client, &order)) return TT_EXIT_FAILED;
        if (order.ends) return order.code;
        if (!obey(client, &order, &result)) return TT_EXIT_FAILED;
    }
}

/* Runs the command as a rank of the launcher's job, and returns the exit code. */
static int take_part(tutti_client *client, int lead(struct tt_bench_job *job, void *arg), void *arg)
{
    int code =
        tutti_rank(tutti_world(client)) == 0 ? lead_job(client, lead, arg) : serve_job(client);
    if (tutti_finalize(client) == TUTTI_OK || code != TT_EXIT_OK) return code;
    (void)failed();
    return TT_EXIT_FAILED;
}

bool tt_bench_as_rank(int lead(struct tt_bench_job *job, void *arg), void *arg, int *code)
{
    tutti_client *client;
    *code = TT_EXIT_FAILED;
    if (!tt_setting("TUTTI_JOB") && !tt_pmix_there()) {
        tt_boot_warn_of_many("starts ranks of its own");
        return false;
    }
    if (tutti_init(&client) != TUTTI_OK) return !failed();
    bool alone = tutti_size(tutti_world(client)) == 1;
    if (alone)
        (void)tutti_finalize(client);
    else
        *code = take_part(client, lead, arg);
    return !alone;
}
