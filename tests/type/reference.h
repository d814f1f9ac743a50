/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a reduction should give, said as simply as can be: one element at a time, from the left,
 * sharing nothing with the kernels.
 */
#ifndef TEST_TYPE_REFERENCE_H
#define TEST_TYPE_REFERENCE_H

#include <stdbool.h>

#include "type/type.h"

void reference_reduce(void *out, const void *const *in, int k, size_t n, tutti_type type,
                      tutti_op op);

/* Whether two elements are the same: bit by bit, but that any NaN is as good as another. */
bool reference_same(const void *a, const void *b, tutti_type type);

/* By arithmetic in f64: exact one way, to nearest even the other. */
double reference_f16_value(uint16_t half);
double reference_bf16_value(uint16_t half);
uint16_t reference_f16(double value);
uint16_t reference_bf16(double value);

#endif
