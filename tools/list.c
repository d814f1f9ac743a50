/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti list`: the table of algorithms, for people or as JSON.
 */
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "coll/coll.h"
#include "command.h"
#include "json.h"

enum { OPTION_JSON = 256, COLUMNS = 5 };

static const char *const titles[COLUMNS] = {"collective", "name", "cost", "applies", "source"};

static const char *cell(const struct tt_algorithm *a, int column)
{
    const char *const cells[COLUMNS] = {tt_coll_name(a->coll), a->name, a->cost, a->applies,
                                        a->source};
    return cells[column];
}

static void print_line(const struct tt_algorithm *a, const int width[COLUMNS])
{
    for (int c = 0; c < COLUMNS; c++)
        printf("%-*s%s", c + 1 < COLUMNS ? width[c] + 2 : 0, cell(a, c),
               c + 1 < COLUMNS ? "" : "\n");
}

static void print_table(void)
{
    int width[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) {
        width[c] = (int)strlen(titles[c]);
        for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++)
            width[c] = (int)tt_max(width[c], (int64_t)strlen(cell(*a, c)));
    }
    for (int c = 0; c < COLUMNS; c++)
        printf("%-*s%s", c + 1 < COLUMNS ? width[c] + 2 : 0, titles[c],
               c + 1 < COLUMNS ? "" : "\n");
    for (int coll = 0; coll < TT_COLLS; coll++)
        for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++)
            if ((int)(*a)->coll == coll) print_line(*a, width);
}

static int print_json(void)
{
    cJSON *rows = cJSON_CreateArray();
    for (const struct tt_algorithm *const *a = tt_algorithms; *a; a++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "name", (*a)->name);
        cJSON_AddStringToObject(row, "collective", tt_coll_name((*a)->coll));
        cJSON_AddStringToObject(row, "applies", (*a)->applies);
        cJSON_AddStringToObject(row, "cost", (*a)->cost);
        cJSON_AddStringToObject(row, "source", (*a)->source);
        cJSON_AddItemToArray(rows, row);
    }
    return tt_json_write(rows, "-") ? TT_EXIT_OK : TT_EXIT_FAILED;
}

static const struct argp_option options[] = {
    {"json", OPTION_JSON, NULL, 0, "as a JSON array of rows", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    if (key == ARGP_KEY_ARG) argp_error(state, "there is nothing to do with '%s'", arg);
    if (key != OPTION_JSON) return ARGP_ERR_UNKNOWN;
    *(bool *)state->input = true;
    return 0;
}

int tt_list_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc =
            "Lists the algorithms: which collective each is for, what it costs, when it applies, "
            "and where it comes from.\v"
            "In costs: p ranks, L bytes that a rank contributes, m bytes to each other rank, t_s "
            "the time to start, t_w that for a byte, gamma that to reduce a byte, q slices.",
    };
    bool json = false;
    argp_parse(&argp, argc, argv, 0, NULL, &json);
    if (json) return print_json();
    print_table();
    return TT_EXIT_OK;
}
