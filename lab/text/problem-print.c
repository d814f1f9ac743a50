/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints problems as strings, and shows the place where a string is wrong.
 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "text/problem.h"
#include "plan/words.h"
#include "type/type.h"

/* Prints text from the user. Each byte that is not printable becomes a '?', which keeps the columns
 * and sends no control characters to a terminal. */
static void show(FILE *file, const char *text, size_t n)
{
    for (size_t i = 0; i < n && text[i]; i++)
        fputc(isprint((unsigned char)text[i]) ? text[i] : '?', file);
}

/* A long text is shown only around the place of the error. */
void tt_problem_complain(FILE *file, const char *text, const struct tt_problem_error *error)
{
    enum { SHOWN = 100, BEFORE = 60 };
    size_t length = strlen(text), from = 0;
    if (length > SHOWN && error->at > BEFORE) from = error->at - BEFORE;
    const char *cut = from ? "..." : "";
    fprintf(file, "tutti: bad problem: ");
    show(file, error->text, sizeof error->text);
    fprintf(file, "\n  %s", cut);
    show(file, text + from, SHOWN);
    fprintf(file, "%s\n  %*s^\n", length - from > SHOWN ? "..." : "",
            (int)(error->at - from + strlen(cut)), "");
}

/* ---- Printing ---- */

static void print_graph(FILE *out, const struct tt_problem_graph *g)
{
    if (!g->kind) return;
    fprintf(out, "/graph=%s", tt_word(&tt_graph_words, (int)g->kind - 1));
    for (int i = 0; i < g->dims; i++) fprintf(out, "%c%d", i ? 'x' : ':', g->dim[i]);
}

static void print_keys(FILE *out, const struct tt_problem *problem)
{
    const struct tt_call *call = &problem->call;
    char text[24];
    if (call->root) fprintf(out, "/root=%d", (int)call->root);
    if (call->slice) fprintf(out, "/slice=%s", tt_print_size(text, call->slice));
    if (call->radix) fprintf(out, "/radix=%d", (int)call->radix);
    if (call->commutes != (!tt_coll_has_op(call->coll) || call->op < TUTTI_OP_USER))
        fprintf(out, "/order=%s", call->commutes ? "any" : "rank");
    if (call->in_place) fprintf(out, "/inplace=1");
    if (problem->seed) fprintf(out, "/seed=%" PRIu64, problem->seed);
    if (problem->skew) fprintf(out, "/skew=%s", tt_word(&tt_skew_words, (int)problem->skew));
    print_graph(out, &problem->graph);
}

static void print(FILE *out, const struct tt_problem *problem)
{
    const struct tt_call *call = &problem->call;
    bool moves = call->coll != TT_COLL_barrier;
    char text[24];
    fprintf(out, "%s", tt_coll_name(call->coll));
    if (moves) fprintf(out, "/%s", tt_type_name(call->type));
    if (tt_coll_has_op(call->coll)) {
        bool built_in = call->op < TUTTI_OP_USER;
        fprintf(out, "/%s", built_in ? tt_op_name(call->op) : TT_OP_USER_WORD);
    }
    if (moves) fprintf(out, "/%s", tt_print_size(text, problem->n * call->sz));
    fprintf(out, "/p%d", problem->p);
    print_keys(out, problem);
    if (problem->map[0]) fprintf(out, "@%s", problem->map);
}

char *tt_problem_print(const struct tt_problem *problem, char buffer[TT_PROBLEM_TEXT])
{
    buffer[0] = '\0';
    FILE *out = fmemopen(buffer, TT_PROBLEM_TEXT, "w");
    if (!out) return buffer;
    print(out, problem);
    fclose(out);
    return buffer;
}
