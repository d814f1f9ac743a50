/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where there are assertions, a context that two threads use at the same time ends the process, which says why. Elsewhere
 * there is nothing to test.
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

/* Inside tutti_advance of its context; another thread does the same. */
static void work(tutti_context *context, void *arg)
{
    pthread_t thread;
    (void)arg;
    check(pthread_create(&thread, NULL, use, context) == 0, "no thread");
    pthread_join(thread, NULL);
}

static void misuse(int said)
{
    tutti_client *client;
    dup2(said, STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);
    must(tutti_init(&client));
    must(tutti_post(tutti_context_at(client, 0), work, NULL));
    (void)!tutti_advance(tutti_context_at(client, 0), NULL);
    _exit(0);
}

int main(void)
{
    char text[4096] = {0};
    int pipes[2], status;
    check(pipe(pipes) == 0, "no pipe");
    pid_t child = fork();
    if (child == 0) misuse(pipes[1]);
    close(pipes[1]);
    for (ssize_t n, at = 0; (n = read(pipes[0], text + at, sizeof text - 1 - (size_t)at)) > 0;)
        at += n;
    check(waitpid(child, &status, 0) == child, "no child");
    check(!(WIFEXITED(status) && WEXITSTATUS(status) == 0), "it went unnoticed");
    check(strstr(text, "context 0 is used by two threads at once"), "it said: %s", text);
    return 0;
}
#endif
