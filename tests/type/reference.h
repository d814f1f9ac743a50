/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The expected result of a reduction, computed as simply as possible: one element at a time, from
 * the left, without any code of the kernels.
 */
#ifndef TEST_TYPE_REFERENCE_H
#define TEST_TYPE_REFERENCE_H

#include <stdbool.h>

#include "type/type.h"

void reference_reduce(void *out, const void *const *in, int k, size_t n, tutti_type type,
                      tutti_op op);

/* Returns whether two elements are equal bit by bit, except that all NaNs count as equal, and that
 * the padding of pairs does not count. */
bool reference_same(const void *a, const void *b, tutti_type type);

/* Convert by arithmetic in f64: 16-bit floats to f64 exactly, and f64 to 16-bit floats with
 * rounding to nearest even. */
double reference_f16_value(uint16_t half);
double reference_bf16_value(uint16_t half);
uint16_t reference_f16(double value);
uint16_t reference_bf16(double value);

#endif
