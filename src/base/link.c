/* SPDX-License-Identifier: BSD-3-Clause
 *
 * This machine's links to other machines. The kernel states the speed of an RDMA port
 * in /sys/class/infiniband, and that of another network interface in /sys/class/net. UCX prefers
 * RDMA, so interfaces count only if no RDMA port is active, or if UCX_TLS names no RDMA transport.
 * Virtual interfaces, such as bridges for containers, count only if no interface belongs to a
 * device.
 */
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/machine.h"

enum {
    MBIT_MOST = 100000000,
    RDMA_START_NS = 2000 /* usual times are 1 to 3 us */
};

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

/* Returns whether an item of the list, whose items are separated by commas, begins with the word.
 * After the word, the item ends, or one of the characters `after` follows. */
static bool names(const char *list, const char *word, const char *after)
{
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += n)
        if ((at == list || at[-1] == ',') && (at[n] == ',' || strchr(after, at[n]))) return true;
    return false;
}

/* Returns whether UCX may use this device: UCX_NET_DEVICES is not set, or names it, as in
 * "mlx5_0:1,eth0". */
static bool is_allowed(const char *device)
{
    const char *list = getenv("UCX_NET_DEVICES");
    return !list || strcmp(list, "all") == 0 || names(list, device, ":");
}

/* Returns whether UCX may use RDMA: UCX_TLS is not set, or names a transport of it, as in
 * "rc_x,self", or only excludes transports, as in "^ud". */
static bool may_use_rdma(void)
{
    static const char *const transports[] = {"all", "ib", "rc", "ud", "dc"};
    const char *list = getenv("UCX_TLS");
    bool may = !list || (list[0] == '^' && !names(list + 1, "ib", ""));
    for (size_t i = 0; !may && i < sizeof transports / sizeof *transports; i++)
        may = list[0] != '^' && names(list, transports[i], "_:");
    return may;
}

static int mbit_of(double mbit)
{
    return mbit > 0 && mbit < MBIT_MOST ? (int)mbit : 0;
}

/* Returns the speed of the fastest active port of an RDMA device, whose files are such as "4:
 * ACTIVE" and "100 Gb/sec (4X EDR)"; 0: no port is active. */
static int rdma_mbit(const char *folder, const char *device)
{
    enum { PORTS = 4 };
    char line[64];
    int most = 0;
    for (int port = 1; port <= PORTS; port++) {
        if (atoi(read_line(line, "%s/%s/ports/%d/state", folder, device, port)) != 4) continue;
        read_line(line, "%s/%s/ports/%d/rate", folder, device, port);
        most = (int)tt_max(most, mbit_of(1000 * strtod(line, NULL)));
    }
    return most;
}

static int interface_mbit(const char *folder, const char *name)
{
    char line[64];
    if (strcmp(read_line(line, "%s/%s/operstate", folder, name), "up\n") != 0) return 0;
    return mbit_of(strtod(read_line(line, "%s/%s/speed", folder, name), NULL));
}

static int device_mbit(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/device", folder, name);
    return access(path, F_OK) == 0 ? interface_mbit(folder, name) : 0;
}

/* Returns the greatest speed of the devices in a folder of `root` that UCX may use. */
static int fastest(const char *root, const char *kind,
                   int (*mbit)(const char *folder, const char *name))
{
    char folder[256];
    int most = 0;
    snprintf(folder, sizeof folder, "%s/%s", root, kind);
    DIR *all = opendir(folder);
    for (const struct dirent *at; all && (at = readdir(all)) != NULL;)
        if (at->d_name[0] != '.' && is_allowed(at->d_name))
            most = (int)tt_max(most, mbit(folder, at->d_name));
    if (all) closedir(all);
    return most;
}

static int fastest_rdma(const char *root)
{
    return may_use_rdma() ? fastest(root, "infiniband", rdma_mbit) : 0;
}

bool tt_link_has_rdma(const char *root)
{
    return fastest_rdma(root) > 0;
}

struct tt_machine_link tt_link_read(const char *root)
{
    int most = fastest_rdma(root);
    if (most > 0) return (struct tt_machine_link){most, RDMA_START_NS};
    most = fastest(root, "net", device_mbit);
    return (struct tt_machine_link){.mbit = most > 0 ? most : fastest(root, "net", interface_mbit)};
}

char *tt_link_print(const struct tt_machine_link *link, char text[TT_LINK_TEXT])
{
    int n = snprintf(text, TT_LINK_TEXT, "%d Mbit/s, and ", (int)link->mbit);
    if (link->start_ns > 0)
        snprintf(text + n, (size_t)(TT_LINK_TEXT - n), "a short message takes %.1f us",
                 1e-3 * link->start_ns);
    else
        snprintf(text + n, (size_t)(TT_LINK_TEXT - n),
                 "it is not known how long a short message takes");
    return text;
}
