/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks as text: an error says what is wrong, and where.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "networks.h"

static void wrong_networks_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t at;
        const char *says;
    } cases[] = {
        {"", 0,
         "unknown network '', expected one of ring mesh torus hypercube tree fattree dragonfly"},
        {"taurus:3", 0, "unknown network 'taurus'"},
        {"ring", 4, "expected : and numbers"},
        {"ring:", 5, "expected a number"},
        {"ring:0", 5, "must be at least 1"},
        {"ring:12x", 8, "more than 1 number"},
        {"ring:4x4", 7, "more than 1 number"},
        {"torus:4xx4", 8, "expected a number"},
        {"torus:99999999999", 6, "a number: too large a number"},
        {"torus:2048x2048", 11, "makes more than 1048576 nodes"},
        {"mesh:1x1x1x1x1x1x1", 17, "more than 6 numbers"},
        {"hypercube:21", 10, "must be from 0 to 20"},
        {"tree:2", 6, "expected x and a number: a tree has 2"},
        {"tree:0x7", 5, "must be from 1 to 1024 children"},
        {"fattree:4x4up1", 14, "expected x and the parents of each of 2 levels"},
        {"fattree:4x4up1x0", 15, "must be at least 1"},
        {"dragonfly:2x4", 13, "expected x and a number: a dragonfly has 3"},
        {"fattree:2147483647x1", 8, "must be at most 1048576"},
        {"dragonfly:1x2147483647x1", 12, "must be from 1 to 1048576"},
        {"dragonfly:1x2000x2000", 17, "makes more than 1048576 nodes"},
        {"dragonfly:1x2x1x9", 16, "there are more groups than the links of one group reach"},
        {"torus:4x4-hole(4,0)", 15, "x = 4 is not below 4"},
        {"mesh:912x1-hole(0,10485760)", 16, "y = 10485760 is not below 1"},
        {"torus:4x4-hole(1,2,3)", 15, "3 coordinates, where a node is given by its number or by 2"},
        {"tree:2x7-hole(1,1)", 14, "2 coordinates, where a node is given by 1"},
        {"ring:4-hole(4)", 12, "node 4 of 4"},
        {"ring:4-hole(1", 13, "expected )"},
        {"torus:4x4-wall(z=1)", 15, "expected a dimension: one of xy"},
        {"torus:4x4-wall(x=4)", 15, "x = 4 is not below 4"},
        {"tree:2x7-wall(x=1)", 14, "a tree has no walls"},
        {"ring:4-random(4,1)", 14, "4 missing of 4"},
        {"ring:4-gap(1)", 6, "expected -hole(...), -wall(...), -random(...) or the end"},
        {"ring:1-hole(0)", 6, "no node is left"},
        {"mesh:3x3-wall(x=1)", 8, "nodes 0 (0,0) and 2 (2,0) cannot reach one another"},
        {"torus:128x128-hole(1)", 13, "a network with missing nodes may have at most 8192"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_net net;
        struct tt_reader_error error = {.at = 999};
        assert_int_equal(tt_network_parse(cases[i].text, &net, &error), TUTTI_ERR_ARG);
        if (strncmp(error.text, cases[i].says, strlen(cases[i].says)) != 0 ||
            error.at != cases[i].at)
            fail_msg("%s: %s (at %zu)", cases[i].text, error.text, error.at);
        struct tt_reader_error counted = {.at = 999};
        int ranks = -1;
        assert_int_equal(tt_network_ranks(cases[i].text, &ranks, &counted), TUTTI_ERR_ARG);
        assert_int_equal(counted.at, error.at);
        assert_string_equal(counted.text, error.text);
        assert_int_equal(ranks, -1);
    }
}

static void members_are_counted_without_routes(void **state)
{
    (void)state;
    for (const char *const *text = networks_holed; *text; text++) {
        struct tt_net net = network(*text);
        int ranks = 0;
        assert_int_equal(tt_network_ranks(*text, &ranks, NULL), TUTTI_OK);
        assert_int_equal(ranks, net.ranks);
        tt_net_free(&net);
    }
}

/* Writes the text to a new file and returns the name of the network, "file:PATH". */
static const char *file_of(const char *text)
{
    static char path[64];
    snprintf(path, sizeof path, "file:/tmp/tutti-network-XXXXXX");
    int fd = mkstemp(path + strlen("file:"));
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return path;
}

static void networks_from_files(void **state)
{
    (void)state;
    struct tt_net net;
    struct tt_reader_error error;
    const char *path = file_of("# a torus\n  torus: 4x4 # with\n-hole(1,1)\n\t-hole(2 , 2)\n");
    assert_int_equal(tt_network_parse(path, &net, NULL), TUTTI_OK);
    assert_int_equal(net.kind, TT_NET_torus);
    assert_int_equal(net.ranks, 14);
    tt_net_free(&net);
    unlink(path + strlen("file:"));
    path = file_of("torus:4x4\n# holes\n  -hole(1,1)\n  -hole(4,2)");
    assert_int_equal(tt_network_parse(path, &net, &error), TUTTI_ERR_ARG);
    assert_non_null(strstr(error.text, ":4:9: x = 4 is not below 4"));
    assert_int_equal(error.at, strlen("file:"));
    unlink(path + strlen("file:"));
    path = file_of("");
    assert_int_equal(tt_network_parse(path, &net, &error), TUTTI_ERR_ARG);
    assert_non_null(strstr(error.text, ":1:1: unknown network ''"));
    unlink(path + strlen("file:"));
    assert_int_equal(tt_network_parse(path, &net, &error), TUTTI_ERR_ARG);
    assert_non_null(strstr(error.text, "No such file"));
    assert_int_equal(tt_network_parse("file:/dev/zero", &net, &error), TUTTI_ERR_ARG);
    assert_non_null(strstr(error.text, "/dev/zero: not a file"));
    assert_int_equal(tt_network_parse("file:/tmp", &net, &error), TUTTI_ERR_ARG);
    path = file_of("file:/tmp/x");
    assert_int_equal(tt_network_parse(path, &net, &error), TUTTI_ERR_ARG);
    assert_non_null(strstr(error.text, ":1:1: unknown network 'file'"));
    unlink(path + strlen("file:"));
}

/* Checks that an error for lack of memory has a status of its own: every allocation fails once. */
static void memory_that_is_short_has_its_own_status(void **state)
{
    (void)state;
    struct tt_net net;
    struct tt_reader_error error;
    const char *path = file_of("torus:4x4-hole(1,1)");
    tutti_status status = TUTTI_ERR_MEMORY;
    int failures = 0;
    for (; status == TUTTI_ERR_MEMORY; failures++) {
        tt_memory_fail_at(failures);
        status = tt_network_parse(path, &net, &error);
        tt_memory_fail_at(-1);
    }
    assert_int_equal(status, TUTTI_OK);
    assert_in_range(failures, 4, 100);
    tt_net_free(&net);
    unlink(path + strlen("file:"));
}

static void networks_are_distinguished_from_other_maps(void **state)
{
    (void)state;
    assert_true(tt_network_is_one("torus:4x4"));
    assert_true(tt_network_is_one("ring:"));
    assert_false(tt_network_is_one("nodes:4,4"));
    assert_false(tt_network_is_one("ring"));
    assert_string_equal(tt_network_kind(TT_NET_dragonfly), "dragonfly");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_networks_are_refused),
        cmocka_unit_test(members_are_counted_without_routes),
        cmocka_unit_test(networks_from_files),
        cmocka_unit_test(memory_that_is_short_has_its_own_status),
        cmocka_unit_test(networks_are_distinguished_from_other_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
