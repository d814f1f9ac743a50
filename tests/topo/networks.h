/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks to try things on.
 */
#ifndef TESTS_TOPO_NETWORKS_H
#define TESTS_TOPO_NETWORKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plan/network.h"

/* Of all kinds, with odd, even and extreme numbers; ends with NULL. Whole ones, and some with
 * missing nodes. */
extern const char *const networks_whole[], *const networks_holed[];

/* Fails the test if the text is refused. */
struct tt_net network(const char *text);
void networks_each(const char *const *texts, void (*check)(const struct tt_net *net));

/* No circle of channels that wait for each other, over the routes of all pairs. */
bool network_is_deadlock_free(const struct tt_net *net);

#endif
