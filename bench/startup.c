/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that only initialises and finalises the library that port.h chooses, to time that.
 */
#include "port.h"

int main(int argc, char **argv)
{
    port_init(&argc, &argv);
    port_finish();
    return 0;
}
