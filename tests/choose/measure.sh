#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Measuring in the first calls, and wisdom: all ranks choose alike, the second job takes what the
# first one measured, and lines that do not fit are ignored with a reason.
# shellcheck source-path=SCRIPTDIR disable=SC1091
source "$(dirname "$0")/../tools/lib.sh"
source "$(dirname "$0")/../locale.sh"

unset TUTTI_MACHINE TUTTI_CHOICE TUTTI_WISDOM TUTTI_ALGORITHM
export XDG_CACHE_HOME=$work/cache
program=$TUTTI_BUILD/tests/choose-measured
run() { timeout 3000 env "$@" TUTTI_LOG=choice tutti run -n 3 "$program"; }

# Each shape is measured once for each team, and a line of the file keeps the result.
expect 0 run TUTTI_CHOICE=measure
for call in allreduce reduce bcast barrier alltoall; do
    [ "$(lines err "is the fastest for $call.* on 3 ranks")" -eq 1 ] || fail "$call is not measured once"
done
says err 'is the fastest for bcast.* on 2 ranks'
file=$(find cache -name '*.wisdom')
left=$(find cache -type f ! -name '*.machine' ! -name '*.rankings')
[ "$left" = "$file" ] || fail "other files are left: $left"
[ "$(grep -c '^[a-z]' "$file")" -eq 7 ] || fail "not seven lines: $(cat "$file")"
[ "$(stat -c %a cache/tutti)" = 700 ] || fail 'others can read the folder'

# Later jobs choose by the wisdom, with either setting of TUTTI_CHOICE, and measure nothing again.
cp "$file" before
for choice in measure table; do
    expect 0 run TUTTI_CHOICE=$choice
    says err 'choice: .* for allreduce.*by wisdom'
    [ "$(lines err 'is the fastest')" -eq 0 ] || fail 'it was measured again'
    cmp -s "$file" before || fail 'the file has changed'
done
expect 0 run TUTTI_WISDOM=0 TUTTI_CHOICE=table
says err 'choice: flat for allreduce.*by the table'

# The wisdom and the choice of rank 0 count for all ranks.
cat >differing <<'SCRIPT'
#!/bin/bash
case $TUTTI_RANK in
1) export TUTTI_WISDOM=0 TUTTI_CHOICE=table ;;
2) unset HOME XDG_CACHE_HOME ;;
esac
exec "$1"
SCRIPT
chmod +x differing
sed -E 's/^(allreduce[^ ]*) [a-z]+/\1 ring/' before >"$file"
expect 0 env TUTTI_LOG=choice tutti run -n 3 ./differing "$program"
says err 'choice: ring for allreduce.*by wisdom'
expect 0 env TUTTI_LOG=choice TUTTI_CHOICE=measure TUTTI_WISDOM="$work/own" tutti run -n 3 ./differing "$program"
grep -q '^bcast' own || fail 'rank 0 has kept nothing'

# check_ignored SED REASON EXPLAINED: changes the wisdom by the sed script SED, so that a line does
# not fit. A job must ignore this line and log REASON, and `tutti explain` must print EXPLAINED.
check_ignored() {
    sed "$1" before >"$file"
    expect 0 run TUTTI_CHOICE=table
    says err "wisdom: 'allreduce.*is ignored: $2"
    says err 'choice: flat for allreduce.*by the table'
    expect 0 tutti explain allreduce/i64/sum/5600/p3
    says out "$3"
}
check_ignored 's/machine=/machine=other/' 'it was measured on other' 'is ignored: it was measured on other'
check_ignored 's/tutti=[^ ]*/tutti=0.0.1/' 'it was measured by Tutti 0.0.1' 'is ignored: it was measured by Tutti 0'
check_ignored 's/^\([^ ]*\) [a-z]*/\1 quick/' "allreduce has no algorithm 'quick'" 'is ignored: allreduce has no'
check_ignored 's/us=/ms=/' "'ms=[0-9.]*' has an unknown key" "is ignored: 'ms="
expect 0 run TUTTI_CHOICE=measure
grep -q ' ms=' "$file" || fail 'a line that cannot be read is lost'
sed -E 's/^(allreduce[^ ]*) [a-z]+/\1 flat/; s/cores=./cores=99/' before >"$file"
expect 0 run TUTTI_CHOICE=table
says err 'choice: flat for allreduce.*by the table'

# The file and its name do not depend on the program's locale: numbers have a point also if the
# locale has a comma, and in Turkish, i is not the small letter of I.
for locale in de_DE tr_TR; do
    has_locale "$locale" || continue
    rm -f "$file"
    expect 0 "${in_locale[@]}" timeout 3000 env TUTTI_CHOICE=measure tutti run -n 3 "$program"
    grep -qE '^allreduce.* us=[0-9]+\.[0-9]+ others=[a-z]+:[0-9]+\.[0-9]+' "$file" || fail "the wisdom of $locale"
    expect 0 "${in_locale[@]}" timeout 3000 env TUTTI_LOG=choice tutti run -n 3 "$program"
    says err 'choice: .* for allreduce.*by wisdom'
done

# Times that a setting changes are kept only in a file that the user names.
rm -f "$file"
expect 0 run TUTTI_CHOICE=measure TUTTI_YIELDS=3
says err 'warning: what was measured is not kept, because TUTTI_YIELDS changes the times; TUTTI_WISDOM=FILE keeps it'
[ ! -e "$file" ] || fail 'times with a setting are kept'
expect 0 run TUTTI_CHOICE=measure TUTTI_YIELDS=3 TUTTI_WISDOM="$work/yields"
grep -q '^allreduce' yields || fail 'times are not kept in a file that is named'

# If the wisdom cannot be written, the job does not fail.
touch occupied
expect 0 run TUTTI_CHOICE=measure TUTTI_WISDOM="$work/occupied/wisdom"
says err 'warning: what was measured is not kept: .*Not a directory'
expect 0 env -u XDG_CACHE_HOME -u HOME TUTTI_CHOICE=measure tutti run -n 3 "$program"

# Ranks that are threads measure, too, and so do ranks on several nodes. What is measured on nodes
# that are only simulated is not kept.
rm -f "$file"
expect 0 timeout 3000 env TUTTI_CHOICE=measure "$program" 3
grep -q 'reach=load' "$file" || fail 'threads have kept nothing'
rm -f "$file"
expect 0 run TUTTI_CHOICE=measure TUTTI_NODES=2,1
says err 'is the fastest for allreduce'
[ ! -e "$file" ] || ! grep -q nodes "$file" || fail 'nodes that are none have been kept'
