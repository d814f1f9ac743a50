/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks for the tests.
 */
#ifndef TESTS_TOPO_NETWORKS_H
#define TESTS_TOPO_NETWORKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plan/network.h"

/* Networks of all kinds, with odd, even and extreme sizes: complete ones, and some with missing
 * nodes. Each list ends with NULL. */
extern const char *const networks_whole[], *const networks_holed[];

/* Parses the text. Fails the test if it is refused. */
struct tt_net network(const char *text);
void networks_each(const char *const *texts, void (*check)(const struct tt_net *net));

/* Returns whether the dependencies of channels, over the routes of all pairs, have no cycle. */
bool network_is_deadlock_free(const struct tt_net *net);

#endif
