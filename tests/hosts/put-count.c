/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A library in front of the PMIx library that counts the keys which this process has put, and the
 * bytes stored under them. Each commit and each fence that collects data carries these data, so
 * their amount is the cost of a client. The library prints the counts when the process ends.
 * TUTTI_PMIX names this library. It is linked with the real PMIx library, from which all other
 * functions come.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

static struct {
    char key[PMIX_MAX_KEYLEN + 1];
    size_t bytes;
} entry[MOST];
static int entries, calls;

static void print_count(void)
{
    size_t bytes = 0;
    for (int i = 0; i < entries; i++) bytes += entry[i].bytes;
    printf("%d puts, %d keys, %zu bytes\n", calls, entries, bytes);
}

static void count(const char *key, size_t bytes)
{
    int i = 0;
    while (i < entries && strcmp(entry[i].key, key) != 0) i++;
    if (i == MOST) abort();
    if (i == entries) snprintf(entry[entries++].key, sizeof entry[i].key, "%s", key);
    entry[i].bytes = bytes;
    if (calls++ == 0) (void)atexit(print_count);
}

pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[], pmix_value_t *value)
{
    pmix_status_t (*put)(pmix_scope_t, const char[], pmix_value_t *);
    *(void **)&put = dlsym(RTLD_NEXT, "PMIx_Put");
    if (!put) abort();
    count(key, value->type == PMIX_BYTE_OBJECT ? value->data.bo.size : 0);
    return put(scope, key, value);
}
