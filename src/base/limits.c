/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What this process' cgroup and the machine leave it, and what they have in all.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"

/* Where the hierarchy of a line of /proc/self/cgroup is mounted, and in *at the group's path in it:
 * that of version 2, or the one of version 1 that limits memory. NULL: neither. */
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

/* The group and those above it, up to the mount: in a container the path may be one of outside, of
 * which only the mount is seen. */
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

/* The number behind `key` in a file of lines "key number ..."; with no key the number it begins
 * with; -1: there is none. */
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

/* The group's limit, by either version; -1: it has none. */
static int64_t limit_of(const char *folder)
{
    int64_t most = number_in(folder, "memory.max", "");
    return most >= 0 ? most : number_in(folder, "memory.limit_in_bytes", "");
}

/* Returns the memory that the group and the groups below it use, without cached files: the kernel
 * drops these before anything else. */
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
