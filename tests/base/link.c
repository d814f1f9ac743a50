/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests the description of the links, which tt_link_read reads from files like those of /sys/class.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/machine.h"

static char root[] = "/tmp/tutti-link-XXXXXX";

/* Writes a file of the tree, and makes its folders. */
static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *at = path + sizeof root; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Checks the speed of the fastest link, which uses RDMA if `rdma`. */
static void expect_link(const char *tls, const char *devices, int mbit, bool rdma)
{
    (void)(tls ? setenv("UCX_TLS", tls, 1) : unsetenv("UCX_TLS"));
    (void)(devices ? setenv("UCX_NET_DEVICES", devices, 1) : unsetenv("UCX_NET_DEVICES"));
    struct tt_machine_link link = tt_link_read(root);
    assert_int_equal(link.mbit, mbit);
    assert_int_equal(link.start_ns, rdma ? 2000 : 0);
    assert_int_equal(tt_link_has_rdma(root), rdma);
}

static void expect(const char *tls, const char *devices, int mbit)
{
    expect_link(tls, devices, mbit, false);
}

static void expect_rdma(const char *tls, const char *devices, int mbit)
{
    expect_link(tls, devices, mbit, true);
}

static void reads_what_the_kernel_states(void **state)
{
    (void)state;
    expect(NULL, NULL, 0);
    put("net/lo/operstate", "unknown\n");
    put("net/docker0/operstate", "up\n");
    put("net/docker0/speed", "40000\n");
    expect(NULL, NULL, 40000); /* there is nothing but a virtual interface */
    put("net/eth0/operstate", "up\n");
    put("net/eth0/speed", "-1\n");
    put("net/eth0/device/vendor", "");
    expect(NULL, NULL, 40000);
    put("net/eth0/speed", "10000\n");
    put("net/eth1/operstate", "down\n");
    put("net/eth1/speed", "25000\n");
    put("net/eth1/device/vendor", "");
    expect(NULL, NULL, 10000); /* a device comes before virtual ones; eth1 is down */
    put("net/eth1/operstate", "up\n");
    expect(NULL, NULL, 25000);
    expect(NULL, "eth0,lo", 10000);
}

static void prefers_rdma(void **state)
{
    (void)state;
    put("infiniband/mlx5_10/ports/1/state", "1: DOWN\n");
    put("infiniband/mlx5_10/ports/1/rate", "400 Gb/sec (4X NDR)\n");
    expect(NULL, NULL, 25000); /* the port is not active */
    put("infiniband/mlx5_10/ports/2/state", "4: ACTIVE\n");
    put("infiniband/mlx5_10/ports/2/rate", "200 Gb/sec (4X HDR)\n");
    put("infiniband/mlx5_1/ports/1/state", "4: ACTIVE\n");
    put("infiniband/mlx5_1/ports/1/rate", "2.5 Gb/sec (1X SDR)\n");
    expect_rdma(NULL, NULL, 200000);
    expect_rdma("all", "all", 200000);
    expect_rdma(NULL, "mlx5_1:1", 2500); /* no other device begins with this name and a colon */
    expect_rdma("self,rc_x", NULL, 200000);
    expect_rdma("ib", "eth0,mlx5_10:2", 200000);
    expect("tcp,self,cuda_copy", NULL, 25000);
    expect_rdma("^ud", NULL, 200000);
    expect("^ib", NULL, 25000);
}

static int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int drop(const char *path, const struct stat *is, int kind, struct FTW *walk)
{
    (void)is;
    (void)kind;
    (void)walk;
    return remove(path);
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, drop, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_what_the_kernel_states),
                                       cmocka_unit_test(prefers_rdma)};
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
