/* SPDX-License-Identifier: BSD-3-Clause
 *
 * buffers unmapped FILE [FILE]: what the library does with the buffer of a call that has failed,
 * while data are on the way between nodes. There are two ranks.
 *
 *   unmapped   rank 0 unmaps the buffer of its call, and makes the first file. Rank 1 wants the
 *              data of the buffer only then; with a second file, rank 1 has asked for a part of the
 *              data before, and makes that file. Neither rank may count the other as failed
 *
 * The ranks wait for files, since a rank that waits in the library would handle messages.
 */
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

/* Rank 0 sends from its memory, if `begun` is not NULL until rank 1 has got a part. Then it revokes
 * the team, and unmaps the memory when its call has returned. */
static tutti_status unmap(tutti_team *team, const char *begun, const char *unmapped)
{
    tutti_request *request;
    char *memory = map_memory(1);
    tutti_status status = tutti_ibcast(team, memory, BYTES, TUTTI_U8, 0, &request);
    if (status != TUTTI_OK) return status;
    do status = tutti_test(request);
    while (status == TUTTI_AGAIN && begun && access(begun, F_OK) != 0);
    if (status != TUTTI_AGAIN) return status;
    if (tutti_team_revoke(team) != TUTTI_OK) return TUTTI_ERR_SYSTEM;
    status = complete(request);
    if (munmap(memory, BYTES) != 0) abort();
    make_file(unmapped);
    return status;
}

static tutti_status receive(tutti_team *team, const char *begun, const char *unmapped)
{
    tutti_request *request;
    char *memory = map_memory(0);
    if (!begun) await_file(unmapped);
    tutti_status status = tutti_ibcast(team, memory, BYTES, TUTTI_U8, 0, &request);
    if (status != TUTTI_OK) return status;
    while (begun && *(volatile char *)memory == 0)
        if ((status = tutti_test(request)) != TUTTI_AGAIN) return status;
    if (begun) make_file(begun);
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

static int unmapped(tutti_client *client, char **file)
{
    tutti_team *team;
    int me = tutti_rank(tutti_world(client));
    tutti_status status = tutti_team_dup(tutti_world(client), &team);
    if (status == TUTTI_OK) status = tutti_barrier(team);
    if (status != TUTTI_OK) return 6;
    status = me == 0 ? unmap(team, file[1], file[0]) : receive(team, file[1], file[0]);
    if (status == TUTTI_ERR_PEER && go_on(team, 2) == TUTTI_OK) return 0;
    fprintf(stderr, "rank %d: %s: %s\n", me, tutti_status_text(status), tutti_error());
    return 8;
}

int main(int argc, char **argv)
{
    tutti_client *client;
    if (argc < 3 || tutti_init(&client) != TUTTI_OK) return 7;
    int code = unmapped(client, argv + 2);
    return tutti_finalize(client) == TUTTI_OK ? code : 9;
}
