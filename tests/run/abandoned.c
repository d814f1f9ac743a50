/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that leaves the client while its alltoall is under way, and goes on with other memory:
 * `abandoned [threads] WHAT`, on two ranks. Rank 0 starts its alltoall first, so it has not read
 * the elements of rank 1 yet when rank 1 leaves. Rank 0 completes the call only after rank 1 has
 * overwritten whatever memory it got back. Then rank 0 must get the right elements, or PEER, and
 * may not write into that memory.
 *
 * WHAT is `packed` (elements of a derived type with gaps) or `plain` (a basic type). The program
 * prints the status that rank 0 gets. The ranks wait for each other by files in the current folder.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "brief.h"
#include "ranks.h"

enum { N = 300000, BLOCKS = 8, BLOCK = 16 * N };

static bool packed;
/* not freed: a member may still read inputs and write outputs of calls in flight */
static int32_t in[2][4 * N], out[2][4 * N];

static void await_file(const char *name)
{
    while (access(name, F_OK) != 0) usleep(1000);
}

static void make_file(const char *name)
{
    int file = open(name, O_CREAT | O_WRONLY, 0600);
    EXPECT(file >= 0 && close(file) == 0);
}

static int32_t element(int from, int to, int i)
{
    return 1 + (from * 2 + to) * N + i;
}

static tutti_type make_type(void)
{
    tutti_type type = TUTTI_I32;
    tutti_field field = {0, 1, TUTTI_I32};
    if (packed) EXPECT(tutti_type_struct(1, &field, 8, &type) == TUTTI_OK);
    return type;
}

/* Allocates memory, which may be memory that the library has freed, and writes to it. */
static void take_freed(char *block[BLOCKS])
{
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = malloc(BLOCK);
        EXPECT(block[i]);
        memset(block[i], 0xee, BLOCK);
    }
}

/* Checks that nobody has written to the memory since. */
static void check_taken(char *block[BLOCKS])
{
    for (int i = 0; i < BLOCKS; i++) {
        for (int k = 0; k < BLOCK; k++) EXPECT((unsigned char)block[i][k] == 0xee);
        free(block[i]);
    }
}

static void check(tutti_status status)
{
    const int stride = packed ? 2 : 1;
    EXPECT(status == TUTTI_OK || status == TUTTI_ERR_PEER);
    printf("%s\n", status == TUTTI_OK ? "OK" : "PEER");
    for (int from = 0; from < 2 && status == TUTTI_OK; from++)
        for (int i = 0; i < N; i++) EXPECT(out[0][(from * N + i) * stride] == element(from, 0, i));
}

static void one_rank(tutti_client *client, void *arg)
{
    char *block[BLOCKS];
    tutti_request *request;
    tutti_team *world = tutti_world(client);
    const int me = tutti_rank(world), stride = packed ? 2 : 1;
    (void)arg;
    EXPECT(tutti_size(world) == 2);
    for (int to = 0; to < 2; to++)
        for (int i = 0; i < N; i++) in[me][(to * N + i) * stride] = element(me, to, i);
    if (me == 1) await_file("started");
    EXPECT(tutti_ialltoall(world, in[me], out[me], N, make_type(), &request) == TUTTI_OK);
    if (me == 0) {
        make_file("started");
        await_file("gone");
        check(tutti_wait(request));
        EXPECT(tutti_request_free(request) == TUTTI_OK);
        make_file("finished");
        return;
    }
    EXPECT(tutti_finalize(client) == TUTTI_OK);
    take_freed(block);
    make_file("gone");
    await_file("finished"); /* the memory of a process that has ended cannot be read */
    check_taken(block);
}

int main(int argc, char **argv)
{
    tutti_client *client;
    keep_freed_memory(); /* so that malloc gives out memory again that was freed */
    packed = strcmp(argv[argc - 1], "packed") == 0;
    if (argc > 2) {
        /* rank 1 has finalized its client itself */
        EXPECT(tutti_threads(2, one_rank, NULL) == TUTTI_ERR_ARG);
        return 0;
    }
    EXPECT(tutti_init(&client) == TUTTI_OK);
    const int me = tutti_rank(tutti_world(client));
    one_rank(client, NULL);
    if (me == 0) EXPECT(tutti_finalize(client) == TUTTI_OK);
    return 0;
}
