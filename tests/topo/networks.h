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

/* Returns the network that the text describes. An invalid text fails the test. */
struct tt_net network(const char *text);
void networks_each(const char *const *texts, void (*check)(const struct tt_net *net));

/* Returns whether the channels depend on each other without a cycle. Channel A depends on channel B
 * if a route between two ranks uses B directly after A: a message may then hold A while it waits
 * for B. */
bool network_is_deadlock_free(const struct tt_net *net);

#endif
