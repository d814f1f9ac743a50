/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The smallest program: every rank has a number, and one call gives all ranks the sum of these
 * numbers.
 *
 *     tutti run -n 4 hello
 */
#include <stdio.h>

#include <tutti/tutti.h>

static int fail(void)
{
    fprintf(stderr, "hello: %s\n", tutti_error());
    return 1;
}

int main(void)
{
    tutti_client *client;
    if (tutti_init(&client) != TUTTI_OK) return fail();
    tutti_team *world = tutti_world(client);
    int me = tutti_rank(world), p = tutti_size(world);

    double mine = me, sum;
    if (tutti_allreduce(world, &mine, &sum, 1, TUTTI_F64, TUTTI_SUM) != TUTTI_OK) return fail();
    printf("rank %d of %d: the sum of all ranks is %g\n", me, p, sum);

    return tutti_finalize(client) == TUTTI_OK ? 0 : fail();
}
