/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds out, from the text of a problem, which ranks share a node.
 */
#include <string.h>

#include "draw/svg.h"

int *tt_picture_nodes(const struct tt_picture *picture)
{
    struct tt_problem problem;
    struct tt_map map;
    if (strncmp(strchrnul(picture->problem, '@'), "@nodes:", 7) != 0) return NULL;
    if (tt_problem_parse(picture->problem, &problem, NULL) != TUTTI_OK) return NULL;
    if (problem.p != picture->ranks) return NULL;
    int *node = tt_calloc((size_t)problem.p, sizeof *node);
    if (node) tt_problem_map(&problem, &map, node);
    return node;
}
