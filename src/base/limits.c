/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds out how much memory the host and the cgroups of this process have, and how much of it is
 * left.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"

/* Reads a line of /proc/self/cgroup, which names a hierarchy of cgroups and the group of this
 * process in it. Returns the folder where the hierarchy is mounted, and sets *at to the path of the
 * group in it. Returns NULL for hierarchies other than that of version 2 and the memory hierarchy
 * of version 1. */
static const char *mounted_at(char *line, char **at)
{
    char *left, *names = strchr(line, ':');
    char *path = names ? strchr(names + 1, ':') : NULL;
    if (!path) return NULL;
    *path = 0;
    *at = path + 1;
    (*at)[strcspn(*at, "\n")] = 0;
    if (names[1] == 0) return "/sys/fs/cgroup";
    for (char *name = strtok_r(names + 1, ",", &left); name; name = strtok_r(NULL, ",", &left))
        if (strcmp(name, "memory") == 0) return "/sys/fs/cgroup/memory";
    return NULL;
}

/* Calls fn for the group and the groups above it, up to the mount point. In a container, `at` may
 * be a path on the host. In that case only the mount point exists in the container, and fn finds no
 * files in the other folders. */
static void each_above(const char *mount, char *at, tt_cgroup_fn *fn, void *arg)
{
    char path[PATH_MAX + 64];
    if (strcmp(at, "/") == 0) at[0] = 0;
    for (char *end = at + strlen(at); end; end = strrchr(at, '/')) {
        *end = 0;
        snprintf(path, sizeof path, "%s%s", mount, at);
        fn(path, arg);
    }
}

void tt_cgroup_each(tt_cgroup_fn *fn, void *arg)
{
    char line[PATH_MAX], *at;
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        const char *mount = mounted_at(line, &at);
        if (mount) each_above(mount, at, fn, arg);
    }
    fclose(file);
}

/* Returns the number after `key` in a file with lines "key number ...". With an empty key, returns
 * the number with which the file begins. -1: the file does not exist or has no such number. */
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

/* Returns the memory limit of the group, in either version; -1: it has none. */
static int64_t limit_of(const char *folder)
{
    int64_t most = number_in(folder, "memory.max", "");
    return most >= 0 ? most : number_in(folder, "memory.limit_in_bytes", "");
}

/* Returns the memory that the group and the groups below it use. Cached files do not count, because
 * the kernel drops them before anything else. */
static int64_t used_in(const char *folder)
{
    int64_t used = number_in(folder, "memory.current", "");
    const char *active = "active_file ", *inactive = "inactive_file ";
    if (used < 0) {
        used = number_in(folder, "memory.usage_in_bytes", "");
        active = "total_active_file ";
        inactive = "total_inactive_file ";
    }
    if (used < 0) return -1;
    used -= tt_max(0, number_in(folder, "memory.stat", active));
    return used - tt_max(0, number_in(folder, "memory.stat", inactive));
}

static void least_left(const char *folder, void *arg)
{
    int64_t *left = arg, most = limit_of(folder), used = used_in(folder);
    if (most >= 0 && used >= 0) *left = tt_min(*left, tt_max(0, most - used));
}

static void least_limit(const char *folder, void *arg)
{
    int64_t *least = arg, most = limit_of(folder);
    if (most >= 0) *least = tt_min(*least, most);
}

int64_t tt_memory_left(void)
{
    int64_t kib = number_in("/proc", "meminfo", "MemAvailable:");
    int64_t left = kib < 0 ? INT64_MAX : kib * 1024;
    tt_cgroup_each(least_left, &left);
    return left;
}

int64_t tt_memory_ever(void)
{
    int64_t kib = number_in("/proc", "meminfo", "MemTotal:");
    int64_t swap_kib = number_in("/proc", "meminfo", "SwapTotal:");
    int64_t ever = kib < 0 ? INT64_MAX / 2 : kib * 1024;
    tt_cgroup_each(least_limit, &ever);
    return ever + tt_max(0, swap_kib) * 1024;
}
