/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names by which processes find out, without a launcher, which of them can share memory. If the
 * names are the same, the processes still have to try whether they can share memory.
 */
#ifndef TT_HOST_NAME_H
#define TT_HOST_NAME_H

/* Where a process runs. Two processes may be able to share memory only if both of their texts are
 * the same. */
struct tt_host_name {
    char name[65];  /* the name of the host, as its processes see it */
    char space[96]; /* the kernel, and the namespaces of the network and of process ids */
};

/* Writes the names of this process' host. All bytes after the end of each text are 0. Any
 * thread. */
void tt_host_name(struct tt_host_name *host);

#endif
