/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_DRAW_PAGE_H
#define TT_DRAW_PAGE_H

#include <stddef.h>

/*
 * The page that shows a picture: it is written as head, data, tail. The data is the picture's JSON,
 * in which neither "</" nor "<!" may stand, for they would be read as the page's: a string says
 * "<\/" and "\u003c!" instead. src/draw/page holds the page's parts; they become these strings when
 * Tutti is built.
 */
extern const char tt_page_head[];
extern const char tt_page_tail[];

/* Without the NUL at the end. */
extern const size_t tt_page_head_bytes;
extern const size_t tt_page_tail_bytes;

#endif
