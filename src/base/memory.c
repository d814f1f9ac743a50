/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All access to the heap goes through this file. A test can make the i-th allocation fail, for
 * every i in turn, in the same build that users run. If no allocation is to fail, the check costs
 * one load.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

static _Atomic int64_t left_before_failure = -1;

/* Returns whether this allocation must fail. If several threads allocate at the same time, exactly
 * one of them finds the count at 0; later threads only decrease the count further. */
static bool must_fail(void)
{
    if (tt_likely(atomic_load_explicit(&left_before_failure, memory_order_relaxed) < 0))
        return false;
    return atomic_fetch_sub_explicit(&left_before_failure, 1, memory_order_relaxed) == 0;
}

void tt_memory_fail_at(int64_t i)
{
    atomic_store_explicit(&left_before_failure, i, memory_order_relaxed);
}

static _Thread_local uint64_t failed;

uint64_t tt_memory_lacks(void)
{
    return failed;
}

static inline void *counted(void *memory)
{
    if (tt_unlikely(!memory)) failed++;
    return memory;
}

void *tt_alloc(size_t bytes)
{
    return counted(must_fail() ? NULL : malloc(bytes ? bytes : 1));
}

void *tt_calloc(size_t n, size_t sz)
{
    return counted(must_fail() ? NULL : n && sz ? calloc(n, sz) : calloc(1, 1));
}

void *tt_realloc(void *memory, size_t bytes)
{
    return counted(must_fail() ? NULL : realloc(memory, bytes ? bytes : 1));
}

void *tt_alloc_lines(size_t bytes)
{
    bool fails = must_fail() || bytes > SIZE_MAX - TT_LINE;
    size_t whole = bytes ? (bytes + TT_LINE - 1) / TT_LINE * TT_LINE : TT_LINE;
    void *memory = counted(fails ? NULL : aligned_alloc(TT_LINE, whole));
    return memory ? memset(memory, 0, whole) : NULL;
}

char *tt_strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = tt_alloc(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

void tt_free(void *memory)
{
    free(memory);
}
