/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What this process' cgroup and the machine leave it.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"

void tt_cgroup_each(tt_cgroup_fn *fn, void *arg)
{
    char line[PATH_MAX], path[PATH_MAX + 64];
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        char *at = strncmp(line, "0::", 3) == 0 ? line + 3 : NULL;
        if (!at) continue;
        at[strcspn(at, "\n")] = 0;
        for (size_t n = strlen(at); n > 0; n = (size_t)(strrchr(at, '/') - at), at[n] = 0) {
            snprintf(path, sizeof path, "/sys/fs/cgroup%s", at);
            fn(path, arg);
        }
    }
    fclose(file);
}

/* The number behind `key` in a file of lines "key number ..."; with no key the number it begins with; -1:
 * there is none. */
static int64_t number_in(const char *folder, const char *name, const char *key)
{
    char path[PATH_MAX + 96], line[256];
    long long value = -1;
    size_t skip = strlen(key);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    while (file && value < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, key, skip) == 0 && sscanf(line + skip, "%lld", &value) != 1) value = -1;
    if (file) fclose(file);
    return value;
}

/* Files in cache are given up before anything else. */
static void least_left(const char *folder, void *arg)
{
    int64_t *left = arg, most = number_in(folder, "memory.max", "");
    int64_t used = number_in(folder, "memory.current", "");
    if (most < 0 || used < 0) return;
    used -= tt_max(0, number_in(folder, "memory.stat", "active_file "));
    used -= tt_max(0, number_in(folder, "memory.stat", "inactive_file "));
    *left = tt_min(*left, tt_max(0, most - used));
}

int64_t tt_memory_left(void)
{
    int64_t kib = number_in("/proc", "meminfo", "MemAvailable:");
    int64_t left = kib < 0 ? INT64_MAX : kib * 1024;
    tt_cgroup_each(least_left, &left);
    return left;
}
