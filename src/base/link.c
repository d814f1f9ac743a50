/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The speed of this machine's links to other machines. The kernel states the speed of an RDMA port
 * in /sys/class/infiniband, and that of another network interface in /sys/class/net. UCX prefers
 * RDMA, so interfaces count only if no RDMA port is active. Virtual interfaces, such as bridges for
 * containers, count only if no interface belongs to a device.
 */
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/machine.h"

enum { MBIT_MOST = 100000000 };

/* Reads the first line of a file of the kernel. Returns "" if the file cannot be read. */
__attribute__((format(printf, 2, 3))) static const char *read_line(char line[64],
                                                                   const char *format, ...)
{
    char path[512];
    va_list args;
    va_start(args, format);
    vsnprintf(path, sizeof path, format, args);
    va_end(args);
    FILE *file = fopen(path, "re");
    if (!file || !fgets(line, 64, file)) line[0] = '\0';
    if (file) fclose(file);
    return line;
}

/* Returns whether UCX may use this device: UCX_NET_DEVICES is not set, or names it, as in
 * "mlx5_0:1,eth0". */
static bool is_allowed(const char *device)
{
    const char *list = getenv("UCX_NET_DEVICES");
    size_t n = strlen(device);
    if (!list || strcmp(list, "all") == 0) return true;
    for (const char *at = list; (at = strstr(at, device)) != NULL; at += n)
        if ((at == list || at[-1] == ',') && strchr(",:", at[n])) return true;
    return false;
}

static int mbit_of(double mbit)
{
    return mbit > 0 && mbit < MBIT_MOST ? (int)mbit : 0;
}

/* Returns the speed of the first port of an RDMA device, whose files are such as "4: ACTIVE" and
 * "100 Gb/sec (4X EDR)"; 0: the port is not active. */
static int rdma_mbit(const char *device)
{
    char line[64];
    if (atoi(read_line(line, "/sys/class/infiniband/%s/ports/1/state", device)) != 4) return 0;
    read_line(line, "/sys/class/infiniband/%s/ports/1/rate", device);
    return mbit_of(1000 * strtod(line, NULL));
}

static int interface_mbit(const char *name)
{
    char line[64];
    if (strcmp(read_line(line, "/sys/class/net/%s/operstate", name), "up\n") != 0) return 0;
    return mbit_of(strtod(read_line(line, "/sys/class/net/%s/speed", name), NULL));
}

static bool has_device(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "/sys/class/net/%s/device", name);
    return access(path, F_OK) == 0;
}

static int device_mbit(const char *name)
{
    return has_device(name) ? interface_mbit(name) : 0;
}

/* Returns the greatest speed of the devices in a folder of the kernel that UCX may use. */
static int fastest(const char *folder, int (*mbit)(const char *name))
{
    int most = 0;
    DIR *all = opendir(folder);
    for (const struct dirent *at; all && (at = readdir(all)) != NULL;)
        if (at->d_name[0] != '.' && is_allowed(at->d_name))
            most = (int)tt_max(most, mbit(at->d_name));
    if (all) closedir(all);
    return most;
}

int tt_link_mbit(void)
{
    int most = fastest("/sys/class/infiniband", rdma_mbit);
    if (most == 0) most = fastest("/sys/class/net", device_mbit);
    return most > 0 ? most : fastest("/sys/class/net", interface_mbit);
}
