#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The small examples print what they should, on any number of ranks.
set -euo pipefail

die() {
    echo "small: $*" >&2
    exit 1
}

for n in 1 2 3 4 7; do
    tutti run -n $n -- hello | sort |
        diff - <(for ((r = 0; r < n; r++)); do echo "rank $r of $n: the sum of all ranks is $((n * (n - 1) / 2))"; done)

    said=$(tutti run -n $n -- power 300)
    # 1 / (4 sin^2(pi / 1202)), computed with another program.
    [[ $said == 'n = 300: largest eigenvalue 36597.396186 '*'it is 36597.396186' ]] || die "$n ranks: power says '$said'"
done

words=('all' 'all together' 'all together and' 'all together and in' 'all together and in time')
for n in 1 2 5; do
    tutti run -n $n -- hello-cpp | sort |
        diff - <(for ((r = 0; r < n; r++)); do echo "rank $r hears: ${words[n - 1]}"; done)
done

# The numbers in the table of rank r begin with r * 2^20.
table=$((1 << 20))
for n in 1 2 3 5; do
    tutti run -n $n --timeout 3000 -- endpoints | sort |
        diff - <({
            echo "$n reports"
            for ((r = 0; r < n; r++)); do
                from=$(((r + n - 1) % n)) other=$(((r + 2) % n))
                echo "rank $r: the table of rank $from begins and ends with numbers of sum $(((2 * from + 1) * table - 1)), rank $other's ends with $(((other + 1) * table - 1))"
            done
        } | sort)
done

# More ranks than rows; no rows; invalid arguments.
[[ $(tutti run -n 4 -- power 2) == 'n = 2: largest eigenvalue 2.618034 '*'it is 2.618034' ]] || die 'power 2'
for wrong in 0 -1 x 1x 100001 9223372036854775808 '5 6'; do
    status=0
    # shellcheck disable=SC2086
    said=$(tutti run -n 3 -- power $wrong 2>&1 >/dev/null) || status=$?
    [ $status -eq 2 ] || die "exit status $status of power $wrong"
    [ "$(grep -c '^Usage: power ' <<<"$said")" -eq 1 ] || die "power $wrong says '$said'"
done
[[ $(tutti run -n 3 -- power --help) == 'Usage: power '* ]] || die 'power --help'
