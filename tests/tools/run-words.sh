#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `tutti run` understands the options of other launchers. For an option that it does not understand,
# the message says what to use instead.
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2016
source "$(dirname "$0")/lib.sh"

# refused PATTERN ARGUMENT...: expects exit code 125 and this message, and that nothing was started.
refused() {
    local says=$1
    shift
    expect 125 tutti run "$@"
    [ ! -s out ] || fail 'something ran'
    says err "$says"
}

# The number of ranks.
for n in '-np 3' '-np3' '-n 3' '-n3' '--np 3' '--np=3' '-np=3' '--ranks=3' '-ranks 3' '-N 3' '--npernode 3' '-ppn 3'; do
    # shellcheck disable=SC2086
    expect 0 tutti run $n echo -np 5
    [ "$(lines out '^-np 5$')" -eq 3 ] || fail "$n: not three"
done
refused "^tutti run: -n: 'x' is not a whole number" -np x true
refused '^tutti run: -N: 2 ranks on this machine, but -n says 3' -N 2 -n 3 echo
refused '^tutti run: -c: say -n for the number of ranks, or --cores-per-rank' -c 2 echo

# Options that are always allowed, and options of other launchers.
expect 0 tutti run --oversubscribe --allow-run-as-root -n 3 true
refused '^tutti run: --mca is Open MPI.s; settings of Tutti are variables: -x TUTTI_LOG=boot' --mca btl self echo
refused '^tutti run: --mca is' -mca btl self echo
refused '^tutti run: variables are set by -x NAME=VALUE' -genv A 1 echo
refused "there is no option '--tagg'; did you mean '--tag'\?" --tagg echo
refused "there is no option '--host-file'; did you mean '--hostfile'\?" --host-file=x echo
refused "there is no option '-wdri'; did you mean '--wdir'\?" -wdri / echo
refused "there is no option '-q'\$" -q echo
refused "there is no option '--xyzzy'\$" --xyzzy echo
refused "there is no option '--bnid'; did you mean '--bind'\?" -n 1 echo : -n 1 --bnid core echo

# Help, wherever the option stands.
for help in -h -help --help '-?' '-n 3 -h' '-n 1 true : --help'; do
    # shellcheck disable=SC2086
    expect 0 tutti run $help
    says out '^Usage: tutti run '
    [ "$(lines out '--wdir=DIR')" -ge 1 ] || fail 'not the options'
done
expect 0 tutti run -n 1 echo x --help -h
says out '^x --help -h$'

# -x sets a variable for the ranks.
NEW='' OLD=1 expect 0 tutti run -n 2 -x OLD=2 -x 'NEW=a b=c' sh -c 'echo "$OLD <$NEW>"'
[ "$(lines out '^2 <a b=c>$')" -eq 2 ] || fail 'a variable is not set'
OLD=1 expect 0 tutti run -n 2 -x OLD sh -c 'echo "$OLD"'
[ "$(lines out '^1$')" -eq 2 ] || fail 'a variable is lost'
expect 0 tutti run -n 1 -x TUTTI_NOT_THERE sh -c 'echo "<$TUTTI_NOT_THERE>"'
says err '^tutti run: -x: TUTTI_NOT_THERE is not set here$'
says out '^<>$'
mkdir elsewhere
printf '#!/bin/sh\necho here "$PWD"\n' >elsewhere/program
chmod +x elsewhere/program
expect 0 tutti run -n 1 -x "PATH=$work/elsewhere:$PATH" program
says out '^here '
refused "^tutti run: -x: '=1' has no name before its =" -x =1 echo
refused "^tutti run: -x: '' has no name" -x '' echo
for own in TUTTI_RANK=0 TUTTI_SIZE TUTTI_JOB=3; do
    refused "^tutti run: -x: ${own%=*} is set by tutti run, differently for each rank" -x $own echo
done

# --wdir sets the folder of the ranks, relative to which the program is named.
for option in '--wdir elsewhere' '-wdir elsewhere' --wdir=elsewhere '-wd elsewhere' "-wdir $work/elsewhere"; do
    # shellcheck disable=SC2086
    expect 0 tutti run -n 2 $option ./program
    [ "$(lines out "^here $work/elsewhere\$")" -eq 2 ] || fail "$option: not there"
done
refused "^tutti run: --wdir: 'nowhere': No such file or directory" --wdir nowhere echo
refused "^tutti run: --wdir: '.*/program' is not a folder" --wdir elsewhere/program echo
expect 127 tutti run -n 2 --wdir elsewhere ./other
says err '^tutti: cannot run ./other in elsewhere: there is no such program$'
[ "$(lines err)" -eq 1 ] || fail 'not said once'
cp /bin/true beside
expect 127 tutti run -n 2 --wdir elsewhere ./beside
says err 'there is no such program'
uid=$((200000 + $$))
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && chmod 755 "$work" && mkdir closed && chmod 700 closed &&
    setpriv --reuid "$uid" --clear-groups tutti run -n 1 true 2>/dev/null; then
    expect 125 setpriv --reuid "$uid" --clear-groups tutti run -n 3 --wdir closed true
    says err '^tutti: cannot run rank [0-2] in the folder closed: Permission denied$'
fi

# Several programs in one job, each with its own number of ranks, variables and folder.
expect 0 tutti run -n 2 -x A=1 sh -c 'echo "$TUTTI_RANK of $TUTTI_SIZE <$A> $*"' - x : \
    -np 3 --wdir elsewhere sh -c 'echo "$TUTTI_RANK of $TUTTI_SIZE <$A> ${PWD##*/} $*"' - y -n 7
printf '%s\n' '0 of 5 <1> x' '1 of 5 <1> x' '2 of 5 <> elsewhere y -n 7' '3 of 5 <> elsewhere y -n 7' \
    '4 of 5 <> elsewhere y -n 7' >expected
sort out | diff - expected || fail 'several programs'
# All programs form one job: their ranks take part in the same collectives.
expect 0 tutti run -n 1 "$rank" add : -n 2 "$rank" add : -n 1 "$rank" add
[ "$(lines out '^done: $')" -eq 4 ] || fail 'not one job'
expect 0 tutti run -n 1 -- echo a : -n 2 b
says out '^a : -n 2 b$'
expect 127 tutti run -n 1 sleep 600 : -n 1 no-such-program
says err '^tutti: cannot run no-such-program: there is no such program$'
expect 4 tutti run -n 1 true : -n 2 --on-failure continue-fail sh -c '[ $TUTTI_RANK = 2 ] && exit 4; exit 0'
refused "^tutti run: there is no program before ':'" : echo
refused "^tutti run: there is no program before ':'" -n 1 true : : -n 1 echo
refused "^tutti run: there is no program behind ':'" -n 1 echo :
refused '^tutti run: there is no program behind the last options' -n 1 echo : -n 2
refused '^tutti run: -n: each of several programs needs its own, ls has none' -n 1 echo : ls
refused '^tutti run: -n: 4097 ranks are more than 4096' -n 4096 echo : -n 1 echo
expect 0 tutti run --display map -n 1 true : -n 2 echo
for line in '0: true' '1: echo' '2: echo'; do says err "^tutti: rank $line: (processor|not bound)"; done
expect 0 tutti run --display-map -n 1 true
says err '^tutti: rank 0: true: '
refused "^tutti run: --display: 'topo' is none of map, bind, map,bind, bind,map" --display topo echo

# --output-dir writes the output of each rank to a file, and creates the folder if necessary.
expect 0 tutti run -n 11 --output-dir outputs sh -c 'echo out $TUTTI_RANK; echo err $TUTTI_RANK >&2; echo more'
if [ -s out ] || [ -s err ]; then fail 'output goes elsewhere'; fi
[ "$(find outputs -type f | wc -l)" -eq 22 ] || fail 'not two files a rank'
printf 'out 3\nmore\n' | diff - outputs/rank-03.out || fail 'not the output of rank 3'
echo err 10 | diff - outputs/rank-10.err || fail 'not the errors of rank 10'
# The files of an earlier run are replaced; --wdir does not affect the place of the folder.
expect 0 tutti run -n 11 --output-dir outputs --wdir elsewhere true
[ ! -s outputs/rank-03.out ] || fail 'an old output is left'
expect 3 tutti run -n 2 --output-dir outputs sh -c 'exit 3'
says err '^tutti: rank [01] \(pid [0-9]+\) exited with code 3$'
expect 0 tutti run -n 2 --output-dir new/folder/of/it echo
[ -s "$(find new/folder/of/it -name rank-0.out)" ] || fail "a folder and those above it were not made"
refused "^tutti run: --output-dir: cannot make the folder 'beside/under'" --output-dir beside/under echo
refused "^tutti run: --output-dir: 'beside' is not a folder" --output-dir beside echo
refused '^tutti run: --tag: with --output-dir there are no lines to tag' --tag --output-dir outputs echo
mkdir -p blocked/rank-0.err
expect 125 tutti run -n 2 --output-dir blocked echo
says err '^tutti: cannot write the output of rank 0 to the folder blocked: Is a directory$'

# Other names for --tag.
for tag in --tag -tag --tag-output -l; do
    expect 0 tutti run -n 2 $tag echo x
    says out '^\[1\] x$'
done

# Hosts: names of this host are accepted; several hosts need another launcher.
for hosts in localhost 127.0.0.1 "$(hostname)" localhost,localhost; do
    expect 0 tutti run --host "$hosts" -n 2 echo here
    [ "$(lines out '^here$')" -eq 2 ] || fail "$hosts: not here"
done
for option in --hosts --host -host -H; do
    expect 0 tutti run $option localhost:2,localhost:1 echo here
    [ "$(lines out '^here$')" -eq 3 ] || fail "$option: not as many as the host takes"
done
printf '# these\nlocalhost slots=2   # two\n\n  localhost:1 max_slots=9\r\n' >hosts
for option in --hostfile -hostfile --machinefile -machinefile -f; do
    expect 0 tutti run $option hosts echo here
    [ "$(lines out '^here$')" -eq 3 ] || fail "$option: not as many as the file says"
done
mkdir launchers
for name in mpirun srun; do printf '#!/bin/sh\n' >launchers/$name && chmod +x launchers/$name; done
tutti=$TUTTI_BUILD/bin/tutti
printf 'h1 slots=2\nh2:3\nh3\nh3\nh4' >hosts
expect 125 env PATH="$work/launchers" "$tutti" run -machinefile hosts -np 9 -x 'A=1 2' -wdir / ./app b
says err "^    mpirun --host h1:2,h2:3,h3:2,h4:2 -n 9 --map-by slot -x 'A=1 2' --wdir / ./app b\$"
says err "^    srun --mpi=pmix --nodelist=h1,h2,h3,h4 -n 9 --export=ALL,'A=1 2' --chdir / ./app b    #"
expect 125 env PATH="$work/launchers" "$tutti" run --hosts h1,h2 -n 2 ./a x : -n 3 -x B=2 ./b
says err '^    mpirun --host h1:3,h2:3 -n 2 --map-by slot ./a x : -n 3 -x B=2 ./b$'
[ "$(lines err srun)" -eq 0 ] || fail 'srun does not start several programs in a job so'
refused "^tutti run: --hostfile: cannot read 'none': No such file or directory" --hostfile none echo
refused "^tutti run: --hostfile: cannot read '/': Is a directory" --hostfile / echo
printf '# nothing\n' >none
refused "^tutti run: --hostfile: 'none' names no host" --hostfile none echo
refused '^tutti run: --hostfile: the hosts have been given before' --hosts h1 --hostfile hosts echo
bad() {
    printf 'h1\n%s\n' "$1" >bad
    refused "^tutti run: --hostfile: bad:2: $2 '.*' \(expected HOST, HOST:N or HOST slots=N\)" --hostfile bad echo
}
bad 'h2 slots=0' 'no number of ranks:'
bad 'h2 slots=' 'no number of ranks:'
bad 'h2:x' 'no number of ranks:'
bad 'h2 max_slots=-1' 'no number of ranks:'
bad 'h2 sockets=2' 'unknown word'
bad 'h2,h3' 'no name of a host:'
bad 'h2 slots=1M slots=1M' 'too many ranks for the host'

# Hosts that take more ranks than are possible.
for hosts in localhost:4097 localhost:4000,localhost:97 localhost:9999999; do
    refused '^tutti run: --hosts: [0-9]+ ranks are more than 4096 on one machine; say -n for fewer$' --hosts "$hosts" echo
done
expect 0 tutti run --hosts localhost:4097 -n 2 echo here
[ "$(lines out '^here$')" -eq 2 ] || fail 'not as many as -n says'
printf 'localhost slots=4097\n' >many
refused '^tutti run: --hostfile: 4097 ranks are more than 4096 on one machine' --hostfile many echo
# The numbers of all these hosts together are 2^32 + 1.
hosts=h:4967726$(printf ',h%d:9999999' {1..429})
expect 125 env PATH="$work/launchers" "$tutti" run --hosts "$hosts" -n 2 ./app
[ "$(lines err '^But these hosts take')" -eq 0 ] || fail 'the sum of the numbers is wrong'
bad ':2' 'no name of a host:'
bad 'h$(x)' 'no name of a host:'

# Options for binding.
for bind in core thread numa package none socket hwthread; do expect 0 tutti run -n 1 --bind-to $bind true; done
for map in core slot numa package socket; do expect 0 tutti run -n 3 --map-by=$map true; done
refused "^tutti run: --bind: 'sofa' is none of core, thread, numa, package, none" --bind sofa echo
refused "^tutti run: --map-by: 'ppr:2:node' is none of core, numa, package" -map-by ppr:2:node echo
refused "^tutti run: --cores-per-rank: '0' is not a whole number" --cores-per-rank 0 echo
