/* SPDX-License-Identifier: BSD-3-Clause
 *
 * buffers unmapped FILE [FILE], buffers received FILE FILE: what the library does with the buffer
 * of a call that has failed, while data are on the way between nodes. There are two ranks.
 *
 *   unmapped   rank 0 unmaps the buffer of its call, and makes the first file. Rank 1 wants the
 *              data of the buffer only then; with a second file, rank 1 has asked for a part of the
 *              data before, and makes that file. Neither rank may count the other as failed
 *   received   rank 1 has got a part of the data of rank 0, and makes the second file. Its call
 *              fails and must end although rank 0 makes no call. Then rank 1 unmaps the buffer, and
 *              makes the first file
 *
 * The ranks wait for files, since a rank that waits in the library would handle messages.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tutti/tutti.h>

enum { BYTES = 16 << 20 };

static void make_file(const char *file)
{
    FILE *f = fopen(file, "we");
    if (!f || fclose(f) != 0) abort();
}

static void await_file(const char *file)
{
    while (access(file, F_OK) != 0) usleep(1000);
}

static char *map_memory(int value)
{
    char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    memset(memory, value, BYTES);
    return memory;
}

/* Ends a request. Returns its status. */
static tutti_status complete(tutti_request *request)
{
    tutti_status status = tutti_wait(request);
    tutti_request_free(request);
    return status;
}

/* Starts a bcast of `memory` from rank 0. Rank 0 sends until the file `begun` is there, and rank 1
 * makes this file when it has received the first byte; if `begun` is NULL, rank 0 has announced the
 * data. Returns AGAIN. */
static tutti_status start(tutti_team *team, char *memory, const char *begun,
                          tutti_request **request)
{
    bool sends = tutti_rank(team) == 0, over = false;
    tutti_status status = tutti_ibcast(team, memory, BYTES, TUTTI_U8, 0, request);
    if (status != TUTTI_OK || (!begun && !sends)) return status == TUTTI_OK ? TUTTI_AGAIN : status;
    while (!over && (status = tutti_test(*request)) == TUTTI_AGAIN)
        over = !begun || (sends ? access(begun, F_OK) == 0 : *(volatile char *)memory != 0);
    if (status == TUTTI_AGAIN && !sends) make_file(begun);
    return status;
}

/* Makes the call fail and, when it has returned, unmaps its memory. */
static tutti_status give_up(tutti_team *team, char *memory, tutti_request *request,
                            const char *unmapped)
{
    if (tutti_team_revoke(team) != TUTTI_OK) return TUTTI_ERR_SYSTEM;
    tutti_status status = complete(request);
    if (munmap(memory, BYTES) != 0) abort();
    make_file(unmapped);
    return status;
}

/* Calls the bcast. While rank `unmaps` unmaps its memory, the other rank makes no call. */
static tutti_status call(tutti_team *team, int unmaps, const char *unmapped, const char *begun)
{
    tutti_request *request;
    int me = tutti_rank(team);
    char *memory = map_memory(me == 0);
    if (!begun && me != unmaps) await_file(unmapped);
    tutti_status status = start(team, memory, begun, &request);
    if (status != TUTTI_AGAIN) return status;
    if (me == unmaps) return give_up(team, memory, request, unmapped);
    await_file(unmapped);
    return complete(request);
}

/* All members make a smaller team, which must have `left` members and work. */
static tutti_status go_on(tutti_team *team, int left)
{
    tutti_team *rest;
    tutti_status status = tutti_team_shrink(team, &rest);
    if (status == TUTTI_OK && tutti_size(rest) != left) return TUTTI_ERR_PEER;
    return status == TUTTI_OK ? tutti_barrier(rest) : status;
}

static int run(tutti_client *client, int unmaps, char **file)
{
    tutti_team *team;
    int me = tutti_rank(tutti_world(client));
    tutti_status status = tutti_team_dup(tutti_world(client), &team);
    if (status == TUTTI_OK) status = tutti_barrier(team);
    if (status != TUTTI_OK) return 6;
    status = call(team, unmaps, file[0], file[1]);
    if (status == TUTTI_ERR_PEER && go_on(team, 2) == TUTTI_OK) return 0;
    fprintf(stderr, "rank %d: %s: %s\n", me, tutti_status_text(status), tutti_error());
    return 8;
}

int main(int argc, char **argv)
{
    tutti_client *client;
    if (argc < 3 || tutti_init(&client) != TUTTI_OK) return 7;
    int code = run(client, strcmp(argv[1], "unmapped") == 0 ? 0 : 1, argv + 2);
    return tutti_finalize(client) == TUTTI_OK ? code : 9;
}
