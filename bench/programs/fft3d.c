/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A transform of a cube by FFTW over MPI, forth and back, as a solver does in each step. Prints the
 * sum of the squares of the spectrum, and whether the values come back. The spectrum is an array of
 * its own, and the planner measures: only then does FFTW choose MPI_Alltoall.
 */
#include <fftw3-mpi.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum { SIDE = 48, STEPS = 10, FLAGS = FFTW_MEASURE | FFTW_DESTROY_INPUT };

/* Returns the value at a place of the cube, which does not depend on the number of ranks. */
static double value(ptrdiff_t place)
{
    return (double)(place * 7919 % 1009) / 1009 - 0.5;
}

static double sum_over_ranks(double mine)
{
    double all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

struct cube {
    ptrdiff_t n, first; /* number of values of this rank, and the place of the first value */
    fftw_complex *data, *spectrum;
    fftw_plan forth, back;
};

static struct cube make_cube(void)
{
    struct cube c;
    ptrdiff_t planes, first;
    MPI_Comm world = MPI_COMM_WORLD;
    ptrdiff_t held = fftw_mpi_local_size_3d(SIDE, SIDE, SIDE, world, &planes, &first);
    fftw_complex *data = c.data = fftw_alloc_complex((size_t)held);
    fftw_complex *spectrum = c.spectrum = fftw_alloc_complex((size_t)held);
    if (!data || !spectrum) MPI_Abort(world, 1);
    c.forth = fftw_mpi_plan_dft_3d(SIDE, SIDE, SIDE, data, spectrum, world, FFTW_FORWARD, FLAGS);
    c.back = fftw_mpi_plan_dft_3d(SIDE, SIDE, SIDE, spectrum, data, world, FFTW_BACKWARD, FLAGS);
    if (!c.forth || !c.back) MPI_Abort(world, 1);
    c.n = planes * SIDE * SIDE;
    c.first = first * SIDE * SIDE;
    for (ptrdiff_t i = 0; i < c.n; i++) {
        data[i][0] = value(c.first + i);
        data[i][1] = 0;
    }
    return c;
}

static double squares_of(const struct cube *c)
{
    double mine = 0;
    for (ptrdiff_t i = 0; i < c->n; i++)
        mine += c->spectrum[i][0] * c->spectrum[i][0] + c->spectrum[i][1] * c->spectrum[i][1];
    return sum_over_ranks(mine);
}

/* Transforms the cube forth and back. Returns the sum of the squares of the spectrum. */
static double step(const struct cube *c)
{
    fftw_execute(c->forth);
    double squares = squares_of(c);
    fftw_execute(c->back);
    for (ptrdiff_t i = 0; i < c->n; i++) {
        c->data[i][0] /= (double)SIDE * SIDE * SIDE;
        c->data[i][1] /= (double)SIDE * SIDE * SIDE;
    }
    return squares;
}

int main(int argc, char **argv)
{
    int rank;
    double squares = 0, error = 0;
    MPI_Init(&argc, &argv);
    fftw_mpi_init();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct cube c = make_cube();
    for (int i = 0; i < STEPS; i++) squares = step(&c);
    for (ptrdiff_t i = 0; i < c.n; i++) error += fabs(c.data[i][0] - value(c.first + i));
    bool same = sum_over_ranks(error) < 1e-6;
    if (rank == 0) printf("squares %.9g, values come back: %s\n", squares, same ? "yes" : "no");
    fftw_destroy_plan(c.forth);
    fftw_destroy_plan(c.back);
    fftw_free(c.data);
    fftw_free(c.spectrum);
    MPI_Finalize();
    return same ? 0 : 1;
}
