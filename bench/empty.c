/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that does nothing and prints its Pss, to be subtracted from that of memory.c. As many
 * are started at once as there are ranks there, so that the C library's pages are shared alike.
 */
#include "measure.h"

#include <unistd.h>

int main(void)
{
    usleep(300000); /* until the others run too */
    printf("{\"target\": \"empty\", \"pss_kib\": %ld}\n", pss_kib());
    fflush(stdout);
    usleep(300000); /* until the others have looked */
    return 0;
}
