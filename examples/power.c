/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives that are prepared once and started often, and two of them in flight at once. The
 * program is the power method for the largest eigenvalue of the matrix A[i][j] = min(i, j) with i
 * and j from 1 to n. The rows are divided among the ranks. In each turn a rank computes its rows of
 * y = A x. Two collectives then run at the same time: one gathers all ranks' parts of y, the other
 * sums the squares of their elements. After that x = y / |y|, and |y| tends to the eigenvalue.
 *
 *     start gather ---------------------------- wait gather
 *     start sum of squares ---- wait sum ------ x = y / |y|
 *
 * A nonblocking call sums the changes of x while the next turn computes; its result is read one
 * turn later. The eigenvalue is known: 1 / (4 sin^2(pi / (4n + 2))).
 *
 *     tutti run -n 4 power [N]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/tutti.h>

enum { N = 1000, N_MAX = 100000, TURNS = 200 };
static const double CLOSE = 1e-24; /* square of a change that is too small to matter */

struct power {
    tutti_team *team;
    int64_t n, begin, end; /* this rank has rows begin .. end - 1 */
    double *x, *y;         /* n elements each; this rank computes its own part of y */
    int64_t *counts, *displs;
    double squares, sum;         /* sum of squares of this rank's part of y, and of all y */
    double change, changes;      /* square of the change of this rank's part of x, and of all x */
    tutti_request *gather, *add; /* prepared once, started in each turn */
    tutti_request *looks;        /* sums the changes; NULL: not in flight */
};

/* Row i of A is 1, 2, ..., i, i, ..., i. */
static double row_times(const struct power *power, int64_t i)
{
    double sum = 0;
    for (int64_t j = 0; j < power->n; j++) sum += (double)((j < i ? j : i) + 1) * power->x[j];
    return sum;
}

static void multiply(struct power *power)
{
    power->squares = 0;
    for (int64_t i = power->begin; i < power->end; i++) {
        double y = row_times(power, i);
        power->y[i] = y;
        power->squares += y * y;
    }
}

/* Sets x = y / |y|, and `change` to the square of the change of this rank's part of x. */
static void normalise(struct power *power)
{
    double norm = sqrt(power->sum);
    power->change = 0;
    for (int64_t i = 0; i < power->n; i++) {
        double x = power->y[i] / norm, change = x - power->x[i];
        if (i >= power->begin && i < power->end) power->change += change * change;
        power->x[i] = x;
    }
}

/* Waits for the sum of the changes of the turn before, if it is in flight. Sets *small to whether
 * this sum was small. */
static tutti_status look(struct power *power, int *small)
{
    *small = 0;
    if (!power->looks) return TUTTI_OK;
    tutti_status status = tutti_wait(power->looks);
    tutti_request_free(power->looks);
    power->looks = NULL;
    *small = status == TUTTI_OK && power->changes < CLOSE;
    return status;
}

static tutti_status turn(struct power *power, int *done)
{
    tutti_status status;
    multiply(power);
    if ((status = tutti_start(power->gather)) != TUTTI_OK) return status;
    if ((status = tutti_start(power->add)) != TUTTI_OK) return status;
    if ((status = tutti_wait(power->add)) != TUTTI_OK) return status;
    if ((status = tutti_wait(power->gather)) != TUTTI_OK) return status;
    if ((status = look(power, done)) != TUTTI_OK) return status;
    normalise(power);
    return tutti_iallreduce(power->team, &power->change, &power->changes, 1, TUTTI_F64, TUTTI_SUM,
                            &power->looks);
}

/* Prepares the gather and the sum. A rank's rows are at their place in y, so the gather works in
 * place. */
static tutti_status make_plans(struct power *power)
{
    tutti_status status =
        tutti_allgatherv_init(power->team, TUTTI_IN_PLACE, power->y, power->counts, power->displs,
                              TUTTI_F64, TUTTI_REQUEST_DEFAULT, &power->gather);
    if (status != TUTTI_OK) return status;
    return tutti_allreduce_init(power->team, &power->squares, &power->sum, 1, TUTTI_F64, TUTTI_SUM,
                                TUTTI_REQUEST_DEFAULT, &power->add);
}

static int divide(struct power *power, int64_t n)
{
    int p = tutti_size(power->team), me = tutti_rank(power->team);
    power->n = n;
    power->x = malloc((size_t)n * sizeof *power->x);
    power->y = malloc((size_t)n * sizeof *power->y);
    power->counts = malloc((size_t)p * sizeof *power->counts);
    power->displs = malloc((size_t)p * sizeof *power->displs);
    if (!power->x || !power->y || !power->counts || !power->displs) return 0;
    for (int r = 0; r < p; r++) {
        power->displs[r] = n * r / p;
        power->counts[r] = n * (r + 1) / p - power->displs[r];
    }
    power->begin = power->displs[me];
    power->end = power->begin + power->counts[me];
    for (int64_t i = 0; i < n; i++) power->x[i] = 1;
    return 1;
}

static tutti_status iterate(struct power *power)
{
    int done = 0, turns = 0;
    tutti_status status = make_plans(power);
    while (status == TUTTI_OK && !done && turns < TURNS) {
        status = turn(power, &done);
        turns++;
    }
    if (status == TUTTI_OK) status = look(power, &done);
    if (status == TUTTI_OK && tutti_rank(power->team) == 0) {
        double sine = sin(acos(-1) / (4 * (double)power->n + 2));
        printf("n = %lld: largest eigenvalue %.6f after %d turns; it is %.6f\n",
               (long long)power->n, sqrt(power->sum), turns, 1 / (4 * sine * sine));
    }
    return status;
}

static void clear(struct power *power)
{
    tutti_request_free(power->gather);
    tutti_request_free(power->add);
    free(power->x);
    free(power->y);
    free(power->counts);
    free(power->displs);
}

static int run(struct power *power, int64_t n)
{
    int failed = !divide(power, n);
    if (failed) {
        fprintf(stderr, "power: out of memory\n");
    } else if (iterate(power) != TUTTI_OK) {
        fprintf(stderr, "power: %s\n", tutti_error());
        failed = 1;
    }
    clear(power);
    return failed;
}

/* Prints the usage, on rank 0 only. */
static int print_usage(const struct power *power, int asked)
{
    if (tutti_rank(power->team) == 0)
        fprintf(asked ? stdout : stderr, "Usage: power [N], N from 1 to %d (default %d)\n", N_MAX,
                N);
    return asked ? 0 : 2;
}

int main(int argc, char **argv)
{
    char *end = "";
    int64_t n = argc > 1 ? strtoll(argv[1], &end, 10) : N;
    tutti_client *client;
    if (tutti_init(&client) != TUTTI_OK) {
        fprintf(stderr, "power: %s\n", tutti_error());
        return 1;
    }
    struct power power = {.team = tutti_world(client)};
    int good = argc <= 2 && !*end && n >= 1 && n <= N_MAX;
    int status =
        good ? run(&power, n) : print_usage(&power, argc == 2 && strcmp(argv[1], "--help") == 0);
    tutti_finalize(client);
    return status;
}
