#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `tutti calibrate --network`: two ranks on two nodes measure messages between the nodes, and rank 0
# adds the times to its model. All other lines of the file stay.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/model.sh"
unset TUTTI_MACHINE TUTTI_CHOICE TUTTI_WISDOM TUTTI_NODES
export XDG_CACHE_HOME=$work/cache TUTTI_MACHINE=$work/model

expect 1 tutti calibrate --network
says err 'two ranks on two hosts, and there is 1; start it by a launcher'
expect 1 tutti run -n 2 tutti calibrate --network
says err 'both ranks are on one host'
expect 1 env TUTTI_NODES=2,1 tutti run -n 3 tutti calibrate --network
says err 'two ranks on two hosts, and there are 3'
expect 2 tutti calibrate --show --network

export TUTTI_NODES=1,1
expect 1 tutti run -n 2 tutti calibrate --network
says err "$work/model: No such file or directory; first measure this machine alone, by tutti calibrate"
[ ! -e model ] || fail 'a network without a model of the machine'
model '400 2000 9000 50000 200000 800000 3000000 12000000 50000000' >before
cp before model
tutti calibrate --show >shown
grep -q '^messages between two nodes: not measured' shown || fail 'a network that nobody measured'
expect 0 tutti info
says out 'messages between hosts +not known'

# The network is added to the file that --output names, so that file must have a model, too.
expect 1 tutti run -n 2 tutti calibrate --network --output "$work/other"
says err "$work/other: No such file or directory; first measure this machine alone"
[ ! -e other ] || fail 'a file without a model was made'

expect 0 tutti run -n 2 tutti calibrate --network
says out '^  wire_time '
says out "^written to $work/model\$"
grep -v '^#' before | sort | cmp - <(grep -v '^#' model | grep -v '^wire_' | sort) || fail 'other lines differ'
[ "$(grep -c '^wire_' model)" -eq 5 ] || fail 'the network is not complete'
expect 0 tutti calibrate --show
says out '^  wire_gap '
expect 0 tutti info
says out 'messages between hosts +measured'

# The network is measured again, over the network library, and replaces the former one. Another
# line of the file that changes meanwhile keeps its new value.
{ cat before && wires; } >model
{ sleep 1 && sed 's/^line .*/line 77777/' model >new && mv new model; } &
expect 0 env TUTTI_WIRE=1 tutti run -n 2 tutti calibrate --network
wait
[ ! -s err ] || fail 'a warning'
grep -qx 'line 77777' model || fail 'an old value of another line was written'
[ "$(grep -c '^wire_' model)" -eq 5 ] || fail 'the network is there twice'
if grep '^wire_' model | cmp -s - <(wires); then fail 'nothing was measured'; fi

# Times that a setting changes are not kept in the cache folder, where all later jobs find them, but
# TUTTI_WIRE changes nothing between hosts.
expect 1 env -u TUTTI_MACHINE TUTTI_WIRE=1 TUTTI_EAGER=0 tutti run -n 2 tutti calibrate --network
says err '^tutti calibrate: TUTTI_EAGER changes the times'
expect 1 env -u TUTTI_MACHINE TUTTI_WIRE=1 tutti run -n 2 tutti calibrate --network
says err 'No such file or directory; first measure this machine alone, by tutti calibrate'
expect 1 env TUTTI_MACHINE="$work/other" TUTTI_EAGER=0 tutti run -n 2 tutti calibrate --network
says err "$work/other: No such file or directory; first measure this machine alone"

# A rank whose partner dies does not wait for it for ever, and the file stays. The partner dies when
# it starts or measures, or has measured: that depends on how fast the machine is.
cat >dies <<'SCRIPT'
#!/bin/bash
[ "$TUTTI_RANK" != "$1" ] || exec timeout -s KILL "$2" tutti calibrate --network
exec tutti calibrate --network
SCRIPT
chmod +x dies
cp model kept
for at in '0 0.5' '1 1'; do
    code=0
    # shellcheck disable=SC2086
    TUTTI_WIRE=1 tutti run --on-failure=continue --timeout 100 -n 2 ./dies $at >out 2>err || code=$?
    [ "$code" -ne 124 ] || fail "a rank waited for rank ${at% *}, which had died"
    [ "$code" -eq 0 ] || cmp kept model || fail 'half of a measurement was written'
    cp kept model
done

# The file of another version is replaced, and the command says that its network is lost.
sed 's/^tutti .*/tutti 0.0.9/' model >old
expect 0 env -u TUTTI_NODES TUTTI_MACHINE="$work/old" tutti calibrate
says err 'old is replaced, and its network, if it had one, is not kept: '
