/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes PNG from SVG, if librsvg is installed.
 */
#ifndef TT_TOOLS_PNG_H
#define TT_TOOLS_PNG_H

#include <stdio.h>

#include <tutti/tutti.h>

/* Whether PNG can be made on this machine: OK, or UNSUPPORTED, which names the missing package. */
tutti_status tt_png_there(void);
/* Prints the SVG as a PNG, with up to two pixels for each point. UNSUPPORTED: a library is missing;
 * LIMIT: the picture is too large; SYSTEM: librsvg or the output failed. */
tutti_status tt_png_print(const char *text, size_t length, FILE *out);

#endif
