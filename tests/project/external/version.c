/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The least a program of somebody else does with the installed library. */
#include <stdio.h>
#include <tutti/tutti.h>

int main(void)
{
    puts(tutti_version());
    return 0;
}
