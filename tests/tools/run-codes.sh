#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The exit codes and messages of `tutti run`.
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2016
source "$(dirname "$0")/lib.sh"

expect 0 tutti run -n 3 true
[ ! -s err ] || fail 'said something of a good run'
expect 0 tutti run true

expect 1 tutti run -n 3 false
says err '^tutti: rank [0-2] \(pid [0-9]+\) exited with code 1$'
says err '^tutti: then ranks [0-9,-]+ exited with code 1$'
[ "$(lines err)" -eq 2 ] || fail 'a line for each rank'

# The first rank that fails decides the exit code, whatever codes the other ranks exit with. Here
# rank 2 fails, and the other ranks exit later with another code, as programs do that notice the
# failure.
expect 7 tutti run -n 3 sh -c '[ $TUTTI_RANK = 2 ] && exit 7; sleep 0.3; exit 3'
says err '^tutti: rank 2 \(pid [0-9]+\) exited with code 7$'
says err '^tutti: then ranks 0-1 exited with code 3$'

expect 137 tutti run -n 4 sh -c '[ $TUTTI_RANK = 2 ] && kill -9 $$; sleep 600'
says err '^tutti: rank 2 \(pid [0-9]+\) killed by signal 9 \(Killed\)$'
says err '^tutti: ending ranks 0-1,3, still running 1 s later$'
expect 143 tutti run -n 1 sh -c 'kill -TERM $$'

# lost CODE HOW SCRIPT: runs a job of which some ranks end early (--on-failure=HOW), and expects
# this exit code. With continue the other ranks run to their own ends, and the job succeeds if these
# ranks do. With continue-fail the job does not succeed. In both cases the launcher prints the loss.
lost() { expect "$1" tutti run -n 3 --on-failure="$2" sh -c "$3"; }
for how in continue:0 continue-fail:5; do
    lost "${how#*:}" "${how%:*}" '[ $TUTTI_RANK = 1 ] && exit 5; sleep 1.5; echo rank $TUTTI_RANK done'
    says out '^rank 0 done$'
    says out '^rank 2 done$'
    says err '^tutti: rank 1 \(pid [0-9]+\) exited with code 5$'
    [ "$(lines err '^tutti: rank 1 was lost; the others ended with code 0')" -eq $((${how#*:} == 0)) ] || fail 'the loss'
done
lost 0 continue '[ $TUTTI_RANK != 1 ] && kill -9 $$; sleep 0.5'
says err '^tutti: ranks 0,2 were lost; the others ended with code 0, and so does the job$'
lost 137 continue-fail '[ $TUTTI_RANK != 1 ] && kill -9 $$; sleep 0.5'
# Ranks that exit with an error count as lost, too: any number of them, and whether another rank is
# killed before or afterwards.
lost 0 continue '[ $TUTTI_RANK = 0 ] && kill -9 $$; sleep 0.5; [ $TUTTI_RANK = 1 ] && exit 3; sleep 0.5'
says err '^tutti: ranks 0-1 were lost; the others ended with code 0, and so does the job$'
lost 0 continue '[ $TUTTI_RANK = 1 ] || exit 3'
says err '^tutti: ranks 0,2 were lost; the others ended with code 0, and so does the job$'
# If a rank leaves the job by tutti_finalize and then exits, its exit code is that of the job,
# whether another rank is killed before or afterwards.
export RANK=$rank
lost 3 continue '"$RANK" add || exit 9; [ $TUTTI_RANK = 0 ] && kill -9 $$; sleep 0.5; [ $TUTTI_RANK = 1 ] && exit 3; exit 0'
[ "$(lines err 'lost')" -eq 0 ] || fail 'says that a job that failed ended well'
lost 3 continue '"$RANK" add || exit 9; [ $TUTTI_RANK = 1 ] && exit 3; sleep 0.5; [ $TUTTI_RANK = 0 ] && kill -9 $$; exit 0'
# All ranks end early, so no rank is left.
lost 4 continue '[ $TUTTI_RANK = 0 ] && exit 4; sleep 0.5; [ $TUTTI_RANK = 1 ] && exit 3; sleep 0.5; kill -9 $$'
lost 137 continue 'kill -9 $$'
[ "$(lines err 'lost')" -eq 0 ] || fail 'says that a job of which nobody is left ended well'
expect 6 tutti run -n 1 --on-failure continue sh -c 'exit 6'
# A rank that ends because the user ends the job does not count as lost.
tutti run -n 2 --on-failure continue sh -c 'trap "exit 0" TERM; echo >up.$TUTTI_RANK
    [ $TUTTI_RANK = 1 ] && trap - TERM; while :; do sleep 0.05; done' >out 2>err &
launcher=$!
started+=("$launcher")
wait_for test -e up.0 -a -e up.1
sleep 0.2
kill -TERM $launcher
got=0
wait $launcher || got=$?
[ "$got" -eq 143 ] || fail "ended by the user with $got"

expect 124 tutti run -n 2 --timeout 0.3 sleep 600
says err '^tutti: timed out after 0.3 s: ending ranks 0-1$'
expect 124 tutti run -n 2 --timeout 0.3 --on-failure continue sh -c 'trap "" TERM; sleep 600'
expect 0 tutti run -n 2 --timeout 1000 true

# Programs that cannot be started.
expect 127 tutti run -n 5 no-such-program
[ "$(lines err)" -eq 1 ] || fail 'not reported once'
says err 'cannot run no-such-program: there is no such program'
expect 127 tutti run -n 2 ./no-such-program
expect 127 tutti run -n 2 ''
# A folder in PATH that cannot be searched does not change the message to "not permitted".
mkdir closed
chmod 0 closed
PATH=$work/closed:$PATH expect 127 tutti run -n 2 no-such-program
echo text >text
expect 126 tutti run -n 5 ./text
[ "$(lines err)" -eq 1 ] || fail 'not reported once'
says err 'cannot run ./text: the file is not executable; `chmod \+x` makes a program executable$'
# Without a slash, a program is looked for in PATH only. A file of this name that is here is named.
expect 127 tutti run -n 2 text
says err '^tutti: cannot run text: no folder of PATH has such a program; ./text is the file in the current folder, which is not executable$'
expect 126 tutti run -n 2 /
says err 'cannot run /: it is a folder'
printf '#!/no/such/interpreter\n' >script
chmod +x script
expect 127 tutti run -n 2 ./script
says err 'its interpreter \(the #! line or the ELF loader\) does not exist'

# Arguments.
for n in 0 -1 abc 2x 100000 99999999999999999999 ''; do
    expect 125 tutti run -n "$n" true
    says err "^tutti run: -n: '$n' is not a whole number from 1 to 4096"
done
for s in 0 -1 x nan 1e99; do
    expect 125 tutti run --timeout "$s" true
    says err 'is not a number of seconds'
done
expect 125 tutti run --bind sofa true
says err "'sofa' is none of core, thread, numa, package, none"
expect 125 tutti run --on-failure maybe true
says err "^tutti run: --on-failure: 'maybe' is none of end, continue, continue-fail\$"
expect 125 tutti run
says err 'the program is missing'
# There is no /dev/null.
bare=(unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none /dev && exec "$@"' sh)
if "${bare[@]}" true 2>/dev/null; then
    expect 125 "${bare[@]}" tutti run -n 1 true
    says err '^tutti: cannot start: /dev/null: No such file or directory$'
fi
expect 125 tutti run --no-such-option true

# For several hosts `tutti run` names the commands of other launchers, with the program's arguments
# quoted for a shell.
mkdir launchers
for name in mpirun prun srun; do printf '#!/bin/sh\n' >launchers/$name && chmod +x launchers/$name; done
expect 125 env PATH="$work/launchers" "$TUTTI_BUILD/bin/tutti" run --hosts h1,h2 -n 6 ./app 'a b' "it's"
says err "^    mpirun --host h1:3,h2:3 -n 6 --map-by slot ./app 'a b' 'it'\\\\''s'\$"
says err '^    prun --host h1:3,h2:3 -n 6 --map-by slot ./app '
says err "^    srun --mpi=pmix --nodelist=h1,h2 -n 6 ./app 'a b' .*    # of nodes of Slurm, where \`srun --mpi=list\` names pmix\$"
expect 125 env PATH="$work/launchers" "$TUTTI_BUILD/bin/tutti" run --hosts h1:1,h2 -n 6 ./app
says err '^    mpirun --host h1:1,h2:5 -n 6 --map-by slot ./app$'
# A node list of Slurm cannot contain a number of ranks for each host.
expect 125 env PATH="$work/launchers" "$TUTTI_BUILD/bin/tutti" run --hosts h1:2,h2 -n 5 ./app
says err '^    mpirun --host h1:2,h2:3 -n 5 --map-by slot ./app$'
says err '^    srun --mpi=pmix --nodelist=h1,h2 -n 5 ./app    #'
# The commands can be run as printed: the launcher gets each argument as it was given.
printf '#!/bin/sh\nprintf "<%%s>" "${0##*/}" "$@"\n' | tee launchers/mpirun >launchers/srun
words=('./my prog' '' '#1' '~' '{a,b}' '*' '$HOME' 'a\b' '"' "'" ';' '!!' 'ä' 'a=b')
expect 125 env PATH="$work/launchers" "$TUTTI_BUILD/bin/tutti" run --hosts '~h1:2,h[2]' -n 5 "${words[@]}"
says err "^    srun --mpi=pmix --nodelist='~h1','h\\[2\\]' -n 5 './my prog' '' '#1' '~' "
for line in 'mpirun --host ~h1:2,h[2]:3 -n 5 --map-by slot' 'srun --mpi=pmix --nodelist=~h1,h[2] -n 5'; do
    read -ra before <<<"$line"
    for shell in sh bash; do
        PATH=$work/launchers:$PATH $shell -c "$(grep "^    ${before[0]} " err)" >out
        [ "$(cat out)" = "$(printf '<%s>' "${before[@]}" "${words[@]}")" ] || fail "$shell reads other words"
    done
done
rm launchers/srun
expect 125 env PATH="$work/launchers" "$TUTTI_BUILD/bin/tutti" run --hosts h1,h2:4,h3 -n 7 ./app
says err '^    mpirun --host h1:2,h2:4,h3:2 -n 7 --map-by slot ./app$'
expect 125 env PATH="$work/launchers" "$TUTTI_BUILD/bin/tutti" run --hosts h1,h2 ./app
says err '^    mpirun --host h1,h2 --map-by slot ./app$'
[ "$(lines err srun)" -eq 0 ] || fail 'names a launcher that is not there'
expect 125 env PATH=/nowhere "$TUTTI_BUILD/bin/tutti" run --hosts=h1 ./app
says err 'none of mpirun, srun, prun: install one'
expect 125 tutti run --hosts 'h1;reboot' ./app
says err 'is no list of names'
expect 125 tutti run --hosts '' ./app
says err 'is no list of names'
for hosts in ',' ,h2 'h1,' h1,,h2 :2 h1,:2 :2,h2; do
    expect 125 tutti run --hosts "$hosts" ./app
    says err "^tutti run: --hosts: a name is empty in '$hosts'\$"
done
for hosts in h1:,h2 h1:x h2,h1:0 h1:2:3; do
    expect 125 tutti run --hosts "$hosts" -n 5 ./app
    says err "^tutti run: --hosts: a ':' is not followed by how many ranks the host takes in '$hosts'\$"
done
for hosts in '[::1]:2' -x,h2 'h1,[h2]'; do
    expect 125 tutti run --hosts "$hosts" -n 5 ./app
    says err '^tutti run: --hosts: a host name or IPv4 address does not begin with '
done
expect 125 env PATH="$work/launchers" "$TUTTI_BUILD/bin/tutti" run --hosts h1:4,h2:2 --tag --timeout 5 -n 7 ./app
says err '^But these hosts take 6 ranks, and 7 are wanted[.]$'
says err '^Of the options of tutti run, these lines have -n, -x and --wdir only[.]$'
expect 125 env PATH="$work/launchers" "$TUTTI_BUILD/bin/tutti" run --hosts h1:4,h2:2 -n 6 ./app
[ "$(lines err '^But these|^Of the options')" -eq 0 ] || fail 'finds fault with what can be started'

# Copies the programs that another user runs to a folder that all may enter, because other users may
# not be allowed to enter the build folder.
for_others() {
    install -m 755 "$TUTTI_BUILD/bin/tutti" "$work/tutti" && chmod 755 "$work" && command -v setpriv >/dev/null || return 1
    if setpriv --reuid "$uid" --clear-groups test -x "$work/tutti"; then return 0; fi
    echo "left out: the limit on processes of another user, who may not enter $work"
    return 1
}

# A limit on the number of processes is reported, and nothing is left behind. Root has no such
# limit.
uid=$((100000 + $$)) # no user has this number, nor does another run of this test use it
if [ "$(id -u)" -eq 0 ] && for_others; then
    expect 125 setpriv --reuid "$uid" --clear-groups bash -c 'ulimit -u 20; exec "$0" run -n 50 sleep 600' "$work/tutti"
    says err '^tutti: cannot start rank [0-9]+ of 50: Resource temporarily unavailable \(a limit'
    ! pgrep -u "$uid" >/dev/null || fail 'processes are left'
fi
expect 125 bash -c 'ulimit -n 60; exec tutti run --tag -n 50 true'
says err 'it takes [0-9]+ descriptors, 60 are allowed'
# With ever more descriptors allowed, another part of the launch fails each time, and each error
# must name the limit. With exit code 127 the command itself could not be loaded.
refused=0
for n in {4..20}; do
    got=0
    bash -c "ulimit -n $n; exec tutti run -n 3 true" >out 2>err || got=$?
    if [ "$got" -eq 0 ] || [ "$got" -eq 127 ]; then continue; fi
    refused=$((refused + 1))
    says err '^tutti: cannot .*: Too many open files \(a limit on descriptors: ulimit -n\)$'
done
[ "$refused" -gt 3 ] || fail "only $refused limits on descriptors were too small"
# The soft limit is raised as far as the hard limit allows, but not for the ranks.
expect 0 bash -c 'ulimit -S -n 60; exec tutti run --tag -n 50 bash -c "ulimit -n"'
[ "$(lines out '\] 60$')" -eq 50 ] || fail 'ranks got another limit on descriptors'
