/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that does what the tests of `tutti run` need: rank WHAT. See the table at the end.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tutti/tutti.h>

static int rank_number(void)
{
    const char *text = getenv("TUTTI_RANK");
    return text ? atoi(text) : -1;
}

/* Prints the name of each signal that comes, until the tenth minute or SIGTERM. */
static int signals(void)
{
    static const int numbers[] = {SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM};
    sigset_t set;
    int number = 0;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) sigaddset(&set, numbers[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    alarm(600);
    printf("rank %d pid %d\n", rank_number(), (int)getpid());
    while (number != SIGTERM) {
        fflush(stdout);
        if (sigwait(&set, &number) == 0)
            printf("rank %d %s\n", rank_number(), sigabbrev_np(number));
    }
    return 0;
}

/* Leaves processes behind that try to escape: a child, a daemon in a session of its own that
 * ignores what it can, and one that keeps forking new parents. Their numbers go to stdout. */
static void escape_child(void)
{
    printf("%d\n", (int)getpid());
    fflush(stdout);
    alarm(600);
    for (;;) pause();
}

static void escape_daemon(void)
{
    if (fork() != 0) _exit(0);
    setsid();
    if (fork() != 0) _exit(0);
    for (int number = 1; number < 32; number++) signal(number, SIG_IGN);
    printf("%d\n", (int)getpid());
    fflush(stdout);
    for (int i = 0; i < 600; i++) sleep(1);
    _exit(0);
}

static void escape_runner(void)
{
    setsid();
    for (int i = 0; i < 60000; i++) {
        if (fork() != 0) _exit(0);
        usleep(10000);
    }
    _exit(0);
}

static int escape(void (*end)(void))
{
    static void (*const kinds[])(void) = {escape_child, escape_daemon, escape_runner};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        fflush(stdout);
        if (fork() == 0) kinds[i]();
    }
    printf("rank %d\n", (int)getpid());
    fflush(stdout);
    end();
    return 0;
}

static void stay(void)
{
    signal(SIGTERM, SIG_IGN);
    alarm(600);
    for (;;) pause();
}

/* Time for the daemons to become such. */
static void go_away(void)
{
    sleep(1);
}

static int escape_and_stay(void)
{
    return escape(stay);
}

static int escape_and_go(void)
{
    return escape(go_away);
}

/* Lines in two writes each, numbered, as fast as they go. */
static int chatter(void)
{
    for (int i = 0; i < 2000; i++) {
        printf("line %d of", i);
        fflush(stdout);
        printf(" rank %d end\n", rank_number());
        fflush(stdout);
        if (i % 10 == 0) fprintf(stderr, "error %d of rank %d end\n", i, rank_number());
    }
    return 0;
}

/* ---- With the library ---- */

static int joined(tutti_client **client, tutti_team **world)
{
    if (tutti_init(client) == TUTTI_OK) {
        *world = tutti_world(*client);
        return 1;
    }
    fprintf(stderr, "init: %s\n", tutti_error());
    return 0;
}

/* Adds until somebody fails, and tells who. Rank 1 dies in the midst of it. */
static int add_until_peer_fails(void)
{
    tutti_client *client;
    tutti_team *world;
    int64_t one = 1, sum = 0;
    tutti_status status = TUTTI_OK;
    if (!joined(&client, &world)) return 9;
    for (int i = 0; status == TUTTI_OK; i++) {
        if (tutti_rank(world) == 1 && i == 100) raise(SIGKILL);
        status = tutti_allreduce(world, &one, &sum, 1, TUTTI_I64, TUTTI_SUM);
    }
    printf("rank %d: %s: %s\n", tutti_rank(world), tutti_status_text(status), tutti_error());
    tutti_finalize(client);
    return status == TUTTI_ERR_PEER ? 0 : 8;
}

/* Rank 0 exits without a word after a barrier; the others wait for it, if not still in that one. */
static int desert(void)
{
    static tutti_client *client; /* still known at the exit: no leak */
    tutti_team *world;
    if (!joined(&client, &world)) return 9;
    tutti_status status = tutti_barrier(world);
    if (tutti_rank(world) == 0) return status == TUTTI_OK ? 0 : 8;
    if (status == TUTTI_OK) status = tutti_barrier(world);
    printf("rank %d: %s: %s\n", tutti_rank(world), tutti_status_text(status), tutti_error());
    tutti_finalize(client);
    return status == TUTTI_ERR_PEER ? 0 : 8;
}

/* Rank 1 never joins. */
static int stay_away(void)
{
    tutti_client *client;
    if (rank_number() == 1) return 0;
    tutti_status status = tutti_init(&client);
    printf("rank %d: %s: %s\n", rank_number(), tutti_status_text(status), tutti_error());
    return status == TUTTI_ERR_PEER ? 0 : 8;
}

/* This program's function stands before the shared library's, which asks itself for its version: so
 * rank 1 is linked to another one. */
static const char *version = TUTTI_VERSION;
const char *tutti_version(void)
{
    return version;
}

static int join(void)
{
    tutti_client *client;
    tutti_team *world;
    if (!joined(&client, &world)) return 1;
    return tutti_finalize(client) == TUTTI_OK ? 0 : 8;
}

/* Adds once, and tells how it went. */
static int add(void)
{
    tutti_client *client;
    tutti_team *world;
    int64_t one = 1, sum = 0;
    if (!joined(&client, &world)) return 1;
    tutti_status status = tutti_allreduce(world, &one, &sum, 1, TUTTI_I64, TUTTI_SUM);
    printf("%s: %s\n", tutti_status_text(status), status ? tutti_error() : "");
    return tutti_finalize(client) == TUTTI_OK ? 0 : 8;
}

/* Connected ones of TCP that the kernel lets so much be sent ahead of. */
static int sockets_with(int queue)
{
    int n = 0;
    for (int fd = 0; fd < 1024; fd++) {
        struct sockaddr_storage peer;
        socklen_t peer_bytes = sizeof peer, bytes = sizeof(int);
        int is = 0;
        if (getpeername(fd, (struct sockaddr *)&peer, &peer_bytes) != 0) continue;
        if (peer.ss_family != AF_INET && peer.ss_family != AF_INET6) continue;
        n += getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &is, &bytes) == 0 && is == queue;
    }
    return n;
}

/* Gets 256 KiB of rank 0 and gives each rank its part, and tells whether it sends by the short
 * queues of containers of one machine. */
static int exchange(void)
{
    enum { BYTES = 256 << 10 };
    static char data[BYTES], parts[BYTES];
    tutti_client *client;
    tutti_team *world;
    if (!joined(&client, &world)) return 1;
    memset(data, tutti_rank(world) == 0, sizeof data);
    if (tutti_bcast(world, data, sizeof data, TUTTI_U8, 0) != TUTTI_OK) return 7;
    int64_t each = BYTES / tutti_size(world);
    if (tutti_alltoall(world, data, parts, each, TUTTI_U8) != TUTTI_OK) return 7;
    printf("exchanged %d, %s queues\n", parts[BYTES - 1],
           sockets_with(256 << 10) ? "short" : "long");
    return tutti_finalize(client) == TUTTI_OK ? 0 : 8;
}

static int try_to_join(const char *when)
{
    tutti_client *client = NULL;
    tutti_status status = tutti_init(&client);
    printf("%s: %s: %s\n", when, tutti_status_text(status), status ? tutti_error() : "");
    return tutti_finalize(client) == TUTTI_OK;
}

/* A child may not join beside its parent, whose job goes on. */
static int join_in_child(void)
{
    tutti_client *client;
    tutti_team *world;
    int status = 1;
    if (!joined(&client, &world)) return 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        try_to_join("child");
        fflush(stdout);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 8;
    if (tutti_barrier(world) != TUTTI_OK) return 8;
    return tutti_finalize(client) == TUTTI_OK ? 0 : 8;
}

/* Joins a second time while the client lives, which goes on working, and once more after its
 * end. */
static int join_again(void)
{
    tutti_client *client;
    tutti_team *world;
    int64_t one = 1, sum = 0;
    if (!joined(&client, &world)) return 1;
    if (tutti_barrier(world) != TUTTI_OK || !try_to_join("living")) return 8;
    if (tutti_allreduce(world, &one, &sum, 1, TUTTI_I64, TUTTI_SUM) != TUTTI_OK) return 8;
    printf("sum %d\n", (int)sum);
    return tutti_finalize(client) == TUTTI_OK && try_to_join("left") ? 0 : 8;
}

/* None is left when the next one is made. */
static int join_often(void)
{
    enum { OFTEN = 20 };
    tutti_client *client;
    tutti_team *world;
    for (int i = 0; i < OFTEN; i++) {
        if (!joined(&client, &world)) return 1;
        if (tutti_barrier(world) != TUTTI_OK) {
            fprintf(stderr, "client %d: %s\n", i, tutti_error());
            return 8;
        }
        if (tutti_finalize(client) != TUTTI_OK) return 8;
    }
    printf("joined %d times\n", OFTEN);
    return 0;
}

static void nothing(tutti_client *client, void *arg)
{
    (void)client;
    (void)arg;
}

/* Within the job, which goes on, makes smaller ones of threads. */
static int join_beside_threads(void)
{
    tutti_client *client;
    tutti_team *world;
    if (!joined(&client, &world)) return 1;
    for (int n = 1; n < tutti_size(world); n++)
        if (tutti_threads(n, nothing, NULL) != TUTTI_OK) return 8;
    if (tutti_barrier(world) != TUTTI_OK) return 8;
    return tutti_finalize(client) == TUTTI_OK ? 0 : 8;
}

static int join_as_other(void)
{
    if (rank_number() == 1) version = "0.0.9";
    return join();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } what[] = {{"signals", signals},
                {"escape-and-stay", escape_and_stay},
                {"escape-and-go", escape_and_go},
                {"chatter", chatter},
                {"add-until-peer-fails", add_until_peer_fails},
                {"desert", desert},
                {"stay-away", stay_away},
                {"join", join},
                {"add", add},
                {"exchange", exchange},
                {"join-again", join_again},
                {"join-often", join_often},
                {"join-in-child", join_in_child},
                {"join-beside-threads", join_beside_threads},
                {"join-as-other", join_as_other}};
    for (size_t i = 0; argc > 1 && i < sizeof what / sizeof what[0]; i++) {
        if (strcmp(argv[1], what[i].name) == 0) return what[i].run();
    }
    fprintf(stderr, "rank: what?\n");
    return 7;
}
