/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fall COLLECTIVE VICTIM MANNER WHEN [first]: a rank on which others wait in a collective drops
 * out, and the others continue.
 *
 *   VICTIM   a rank, or the first and the last rank of a host, as in 4-5
 *   MANNER   kill, exit (by _exit), finalize; or cut: the script cuts the host off once all ranks
 *            have printed that they wait
 *   WHEN     early: before the others call the collective, or late: while they wait in it
 *   first    all ranks have called the collective once before, so that its connections exist
 *
 * Every survivor must get TUTTI_ERR_PEER with a message that names the victim and the true cause.
 * Then it agrees with the others on which ranks failed, creates a smaller team, and computes a sum
 * on it. A survivor prints a line "rank 3: reported after 120 ms: ..." and exits with 0 if all this
 * was right.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tutti/tutti.h>

enum {
    N = 24,
    MOST = 16,
    CALLS = 5000,
    CUT_MS = 120000, /* a job waits at most so long until the script cuts the host off */
    PAUSE_US = 200000,
    PACE_US = 20000,  /* pause between calls that succeed */
    FILL_US = 1000000 /* how long a victim that is to be cut off waits before it calls the
                       * collective. Meanwhile a root that need not wait for others in a call fills
                       * all slots of the team with calls, and then waits, too. */
};

static tutti_client *client;
static int me, p, first, last; /* first, last: the lowest and the highest victim */
static const char *manner;
static double in[MOST * N], out[MOST * N];
static int64_t counts[MOST], displs[MOST];

static void fail(const char *what, const char *text)
{
    printf("rank %d: FAILED: %s: %s\n", me, what, text);
    fflush(stdout);
    _exit(1);
}

static void must(tutti_status status, const char *what)
{
    if (status != TUTTI_OK) fail(what, tutti_error());
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- Collectives ---- */

typedef tutti_status call_fn(tutti_team *t);

static tutti_status barrier(tutti_team *t)
{
    return tutti_barrier(t);
}
static tutti_status bcast(tutti_team *t)
{
    return tutti_bcast(t, in, N, TUTTI_F64, 1);
}
static tutti_status reduce(tutti_team *t)
{
    return tutti_reduce(t, in, out, N, TUTTI_F64, TUTTI_SUM, 1);
}
static tutti_status allreduce(tutti_team *t)
{
    return tutti_allreduce(t, in, out, N, TUTTI_F64, TUTTI_SUM);
}
static tutti_status reduce_scatter_block(tutti_team *t)
{
    return tutti_reduce_scatter_block(t, in, out, N, TUTTI_F64, TUTTI_SUM);
}
static tutti_status reduce_scatter(tutti_team *t)
{
    return tutti_reduce_scatter(t, in, out, counts, TUTTI_F64, TUTTI_SUM);
}
static tutti_status gather(tutti_team *t)
{
    return tutti_gather(t, in, out, N, TUTTI_F64, 1);
}
static tutti_status scatter(tutti_team *t)
{
    return tutti_scatter(t, in, out, N, TUTTI_F64, 1);
}
static tutti_status gatherv(tutti_team *t)
{
    return tutti_gatherv(t, in, N, out, counts, displs, TUTTI_F64, 1);
}
static tutti_status scatterv(tutti_team *t)
{
    return tutti_scatterv(t, in, counts, displs, out, N, TUTTI_F64, 1);
}
static tutti_status scan(tutti_team *t)
{
    return tutti_scan(t, in, out, N, TUTTI_F64, TUTTI_SUM);
}
static tutti_status exscan(tutti_team *t)
{
    return tutti_exscan(t, in, out, N, TUTTI_F64, TUTTI_SUM);
}
static tutti_status allgather(tutti_team *t)
{
    return tutti_allgather(t, in, out, N, TUTTI_F64);
}
static tutti_status allgatherv(tutti_team *t)
{
    return tutti_allgatherv(t, in, out, counts, displs, TUTTI_F64);
}
static tutti_status alltoall(tutti_team *t)
{
    return tutti_alltoall(t, in, out, N, TUTTI_F64);
}
static tutti_status alltoallv(tutti_team *t)
{
    return tutti_alltoallv(t, in, counts, displs, out, counts, displs, TUTTI_F64);
}

static const struct {
    const char *name;
    call_fn *call;
} collectives[] = {
#define ROW(name)                                                                                  \
    {                                                                                              \
#name, name                                                                                \
    }
    ROW(barrier),    ROW(bcast),     ROW(reduce),   ROW(allreduce), ROW(reduce_scatter_block),
    ROW(gather),     ROW(allgather), ROW(alltoall), ROW(alltoallv), ROW(reduce_scatter),
    ROW(allgatherv), ROW(scatter),   ROW(scan),     ROW(exscan),    ROW(gatherv),
    ROW(scatterv)
#undef ROW
};

static call_fn *find(const char *name)
{
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
        if (strcmp(collectives[i].name, name) == 0) return collectives[i].call;
    fail("no collective", name);
    return NULL;
}

/* ---- Dropping out ---- */

static bool is_victim(int r)
{
    return r >= first && r <= last;
}

static bool is_cut(void)
{
    return strcmp(manner, "cut") == 0;
}

/* Returns whether the error of this rank may name rank r as the one that failed: r is a victim or,
 * if this rank is on the host that is cut off, r is on another host. */
static bool loses(int r)
{
    return is_cut() && is_victim(me) ? !is_victim(r) : is_victim(r);
}

static void fall(void)
{
    if (strcmp(manner, "kill") == 0) raise(SIGKILL);
    if (strcmp(manner, "exit") == 0) _exit(0);
    tutti_finalize(client);
    printf("rank %d: left\n", me);
    exit(0);
}

/* ---- Surviving ---- */

static void check_cause(const char *text)
{
    int rank = -1;
    const char *at = strstr(text, "rank ");
    const char *cause = is_cut() ? " cannot be reached"
                        : strcmp(manner, "finalize") == 0
                            ? " left the job while it was still needed"
                            : " is gone: its process ended";
    if (!at || sscanf(at, "rank %d", &rank) != 1 || !loses(rank)) fail("the wrong rank", text);
    if (!strstr(text, cause)) fail("the wrong cause", text);
}

/* Returns whether a call may still succeed. A call in which this rank waits for nobody may succeed
 * some times after the victim has dropped out. All calls succeed until the script has cut the host
 * off. */
static bool goes_on(int64_t begin, int calls)
{
    return is_cut() ? now_ms() - begin < CUT_MS : calls < CALLS;
}

static void wait_in_vain(tutti_team *team, call_fn *call)
{
    int64_t begin = now_ms();
    tutti_status status = TUTTI_OK;
    for (int i = 0; goes_on(begin, i) && status == TUTTI_OK; i++) {
        status = call(team);
        if (is_cut() && status == TUTTI_OK) usleep(PACE_US);
    }
    if (status != TUTTI_ERR_PEER) fail("not PEER", status == TUTTI_OK ? "OK" : tutti_error());
    check_cause(tutti_error());
    printf("rank %d: reported after %lld ms: %s\n", me, (long long)(now_ms() - begin),
           tutti_error());
    fflush(stdout);
}

/* Makes the first call. A victim that kills itself does so as soon as its own part of this call is
 * done. Other ranks may still be in the call then, and for them the call may fail. */
static void first_call(tutti_team *team, call_fn *call)
{
    tutti_status status = call(team);
    if (status != TUTTI_ERR_PEER || is_cut()) must(status, "the first call");
}

static void recover(tutti_team *team)
{
    tutti_team *rest;
    int64_t value = ~(INT64_C(1) << me), all = -1, one = 1, sum = 0;
    int failed = 0, n = 0, ranks[MOST], lost = 0;
    for (int r = 0; r < p; r++) {
        lost += loses(r);
        if (!loses(r)) all &= ~(INT64_C(1) << r);
    }
    must(tutti_team_agree(team, &value, &failed), "agree");
    must(tutti_team_failed(team, ranks, MOST, &n), "failed");
    if (failed != lost || n != lost || value != all) fail("agreed on something else", "");
    for (int i = 0; i < n; i++)
        if (!loses(ranks[i])) fail("agreed on others", "");
    must(tutti_team_shrink(team, &rest), "shrink");
    must(tutti_allreduce(rest, &one, &sum, 1, TUTTI_I64, TUTTI_SUM), "go on");
    if (sum != p - lost || tutti_size(rest) != p - lost) fail("a wrong sum", "");
    must(tutti_barrier(rest), "the last barrier");
    must(tutti_team_free(rest), "free");
}

static void prepare(const char *victim)
{
    must(tutti_init(&client), "init");
    me = tutti_rank(tutti_world(client));
    p = tutti_size(tutti_world(client));
    first = last = atoi(victim);
    if (strchr(victim, '-')) last = atoi(strchr(victim, '-') + 1);
    for (int r = 0; r < p; r++) {
        counts[r] = N;
        displs[r] = r * N;
    }
}

int main(int argc, char **argv)
{
    if (argc < 5) return 2;
    manner = argv[3];
    prepare(argv[2]);
    tutti_team *world = tutti_world(client);
    call_fn *call = find(argv[1]);
    bool early = strcmp(argv[4], "early") == 0;
    if (argc > 5) first_call(world, call);
    if (!is_cut() && is_victim(me)) {
        if (!early) usleep(PAUSE_US);
        fall();
    }
    if (early) usleep(PAUSE_US);
    if (is_cut() && early) must(tutti_barrier(world), "the barrier before");
    if (is_cut()) {
        printf("rank %d: waits\n", me);
        fflush(stdout);
        if (is_victim(me)) usleep(FILL_US);
    }
    wait_in_vain(world, call);
    recover(world);
    printf("rank %d: goes on\n", me);
    tutti_finalize(client);
    return 0;
}
