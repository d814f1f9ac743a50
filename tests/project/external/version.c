/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The smallest program that uses the installed library. */
#include <stdio.h>
#include <tutti/tutti.h>

int main(void)
{
    puts(tutti_version());
    return 0;
}
