/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which processes can share memory, as far as they can know without trying it. The launcher need
 * not tell them.
 */
#ifndef TT_HOST_NAME_H
#define TT_HOST_NAME_H

/* Where a process runs. Processes can share memory if both texts are the same. */
struct tt_host_name {
    char name[65];  /* of the host, as its processes see it */
    char space[96]; /* the kernel, and the namespaces of the network and of process ids */
};

/* Fills all bytes: behind the end of a text they are 0. Any thread. */
void tt_host_name(struct tt_host_name *host);

#endif
