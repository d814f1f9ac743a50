/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parses problem strings, prints problems as strings, and shows the place where a string is wrong.
 * A small reader goes from left to right and keeps the first error together with its place. The
 * keys are the rows of a table.
 */
#include "text/problem.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "plan/words.h"
#include "type/type.h"

static const char *const skews[] = {
#define SKEW(name) #name,
    TT_SKEW_LIST(SKEW)
#undef SKEW
};

static const struct tt_words skew_words = {skews, TT_SKEWS};

static const char *const graphs[] = {
#define GRAPH(name) #name,
    TT_GRAPH_LIST(GRAPH)
#undef GRAPH
};

static const struct tt_words graph_words = {graphs, sizeof graphs / sizeof *graphs};

struct parser {
    struct tt_reader in;
    struct tt_problem *problem;
    unsigned seen; /* bit mask of the rows of the table of keys that were read so far */
};

/* A piece of the string, such as a word between two /. */
struct problem_piece {
    const char *begin;
    size_t len;
};

/* The arguments of printf's %.*s that print a piece. A piece of more than 60 characters is cut, to
 * leave room for the rest of the message. */
#define QUOTED(piece) (int)tt_min((int64_t)(piece).len, 60), (piece).begin

static struct problem_piece upto(struct parser *to, const char *ends)
{
    struct problem_piece piece = {to->in.at, strcspn(to->in.at, ends)};
    to->in.at += piece.len;
    return piece;
}

/* Reads the next piece, with the / before it. If there is none, the error says that `what` is
 * expected. */
static struct problem_piece next(struct parser *to, const char *what)
{
    if (to->in.failed) return (struct problem_piece){to->in.at, 0};
    if (to->in.at != to->in.text) {
        if (*to->in.at != '/') tt_reader_wrong(&to->in, to->in.at, "expected / and %s", what);
        if (*to->in.at == '/') to->in.at++;
    }
    struct problem_piece piece = upto(to, "/@");
    if (piece.len == 0) tt_reader_wrong(&to->in, piece.begin, "expected %s", what);
    return piece;
}

static int word(struct parser *to, struct problem_piece piece, const struct tt_words *words,
                const char *what)
{
    char list[256];
    int found = tt_word_find(words, piece.begin, piece.len);
    if (found < 0) {
        tt_reader_wrong(&to->in, piece.begin, "unknown %s '%.*s', expected one of %s", what,
                        QUOTED(piece), tt_words_list(words, list, sizeof list));
    }
    return found;
}

static int64_t size(struct parser *to, struct problem_piece piece, const char *what)
{
    int64_t value = 0;
    if (!tt_parse_size(piece.begin, piece.begin + piece.len, &value))
        tt_reader_wrong(&to->in, piece.begin, "'%.*s' is not %s", QUOTED(piece), what);
    return value;
}

/* ---- COLL/TYPE/OP/BYTES/pN ---- */

static bool is_user(struct problem_piece piece)
{
    return piece.len == strlen(TT_OP_USER_WORD) &&
           memcmp(piece.begin, TT_OP_USER_WORD, piece.len) == 0;
}

static void op(struct parser *to)
{
    struct tt_call *call = &to->problem->call;
    struct problem_piece piece = next(to, "an operation");
    char list[256];
    if (to->in.failed) return;
    int found = tt_word_find(&tt_op_words, piece.begin, piece.len);
    call->commutes = found >= 0;
    call->op = found >= 0 ? (tutti_op)found : TUTTI_OP_USER;
    if (found < 0 && !is_user(piece)) {
        tt_reader_wrong(&to->in, piece.begin, "unknown operation '%.*s', expected one of %s %s",
                        QUOTED(piece), tt_words_list(&tt_op_words, list, sizeof list),
                        TT_OP_USER_WORD);
    }
    const char *reason = found >= 0 ? tt_op_refuse(call->op, call->type) : NULL;
    if (reason) tt_reader_wrong(&to->in, piece.begin, "%s", reason);
}

static int64_t elements(struct parser *to, struct problem_piece piece, const char *what)
{
    const struct tt_call *call = &to->problem->call;
    int64_t bytes = size(to, piece, what);
    if (!to->in.failed && bytes % call->sz != 0) {
        tt_reader_wrong(&to->in, piece.begin,
                        "%" PRId64 " bytes are no multiple of %s, which has %" PRId64, bytes,
                        tt_type_name(call->type), call->sz);
    }
    return bytes / call->sz;
}

static struct problem_piece what_is_moved(struct parser *to)
{
    struct tt_call *call = &to->problem->call;
    call->type = (tutti_type)word(to, next(to, "a type"), &tt_type_words, "type");
    if (to->in.failed) return (struct problem_piece){to->in.at, 0};
    call->sz = (int64_t)tutti_type_size(call->type);
    if (tt_coll_has_op(call->coll)) op(to);
    struct problem_piece bytes = next(to, "a number of bytes");
    if (!to->in.failed) to->problem->n = elements(to, bytes, "a number of bytes, as in 64K");
    if (!tt_call_counts(call)) call->n = to->problem->n;
    return bytes;
}

static void ranks(struct parser *to)
{
    struct problem_piece piece = next(to, "pN, where N is the number of ranks");
    int64_t p = 0;
    if (to->in.failed) return;
    if (*piece.begin != 'p' || !tt_parse_size(piece.begin + 1, piece.begin + piece.len, &p)) {
        tt_reader_wrong(&to->in, piece.begin, "'%.*s' is not a number of ranks, as in p4",
                        QUOTED(piece));
    } else if (p < 1 || p > TT_PROBLEM_RANKS) {
        tt_reader_wrong(&to->in, piece.begin, "%" PRId64 " ranks: must be from 1 to %d", p,
                        TT_PROBLEM_RANKS);
    }
    to->problem->p = (int)p;
}

/* Refuses a problem if 2 * p * BYTES does not fit in 63 bits. So no offset in the buffers of a
 * collective can overflow. */
static void total(struct parser *to, struct problem_piece bytes)
{
    const struct tt_problem *problem = to->problem;
    if (to->in.failed || problem->n <= INT64_MAX / 2 / problem->call.sz / problem->p) return;
    tt_reader_wrong(&to->in, bytes.begin, "%.*s bytes of %d ranks are more than can be counted",
                    QUOTED(bytes), problem->p);
}

/* ---- Keys ---- */

static void key_root(struct parser *to, struct problem_piece value)
{
    int64_t root = size(to, value, "a rank");
    if (!to->in.failed && root >= to->problem->p)
        tt_reader_wrong(&to->in, value.begin, "root %" PRId64 " of %d ranks", root, to->problem->p);
    to->problem->call.root = (int32_t)root;
}

static void key_slice(struct parser *to, struct problem_piece value)
{
    struct tt_call *call = &to->problem->call;
    call->slice = elements(to, value, "a number of bytes, as in 64K") * call->sz;
    if (call->slice == 0) tt_reader_wrong(&to->in, value.begin, "a slice of nothing");
    if (call->slice > TT_SLICE_MOST)
        tt_reader_wrong(&to->in, value.begin, "a slice of more than 1024G");
}

static void key_radix(struct parser *to, struct problem_piece value)
{
    enum { MOST = 1 << 20 };
    int64_t radix = size(to, value, "a whole number");
    if (!to->in.failed && (radix < 2 || radix > MOST))
        tt_reader_wrong(&to->in, value.begin, "a radix of %" PRId64 ": must be from 2 to %d", radix,
                        MOST);
    to->problem->call.radix = (int32_t)radix;
}

static void key_lanes(struct parser *to, struct problem_piece value)
{
    int64_t lanes = size(to, value, "a whole number");
    if (!to->in.failed && (lanes < TT_LANES_LEAST || lanes > TT_LANES_MOST))
        tt_reader_wrong(&to->in, value.begin, "%" PRId64 " lanes: must be from %d to %d", lanes,
                        TT_LANES_LEAST, TT_LANES_MOST);
    to->problem->call.lanes = (int32_t)lanes;
}

static void key_order(struct parser *to, struct problem_piece value)
{
    static const char *const orders[] = {"rank", "any"};
    static const struct tt_words words = {orders, 2};
    to->problem->call.commutes = word(to, value, &words, "order") == 1;
}

static void key_inplace(struct parser *to, struct problem_piece value)
{
    static const char *const answers[] = {"0", "1"};
    static const struct tt_words words = {answers, 2};
    to->problem->call.in_place = word(to, value, &words, "inplace") == 1;
}

static void key_seed(struct parser *to, struct problem_piece value)
{
    to->problem->seed = (uint64_t)size(to, value, "a whole number");
}

static void key_skew(struct parser *to, struct problem_piece value)
{
    to->problem->skew = (enum tt_skew)word(to, value, &skew_words, "skew");
}

/* Reads the number at *at in a text such as 4x3x2, and moves *at past this number and the x after
 * it. */
static int extent(struct parser *to, const char **at, const char *end)
{
    struct problem_piece piece = {*at, 0};
    while (piece.begin + piece.len < end && piece.begin[piece.len] != 'x') piece.len++;
    int64_t value = size(to, piece, "a whole number");
    if (!to->in.failed && (value < 1 || value > to->problem->p))
        tt_reader_wrong(&to->in, piece.begin, "%" PRId64 " of %d ranks", value, to->problem->p);
    *at += piece.len + 1;
    return to->in.failed ? 1 : (int)value;
}

/* Reads the dimensions of a grid, whose product must be p, or the degree of a random graph. */
static void extents(struct parser *to, const char *at, const char *end)
{
    struct tt_problem_graph *g = &to->problem->graph;
    const char *begin = at;
    int64_t places = 1;
    int most = g->kind == TT_GRAPH_random ? 1 : TT_GRAPH_DIMS;
    while (at <= end && places <= to->problem->p) {
        if (g->dims == most) tt_reader_wrong(&to->in, at, "more than %d numbers", most);
        if (to->in.failed) return;
        g->dim[g->dims] = extent(to, &at, end);
        places *= g->dim[g->dims++];
    }
    if (g->kind != TT_GRAPH_random && places != to->problem->p && !to->in.failed)
        tt_reader_wrong(&to->in, begin, "the grid must have as many places as there are ranks: %d",
                        to->problem->p);
}

static void key_graph(struct parser *to, struct problem_piece value)
{
    const char *colon = memchr(value.begin, ':', value.len), *end = value.begin + value.len;
    struct problem_piece name = {value.begin, colon ? (size_t)(colon - value.begin) : value.len};
    to->problem->graph.kind = (enum tt_graph_kind)(word(to, name, &graph_words, "graph") + 1);
    if (to->in.failed) return;
    if (!colon) tt_reader_wrong(&to->in, end, "expected : and numbers, as in grid:4x4 or random:3");
    if (!to->in.failed) extents(to, colon + 1, end);
}

static bool has_neighbors(enum tt_coll coll)
{
    return coll == TT_COLL_alltoallv;
}

static bool always(enum tt_coll coll)
{
    (void)coll;
    return true;
}

static bool moves(enum tt_coll coll)
{
    return coll != TT_COLL_barrier;
}

static bool has_order(enum tt_coll coll)
{
    bool exchanges = coll >= TT_COLL_allgather && coll <= TT_COLL_alltoallv;
    return tt_coll_has_op(coll) || exchanges;
}

static bool has_counts(enum tt_coll coll)
{
    return tt_call_counts(&(struct tt_call){.coll = coll});
}

static const char *const key_names[] = {"root", "slice", "order", "inplace", "seed",
                                        "skew", "radix", "graph", "lanes"};
static const struct tt_words key_words = {key_names, 9};
static const struct {
    bool (*applies)(enum tt_coll);
    void (*read)(struct parser *, struct problem_piece);
} keys[] = {
    {tt_coll_has_root, key_root}, {moves, key_slice},
    {has_order, key_order},       {tt_coll_has_place, key_inplace},
    {always, key_seed},           {has_counts, key_skew},
    {always, key_radix},          {has_neighbors, key_graph},
    {moves, key_lanes},
};

static void key(struct parser *to)
{
    to->in.at++;
    struct problem_piece name = upto(to, "=/@");
    int row = word(to, name, &key_words, "key");
    if (to->in.failed) return;
    if (*to->in.at != '=') tt_reader_wrong(&to->in, to->in.at, "expected = and a value");
    if (!keys[row].applies(to->problem->call.coll)) {
        tt_reader_wrong(&to->in, name.begin, "%s has no %s", tt_coll_name(to->problem->call.coll),
                        key_names[row]);
    }
    if (to->seen & 1u << row)
        tt_reader_wrong(&to->in, name.begin, "%s is given twice", key_names[row]);
    if (to->in.failed) return;
    to->seen |= 1u << row;
    to->in.at++;
    struct problem_piece value = upto(to, "/@");
    keys[row].read(to, value);
}

/* ---- The map ---- */

/* Reads SIZE or SIZE*NODES: one node, or NODES nodes, of SIZE ranks each. Returns the number of
 * ranks on these nodes. */
static int64_t nodes(struct parser *to)
{
    struct problem_piece each = upto(to, "*,+");
    int64_t on_one = size(to, each, "a number of ranks"), times = 1;
    struct problem_piece repeat = {to->in.at, 0};
    if (*to->in.at == '*') {
        to->in.at++;
        repeat = upto(to, ",+");
        times = size(to, repeat, "a number of nodes");
    }
    if (to->in.failed) return 0;
    if (on_one < 1 || on_one > to->problem->p)
        tt_reader_wrong(&to->in, each.begin, "%" PRId64 " of %d ranks on a node", on_one,
                        to->problem->p);
    if (times < 1 || times > to->problem->p)
        tt_reader_wrong(&to->in, repeat.begin, "%" PRId64 " nodes of %d ranks", times,
                        to->problem->p);
    return to->in.failed ? 0 : on_one * times;
}

static void network(struct parser *to)
{
    struct tt_reader_error error;
    const char *begin = to->in.at;
    int ranks = 0;
    if (tt_network_ranks(begin, &ranks, &error) != TUTTI_OK)
        tt_reader_wrong(&to->in, begin + error.at, "%.400s", error.text);
    else if (ranks != to->problem->p)
        tt_reader_wrong(&to->in, begin, "the network has %d nodes for %d ranks", ranks,
                        to->problem->p);
    to->in.at += strlen(begin);
}

static void node_sizes(struct parser *to, const char *begin)
{
    to->in.at += strlen("nodes");
    if (!to->in.failed && *to->in.at != ':')
        tt_reader_wrong(&to->in, to->in.at, "expected : and the nodes' ranks");
    int64_t sum = 0;
    do {
        if (to->in.failed) return;
        to->in.at++;
        sum += nodes(to);
    } while (*to->in.at == ',');
    if (!to->in.failed && *to->in.at && strcmp(to->in.at, TT_DEALT) != 0)
        tt_reader_wrong(&to->in, to->in.at, "expected " TT_DEALT " or the end");
    if (!to->in.failed && sum != to->problem->p)
        tt_reader_wrong(&to->in, begin, "the nodes hold %" PRId64 " ranks of %d", sum,
                        to->problem->p);
}

static void map(struct parser *to)
{
    const char *begin = ++to->in.at;
    size_t n = strcspn(begin, ":");
    if (strlen(begin) >= TT_PROBLEM_MAP)
        tt_reader_wrong(&to->in, begin, "a map of more than %d characters", TT_PROBLEM_MAP - 1);
    else if (tt_network_is_one(begin))
        network(to);
    else if (n == strlen("nodes") && strncmp(begin, "nodes", n) == 0)
        node_sizes(to, begin);
    else
        tt_reader_wrong(&to->in, begin, "unknown map '%.*s', expected nodes: or a network: %s",
                        (int)tt_min((int64_t)n, 60), begin, TT_NET_WORDS);
    if (!to->in.failed) memcpy(to->problem->map, begin, strlen(begin) + 1);
}

/* ---- The whole problem ---- */

static void whole(struct parser *to)
{
    struct problem_piece bytes = {to->in.at, 0};
    struct tt_call *call = &to->problem->call;
    call->sz = 1;
    call->commutes = true;
    call->coll = (enum tt_coll)word(to, next(to, "a collective"), &tt_coll_words, "collective");
    if (!to->in.failed && moves(call->coll)) bytes = what_is_moved(to);
    ranks(to);
    total(to, bytes);
    while (!to->in.failed && *to->in.at == '/') key(to);
    if (!to->in.failed && *to->in.at == '@') map(to);
}

tutti_status tt_problem_parse(const char *text, struct tt_problem *problem,
                              struct tt_problem_error *error)
{
    struct tt_problem read = {0};
    struct tt_problem_error wrong;
    struct parser to = {.in = {.text = text, .at = text, .error = &wrong}, .problem = &read};
    whole(&to);
    if (!to.in.failed) {
        *problem = read;
        return TUTTI_OK;
    }
    if (error) *error = wrong;
    return tt_fail(TUTTI_ERR_ARG, "bad problem '%.200s': %s (at character %zu)", text, wrong.text,
                   wrong.at + 1);
}

/* Prints text from the user. Each byte that is not printable becomes a '?', which keeps the columns
 * and sends no control characters to a terminal. */
static void show(FILE *file, const char *text, size_t n)
{
    for (size_t i = 0; i < n && text[i]; i++)
        fputc(isprint((unsigned char)text[i]) ? text[i] : '?', file);
}

/* Prints the message, the text and a caret (problem.h). From a long text, prints only the part
 * around the place of the error. */
void tt_problem_complain(FILE *file, const char *command, const char *text,
                         const struct tt_problem_error *error)
{
    enum { SHOWN = 100, BEFORE = 60 };
    size_t length = strlen(text), from = 0;
    if (length > SHOWN && error->at > BEFORE) from = error->at - BEFORE;
    const char *cut = from ? "..." : "";
    fprintf(file, "%s: bad problem: ", command);
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
    fprintf(out, "/graph=%s", tt_word(&graph_words, (int)g->kind - 1));
    for (int i = 0; i < g->dims; i++) fprintf(out, "%c%d", i ? 'x' : ':', g->dim[i]);
}

static void print_keys(FILE *out, const struct tt_problem *problem)
{
    const struct tt_call *call = &problem->call;
    char text[24];
    if (call->root) fprintf(out, "/root=%d", (int)call->root);
    if (call->slice) fprintf(out, "/slice=%s", tt_print_size(text, call->slice));
    if (call->radix) fprintf(out, "/radix=%d", (int)call->radix);
    if (call->lanes) fprintf(out, "/lanes=%d", (int)call->lanes);
    if (call->commutes != (!tt_coll_has_op(call->coll) || call->op < TUTTI_OP_USER))
        fprintf(out, "/order=%s", call->commutes ? "any" : "rank");
    if (call->in_place) fprintf(out, "/inplace=1");
    if (problem->seed) fprintf(out, "/seed=%" PRIu64, problem->seed);
    if (problem->skew) fprintf(out, "/skew=%s", tt_word(&skew_words, (int)problem->skew));
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
