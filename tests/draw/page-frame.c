/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program for page.sh: reads the JSON of a picture from standard input and writes the HTML page
 * that shows the picture, as `tutti draw` does.
 */
#include <stdbool.h>
#include <stdio.h>

#include "draw/page.h"

static bool copy(FILE *in, FILE *out)
{
    static char piece[65536];
    size_t n;
    while ((n = fread(piece, 1, sizeof piece, in)) > 0)
        if (fwrite(piece, 1, n, out) != n) return false;
    return !ferror(in);
}

int main(void)
{
    bool good = fwrite(tt_page_head, 1, tt_page_head_bytes, stdout) == tt_page_head_bytes &&
                copy(stdin, stdout) &&
                fwrite(tt_page_tail, 1, tt_page_tail_bytes, stdout) == tt_page_tail_bytes;
    return good && fflush(stdout) == 0 ? 0 : 1;
}
