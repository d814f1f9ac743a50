#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# However a job ends, no process of it is left: no child, no daemon in a session of its own, and no
# process that keeps forking and exiting.
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2016
source "$(dirname "$0")/lib.sh"

# belonging NAME: prints the numbers of the processes whose environment holds this value of
# TUTTI_TEST. Zombies have no environment.
belonging() { grep -lsFz "TUTTI_TEST=$1" /proc/[0-9]*/environ | sed 's|/proc/||; s|/.*||' || true; }
none_belong() { [ -z "$(belonging "$1")" ]; }

# begin NAME ARGUMENT...: starts a job of two ranks in the background, whose ranks leave processes
# behind, and waits until all of these run. The numbers of these processes are in the file `pids`,
# and the launcher's number is in $launcher.
begin() {
    local name=$1
    shift
    : >pids
    TUTTI_TEST=$name setsid tutti run -n 2 "$@" >pids 2>err &
    launcher=$!
    started+=("$launcher")
    wait_for has_lines pids 6
}

# all_gone NAME CODE: expects that the launcher exits with CODE and that then nothing of the job is
# left.
all_gone() {
    local name=$1 code=$2 got=0
    wait "$launcher" 2>/dev/null || got=$?
    [ "$got" -eq "$code" ] || fail "$name: exited with $got instead of $code"
    wait_gone pids
    wait_for none_belong "$name"
}

a_rank() { sed -n "s/^rank //p" pids | head -n 1; }
guard_of() { cat "/proc/$1/task/$1/children"; }

# The job ends by itself: nothing is left when the launcher exits.
begin itself "$rank" escape-and-go
wait "$launcher" || fail 'a good run with processes left behind'
none_belong itself || fail "left when the launcher has returned: $(belonging itself)"

begin timeout --timeout 2 "$rank" escape-and-stay
all_gone timeout 124

# A rank is killed: the launcher ends the other ranks and the processes that these have started.
begin rank "$rank" escape-and-stay
kill -9 "$(a_rank)"
all_gone rank 137

# The launcher is killed: the guard ends everything.
begin launcher "$rank" escape-and-stay
kill -9 "$launcher"
all_gone launcher 137

# The launcher's process group is killed (setsid above gave the launcher a group of its own): the
# guard ends everything.
begin group "$rank" escape-and-stay
kill -9 -- "-$launcher"
all_gone group 137

# The guard is killed: the launcher ends everything and says so.
begin guard "$rank" escape-and-stay
kill -9 "$(guard_of "$launcher" | tr -d ' ')"
all_gone guard 137
says err '^tutti: the guard \(pid [0-9]+\) was killed by signal 9 \(Killed\): ending the job$'

# A stopped rank does not delay the end.
begin stopped --timeout 3 "$rank" escape-and-stay
kill -STOP "$(a_rank)"
all_gone stopped 124

# Children that the launcher's process had before it became the launcher do not belong to the job.
bash -c 'sleep 600 & echo $! >before; exec tutti run -n 2 true'
started+=("$(cat before)")
! is_gone "$(cat before)" || fail 'ended a process that is not of the job'

# No files are left either, neither among temporary files nor in /dev/shm. The job gets a /dev/shm
# that no other process uses.
mkdir temporary
expect 0 env TMPDIR="$work/temporary" tutti run -n 2 "$rank" escape-and-go
[ -z "$(ls -A temporary)" ] || fail 'a temporary file is left'
if unshare -rm mount -t tmpfs none /dev/shm 2>/dev/null; then
    expect 0 unshare -rm bash -c 'mount -t tmpfs none /dev/shm; tutti run -n 2 "$1" desert; ls -A /dev/shm >left' - "$rank"
    [ ! -s left ] || fail 'files are left in /dev/shm'
fi
