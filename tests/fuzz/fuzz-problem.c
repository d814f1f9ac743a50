/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Problem strings. A string that is accepted prints as a string that parses to the same problem and
 * prints the same. If it is refused, the error has a position. For small problems the test also
 * builds the calls, the map and the network.
 */
#include "fuzz.h"
#include "text/problem.h"

enum { SMALL = 64 };

static void is_reported(const char *text, const struct tt_problem_error *error)
{
    char *shown = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&shown, &size);
    fuzz_check(error->at <= strlen(text), "%zu", error->at);
    fuzz_check(error->text[0], "nothing is said");
    fuzz_check(tutti_error()[0], "nothing is said");
    if (!out) abort();
    tt_problem_complain(out, "tutti", text, error);
    fclose(out);
    int lines = 0;
    for (const char *c = shown; *c; c++) {
        fuzz_check(*c == '\n' || (*c >= ' ' && *c <= '~'), "shows a raw byte %d", *c);
        lines += *c == '\n';
    }
    fuzz_check(lines == 3 && shown[size - 2] == '^', "%s", shown);
    free(shown);
}

static void comes_back(const struct tt_problem *problem)
{
    struct tt_problem again;
    struct tt_problem_error error;
    char printed[TT_PROBLEM_TEXT], twice[TT_PROBLEM_TEXT];
    tt_problem_print(problem, printed);
    fuzz_check(tt_problem_parse(printed, &again, &error) == TUTTI_OK, "%s: %s", printed,
               error.text);
    tt_problem_print(&again, twice);
    fuzz_check(strcmp(printed, twice) == 0, "%s became %s", printed, twice);
    fuzz_check(memcmp(problem, &again, sizeof again) == 0, "%s is another problem", printed);
}

/* Checks that counts are not negative, that displacements leave no gaps, and that each rank expects
 * what the other ranks send it. */
static void calls_agree(const struct tt_problem *problem)
{
    size_t room = tt_problem_room(problem);
    int64_t *mine = calloc(room + 1, sizeof *mine), *first = calloc(room + 1, sizeof *first);
    if (!mine || !first) abort();
    struct tt_call zero = tt_problem_call(problem, 0, first);
    for (int me = 0; me < problem->p; me++) {
        struct tt_call call = tt_problem_call(problem, me, mine);
        for (int r = 0; call.out_counts && r < problem->p; r++)
            fuzz_check(call.out_counts[r] >= 0, "rank %d from %d", me, r);
        for (int r = 1; call.out_displs && r < problem->p; r++)
            fuzz_check(call.out_displs[r] == call.out_displs[r - 1] + call.out_counts[r - 1],
                       "rank %d, segment %d", me, r);
        if (call.in_counts)
            fuzz_check(call.in_counts[0] == zero.out_counts[me], "what %d sends to 0", me);
    }
    free(mine);
    free(first);
}

static void lies_on_its_network(const struct tt_problem *problem)
{
    int node[SMALL];
    struct tt_map map = {.cores = 1};
    struct tt_net net;
    fuzz_check(tt_problem_apart(problem, &map, node, &net) == TUTTI_OK, "%s", tutti_error());
    fuzz_check(map.p == problem->p && map.nodes >= 1, "%d ranks, %d nodes", map.p, map.nodes);
    for (int r = 0; map.node && r < map.p; r++)
        fuzz_check(map.node[r] >= 0 && map.node[r] < map.nodes, "rank %d on %d", r, map.node[r]);
    if (map.net) fuzz_check(map.net->ranks == map.p, "%d", map.net->ranks);
    tt_net_free(&net);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct tt_problem problem;
    struct tt_problem_error error = {.at = SIZE_MAX};
    tutti_status status = TUTTI_ERR_ARG;
    if (strstr(text, "file:")) { /* skips names of files on this machine */
        free(text);
        return 0;
    }
    status = tt_problem_parse(text, &problem, &error);
    if (status != TUTTI_OK) {
        fuzz_check(status == TUTTI_ERR_ARG, "%d", (int)status);
        is_reported(text, &error);
    } else {
        comes_back(&problem);
        if (problem.p <= SMALL) {
            calls_agree(&problem);
            lies_on_its_network(&problem);
        }
    }
    free(text);
    return 0;
}
