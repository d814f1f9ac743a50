/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by the fuzzed parsers. Each parser is one file with the function below, which gets
 * arbitrary bytes: from libFuzzer in the preset `fuzz`, and otherwise from replay.c, which reads
 * files.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Checks a property. If it does not hold, the program aborts and the input is a finding. */
#define fuzz_check(condition, ...)                                                                 \
    do {                                                                                           \
        if (condition) break;                                                                      \
        fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #condition);                    \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fputc('\n', stderr);                                                                       \
        abort();                                                                                   \
    } while (0)

/* Returns the bytes as text in memory of exactly their size, so that sanitizers notice reads beyond
 * the end. The caller frees it. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) abort();
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

#endif
