/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that does nothing and prints its Pss, which is subtracted from that of memory.c. As
 * many copies of it are started at once as memory.c has ranks, so that the pages of the C library
 * are shared by the same number of processes.
 */
#include "measure.h"

#include <unistd.h>

int main(void)
{
    usleep(300000); /* wait until the other copies of this program run */
    printf("{\"target\": \"empty\", \"pss_kib\": %ld}\n", pss_kib());
    fflush(stdout);
    usleep(300000); /* wait until the other copies of this program have read their Pss */
    return 0;
}
