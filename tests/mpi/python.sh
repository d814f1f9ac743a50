#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests mpi4py, which loads its MPI while it runs, and requests MPI_THREAD_MULTIPLE.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
need openmpi
/usr/bin/python3 -c 'import mpi4py' 2>/dev/null || skip 'no mpi4py'
[[ $(/usr/bin/python3 -c 'from mpi4py import MPI; print(MPI.Get_library_version().strip(chr(0)))') == 'Open MPI'* ]] ||
    skip 'mpi4py uses another MPI'

cat >calls.py <<'PYTHON'
import array
import threading
from mpi4py import MPI

world = MPI.COMM_WORLD
assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
mine, sums = array.array("d", [world.rank, 1]), array.array("d", [0, 0])
world.Allreduce(mine, sums)
assert list(sums) == [world.size * (world.size - 1) / 2, world.size]
assert world.bcast({"root": world.rank}, root=1) == {"root": 1}
half = world.Split(world.rank % 2, world.rank)
half.Barrier()
half.Free()


# Two threads, each with a communicator of its own.
def work(comm):
    for _ in range(500):
        comm.Allreduce(MPI.IN_PLACE, array.array("i", [1]), MPI.MAX)


comms = [world.Dup(), world.Dup()]
threads = [threading.Thread(target=work, args=[comm]) for comm in comms]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
PYTHON
launch openmpi 3 /usr/bin/python3 calls.py

# Nonblocking calls, one of them by an operation in Python, are in flight while the program waits
# for a message.
cat >later.py <<'PYTHON'
import array
from mpi4py import MPI



def apply(x, y, kind):
    """Applies the function t -> a t + b, where x contains a and b, and then the function y."""
    a, b = memoryview(x).cast("d"), memoryview(y).cast("d")
    b[0], b[1] = a[0] * b[0], a[1] * b[0] + b[1]


world = MPI.COMM_WORLD
mine, sums = array.array("d", [world.rank] * 4000), array.array("d", [0] * 4000)
mapped, composed = array.array("d", [2, world.rank]), array.array("d", [0, 0])
pair = MPI.DOUBLE.Create_contiguous(2).Commit()
then = MPI.Op.Create(apply, commute=False)
requests = [world.Iallreduce(mine, sums), world.Iallreduce([mapped, 1, pair], [composed, 1, pair], then),
            world.Ibarrier()]
pair.Free()
if world.rank == 0:
    for rank in range(1, world.size):
        assert world.recv(source=rank) == "done"
MPI.Request.Waitall(requests)
assert list(sums) == [world.size * (world.size - 1) / 2] * 4000
assert list(composed) == [2**world.size, 2**world.size - world.size - 1]
then.Free()
if world.rank > 0:
    world.send("done", 0)
PYTHON
reported openmpi 3 /usr/bin/python3 later.py
grep -q '"MPI_Iallreduce".*"choice": "taken"' calls.json || fail 'the call of mpi4py is not taken'
grep -q '"MPI_Iallreduce".*"user", "choice": "taken"' calls.json || fail 'the call by an operation in Python is not taken'
counted openmpi 3 /usr/bin/python3 calls.py
python3 - calls.json <<'PYTHON' || fail 'the counts'
import json
import sys
rows = json.load(open(sys.argv[1]))["calls"]
found = {(row["function"], row["ranks"], row["type"], row["operation"]): (row["calls"], row["bytes"]) for row in rows
         if row["function"] != "MPI_Bcast"}
assert found == {
    ("MPI_Allreduce", 3, "MPI_DOUBLE", "MPI_SUM"): (1, 48),
    ("MPI_Allreduce", 3, "MPI_INT", "MPI_MAX"): (1000, 12000),
    ("MPI_Barrier", 2, "", ""): (1, 0),
    ("MPI_Barrier", 1, "", ""): (1, 0),
}, found
assert any(row["function"] == "MPI_Bcast" and row["communicator"] == "MPI_COMM_WORLD" for row in rows)
PYTHON
