/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that does what the tests of `tutti run` need: rank WHAT. See the table at the end.
 */
#include <stdbool.h>
#include <dlfcn.h>
#include <fcntl.h>
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

/* Prints the name of each signal that arrives, until SIGTERM or for ten minutes. */
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

/* Leaves processes behind that try to escape: a child; a daemon in its own session that ignores
 * every signal it can; and a process that keeps forking and exiting. Prints the process numbers. */
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

/* Waits a second, so that the processes that the rank leaves behind have time to detach, and then
 * lets the rank end. */
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

/* Prints numbered lines, each in two writes, as fast as possible. */
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

/* ---- Actions that use the library ---- */

static int joined(tutti_client **client, tutti_team **world)
{
    if (tutti_init(client) == TUTTI_OK) {
        *world = tutti_world(*client);
        return 1;
    }
    fprintf(stderr, "init: %s\n", tutti_error());
    return 0;
}

/* Calls allreduce until it fails, and prints the error. Rank 1 kills itself after some calls. */
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

/* Lets rank 0 exit after a barrier without tutti_finalize. The other ranks wait for rank 0 in the
 * next barrier, or are still in the first barrier. Each of them prints the error that its barrier
 * returns. */
static int desert(void)
{
    static tutti_client *client; /* static, so that the leak check still finds it at the exit */
    tutti_team *world;
    if (!joined(&client, &world)) return 9;
    tutti_status status = tutti_barrier(world);
    if (tutti_rank(world) == 0) return status == TUTTI_OK ? 0 : 8;
    if (status == TUTTI_OK) status = tutti_barrier(world);
    printf("rank %d: %s: %s\n", tutti_rank(world), tutti_status_text(status), tutti_error());
    tutti_finalize(client);
    return status == TUTTI_ERR_PEER ? 0 : 8;
}

/* Lets all ranks but rank 1 join the job. */
static int stay_away(void)
{
    tutti_client *client;
    if (rank_number() == 1) return 0;
    tutti_status status = tutti_init(&client);
    printf("rank %d: %s: %s\n", rank_number(), tutti_status_text(status), tutti_error());
    return status == TUTTI_ERR_PEER ? 0 : 8;
}

/* Replaces the function of the shared library, which calls tutti_build to learn its own build. So
 * rank 1 can act as if it were linked to another build. */
static const char *other_build;
const char *tutti_build(void)
{
    const char *(*own)(void);
    *(void **)&own = dlsym(RTLD_NEXT, "tutti_build");
    return other_build ? other_build : own();
}

static int join(void)
{
    tutti_client *client;
    tutti_team *world;
    if (!joined(&client, &world)) return 1;
    return tutti_finalize(client) == TUTTI_OK ? 0 : 8;
}

/* Calls allreduce once and prints the status. */
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

/* Blocks a signal after it has joined, sends it to its own process, and takes it from the pending
 * signals. If a thread of a library takes the signal instead, the signal ends the process. */
static int keep_signal(void)
{
    tutti_client *client;
    tutti_team *world;
    sigset_t set;
    int number = 0;
    if (!joined(&client, &world) || tutti_barrier(world) != TUTTI_OK) return 1;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    alarm(600);
    if (kill(getpid(), SIGUSR1) != 0 || sigwait(&set, &number) != 0) return 8;
    printf("kept %s\n", sigabbrev_np(number));
    return tutti_finalize(client) == TUTTI_OK ? 0 : 8;
}

/* Returns the number of connected TCP sockets whose send queue has this size. */
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

/* Receives 256 KiB from rank 0 and gives each rank a part. Prints whether its sockets have the
 * short send queues that are used between containers of one machine. */
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

/* Lets ranks 1 and 3 exit without tutti_finalize. The other ranks continue without them. */
static int exit_two(void)
{
    tutti_client *client;
    tutti_team *world, *team, *rest;
    if (!joined(&client, &world) || tutti_barrier(world) != TUTTI_OK) return 1;
    if (rank_number() == 1 || rank_number() == 3) _exit(3);
    for (team = world; tutti_size(team) > tutti_size(world) - 2; team = rest) {
        if (tutti_team_shrink(team, &rest) != TUTTI_OK) return 8;
        if (team != world && tutti_team_free(team) != TUTTI_OK) return 8;
    }
    return tutti_finalize(client) == TUTTI_OK ? 0 : 8;
}

static char **arguments; /* the parameter argv of main */

static void await_file(const char *name)
{
    for (int i = 0; i < 60000 && access(name, F_OK) != 0; i++) usleep(10000);
}

/* Forks a child, which has the job's memory and outlives this rank. */
static int outlived(void)
{
    tutti_client *client;
    tutti_team *world;
    if (!joined(&client, &world)) return 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) escape_child();
    if (child < 0) return 8;
    await_file("go");
    return tutti_finalize(client) == TUTTI_OK ? 0 : 8;
}

/* Clears the command line of its process, as programs do that hide their arguments. */
static int nameless(void)
{
    tutti_client *client;
    tutti_team *world;
    char *last = arguments[1];
    memset(arguments[0], 0, (size_t)(last + strlen(last) - arguments[0]));
    if (!joined(&client, &world)) return 1;
    await_file("go");
    return tutti_finalize(client) == TUTTI_OK ? 0 : 8;
}

static bool make_file(const char *name)
{
    int file = open(name, O_WRONLY | O_CREAT, 0600);
    return file >= 0 && close(file) == 0;
}

/* Rank 0: forks, ends the process that was started as the rank, and lets the child try to join.
 * Rank 1 keeps the job alive meanwhile and does not join. `early`: the launcher's guard, the parent
 * of both ranks, is stopped until the child is in tutti_init, so the guard notices the end of rank
 * 0 only afterwards. Otherwise the guard has noticed it before the child joins. */
static int join_left_behind(bool early)
{
    tutti_client *client;
    tutti_team *world;
    pid_t parent = getpid(), guard = getppid();
    if (rank_number() == 1) {
        if (early) {
            await_file("joins");
            usleep(1000000);
            kill(guard, SIGCONT);
        }
        await_file("go");
        return 0;
    }
    if (fork() != 0) return early ? kill(guard, SIGSTOP) : 0;
    while (early ? getppid() == parent : kill(parent, 0) == 0) usleep(1000);
    if (!make_file("joins")) return 8;
    bool has_joined = joined(&client, &world);
    return !make_file("go") || has_joined;
}

static int join_as_daemon(void)
{
    return join_left_behind(false);
}

static int join_as_early_daemon(void)
{
    return join_left_behind(true);
}

/* Forks a child that tries to join the job, which must be refused. The rank itself continues. */
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

/* Creates a second client while the first one exists and continues to work, and another one after
 * both have been finalized. */
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

/* Creates clients one after the other; no client is left when the next one is created. */
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

/* Runs jobs of threads, each with fewer ranks than the job of this process. In the meantime this
 * process stays in its job, which must still work afterwards. */
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
    if (rank_number() == 1) other_build = "0.0.9/01234567";
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
                {"keep-signal", keep_signal},
                {"exchange", exchange},
                {"join-again", join_again},
                {"join-often", join_often},
                {"join-in-child", join_in_child},
                {"join-beside-threads", join_beside_threads},
                {"join-as-other", join_as_other},
                {"join-as-daemon", join_as_daemon},
                {"join-as-early-daemon", join_as_early_daemon},
                {"exit-two", exit_two},
                {"outlived", outlived},
                {"nameless", nameless}};
    arguments = argv;
    for (size_t i = 0; argc > 1 && i < sizeof what / sizeof what[0]; i++) {
        if (strcmp(argv[1], what[i].name) == 0) return what[i].run();
    }
    fprintf(stderr, "rank: what?\n");
    return 7;
}
