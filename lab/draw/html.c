/* SPDX-License-Identifier: BSD-3-Clause */
#include "draw/page.h"
#include "draw/picture.h"

void tt_picture_html(const struct tt_picture *picture, FILE *out)
{
    fwrite(tt_page_head, 1, tt_page_head_bytes, out);
    tt_picture_json(picture, out);
    fwrite(tt_page_tail, 1, tt_page_tail_bytes, out);
}
