/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the fuzzed parsers share. Each is one file with the function below, which is given any
 * bytes: by libFuzzer in the preset `fuzz`, elsewhere by replay.c, out of files.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property: where it does not hold, the input is a finding. */
#define fuzz_check(condition, ...)                                                                 \
    do {                                                                                           \
        if (condition) break;                                                                      \
        fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #condition);                    \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fputc('\n', stderr);                                                                       \
        abort();                                                                                   \
    } while (0)

/* The bytes as text, freed by free(): of exactly its size, so that reading past its end is seen. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) abort();
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

#endif
