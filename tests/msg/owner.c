/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In builds with assertions, a context that two threads use at the same time ends the process with
 * a message. A handler, completion function or posted work that advances or blocks does the same.
 * Builds without assertions skip the test.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"

#ifdef NDEBUG
int main(void)
{
    return 77;
}
#else

static void *use(void *context)
{
    (void)!tutti_advance(context, NULL);
    return NULL;
}

/* Runs inside tutti_advance of its context, while a second thread advances the same context. */
static void use_twice(tutti_context *context, void *arg)
{
    pthread_t thread;
    (void)arg;
    check(pthread_create(&thread, NULL, use, context) == 0, "no thread");
    pthread_join(thread, NULL);
}

/* ---- Functions that wait inside tutti_advance of their own context ---- */

static void advance_again(tutti_context *context, void *arg)
{
    (void)arg;
    (void)!tutti_advance(context, NULL);
}

static void meet_others(tutti_context *context, void *arg)
{
    (void)context;
    (void)!tutti_barrier(tutti_world(arg));
}

static void leave(tutti_context *context, void *arg)
{
    (void)context;
    tutti_finalize(arg);
}

static void misuse(int said, tutti_work_fn *work)
{
    tutti_client *client;
    dup2(said, STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);
    must(tutti_init(&client));
    must(tutti_post(tutti_context_at(client, 0), work, client));
    (void)!tutti_advance(tutti_context_at(client, 0), NULL);
    _exit(0);
}

static void expect(tutti_work_fn *work, const char *words)
{
    char text[4096] = {0};
    int pipes[2], status;
    check(pipe(pipes) == 0, "no pipe");
    pid_t child = fork();
    if (child == 0) misuse(pipes[1], work);
    close(pipes[1]);
    for (ssize_t n, at = 0; (n = read(pipes[0], text + at, sizeof text - 1 - (size_t)at)) > 0;)
        at += n;
    check(waitpid(child, &status, 0) == child, "no child");
    check(!(WIFEXITED(status) && WEXITSTATUS(status) == 0), "it went unnoticed");
    check(strstr(text, words), "it said: %s", text);
    close(pipes[0]);
}

int main(void)
{
    expect(use_twice, "context 0 is used by two threads at once");
    expect(advance_again,
           "waits, inside a handler, completion function or posted work of context 0");
    expect(meet_others, "a collective that blocks inside a handler");
    expect(leave, "tutti_finalize inside a handler");
    return 0;
}
#endif
