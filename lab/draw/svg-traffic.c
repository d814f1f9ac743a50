/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Draws the traffic matrix: how many bytes each rank sends to every other rank.
 */
#include <inttypes.h>
#include <math.h>

#include "draw/svg.h"

enum { LEFT = 86, SIDE = 560, ABOVE = 34 };

static int64_t most_of(const struct tt_picture *picture)
{
    int64_t most = 0;
    for (int i = 0; i < picture->groups * picture->groups; i++)
        most = tt_max(most, picture->traffic[i]);
    return most;
}

/* Returns which classes of amounts (tt_svg_load) occur in the matrix, as a bit mask. */
static unsigned classes_of(const struct tt_picture *picture, int64_t most)
{
    unsigned present = 0;
    for (int i = 0; i < picture->groups * picture->groups; i++)
        present |= 1u << tt_svg_load(picture->traffic[i], most);
    return present;
}

static void group_name(const struct tt_picture *picture, int group, char name[32])
{
    int first = group * picture->per_group;
    int last = (int)tt_min(first + picture->per_group, picture->ranks) - 1;
    if (first == last)
        snprintf(name, 32, "%d", first);
    else
        snprintf(name, 32, "%d-%d", first, last);
}

static void cells(const struct tt_picture *picture, double cell, FILE *out)
{
    int64_t most = most_of(picture);
    int n = picture->groups;
    char from[32], to[32];
    for (int i = 0; i < n * n; i++) {
        int row = i / n, column = i % n;
        group_name(picture, row, from);
        group_name(picture, column, to);
        fprintf(out,
                "<rect class=\"f%d line\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
                "<title>%s to %s: %" PRId64 " bytes</title></rect>\n",
                tt_svg_load(picture->traffic[i], most), LEFT + column * cell,
                TT_SVG_TOP + ABOVE + row * cell, cell, cell, from, to, picture->traffic[i]);
    }
}

static void names(const struct tt_picture *picture, double cell, FILE *out)
{
    int every = cell >= 18 ? 1 : cell >= 10 ? 4 : 8;
    if (picture->per_group > 1) every = (int)tt_max(every, 8);
    char name[32];
    for (int i = 0; i < picture->groups; i += every) {
        group_name(picture, i, name);
        tt_svg_text(LEFT - 6, TT_SVG_TOP + ABOVE + (i + 0.5) * cell + 4, "small", "end", name, out);
        tt_svg_text(LEFT + (i + 0.5) * cell, TT_SVG_TOP + ABOVE - 5, "small", "middle", name, out);
    }
    tt_svg_text(LEFT - 6, TT_SVG_TOP + ABOVE - 18, "minor", "end", "from \\ to", out);
}

void tt_svg_traffic(const struct tt_picture *picture, FILE *out)
{
    double cell = fmin((double)SIDE / picture->groups, 44), side = cell * picture->groups;
    double bottom = TT_SVG_TOP + ABOVE + side;
    char of[64] = "bytes of a pair";
    if (picture->per_group > 1)
        snprintf(of, sizeof of, "bytes of a pair of groups of %d ranks", picture->per_group);
    tt_svg_begin(picture, "Who gives how much to whom", fmax(LEFT + side + TT_SVG_MARGIN, 560),
                 bottom + 62, out);
    cells(picture, cell, out);
    names(picture, cell, out);
    int64_t most = most_of(picture);
    tt_svg_load_legend(LEFT, bottom + 18, classes_of(picture, most), most, of, out);
    tt_svg_end(out);
}
