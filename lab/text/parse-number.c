/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parses numbers: plain ones, variables such as the rank, and expressions of both.
 */
#include "text/parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void tt_parse_variable(struct tt_parser *to, const char *name, int64_t value)
{
    if (to->variables_n == TT_TEXT_VARIABLES) {
        tt_lex_wrong(&to->in, "more than %d variables", TT_TEXT_VARIABLES);
        return;
    }
    struct tt_variable *v = &to->variables[to->variables_n++];
    snprintf(v->name, sizeof v->name, "%s", name);
    v->value = value;
}

struct tt_variable *tt_parse_find(struct tt_parser *to, const char *name)
{
    for (int i = 0; i < to->variables_n; i++)
        if (strcmp(to->variables[i].name, name) == 0) return &to->variables[i];
    return NULL;
}

static int64_t variable(struct tt_parser *to, const char *what)
{
    char name[TT_TEXT_NAME], list[TT_TEXT_VARIABLES * (TT_TEXT_NAME + 1)] = "";
    size_t used = 0;
    tt_lex_variable(&to->in, name, sizeof name, what);
    const struct tt_variable *found = tt_parse_find(to, name);
    if (found) return found->value;
    for (int i = 0; i < to->variables_n; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, " %s", to->variables[i].name);
    tt_lex_wrong(&to->in, "expected %s, a number or one of%s; there is no '%s'", what, list, name);
    return 0;
}

/* ---- Operators ---- */

enum operator{
    OR,
    AND,
    EQUAL,
    UNEQUAL,
    AT_MOST,
    AT_LEAST,
    LEFT,
    RIGHT,
    LESS,
    MORE,
    BIT_OR,
    BIT_XOR,
    BIT_AND,
    PLUS,
    MINUS,
    TIMES,
    OVER,
    MODULO,
    OPERATORS
};

/* The operators with their levels of precedence: an operator of a higher level is applied first. A
 * sign of two characters must come before the sign that is its first character, because the parser
 * takes the first one that fits. */
static const struct {
    const char *sign;
    int level;
} operators[OPERATORS] = {
    [OR] = {"||", 1},      [AND] = {"&&", 2},      [EQUAL] = {"==", 3}, [UNEQUAL] = {"!=", 3},
    [AT_MOST] = {"<=", 3}, [AT_LEAST] = {">=", 3}, [LEFT] = {"<<", 7},  [RIGHT] = {">>", 7},
    [LESS] = {"<", 3},     [MORE] = {">", 3},      [BIT_OR] = {"|", 4}, [BIT_XOR] = {"^", 5},
    [BIT_AND] = {"&", 6},  [PLUS] = {"+", 8},      [MINUS] = {"-", 8},  [TIMES] = {"*", 9},
    [OVER] = {"/", 9},     [MODULO] = {"%", 9},
};
enum { LOWEST = 1, PRODUCT = 9 };

/* Returns the quotient, or the remainder if `rest` is true, rounded towards minus infinity, so that
 * (r-1)%p is the rank before r even if r = 0. */
static int64_t divided(int64_t a, int64_t b, bool rest)
{
    int64_t over = a / b, left = a % b;
    if (left < 0) {
        left += b;
        over--;
    }
    return rest ? left : over;
}

static int64_t shifted(struct tt_parser *to, int64_t a, int64_t by, bool left)
{
    if (a < 0 || by < 0 || by > 62 || (left && a > INT64_MAX >> by)) {
        tt_lex_wrong(&to->in, "%" PRId64 " cannot be shifted by %" PRId64, a, by);
        return 0;
    }
    return left ? a << by : a >> by;
}

static int64_t calculated(struct tt_parser *to, enum operator op, int64_t a, int64_t b)
{
    int64_t result = 0;
    bool over = false;
    switch (op) {
    case OR: return a || b;
    case AND: return a && b;
    case EQUAL: return a == b;
    case UNEQUAL: return a != b;
    case AT_MOST: return a <= b;
    case AT_LEAST: return a >= b;
    case LESS: return a < b;
    case MORE: return a > b;
    case BIT_OR: return a | b;
    case BIT_XOR: return a ^ b;
    case BIT_AND: return a & b;
    case LEFT:
    case RIGHT: return shifted(to, a, b, op == LEFT);
    case PLUS: over = __builtin_add_overflow(a, b, &result); break;
    case MINUS: over = __builtin_sub_overflow(a, b, &result); break;
    case TIMES: over = __builtin_mul_overflow(a, b, &result); break;
    case OVER:
    case MODULO:
        if (b > 0) return divided(a, b, op == MODULO);
        tt_lex_wrong(&to->in, "a division by %" PRId64 ": the divisor must be at least 1", b);
        break;
    case OPERATORS: break;
    }
    if (over) tt_lex_wrong(&to->in, "the result does not fit into 64 bits");
    return result;
}

/* Reads and returns the next operator if its precedence (its level in the table `operators`) is at
 * least `level`. Otherwise reads nothing and returns OPERATORS, which stands for no operator. */
static enum operator take_operator(struct tt_parser *to, int level)
{
    struct tt_lex before = to->in;
    for (int op = 0; op < OPERATORS; op++) {
        if (!tt_lex_take(&to->in, operators[op].sign)) continue;
        if (operators[op].level >= level) return (enum operator)op;
        to->in = before;
        break;
    }
    return OPERATORS;
}

static int64_t expression(struct tt_parser *to, int level, const char *what);

static int64_t atom(struct tt_parser *to, const char *what)
{
    struct tt_lex *in = &to->in;
    int64_t value;
    if (tt_lex_take(in, "(")) {
        if (to->nested++ == TT_TEXT_NESTED) tt_lex_wrong(in, "parentheses nest too deep");
        value = expression(to, LOWEST, what);
        tt_lex_need(in, ")");
        to->nested--;
        return value;
    }
    if (tt_lex_at_letter(in)) return variable(to, what);
    return tt_lex_number(in, -INT64_MAX, INT64_MAX, what);
}

static int64_t expression(struct tt_parser *to, int level, const char *what)
{
    int64_t value = atom(to, what);
    while (!to->in.failed) {
        enum operator op = take_operator(to, level);
        if (op == OPERATORS) break;
        value = calculated(to, op, value, expression(to, operators[op].level + 1, what));
    }
    return to->in.failed ? 0 : value;
}

/* ---- Numbers ---- */

static int64_t within(struct tt_parser *to, int64_t value, const char *begin, int64_t min,
                      int64_t max, const char *what)
{
    if (to->in.failed) return min;
    if (value >= min && value <= max) return value;
    const char *end = to->in.token;
    to->in.token = begin;
    tt_lex_wrong(&to->in, "%s must be from %" PRId64 " to %" PRId64 ", and this is %" PRId64, what,
                 min, max, value);
    to->in.token = end;
    return min;
}

int64_t tt_parse_number(struct tt_parser *to, int64_t min, int64_t max, const char *what)
{
    const char *begin = tt_lex_next(&to->in);
    return within(to, expression(to, PRODUCT, what), begin, min, max, what);
}

int64_t tt_parse_atom(struct tt_parser *to, int64_t min, int64_t max, const char *what)
{
    const char *begin = tt_lex_next(&to->in);
    return within(to, atom(to, what), begin, min, max, what);
}

/* Returns whether the text from `begin` to `end` is a number in digits, without variables or
 * operators. */
static bool is_plain(const char *begin, const char *end)
{
    return *begin >= '0' && *begin <= '9' && begin + strcspn(begin, "*/%") >= end;
}

int64_t tt_parse_amount(struct tt_parser *to, int64_t max, const char *what)
{
    const char *begin = tt_lex_next(&to->in);
    int64_t value = expression(to, PRODUCT, what);
    return within(to, value, begin, is_plain(begin, to->in.at) ? 1 : 0, max, what);
}
