/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests how a rank waits on a processor that others want, and when a wait calls the hook of the
 * program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/wait.h"

enum { SCHEDULING_WORDS = 12, SLICE_AT = 6 };

/* The linker calls this function in place of the C library's (`--wrap` in CMakeLists.txt). It
 * counts the calls of membarrier, and makes each call. */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
static _Atomic int membarriers;

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (number == SYS_membarrier) atomic_fetch_add(&membarriers, 1);
    return __real_syscall(number, a, b, c, d, e, f);
}

static cpu_set_t allowed; /* the processors that this process may use */

/* Returns this thread's time slice in ns; 0: the kernel does not know slices of threads. */
static uint64_t slice(void)
{
    uint32_t is[SCHEDULING_WORDS] = {0};
    uint64_t ns;
    assert_int_equal(syscall(SYS_sched_getattr, 0, is, sizeof is, 0), 0);
    memcpy(&ns, is + SLICE_AT, sizeof ns);
    return ns;
}

/* Binds this thread, and those that it starts, to one processor. */
static void bind_to_one(void)
{
    cpu_set_t all, one;
    int cpu = 0;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(cpu, &all)) cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

static void calculate_for(int64_t ns)
{
    for (int64_t until = tt_clock_ns() + ns; tt_clock_ns() < until;) continue;
}

/* Starts a process that calculates on the processor of this thread. After each 3 ms it yields, or
 * sleeps for `pause_ms` milliseconds. */
static pid_t start_calculating(int pause_ms)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;; pause_ms ? (void)usleep(1000U * (unsigned)pause_ms) : (void)sched_yield())
        calculate_for(3000000);
}

static void stop(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Returns the page of a job in which rank 0 is this process, and the next ranks are the processes
 * in `pids`, a list that ends with 0. */
static struct tt_job_page *job_with(const pid_t *pids)
{
    struct tt_job_page *job = calloc(1, sizeof *job + 4 * sizeof job->rank[0]);
    assert_non_null(job);
    tt_segment_set_process(&job->rank[0], getpid());
    for (job->size = 1; *pids; job->size++) tt_segment_set_process(&job->rank[job->size], *pids++);
    assert_true(tt_wait_register());
    return job;
}

static struct tt_job_page *job_of_two(pid_t pid)
{
    return job_with((pid_t[]){pid, 0});
}

/* Checks that a waiting thread sleeps if another program calculates on its processor, although
 * TUTTI_YIELDS (see main) would let it yield almost without end. Also checks its time slice: the
 * wait asks the kernel for a short slice, and asks for the old one when a later yield takes little
 * time. Here this happens in a second wait, after the other program has ended. */
static void a_waiter_sleeps_where_others_calculate(void **state)
{
    struct tt_job_page *job = job_of_two(getpid());
    struct tt_wait wait;
    const uint64_t before = slice();
    (void)state;
    const struct tt_wait_policy policy = tt_wait_policy_for(2, 1, false);
    assert_int_equal(policy.yields, 1000000000);
    bind_to_one();
    pid_t other = start_calculating(0);
    tt_wait_begin(&wait, &policy, job, 0);
    while (!wait.announced) tt_wait_more(&wait);
    assert_int_equal(atomic_load(&job->sleepers), 1);
    tt_wait_done(&wait);
    assert_int_equal(atomic_load(&job->sleepers), 0);
    assert_true(before == 0 || slice() < before);
    stop(other);
    tt_wait_begin(&wait, &policy, job, 0);
    for (; slice() != before; tt_wait_afresh(&wait)) tt_wait_more(&wait);
    tt_wait_done(&wait);
    free(job);
}

/* Checks that a process which has the pid of a rank does not count as the rank if the rank is in
 * another PID namespace. Here this process is another program, and it calculates. */
static void a_pid_of_another_namespace_is_no_rank(void **state)
{
    const struct tt_wait_policy policy = tt_wait_policy_for(2, 1, false);
    struct tt_wait wait;
    (void)state;
    bind_to_one();
    pid_t other = start_calculating(0);
    struct tt_job_page *job = job_of_two(other);
    assert_int_equal(tt_segment_pid(&job->rank[1], &job->rank[0]), other);
    atomic_fetch_add(&job->rank[1].pid_space, 1);
    assert_int_equal(tt_segment_pid(&job->rank[1], &job->rank[0]), 0);
    tt_wait_begin(&wait, &policy, job, 0);
    while (!wait.announced) tt_wait_more(&wait);
    tt_wait_done(&wait);
    stop(other);
    for (int r = 0; r < 2; r++) atomic_store(&job->rank[r].pid_space, 0); /* not known */
    assert_int_equal(tt_segment_pid(&job->rank[1], &job->rank[0]), 0);
    free(job);
}

/* Checks in which jobs a wait is `exact`: in jobs of several nodes whose ranks share processors. An
 * exact wait yields as often as its policy says, even if other programs seem to want the processor,
 * and does not sleep earlier. In such a job, the work of the kernel for the network, and ranks in
 * other containers, would look like other programs. */
static void only_a_single_node_judges_others(void **state)
{
    (void)state;
    assert_false(tt_wait_policy_for(8, 2, false).exact);
    assert_true(tt_wait_policy_for(8, 2, true).exact);
    assert_false(tt_wait_policy_for(2, 2, true).exact);
}

/* Waits for half a second. Returns whether the thread yielded all the time and did not want to
 * sleep. */
static bool yields_only(const struct tt_wait_policy *policy, struct tt_job_page *job)
{
    struct tt_wait wait;
    tt_wait_begin(&wait, policy, job, 0);
    int64_t until = tt_clock_ns() + 500000000;
    while (!wait.announced && tt_clock_ns() < until) tt_wait_more(&wait);
    bool yielded = !wait.announced;
    tt_wait_done(&wait);
    return yielded;
}

/* Checks that a waiter yields, and does not sleep, while another process calculates on its
 * processor, with pauses of `pause_ms` milliseconds (0: none). `is_rank`: that process is a rank of
 * the job. `idle` is another rank, which is blocked, and may run on all processors; 0: there is
 * none. The waiter and the other process have priority over other programs of the machine. The
 * kernel or the host of a virtual machine may nevertheless take the processor away, so it is enough
 * if one of many tries succeeds. */
static void yields_beside(int pause_ms, bool is_rank, pid_t idle)
{
    const struct tt_wait_policy policy = {
        .yields = INT_MAX, .cores = idle ? 2 : 1, .can_sleep = true};
    const struct sched_param least = {.sched_priority = 1}, none = {0};
    int tries = 50;
    bind_to_one();
    if (sched_setscheduler(0, SCHED_FIFO, &least) != 0) skip();
    pid_t other = start_calculating(pause_ms);
    struct tt_job_page *job = job_with(is_rank ? (pid_t[]){other, idle, 0} : (pid_t[]){0});
    while (--tries > 0 && !yields_only(&policy, job)) usleep(50000);
    stop(other);
    assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &none), 0);
    free(job);
    assert_true(tries > 0);
}

static void a_waiter_yields_to_ranks_of_its_job(void **state)
{
    (void)state;
    yields_beside(0, true, 0);
}

/* A program that calculates for a third of the time takes less from the ranks than sleeps would. */
static void a_waiter_yields_to_a_program_that_pauses(void **state)
{
    (void)state;
    yields_beside(6, false, 0);
}

/* Checks that a waiter is not misled by a rank that is blocked and leaves its processor idle: that
 * is no sign that other programs want the processor of the waiter. */
static void a_waiter_minds_its_own_processor(void **state)
{
    cpu_set_t all;
    (void)state;
    assert_int_equal(sched_setaffinity(0, sizeof allowed, &allowed), 0);
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2) skip();
    pid_t idle = fork();
    assert_true(idle >= 0);
    if (idle == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) pause();
    }
    yields_beside(0, true, idle);
    stop(idle);
}

/* ---- Processors, and hooks ---- */

/* Checks that all ranks use the least number of processors that any of them finds. Ranks whose
 * cgroups differ find different numbers. */
static void the_least_number_of_processors_counts(void **state)
{
    static struct tt_common common;
    (void)state;
    int mine = tt_common_find_cores(&common);
    assert_true(mine >= 1);
    assert_int_equal(common.cores, mine);
    atomic_store(&common.cores, mine + 1);
    assert_int_equal(tt_common_find_cores(&common), mine);
    assert_int_equal(common.cores, mine);
    atomic_store(&common.cores, mine - 1);
    assert_int_equal(tt_common_find_cores(&common), mine);
    assert_int_equal(common.cores, mine > 1 ? mine - 1 : mine);
}

static void count(void *arg)
{
    ++*(int *)arg;
}

/* Calls tt_wait_more n times. Returns how often the hook was called. */
static int look(struct tt_wait *wait, int n)
{
    int *calls = wait->policy->hook.arg, before = *calls;
    for (int i = 0; i < n; i++) tt_wait_more(wait);
    return *calls - before;
}

/* Begins a wait of 20 spins and then 1000 yields on a job of one rank, with a hook. */
static void begin_hooked(struct tt_wait *wait, struct tt_wait_policy *policy,
                         struct tt_job_page *job, int *calls, int first)
{
    *policy = (struct tt_wait_policy){.spins = 20, .yields = 1000, .exact = true};
    tt_wait_set_sleep(policy, 1000);
    tt_wait_set_hook(policy, (struct tt_wait_hook){count, calls, first, 10});
    tt_wait_begin(wait, policy, job, 0);
}

static struct tt_job_page *job_of_one(void)
{
    struct tt_job_page *job = calloc(1, sizeof *job + sizeof job->rank[0]);
    assert_non_null(job);
    assert_true(tt_wait_register());
    return job;
}

/* Checks in which calls of tt_wait_more a wait calls the hook: in the one after the first `first`
 * calls, and then in every tenth call, whether the wait spins or yields, and however often the wait
 * begins afresh. */
static void a_hook_comes_after_its_looks(void **state)
{
    struct tt_job_page *job = job_of_one();
    struct tt_wait_policy policy;
    struct tt_wait wait;
    int calls = 0;
    (void)state;
    for (int first = 1; first < 60; first += 7) {
        begin_hooked(&wait, &policy, job, &calls, first);
        assert_int_equal(look(&wait, first), 0);
        for (int i = 0; i < 9; i++) {
            assert_int_equal(look(&wait, 1), 1);
            assert_int_equal(look(&wait, 9), 0);
        }
        tt_wait_afresh(&wait);
        assert_int_equal(look(&wait, 100), 10);
        tt_wait_done(&wait);
    }
    begin_hooked(&wait, &policy, job, &calls, 20);
    for (int i = 0; i < 4; i++, tt_wait_afresh(&wait)) assert_int_equal(look(&wait, 5), 0);
    assert_int_equal(look(&wait, 1), 1);
    tt_wait_done(&wait);
    free(job);
}

/* Checks that the hook is called once before each sleep: before the thread announces in the job
 * page that it will sleep. If the wait may not sleep, it yields instead. */
static void a_hook_comes_before_each_sleep(void **state)
{
    struct tt_job_page *job = job_of_one();
    struct tt_wait_policy policy;
    struct tt_wait wait;
    int calls = 0;
    (void)state;
    begin_hooked(&wait, &policy, job, &calls, 1000000);
    policy.yields = 5;
    assert_int_equal(look(&wait, 25), 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(look(&wait, 1), 1);
        assert_true(wait.announced);
        assert_int_equal(look(&wait, 1), 0); /* this look sleeps */
        assert_false(wait.announced);
    }
    tt_wait_done(&wait);
    begin_hooked(&wait, &policy, job, &calls, 1000000);
    policy.yields = 5;
    tt_wait_set_sleep(&policy, 0);
    assert_int_equal(look(&wait, 3000), 0);
    assert_false(wait.announced);
    tt_wait_set_hook(&policy, (struct tt_wait_hook){.call = NULL});
    assert_int_equal(policy.quiet, policy.spins);
    tt_wait_done(&wait);
    free(job);
}

/* Checks that a thread calls membarrier before it sleeps only if signallers use no fences. In each
 * turn of the inner loop, the thread announces that it will sleep (first call of tt_wait_more) and
 * then sleeps (second call). */
static void a_sleeper_needs_one_barrier(void **state)
{
    struct tt_job_page *job = job_of_one();
    struct tt_wait_policy policy;
    struct tt_wait wait;
    (void)state;
    for (int fences = 0; fences < 2; fences++) {
        int calls = 0, wanted = fences ? 0 : 20;
        begin_hooked(&wait, &policy, job, &calls, 1000000);
        policy.yields = 0;
        policy.fences = fences;
        look(&wait, 20);
        const int before = atomic_load(&membarriers);
        for (int i = 0; i < 20; i++) {
            look(&wait, 1);
            assert_true(wait.announced);
            look(&wait, 1); /* this look sleeps */
        }
        tt_wait_done(&wait);
        assert_int_equal(atomic_load(&membarriers) - before, wanted);
    }
    free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sleeper_needs_one_barrier),
        cmocka_unit_test(the_least_number_of_processors_counts),
        cmocka_unit_test(a_hook_comes_after_its_looks),
        cmocka_unit_test(a_hook_comes_before_each_sleep),
        cmocka_unit_test(only_a_single_node_judges_others),
        cmocka_unit_test(a_waiter_sleeps_where_others_calculate),
        cmocka_unit_test(a_pid_of_another_namespace_is_no_rank),
        cmocka_unit_test(a_waiter_yields_to_ranks_of_its_job),
        cmocka_unit_test(a_waiter_yields_to_a_program_that_pauses),
        cmocka_unit_test(a_waiter_minds_its_own_processor),
    };
    sched_getaffinity(0, sizeof allowed, &allowed);
    setenv("TUTTI_YIELDS", "1000000000", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
