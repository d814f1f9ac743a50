/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes PNG from SVG, if librsvg is installed.
 */
#ifndef TT_TOOLS_PNG_H
#define TT_TOOLS_PNG_H

#include <stdio.h>

#include <tutti/tutti.h>

/* Returns whether a PNG can be made on this machine: OK if so; UNSUPPORTED if a library is missing,
 * and tutti_error() then names the package. */
tutti_status tt_png_there(void);
/* Prints the SVG as a PNG, with two pixels for each point in each direction, or fewer if the
 * picture is large. UNSUPPORTED: a library is missing; LIMIT: the picture is too large; SYSTEM:
 * librsvg or the output failed. */
tutti_status tt_png_print(const char *text, size_t length, FILE *out);

#endif
