# SPDX-License-Identifier: BSD-3-Clause
"""Averages an array over the ranks again and again, as a training in mpi4py and numpy does."""
import numpy
from mpi4py import MPI

STEPS, VALUES = 300, 1 << 16

world = MPI.COMM_WORLD
mine = numpy.arange(VALUES, dtype="d") + world.rank
whole = numpy.empty_like(mine)
for step in range(STEPS):
    world.Allreduce(mine, whole, op=MPI.SUM)
    mine = whole / world.size
    loss = world.allreduce(float(mine[step]))
if world.rank == 0:
    print(f"sum {mine.sum():.6f}, loss {loss:.6f}")
