/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TOOLS_PNG_H
#define TT_TOOLS_PNG_H

#include <stdio.h>

#include <tutti/tutti.h>

/* Whether PNG can be made here; UNSUPPORTED names the package that is missing. */
tutti_status tt_png_there(void);
/* The SVG as a PNG, two pixels a point. UNSUPPORTED; LIMIT: too large; SYSTEM. */
tutti_status tt_png_print(const char *text, size_t length, FILE *out);

#endif
