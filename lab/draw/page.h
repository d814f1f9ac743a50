/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_DRAW_PAGE_H
#define TT_DRAW_PAGE_H

#include <stddef.h>

/* The page that shows a picture consists of head, data and tail. The data is the picture's JSON. It
 * must contain neither "</" nor "<!", which would end the script or begin a comment in HTML; the
 * writer of JSON writes "<" in strings as "\u003c". The parts of the page are in lab/draw/page; the
 * build makes these strings from them. */
extern const char tt_page_head[];
extern const char tt_page_tail[];

/* The lengths of the strings without the NUL at the end. */
extern const size_t tt_page_head_bytes;
extern const size_t tt_page_tail_bytes;

#endif
