/* SPDX-License-Identifier: BSD-3-Clause
 *
 * loop COLLECTIVE BYTES FILE: calls the collective until it fails. It writes to FILE.RANK, which
 * the test can read even if the rank's host is cut off: first "runs", then "failed after 4123 ms: a
 * member of the team failed: rank 7 on h4 ...". The time counts from the last successful call.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tutti/tutti.h>

static tutti_team *world;
static int64_t n; /* data of the collective, in bytes per rank */
static char *in, *out;

static void append(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(const char *file, const char *format, ...)
{
    char name[512];
    va_list args;
    snprintf(name, sizeof name, "%s.%d", file, tutti_rank(world));
    FILE *to = fopen(name, "a");
    if (!to) abort();
    va_start(args, format);
    vfprintf(to, format, args);
    va_end(args);
    fclose(to);
}

static tutti_status call(const char *what)
{
    if (strcmp(what, "allreduce") == 0)
        return tutti_allreduce(world, in, out, n, TUTTI_U8, TUTTI_SUM);
    if (strcmp(what, "alltoall") == 0) return tutti_alltoall(world, in, out, n, TUTTI_U8);
    if (strcmp(what, "bcast") == 0) return tutti_bcast(world, in, n, TUTTI_U8, 0);
    if (strcmp(what, "barrier") == 0) return tutti_barrier(world);
    abort();
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    tutti_client *client;
    tutti_status status;
    if (argc != 4) return 2;
    if (tutti_init(&client) != TUTTI_OK) {
        fprintf(stderr, "init: %s\n", tutti_error());
        return 9;
    }
    world = tutti_world(client);
    n = atoll(argv[2]);
    in = calloc((size_t)tutti_size(world), (size_t)n);
    out = calloc((size_t)tutti_size(world), (size_t)n);
    double last = now_ms();
    for (int i = 0; (status = call(argv[1])) == TUTTI_OK; i++) {
        last = now_ms();
        if (i == 10) append(argv[3], "runs\n");
    }
    append(argv[3], "failed after %.0f ms: %s: %s\n", now_ms() - last, tutti_status_text(status),
           tutti_error());
    tutti_finalize(client);
    free(in);
    free(out);
    return status == TUTTI_ERR_PEER ? 0 : 8;
}
