/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks try to share memory only if they have the same host name, the same kernel, and the same
 * namespaces of network and process ids. The network namespace matters because the memory is passed
 * over a socket, whose name is valid in one network namespace only. The namespace of process ids
 * matters because ranks refer to each other by process ids.
 *
 * libtutti_mpi.so contains this file, too, so this file calls no other function of src/base.
 */
#include "base/host-name.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned long long inode_of(const char *path)
{
    struct stat is;
    return stat(path, &is) == 0 ? (unsigned long long)is.st_ino : 0;
}

void tt_host_name(struct tt_host_name *host)
{
    char boot[40] = "";
    memset(host, 0, sizeof *host);
    if (gethostname(host->name, sizeof host->name - 1) != 0 || !host->name[0])
        snprintf(host->name, sizeof host->name, "host");
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file && !fgets(boot, sizeof boot, file)) boot[0] = 0;
    if (file) fclose(file);
    snprintf(host->space, sizeof host->space, "%.36s-%llx-%llx", boot,
             inode_of("/proc/self/ns/net"), inode_of("/proc/self/ns/pid"));
}
