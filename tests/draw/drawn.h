/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pictures of problems run on paper.
 */
#ifndef TESTS_DRAW_DRAWN_H
#define TESTS_DRAW_DRAWN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "choose/paper.h"
#include "draw/picture.h"
#include "draw/trace.h"

/* What a picture was made of. */
struct drawn {
    struct tt_problem problem;
    struct tt_map map;
    struct tt_net net;
    int *node;
    struct tt_picture picture;
    struct tt_sim_result result;
};

/* t_s 1 us, t_w 1 ns; link by link where there is a network. Fails the test where it cannot be
 * run. */
struct drawn *drawn(const char *problem, const char *algorithm);
void drawn_free(struct drawn *drawn);

/* What a writer prints; freed by free. */
char *printed(void (*print)(const struct tt_picture *, FILE *), const struct tt_picture *picture);

#endif
