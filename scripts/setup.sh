#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs the packages that are missing to run the demo, to build Tutti with all its features, or
# to test it. A package is missing if the build would not find its contents, whatever installed
# them. So only a system that lacks something needs apt, and root or sudo.
#
#     setup.sh [demo | build | test]      default: test
set -euo pipefail
cd "${BASH_SOURCE[0]%/*}/.."

# Columns: the first purpose that needs the package (each purpose also needs the packages of the
# purposes before it), the package, and the command that shows whether its contents are there.
list() {
    cat <<'LIST'
demo   cmake               command -v cmake
demo   ninja-build         command -v ninja
demo   gcc                 command -v gcc
demo   libc6-dev           test -e /usr/include/stdio.h
demo   pkg-config          command -v pkg-config
demo   libhwloc-dev        pkg-config --exists hwloc
demo   libcjson-dev        pkg-config --exists libcjson
demo   python3             command -v python3
demo   perl                perl -MPod::Text -e 1
build  g++                 command -v g++
build  libucx-dev          pkg-config --exists ucx
build  libpmix-dev         pkg-config --exists pmix
build  libfftw3-dev        pkg-config --exists fftw3
test   clang               command -v clang
test   lld                 command -v ld.lld
test   clang-format        command -v clang-format
test   libclang-rt-14-dev  ls "$(clang -print-resource-dir)"/lib/linux/libclang_rt.asan-*.a
test   iproute2            command -v ip
test   libcmocka-dev       pkg-config --exists cmocka
test   shellcheck          command -v shellcheck
test   git                 command -v git
test   man-db              command -v man
test   procps              command -v pgrep
test   bsdutils            command -v script
test   libsimgrid-dev      pkg-config --exists simgrid
test   graphviz            command -v dot
test   doxygen             command -v doxygen
test   librsvg2-2          ls /usr/lib/*/librsvg-2.so.2
test   chromium            command -v chromium
test   chromium-driver     command -v chromedriver
test   openmpi-bin         command -v mpirun
test   libopenmpi-dev      command -v mpicc.openmpi && pkg-config --exists ompi-c
test   mpich               command -v mpiexec.mpich
test   libmpich-dev        command -v mpicc.mpich && pkg-config --exists mpich
test   gfortran            command -v gfortran
test   python3-mpi4py      /usr/bin/python3 -c 'import mpi4py'
test   mumps-test          test -x /usr/lib/mumps/dsimpletest
test   python3-selenium    /usr/bin/python3 -c 'import selenium'
LIST
}

what=${1:-test}
case $what in
    demo) stages=demo ;;
    build) stages='demo|build' ;;
    test) stages='demo|build|test' ;;
    *)
        echo "setup: '$what' is none of demo, build, test" >&2
        exit 2
        ;;
esac

missing=()
look() {
    local stage package probe
    missing=()
    while read -r stage package probe; do
        [[ $stage =~ ^($stages)$ ]] || continue
        bash -c "$probe" >/dev/null 2>&1 </dev/null || missing+=("$package")
    done < <(list)
}

stop() {
    printf 'setup: %s\nsetup: missing: %s\n' "$1" "${missing[*]}" >&2
    exit 1
}

install_missing() {
    command -v apt-get >/dev/null ||
        stop 'this system has no apt-get: please install what these Debian packages hold, then try again'
    local become=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || stop 'neither root nor sudo: please have these packages installed'
        become=(sudo)
        sudo true || stop 'sudo refused (its words are above): please have these packages installed'
    fi
    echo "setup: installing ${missing[*]}"
    local apt=("${become[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y)
    "${apt[@]}" update </dev/null || stop 'apt-get update failed (its words are above)'
    "${apt[@]}" install --no-install-recommends "${missing[@]}" </dev/null ||
        stop 'apt-get install failed (its words are above)'
    look
    if [ ${#missing[@]} -ne 0 ]; then stop 'installed, but still not found'; fi
}

# Unpacks Slurm for one test, which is skipped without Slurm. The packages would start daemons if
# they were installed, so they are unpacked into build/slurm, together with those of their
# dependencies that this system lacks. If that folder exists, it is complete. The folder gets the
# owner of the sources, who also writes into build/ and may be another user than the one who
# installs packages.
unpack_slurm() {
    local folder=$PWD/build/slurm-$$ packages daemon deb
    packages=$(apt-get install -s --no-install-recommends slurmctld slurmd slurm-client munge | sed -n 's/^Inst \([^ ]*\) .*/\1/p')
    # shellcheck disable=SC2086
    mkdir -p "$folder/download" && cd "$folder/download" && apt-get download $packages && cd "$folder" || return 1
    for deb in download/*.deb; do dpkg-deb -x "$deb" . || return 1; done
    for daemon in slurmctld slurmd slurmstepd; do ln -s $daemon-wlm usr/sbin/$daemon || return 1; done
    rm -r download && chown -R --reference=../.. . && chown --reference=../.. .. &&
        mv "$folder" "${folder%/*}/slurm"
}
slurm_if_missing() {
    ! PATH=$PATH:/usr/sbin command -v slurmctld && [ ! -e build/slurm ] && command -v apt-get && command -v dpkg-deb || return 0
    (unpack_slurm) || rm -rf "build/slurm-$$"
}

look
if [ ${#missing[@]} -ne 0 ]; then install_missing; fi
if [ "$what" = test ]; then slurm_if_missing >/dev/null 2>&1; fi
