/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that calls no collective.
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Finalize();
}
