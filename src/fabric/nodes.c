/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TUTTI_NODES: ranks of one machine that behave as if they were on several.
 */
#include <string.h>

#include "fabric/fabric.h"

/* The whole number at *at, up to one of `ends`, behind which *at is left; 0 if it is none that can
 * be. */
static int64_t number(const char **at, const char *ends, int most)
{
    size_t n = strcspn(*at, ends);
    int64_t value = 0;
    bool good = tt_parse_size(*at, *at + n, &value) && value <= most;
    *at += n;
    return good ? value : 0;
}

/* Ranks first, first + 1 ... on the nodes of one piece, SIZE or SIZE*NODES; how many ranks, or
 * -1. */
static int64_t place(const char **at, int first, int size, int *node, int *nodes)
{
    int64_t each = number(at, "*,", size), times = 1;
    if (**at == '*') {
        ++*at;
        times = number(at, ",", size);
    }
    if (each < 1 || times < 1 || each * times > size - first) return -1;
    for (int64_t i = 0; i < each * times; i++) node[first + i] = *nodes + (int)(i / each);
    *nodes += (int)times;
    return each * times;
}

static tutti_status place_all(const char *text, int size, int *node, int *nodes)
{
    const char *name = tt_setting_alike_name(TT_ALIKE_NODES), *at = text;
    int ranks = 0;
    for (bool more = true; more; at += more) {
        size_t begin = (size_t)(at - text);
        int64_t n = place(&at, ranks, size, node, nodes);
        if (n < 0)
            return tt_fail(TUTTI_ERR_ARG,
                           "%s=%.200s: expected the ranks of each node, as in 4,2,1,1 or 4*16, %d "
                           "together (at character %zu)",
                           name, text, size, begin + 1);
        ranks += (int)n;
        more = *at == ',';
    }
    if (ranks == size) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_ARG, "%s=%.200s has room for %d ranks, the job has %d", name, text,
                   ranks, size);
}

tutti_status tt_fabric_nodes(int size, int **node, int *nodes)
{
    const char *text = tt_setting(tt_setting_alike_name(TT_ALIKE_NODES));
    *node = NULL;
    *nodes = 1;
    if (!text) return TUTTI_OK;
    int *made = tt_alloc((size_t)size * sizeof *made), n = 0;
    if (!made) return tt_fail(TUTTI_ERR_MEMORY, "no memory for the nodes of %d ranks", size);
    tutti_status status = place_all(text, size, made, &n);
    if (status == TUTTI_OK && n > 1) {
        *node = made;
        *nodes = n;
        return TUTTI_OK;
    }
    tt_free(made);
    return status;
}
