/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that only joins a job under a launcher with PMIx and prints what it sees. Its first
 * argument says what it does:
 *
 *   places      prints which ranks share its memory, which it finds out by writing there, as in
 *               "rank 4: node 1 of 4 on h2, 2 here: 4 5"
 *   records     fetches the address records of all ranks on other nodes and compares them with
 *               what those ranks published
 *   ring        fetches only the address record of the next rank
 *   watch WHOM  all others watch rank WHOM, which prints a line and then sleeps: the test kills it,
 *               or cuts its host off. Each of the others prints a line such as "rank 0: after
 *               8123 ms: rank 6 on h3 cannot be reached: ..."
 *   again WHOM  as watch, but each of the others on other hosts breaks its connection to WHOM three
 *               times, prints a line, and goes on watching
 *   left WHOM   all others watch rank WHOM, which leaves in order
 *   reach WHOM  rank WHOM kills itself, and the others on its host then try to read and write its
 *               memory. Each of these prints "rank 1: PEER: rank 0 on h1 is gone: ..."
 *   join        does nothing else
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "boot/boot.h"
#include "boot/pmix.h"
#include "boot/watch.h"
#include "boot/watch-net.h"
#include "fabric/wire.h"

enum { ADDRESS = 700 };

static struct tt_seat seat;
static struct tt_fabric fabric;

static void leave(tutti_status status)
{
    tt_common_leave(fabric.job, fabric.common, fabric.me);
    tt_watch_close(&fabric);
    tt_fabric_close(&fabric);
    tt_boot_detach(&seat, status);
}

static void must(tutti_status status, const char *what)
{
    if (status == TUTTI_OK) return;
    printf("rank %d: %s: %s\n", fabric.me, what, tutti_error());
    fflush(stdout);
    if (fabric.job) {
        tt_common_fail(fabric.job, fabric.common, fabric.me, TT_CAUSE_STATUS, (int)status);
        leave(status);
    }
    exit(1);
}

static void fill(uint8_t address[ADDRESS], int rank)
{
    for (int i = 0; i < ADDRESS; i++) address[i] = (uint8_t)(rank * 31 + i);
}

static void join(void)
{
    uint8_t address[ADDRESS];
    must(tt_boot_attach(&seat, NULL), "attach");
    must(tt_fabric_init(&fabric, &seat), "init");
    fill(address, seat.rank);
    must(tt_boot_meet(&fabric), "meet");
    must(tt_boot_show(&fabric, address, sizeof address), "show");
}

/* ---- The actions ---- */

/* Returns the address of a rank's mark in shared memory; NULL if the rank has not published it
 * yet. */
static _Atomic int64_t *word_of(int rank)
{
    int64_t offset = atomic_load(&fabric.common->rank[rank].world);
    return offset ? tt_fabric_at(&fabric, offset) : NULL;
}

static bool is_marked(int rank)
{
    const _Atomic int64_t *word = word_of(rank);
    return word && atomic_load(word) == 1000 + rank;
}

/* Writes a mark to this rank's memory, and prints the ranks that share memory with it and whose
 * marks it finds. These must be exactly the ranks of its node. */
static void places(void)
{
    char text[256] = "";
    int here = 0;
    int64_t offset;
    must(tt_arena_alloc(&fabric.arena, 4096, &offset), "arena");
    atomic_store((_Atomic int64_t *)tt_fabric_at(&fabric, offset), 1000 + fabric.me);
    atomic_store(&fabric.common->rank[fabric.me].world, offset);
    for (int r = 0; r < fabric.size; r++) {
        if (!tt_fabric_shares(&fabric, r)) continue;
        for (int ms = 0; ms < 10000 && !is_marked(r); ms++) usleep(1000);
        if (!is_marked(r)) continue;
        here++;
        snprintf(text + strlen(text), sizeof text - strlen(text), " %d", r);
    }
    printf("rank %d: node %d of %d on %s, %d here:%s\n", fabric.me,
           fabric.node ? fabric.node[fabric.me] : 0, fabric.nodes, fabric.job->rank[fabric.me].host,
           here, text);
}

static void fetch(int rank)
{
    uint8_t reported[TT_WIRE_ADDRESS], wanted[ADDRESS];
    size_t n = 0;
    struct tt_asked asked = {0};
    tutti_status status;
    while ((status = tt_boot_address(&fabric, rank, &asked, reported, &n)) == TUTTI_AGAIN)
        usleep(1000);
    must(status, "address");
    fill(wanted, rank);
    printf("rank %d: address record of %d %s\n", fabric.me, rank,
           n == ADDRESS && memcmp(reported, wanted, n) == 0 ? "good" : "WRONG");
}

/* Waits for all ranks, because an address record is available only as long as its rank runs. */
static void stay(void)
{
    struct tt_reply *reply = tt_directory()->fence();
    if (reply) (void)tt_reply_answered(reply, tt_clock_ns() + INT64_C(30000000000));
    must(tt_reply_end(reply, NULL, 0, NULL), "fence");
}

static void records(void)
{
    for (int r = 0; r < fabric.size; r++)
        if (!tt_fabric_shares(&fabric, r)) fetch(r);
    stay();
}

static void ring(void)
{
    int next = (fabric.me + 1) % fabric.size;
    if (!tt_fabric_shares(&fabric, next)) fetch(next);
    stay();
}

/* Returns whether a descriptor is a TCP connection to another host. */
static bool leads_away(int fd)
{
    uint8_t own[TT_RECORD_ADDRESSES][16], to[16] = {0};
    struct sockaddr_in6 at = {0};
    socklen_t bytes = sizeof at;
    if (getpeername(fd, (struct sockaddr *)&at, &bytes) != 0) return false;
    if (at.sin6_family != AF_INET && at.sin6_family != AF_INET6) return false;
    if (at.sin6_family == AF_INET)
        memcpy(to + 12, &((struct sockaddr_in *)&at)->sin_addr, 4);
    else
        memcpy(to, &at.sin6_addr, 16);
    for (int i = tt_host_addresses(own) - 1; i >= 0; i--)
        if (memcmp(own[i] + 12, to + 12, 4) == 0) return false;
    return true;
}

/* Returns the connection by which this process watches a rank of another host; -1: it is not up. */
static int connection(void)
{
    for (int fd = 3; fd < 256; fd++)
        if (leads_away(fd)) return fd;
    return -1;
}

/* Looks at the rank that is watched. If the connection to it was up before, then breaks it, as the
 * kernel does if the other host does not answer. Does so three times, and then prints a line. */
static void look_and_break(void)
{
    static int times;
    int error;
    socklen_t bytes = sizeof error;
    const struct sockaddr none = {.sa_family = AF_UNSPEC};
    int fd = times < 3 ? connection() : -1;
    usleep(60000); /* tt_watch_look looks once in 50 ms */
    tt_watch_look(&fabric);
    if (fd < 0 || connect(fd, &none, sizeof none) != 0) return;
    (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error,
                     &bytes); /* so that it does not say "reset" */
    if (++times == 3) printf("rank %d: broke its connection three times\n", fabric.me);
    fflush(stdout);
}

static void watch(int whom, bool breaks)
{
    char text[160];
    int64_t begin = tt_clock_ns();
    if (whom == fabric.me) {
        usleep(3000000); /* after 3 s the other ranks are connected */
        printf("rank %d: pid %d sleeps\n", whom, (int)getpid());
        fflush(stdout);
        sleep(120);
        return;
    }
    while (tt_common_state(fabric.job, fabric.common, whom) != TT_RANK_FAILED &&
           tt_clock_ns() - begin < 60000000000) {
        tt_watch(&fabric, whom);
        tt_watch_look(&fabric);
        usleep(20000);
        if (breaks && !tt_fabric_shares(&fabric, whom)) look_and_break();
    }
    printf("rank %d: after %lld ms: %s\n", fabric.me,
           (long long)((tt_clock_ns() - begin) / 1000000),
           tt_common_cause_text(fabric.job, fabric.common, whom, text, sizeof text));
}

static void left(int whom)
{
    if (whom == fabric.me)
        usleep(1000000);
    else
        watch(whom, false);
}

/* Returns whether the process of rank `whom` has ended. A zombie counts as ended, because the
 * kernel has freed its memory. */
static bool has_ended(int whom)
{
    char state = 0;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)atomic_load(&fabric.job->rank[whom].pid));
    FILE *file = fopen(path, "r");
    if (!file) return true;
    int got = fscanf(file, "%*d (%*[^)]) %c", &state);
    fclose(file);
    return got != 1 || state == 'Z' || state == 'X';
}

static void reach(int whom)
{
    uint64_t word = 0;
    if (whom == fabric.me) (void)raise(SIGKILL);
    while (!has_ended(whom)) usleep(1000);
    tt_address there = atomic_load(&fabric.job->rank[whom].probe);
    tutti_status status = fabric.me & 1 ? tt_fabric_read(&fabric, whom, &word, there, sizeof word)
                                        : tt_fabric_write(&fabric, whom, there, &word, sizeof word);
    printf("rank %d: %s: %s\n", fabric.me, status == TUTTI_ERR_PEER ? "PEER" : "another status",
           tutti_error());
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "join";
    int whom = argc > 2 ? atoi(argv[2]) : -1;
    join();
    if (strcmp(what, "places") == 0) places();
    if (strcmp(what, "records") == 0) records();
    if (strcmp(what, "ring") == 0) ring();
    if (strcmp(what, "watch") == 0) watch(whom, false);
    if (strcmp(what, "again") == 0) watch(whom, true);
    if (strcmp(what, "left") == 0) left(whom);
    if (strcmp(what, "reach") == 0) reach(whom);
    fflush(stdout);
    leave(TUTTI_OK);
    return 0;
}
