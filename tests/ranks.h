/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For tests whose ranks are threads or processes: the main function, and a macro that checks a
 * condition and aborts the process if the condition is false.
 */
#ifndef TEST_RANKS_H
#define TEST_RANKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

#define EXPECT(what)                                                                               \
    do {                                                                                           \
        if (what) break;                                                                           \
        fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #what, tutti_error());             \
        abort();                                                                                   \
    } while (0)

/* With the arguments `threads P...`, runs the function in P threads, which are the ranks of a job,
 * for each P in turn. Without them, runs it as one rank of the job that `tutti run` has started.
 * Returns the exit status of the program. */
static inline int run_ranks(int argc, char **argv, void (*rank)(tutti_client *, void *))
{
    tutti_client *client;
    if (argc > 1 && strcmp(argv[1], "threads") == 0) {
        for (int i = 2; i < argc; i++) EXPECT(tutti_threads(atoi(argv[i]), rank, NULL) == TUTTI_OK);
        return argc == 2;
    }
    EXPECT(tutti_init(&client) == TUTTI_OK);
    rank(client, NULL);
    EXPECT(tutti_finalize(client) == TUTTI_OK);
    return 0;
}

#endif
