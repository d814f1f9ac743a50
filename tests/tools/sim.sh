#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `tutti sim`: the output has the documented columns, times equal the formulas and are the same in
# each run, and wrong arguments are reported.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/lib.sh"

expect 0 tutti sim alltoall/u8/1000/p16@torus:4x4 --algorithm mesh,ring --json rows
says out '^mesh +54\.000000 +54\.000000 +0\.000000 +96 +6 +24000 '
says out 'links by load'
cp rows before
expect 0 tutti sim alltoall/u8/1000/p16@torus:4x4 --algorithm ring,mesh --json rows
cmp rows before || fail 'not the same again'
python3 - <<'PYTHON'
import json
rows = json.load(open("rows"))
names = ["problem", "algorithm", "model", "ranks", "time_ps", "formula_ps", "messages", "steps", "max_link_bytes",
         "mean_link_bytes"]
assert [row["algorithm"] for row in rows] == ["ring", "mesh"], rows
for row in rows:
    assert list(row) == names, row
    assert row["time_ps"] == row["formula_ps"] and row["model"] == "links" and row["ranks"] == 16, row
PYTHON

# All algorithms that apply, for every collective and model, also around missing nodes.
for problem in barrier/p9 bcast/u8/1K/p9 reduce/f64/sum/1K/p9/root=4 allreduce/f64/sum/1K/p9 \
    reduce_scatter_block/i32/sum/1K/p9 reduce_scatter/i32/sum/1K/p9/skew=zipf gather/u8/1K/p9 scatter/u8/1K/p9/root=2 scan/f64/sum/1K/p9 exscan/f64/sum/1K/p9 allgather/u8/1K/p9 \
    allgatherv/u8/1K/p9/skew=zipf alltoall/u8/1K/p9 alltoallv/u8/1K/p9/skew=uniform gatherv/u8/1K/p9/root=2/skew=zipf scatterv/u8/1K/p9/root=2/skew=zipf; do
    expect 0 tutti sim "$problem" --model loggp --json -
    python3 -c 'import json, sys; rows = json.load(open("out")); assert rows and all(r["time_ps"] > 0 for r in rows)'
    expect 0 tutti sim "$problem@torus:4x3-wall(x=2)" --gamma 0.5ns --tr 20ps --hop 3ns --ports all
done
# An option that the model does not use is refused.
unused() {
    local option=$1 model=$2
    shift 2
    expect 2 tutti sim "$@"
    says err "^tutti sim: $option is not an option of --model $model, which computes the times here\$"
}
unused --hop simple barrier/p4 --hop 1us
unused --latency links barrier/p4@torus:2x2 --latency 2us
unused --ts loggp barrier/p4 --model loggp --ts 2us
unused --ts loggp barrier/p4 --model loggp --ts 1us # the default value
unused '--ports node' links barrier/p4@torus:2x2 --ports node
unused --store-and-forward simple barrier/p4 --store-and-forward
for option in '--near-ts 5us' '--near-ts 100ns' '--near-tw 5ns' '--ports node'; do
    # shellcheck disable=SC2086
    expect 2 tutti sim barrier/p4 $option
    says err "^tutti sim: ${option%% [0-9]*} wants nodes with several ranks, as in barrier/p4@nodes:4,4\$"
done
expect 0 tutti sim allreduce/f64/sum/1K/p6@nodes:3,3
# On a single node, all messages are messages within a node, and no formula holds.
expect 0 tutti sim bcast/u8/1000/p2@nodes:2 --algorithm binomial --near-ts 5us --near-tw 3ns
says out '^binomial +8\.000000 +- '
expect 0 tutti sim barrier/p4@nodes:4 --ports node
expect 0 tutti sim alltoall/u8/1K/p16@mesh:4x4 --algorithm mesh --store-and-forward
says out '^mesh +104\.304000 +55\.152000 +49\.152000 '

# Each message of `forward` takes one link, and the links have about equal loads. A brief run leaves
# this out: coll-forward makes these plans too.
if [ -z "${TUTTI_TEST_BRIEF-}" ]; then
    expect 0 tutti sim 'alltoall/u8/1K/p215@torus:6x6x6-hole(3,3,3)' --algorithm forward,pairwise --json rows
    python3 - <<'PYTHON'
import json
pairwise, forward = json.load(open("rows"))
crowd = [row["max_link_bytes"] / row["mean_link_bytes"] for row in (forward, pairwise)]
assert crowd[0] < 1.45 < crowd[1] < 2.5, (forward, pairwise)
PYTHON
fi

# With many ranks and no algorithm named, the command first prints what it will do, and then its
# progress.
progress='^tutti sim: [a-z-]+: [0-9.]+ million messages of [0-9.]+ \([0-9]+ %\) after [0-9]+ s$'
gets_on() { grep -qsE "$progress" err || grep -qsE '^[a-z-]+ +[0-9]' out; }
# A brief run has fewer ranks, because with a sanitizer the plans of a million ranks take minutes.
ranks=1048576
[ -z "${TUTTI_TEST_BRIEF-}" ] || ranks=131072
in_background tutti sim "allreduce/f64/sum/8/p$ranks"
wait_for gets_on
kill "$!"
wait "$!" || true
says err '^tutti sim: '"$ranks"' ranks, one algorithm after the other \(--algorithm picks\): .*doubling'
says out '^algorithm '
expect 0 tutti sim barrier/p64
[ ! -s err ] || fail 'a short simulation prints its progress'

wrong() {
    local says=$1
    shift
    expect 2 tutti sim "$@"
    says err "$says"
    [ "$(lines out)" -eq 0 ] || fail 'a table of nothing'
}
# A higher cost of bytes that are sent and received at the same time affects an exchange (ring), but
# not a tree.
expect 0 tutti sim allgather/u8/1000/p5 --algorithm ring --tw-both 1500ps
says out '^ring +10\.000000 '
expect 0 tutti sim bcast/u8/1000/p8 --algorithm binomial --tw-both 2ns
says out '^binomial +6\.000000 '

wrong 'the problem is missing'
for more in '--model loggp' '--ports all'; do
    # shellcheck disable=SC2086
    wrong '--tw-both is only for --model simple with --ports one' barrier/p4 --tw-both 2ns $more
done
wrong '--tw-both is only for --model simple' barrier/p4@ring:4 --tw-both 2ns
for time in 999ps 2001ps; do wrong 'from --tw to twice' barrier/p4 --tw-both $time; done
wrong "unknown network|unknown map 'taurus'" barrier/p4@taurus:4
wrong 'the network has 16 nodes for 15 ranks' alltoall/u8/8/p15@torus:4x4
wrong 'nodes 0 \(0,0\) and 3 \(3,0\) cannot reach one another' 'alltoall/u8/8/p20@mesh:5x5-wall(x=2)'
wrong 'forward does not apply: it needs ranks that are joined directly' alltoall/u8/8/p16@fattree:4x4 --algorithm forward
wrong "alltoall has no algorithm 'fast'; it has: .*hypercube" alltoall/u8/8/p4 --algorithm ring,fast
wrong 'hypercube does not apply: it needs a power of two' alltoall/u8/8/p5 --algorithm hypercube
wrong "'quick' is none of simple loggp links" alltoall/u8/8/p4 --model quick
wrong 'wants a network' alltoall/u8/8/p4 --model links
for time in 1 ns 1xs -1us 0.5ps nan 1e30s; do wrong "^.*--ts: '$time' is not a" alltoall/u8/8/p4 --ts="$time"; done
# A file that cannot be written is found before anything is simulated.
for option in --json --trace; do
    expect 1 tutti sim $option /no/such/folder/rows barrier/p2
    says err '^tutti sim: cannot write /no/such/folder/rows: No such file or directory$'
    [ ! -s out ] || fail "$option: simulated what cannot be written"
    expect 1 tutti sim $option . barrier/p2
    says err '^tutti sim: cannot write [.]: Is a directory$'
done

# If writing fails, the old file stays, and nothing else is left in its folder. A new file replaces
# the one at the end of a symbolic link, and has its mode. The name may be as long as a name can be.
# limited COMMAND...: runs the command, which cannot make any file longer than 0 bytes.
limited() {
    (ulimit -f 0 && "$@") 2>&1 | cat
    return "${PIPESTATUS[0]}"
}
mkdir written
name=written/$(printf 'n%.0s' {1..255})
echo old >"$name" && chmod 640 "$name" && ln -s "$name" link
for option in --json --trace; do
    expect 1 limited tutti sim $option link barrier/p2
    says out '^tutti sim: cannot write link: File too large$'
    [ "$(cat "$name")" = old ] || fail "$option: the old file is lost"
    [ "$(ls -A written)" = "${name#*/}" ] || fail "$option: other files are left"
done
expect 0 tutti sim --json link barrier/p2
python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))' "$name"
[ -L link ] || fail 'the link has been replaced'
[ "$(stat -c %a "$name")" = 640 ] || fail 'the mode has changed'
[ "$(ls -A written)" = "${name#*/}" ] || fail 'other files are left'
# is_json FILE: expects that the file has one text of JSON and nothing else.
is_json() { python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$1" || fail "$1: no JSON"; }

# A file that another process with the same number has left is not in the way.
expect 0 bash -c 'echo left >written/.tutti-$$; exec tutti sim --json link barrier/p2'
is_json "$name"
rm written/.tutti-*

# All names of a file stand for the new text.
ln "$name" second
expect 0 tutti sim --json second barrier/p3
cmp "$name" second || fail 'the file has been replaced under one of its names'
rm second

# A new file is made with the mode of all new files, also at the end of a link. If its text cannot
# be written, it is removed. If it cannot be made, that is found before anything is simulated.
ln -s written/new nothing
expect 1 limited tutti sim --json nothing barrier/p2
says out '^tutti sim: cannot write nothing: File too large$'
[ "$(ls -A written)" = "${name#*/}" ] || fail 'an empty file is left'
expect 0 bash -c 'umask 027 && exec tutti sim --json nothing barrier/p2'
is_json written/new
[ "$(stat -c %a written/new)" = 640 ] || fail 'a new file has another mode'
rm written/new
ln -sf nowhere/new nothing
expect 1 tutti sim --json nothing barrier/p2
says err '^tutti sim: cannot write nothing: No such file or directory$'
[ ! -s out ] || fail 'simulated what cannot be written'

# The text goes into a file that is open behind what is there, and what is written later follows.
for open in '/dev/stdout >&1' '/proc/self/fd/1 >&1' '/dev/stderr 2>&1 >&3' '/dev/fd/5 5>&1 >&3'; do
    expect 0 bash -c "exec 3>other; echo begin; tutti sim barrier/p2 --json $open && echo end"
    [ "$(sed -n '1p;$p' out | tr '\n' ' ')" = 'begin end ' ] || fail "$open: other lines are lost"
    sed -n '/^\[/,/^\]/p' out >rows
    is_json rows
done
expect 0 bash -c 'exec 3>gone 4<gone && rm gone && tutti sim barrier/p2 --json /dev/stdout >&3 && cat <&4'
says out '^\]$'

# A file that the user may not write is refused before anything is simulated, and one that the user
# may write is written, also where its folder allows no new file or the file belongs to another
# user. Root may write everything, so for root another user runs the command.
command=(tutti)
user=()
if [ "$(id -u)" -eq 0 ]; then
    user=(setpriv --reuid $((300000 + $$)) --clear-groups)
    install -m 755 "$TUTTI_BUILD/bin/tutti" tutti && chmod 755 .
    command=("$work/tutti")
fi
if "${user[@]}" "${command[@]}" list >/dev/null 2>&1; then
    mkdir -m 777 all && mkdir closed && mkdir sticky && chmod 1777 sticky
    echo old | tee all/read closed/rows sticky/rows >/dev/null
    chmod 444 all/read && chmod 666 closed/rows sticky/rows && chmod 555 closed
    expect 1 "${user[@]}" "${command[@]}" sim --json all/read barrier/p2
    says err '^tutti sim: cannot write all/read: Permission denied$'
    [ ! -s out ] || fail 'simulated what cannot be written'
    [ "$(cat all/read)" = old ] || fail 'a file that is for reading only is lost'
    for folder in closed sticky; do
        stat -c '%a %u %g' $folder/rows >before
        expect 0 "${user[@]}" "${command[@]}" sim --json $folder/rows barrier/p2
        is_json $folder/rows
        stat -c '%a %u %g' $folder/rows | cmp - before || fail "$folder: mode or owner have changed"
    done
    expect 1 "${user[@]}" "${command[@]}" sim --json closed/new barrier/p2
    says err '^tutti sim: cannot write closed/new: Permission denied$'
    chmod 755 closed
fi

# A file that is mounted at its path cannot be replaced, but written.
echo old >outer && echo old >inner
if unshare -rm mount --bind outer inner 2>/dev/null; then
    expect 0 unshare -rm bash -c 'mount --bind outer inner && exec tutti sim --json inner barrier/p2'
    is_json outer
fi
if [ -e /dev/full ]; then
    expect 1 bash -c 'exec tutti sim barrier/p2 --json - >/dev/full'
    expect 1 tutti sim barrier/p2 --json /dev/full
    says err 'cannot write /dev/full: No space left on device$'
    [ "$(lines err)" -eq 1 ] || fail 'the error is printed twice'
fi
