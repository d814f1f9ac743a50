/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pictures of simulated problems.
 */
#ifndef TESTS_DRAW_DRAWN_H
#define TESTS_DRAW_DRAWN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/simulate.h"
#include "draw/picture.h"
#include "draw/trace.h"

/* A picture, with the problem, map, network and simulation that it shows. */
struct drawn {
    struct tt_problem problem;
    struct tt_map map;
    struct tt_net net;
    int *node;
    struct tt_picture picture;
    struct tt_sim_result result;
};

/* Simulates the problem and makes its picture. A message takes 1 us (t_s), and 1 ns for each byte
 * (t_w). If the problem has a network, messages take its links and wait for them. Fails the test if
 * that is impossible. */
struct drawn *drawn(const char *problem, const char *algorithm);
void drawn_free(struct drawn *drawn);

/* Returns the text that `print` prints of the picture. The caller frees it. */
char *printed(void (*print)(const struct tt_picture *, FILE *), const struct tt_picture *picture);

#endif
