/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that only comes and goes: start-up to finalise, over either library (port.h).
 */
#include "port.h"

int main(int argc, char **argv)
{
    port_init(&argc, &argv);
    port_finish();
    return 0;
}
