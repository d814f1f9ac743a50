# SPDX-License-Identifier: BSD-3-Clause
"""Writes a file of HDF5 by MPI-IO from all ranks, with collective and single transfers, and reads
it.
"""
import h5py
import numpy
from mpi4py import MPI

ROWS, COLUMNS = 64, 4096

world = MPI.COMM_WORLD
with h5py.File("data.h5", "w", driver="mpio", comm=world) as file:
    whole = file.create_dataset("whole", (world.size * ROWS, COLUMNS), dtype="f8")
    mine = slice(world.rank * ROWS, (world.rank + 1) * ROWS)
    with whole.collective:
        whole[mine] = numpy.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS) + world.rank
    one = file.create_dataset("one", (world.size,), dtype="i8")
    one[world.rank] = world.rank ** 2
    file.attrs["ranks"] = world.size
with h5py.File("data.h5", "r", driver="mpio", comm=world) as file:
    with file["whole"].collective:
        total = world.allreduce(float(file["whole"][mine].sum()))
    ones = world.allreduce(int(file["one"][:].sum()))
if world.rank == 0:
    print(f"ranks {world.size}, total {total:.1f}, ones {ones}")
