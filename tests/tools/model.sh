# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Models of this machine with made-up costs, for tests that need a model and measure none.
grep -q '^model name' /proc/cpuinfo || exit 77 # a model needs the kernel's name of the processor

# model COSTS: prints a model in which copying and adding cost COSTS, in picoseconds, one number for
# each of the nine sizes; reading by the system costs nearly nothing, and everything else costs 100
# ns.
model() {
    printf 'tutti %s\n' "$(tutti --version | awk '{ print $2 }')"
    printf 'processor %s\n' "$(sed -n 's/^model name[[:space:]]*: *//p' /proc/cpuinfo | head -n 1 | tr -s ' ')"
    printf 'processors %s\n' "$(getconf _NPROCESSORS_CONF)"
    printf 'bytes 8 64 512 4096 16384 65536 262144 1048576 4194304\n'
    for name in call step line take message turn_2 turn_4 turn_8; do echo "$name 100000"; done
    for from in cached memory other; do
        for to in cached memory other; do echo "copy_${from}_$to $1"; done
        echo "stream_$from $1"
        echo "add_$from $1"
    done
    for table in read_memory_cached read_memory_memory read_other_cached read_other_memory write_memory_memory; do
        echo "$table 8 64 512 4096 16384 65536 262144 1048576 4194304"
    done
    for table in copy_shared read_shared; do echo "$table 1000 1000 1000 1000 1000 1000 1000 1000 1000"; done
}

# wires: prints the lines of a network, to be appended to a model. A message takes 10 us and 1 ns
# for each byte, of which sender and receiver work a tenth each.
wires() {
    echo 'wire_look 300000'
    echo 'wire_time 10008000 10064000 10512000 14096000 26384000 75536000 272144000 1058576000 4204304000'
    for table in send receive; do
        echo "wire_$table 1000800 1006400 1051200 1409600 2638400 7553600 27214400 105857600 420430400"
    done
    echo 'wire_gap 1000800 1006400 1051200 4096000 16384000 65536000 262144000 1048576000 4194304000'
}

# fast_wires: prints the lines of a network on which a slice of 256K is much better than the usual
# one of 64K, to be appended to a model. The times were measured between two processes of a machine
# with two processors.
fast_wires() {
    echo 'wire_look 309150'
    echo 'wire_time 6013351 6013351 6366976 6582976 9310564 21624864 53403330 227043414 1007249164'
    echo 'wire_send 4883500 4900375 5236875 5973250 9880937 16243500 45540125 189905666 771217250'
    echo 'wire_receive 2339750 2387875 2387875 2387875 2387875 7022700 23355875 132714834 640091750'
    echo 'wire_gap 5050106 5076775 5354053 6009344 9884605 16325852 47981617 193441847 716093828'
}
