/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Problem strings: read from left to right by one small reader, which keeps the first thing that is
 * wrong together with its place. Keys are rows of a table.
 */
#include "plan/problem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "plan/words.h"
#include "type/type.h"

struct reader {
    const char *text, *at;
    struct tt_problem *problem;
    struct tt_problem_error *error;
    bool failed;
    unsigned seen; /* keys, by row */
};

/* The piece up to the next / or @, or up to another end. */
struct piece {
    const char *begin;
    size_t len;
};

__attribute__((format(printf, 3, 4))) static void complain(struct reader *in, const char *at,
                                                           const char *format, ...)
{
    if (in->failed) return;
    in->failed = true;
    in->error->at = (size_t)(at - in->text);
    va_list args;
    va_start(args, format);
    vsnprintf(in->error->text, sizeof in->error->text, format, args);
    va_end(args);
}

/* Pieces are quoted with a bound, so that a very long one leaves room for the message. */
#define QUOTED(piece) (int)tt_min((int64_t)(piece).len, 60), (piece).begin

static struct piece upto(struct reader *in, const char *ends)
{
    struct piece piece = {in->at, strcspn(in->at, ends)};
    in->at += piece.len;
    return piece;
}

/* The next piece, after its /; what it should be is told if there is none. */
static struct piece next(struct reader *in, const char *what)
{
    if (in->failed) return (struct piece){in->at, 0};
    if (in->at != in->text) {
        if (*in->at != '/') complain(in, in->at, "expected /%s", what);
        if (*in->at == '/') in->at++;
    }
    struct piece piece = upto(in, "/@");
    if (piece.len == 0) complain(in, piece.begin, "expected %s", what);
    return piece;
}

static int word(struct reader *in, struct piece piece, const struct tt_words *words,
                const char *what)
{
    char list[256];
    int found = tt_word_find(words, piece.begin, piece.len);
    if (found < 0) {
        complain(in, piece.begin, "unknown %s '%.*s', expected one of %s", what, QUOTED(piece),
                 tt_words_list(words, list, sizeof list));
    }
    return found;
}

static int64_t size(struct reader *in, struct piece piece, const char *what)
{
    int64_t value = 0;
    if (!tt_parse_size(piece.begin, piece.begin + piece.len, &value))
        complain(in, piece.begin, "'%.*s' is not %s", QUOTED(piece), what);
    return value;
}

/* ---- COLL/TYPE/OP/BYTES/pN ---- */

static bool is_user(struct piece piece)
{
    return piece.len == strlen(TT_OP_USER_WORD) &&
           memcmp(piece.begin, TT_OP_USER_WORD, piece.len) == 0;
}

static void op(struct reader *in)
{
    struct tt_call *call = &in->problem->call;
    struct piece piece = next(in, "an operation");
    char list[256];
    if (in->failed) return;
    int found = tt_word_find(&tt_op_words, piece.begin, piece.len);
    call->commutes = found >= 0;
    call->op = found >= 0 ? (tutti_op)found : TUTTI_OP_USER;
    if (found < 0 && !is_user(piece)) {
        complain(in, piece.begin, "unknown operation '%.*s', expected one of %s %s", QUOTED(piece),
                 tt_words_list(&tt_op_words, list, sizeof list), TT_OP_USER_WORD);
    }
    const char *reason = found >= 0 ? tt_op_refuse(call->op, call->type) : NULL;
    if (reason) complain(in, piece.begin, "%s", reason);
}

static int64_t elements(struct reader *in, struct piece piece, const char *what)
{
    const struct tt_call *call = &in->problem->call;
    int64_t bytes = size(in, piece, what);
    if (!in->failed && bytes % call->sz != 0) {
        complain(in, piece.begin, "%" PRId64 " bytes are no multiple of %s, which has %" PRId64,
                 bytes, tt_type_name(call->type), call->sz);
    }
    return bytes / call->sz;
}

static struct piece what_is_moved(struct reader *in)
{
    struct tt_call *call = &in->problem->call;
    call->type = (tutti_type)word(in, next(in, "a type"), &tt_type_words, "type");
    if (in->failed) return (struct piece){in->at, 0};
    call->sz = (int64_t)tutti_type_size(call->type);
    if (tt_coll_has_op(call->coll)) op(in);
    struct piece bytes = next(in, "a number of bytes");
    if (!in->failed) in->problem->n = elements(in, bytes, "a number of bytes, as in 64K");
    if (!tt_call_counts(call)) call->n = in->problem->n;
    return bytes;
}

static void ranks(struct reader *in)
{
    struct piece piece = next(in, "pN, the number of ranks");
    int64_t p = 0;
    if (in->failed) return;
    if (*piece.begin != 'p' || !tt_parse_size(piece.begin + 1, piece.begin + piece.len, &p)) {
        complain(in, piece.begin, "'%.*s' is not a number of ranks, as in p4", QUOTED(piece));
    } else if (p < 1 || p > TT_PROBLEM_RANKS) {
        complain(in, piece.begin, "%" PRId64 " ranks: must be from 1 to %d", p, TT_PROBLEM_RANKS);
    }
    in->problem->p = (int)p;
}

/* Twice what all ranks contribute fits, so no offset of any collective overflows. */
static void total(struct reader *in, struct piece bytes)
{
    const struct tt_problem *problem = in->problem;
    if (in->failed || problem->n <= INT64_MAX / 2 / problem->call.sz / problem->p) return;
    complain(in, bytes.begin, "%.*s bytes of %d ranks are more than can be counted", QUOTED(bytes),
             problem->p);
}

/* ---- Keys ---- */

static void key_root(struct reader *in, struct piece value)
{
    int64_t root = size(in, value, "a rank");
    if (!in->failed && root >= in->problem->p)
        complain(in, value.begin, "root %" PRId64 " of %d ranks", root, in->problem->p);
    in->problem->call.root = (int32_t)root;
}

static void key_slice(struct reader *in, struct piece value)
{
    struct tt_call *call = &in->problem->call;
    call->slice = elements(in, value, "a number of bytes, as in 64K") * call->sz;
    if (call->slice == 0) complain(in, value.begin, "a slice of nothing");
}

static void key_order(struct reader *in, struct piece value)
{
    static const char *const orders[] = {"rank", "any"};
    static const struct tt_words words = {orders, 2};
    in->problem->call.commutes = word(in, value, &words, "order") == 1;
}

static void key_inplace(struct reader *in, struct piece value)
{
    static const char *const answers[] = {"0", "1"};
    static const struct tt_words words = {answers, 2};
    in->problem->call.in_place = word(in, value, &words, "inplace") == 1;
}

static void key_seed(struct reader *in, struct piece value)
{
    in->problem->seed = (uint64_t)size(in, value, "a whole number");
}

static void key_skew(struct reader *in, struct piece value)
{
    in->problem->skew = (enum tt_skew)word(in, value, &tt_skew_words, "skew");
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

static const char *const key_names[] = {"root", "slice", "order", "inplace", "seed", "skew"};
static const struct tt_words key_words = {key_names, 6};
static const struct {
    bool (*applies)(enum tt_coll);
    void (*read)(struct reader *, struct piece);
} keys[] = {
    {tt_coll_has_root, key_root},     {moves, key_slice}, {has_order, key_order},
    {tt_coll_has_place, key_inplace}, {always, key_seed}, {has_counts, key_skew},
};

static void key(struct reader *in)
{
    in->at++;
    struct piece name = upto(in, "=/@");
    int row = word(in, name, &key_words, "key");
    if (in->failed) return;
    if (*in->at != '=') complain(in, in->at, "expected = and a value");
    if (!keys[row].applies(in->problem->call.coll)) {
        complain(in, name.begin, "%s has no %s", tt_coll_name(in->problem->call.coll),
                 key_names[row]);
    }
    if (in->seen & 1u << row) complain(in, name.begin, "%s is given twice", key_names[row]);
    if (in->failed) return;
    in->seen |= 1u << row;
    in->at++;
    struct piece value = upto(in, "/@");
    keys[row].read(in, value);
}

/* ---- The map ---- */

/* SIZE or SIZE*NODES: the ranks it stands for. */
static int64_t nodes(struct reader *in)
{
    struct piece each = upto(in, "*,");
    int64_t on_one = size(in, each, "a number of ranks"), times = 1;
    struct piece repeat = {in->at, 0};
    if (*in->at == '*') {
        in->at++;
        repeat = upto(in, ",");
        times = size(in, repeat, "a number of nodes");
    }
    if (in->failed) return 0;
    if (on_one < 1 || on_one > in->problem->p)
        complain(in, each.begin, "%" PRId64 " of %d ranks on a node", on_one, in->problem->p);
    if (times < 1 || times > in->problem->p)
        complain(in, repeat.begin, "%" PRId64 " nodes of %d ranks", times, in->problem->p);
    return on_one * times;
}

static void network(struct reader *in)
{
    struct tt_net net;
    struct tt_reader_error error;
    if (tt_network_parse(in->at, &net, &error) != TUTTI_OK) {
        complain(in, in->at + error.at, "%.400s", error.text);
        return;
    }
    if (net.ranks != in->problem->p)
        complain(in, in->at, "the network has %d nodes for %d ranks", net.ranks, in->problem->p);
    in->at += strlen(in->at);
    tt_net_free(&net);
}

static void node_sizes(struct reader *in, const char *begin)
{
    in->at += strlen("nodes");
    if (!in->failed && *in->at != ':') complain(in, in->at, "expected : and the nodes' ranks");
    int64_t sum = 0;
    do {
        if (in->failed) return;
        in->at++;
        sum += nodes(in);
    } while (*in->at == ',');
    if (!in->failed && sum != in->problem->p)
        complain(in, begin, "the nodes hold %" PRId64 " ranks of %d", sum, in->problem->p);
}

static void map(struct reader *in)
{
    const char *begin = ++in->at;
    size_t n = strcspn(begin, ":");
    if (tt_network_is_one(begin))
        network(in);
    else if (n == strlen("nodes") && strncmp(begin, "nodes", n) == 0)
        node_sizes(in, begin);
    else
        complain(in, begin, "unknown map '%.*s', expected nodes: or a network: %s",
                 (int)tt_min((int64_t)n, 60), begin, TT_NET_WORDS);
    if (!in->failed && strlen(begin) >= TT_PROBLEM_MAP)
        complain(in, begin, "a map of more than %d characters", TT_PROBLEM_MAP - 1);
    if (!in->failed) memcpy(in->problem->map, begin, strlen(begin) + 1);
}

/* ---- The whole ---- */

static void whole(struct reader *in)
{
    struct piece bytes = {in->at, 0};
    struct tt_call *call = &in->problem->call;
    call->sz = 1;
    call->commutes = true;
    call->coll = (enum tt_coll)word(in, next(in, "a collective"), &tt_coll_words, "collective");
    if (!in->failed && moves(call->coll)) bytes = what_is_moved(in);
    ranks(in);
    total(in, bytes);
    while (!in->failed && *in->at == '/') key(in);
    if (!in->failed && *in->at == '@') map(in);
}

tutti_status tt_problem_parse(const char *text, struct tt_problem *problem,
                              struct tt_problem_error *error)
{
    struct tt_problem read = {0};
    struct tt_problem_error wrong;
    struct reader in = {.text = text, .at = text, .problem = &read, .error = &wrong};
    whole(&in);
    if (!in.failed) {
        *problem = read;
        return TUTTI_OK;
    }
    if (error) *error = wrong;
    return tt_fail(TUTTI_ERR_ARG, "bad problem '%.200s': %s (at character %zu)", text, wrong.text,
                   wrong.at + 1);
}
