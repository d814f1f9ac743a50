/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parses network strings: first the shape of the network, then the nodes that are missing from it.
 */
#include "plan/network.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/words.h"

/* ---- A network in a file: the text of a network string, on any number of lines ---- */

enum { FILE_MOST = 1 << 20 };

/* A network that was read from a file: `text` is the network without blanks and comments, `whole`
 * the file as it is. free_file frees both. */
struct file {
    char *text, *whole;
};

static tutti_status wrong(struct tt_reader_error *error, tutti_status status, const char *what)
{
    snprintf(error->text, sizeof error->text, "%s", what);
    return status;
}

static tutti_status read_whole(int fd, struct file *file, struct tt_reader_error *error)
{
    struct stat is;
    if (fstat(fd, &is) != 0) return wrong(error, TUTTI_ERR_ARG, strerror(errno));
    if (!S_ISREG(is.st_mode)) return wrong(error, TUTTI_ERR_ARG, "not a file");
    if (is.st_size > FILE_MOST) return wrong(error, TUTTI_ERR_ARG, "a network of more than 1 MiB");
    file->whole = tt_calloc((size_t)is.st_size + 1, 1);
    file->text = tt_calloc((size_t)is.st_size + 1, 1);
    if (!file->whole || !file->text) return wrong(error, TUTTI_ERR_MEMORY, "no memory for it");
    if (read(fd, file->whole, (size_t)is.st_size) != is.st_size)
        return wrong(error, TUTTI_ERR_ARG, "it cannot be read whole");
    if (strlen(file->whole) < (size_t)is.st_size)
        return wrong(error, TUTTI_ERR_ARG, "not a text: there is a 0 byte in it");
    return TUTTI_OK;
}

/* Returns the address of the next character that is neither blank nor part of a comment, or of the
 * end of the text. */
static const char *next(const char *at)
{
    for (;;) {
        at += strspn(at, " \t\r\n");
        if (*at != '#') return at;
        at += strcspn(at, "\n");
    }
}

static void free_file(struct file *file)
{
    tt_free(file->text);
    tt_free(file->whole);
    *file = (struct file){NULL, NULL};
}

/* Reads a file of at most FILE_MOST bytes. Returns TUTTI_OK; ERR_ARG if the file cannot
 * be read, is not a regular text file or is too large; ERR_MEMORY. On an error it sets error->text,
 * but not error->at. */
static tutti_status read_file(const char *path, struct file *file, struct tt_reader_error *error)
{
    *file = (struct file){NULL, NULL};
    /* With O_NONBLOCK, open() does not wait for the writer of a pipe; read_whole refuses pipes. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return wrong(error, TUTTI_ERR_ARG, strerror(errno));
    tutti_status status = read_whole(fd, file, error);
    close(fd);
    if (status != TUTTI_OK) {
        free_file(file);
        return status;
    }
    char *to = file->text;
    for (const char *at = next(file->whole); *at; at = next(at + 1)) *to++ = *at;
    return TUTTI_OK;
}

/* Converts the index of a character in file->text to its line and column in the file, both from
 * 1. */
static void file_place(const struct file *file, size_t at, int *line, int *column)
{
    const char *place = next(file->whole), *begin = file->whole;
    for (; at > 0 && *place; at--) place = next(place + 1);
    *line = 1;
    for (const char *c = file->whole; c < place; c++) {
        if (*c != '\n') continue;
        ++*line;
        begin = c + 1;
    }
    *column = (int)(place - begin) + 1;
}

static const char FILE_WORD[] = "file:";

static const char *const kinds[TT_NET_KINDS] = {
#define NAME(name) #name,
    TT_NET_LIST(NAME)
#undef NAME
};
static const struct tt_words kind_words = {kinds, TT_NET_KINDS};

const char *tt_network_kind(enum tt_net_kind kind)
{
    return kinds[kind];
}

const char *tt_network_path(const char *text)
{
    bool file = text && strncmp(text, FILE_WORD, strlen(FILE_WORD)) == 0;
    return file ? text + strlen(FILE_WORD) : NULL;
}

bool tt_network_is_one(const char *text)
{
    size_t n = strcspn(text, ":");
    if (tt_network_path(text)) return true;
    return text[n] && tt_word_find(&kind_words, text, n) >= 0;
}

/* ---- The shape ---- */

static void kind(struct tt_reader *in, struct tt_net *net)
{
    char list[160];
    size_t n = strcspn(in->at, ":");
    int found = tt_word_find(&kind_words, in->at, n);
    if (found < 0)
        tt_reader_wrong(in, in->at, "unknown network '%.*s', expected one of %s",
                        (int)tt_min((int64_t)n, 60), in->at,
                        tt_words_list(&kind_words, list, sizeof list));
    if (in->failed) return;
    net->kind = (enum tt_net_kind)found;
    in->at += n;
    tt_reader_need(in, ":", ": and numbers");
}

/* Reads NUMBERxNUMBER..., at most `most` numbers. Sets values[i] to a number, and where[i] to its
 * place in the text. Returns the number of values. */
static int numbers(struct tt_reader *in, int *values, const char **where, int most)
{
    int n = 0;
    do {
        if (n == most)
            tt_reader_wrong(in, in->at, "more than %d number%s", most, most > 1 ? "s" : "");
        if (in->failed) return n;
        where[n] = in->at;
        values[n++] = tt_reader_number(in, "a number");
    } while (tt_reader_take(in, "x"));
    return n;
}

static void parents(struct tt_reader *in, struct tt_net *net)
{
    const char *where[TT_NET_LEVELS];
    if (net->kind != TT_NET_fattree || !tt_reader_take(in, "up")) return;
    if (numbers(in, net->up, where, net->dims) < net->dims)
        tt_reader_wrong(in, in->at, "expected x and the parents of each of %d levels", net->dims);
    for (int l = 0; l < net->dims && !in->failed; l++)
        if (net->up[l] < 1) tt_reader_wrong(in, where[l], "must be at least 1");
}

static void adapters(struct tt_reader *in, struct tt_net *net)
{
    const char *begin = in->at;
    if (!tt_reader_take(in, "+reduce")) return;
    net->reduces = true;
    if (net->kind != TT_NET_tree)
        tt_reader_wrong(in, begin, "the adapters of a %s do not reduce", kinds[net->kind]);
}

static void shape(struct tt_reader *in, struct tt_net *net)
{
    const char *where[TT_NET_LEVELS], *wrong;
    int least, most, which = 0;
    tt_net_numbers(net->kind, &least, &most);
    net->dims = numbers(in, net->extent, where, most);
    if (net->dims < least)
        tt_reader_wrong(in, in->at, "expected x and a number: a %s has %d", kinds[net->kind],
                        least);
    parents(in, net);
    adapters(in, net);
    if (!in->failed && (wrong = tt_net_shape(net, &which)) != NULL)
        tt_reader_wrong(in, where[which], "%s", wrong);
}

/* ---- Missing nodes ---- */

static const char axes[] = "xyzuvw";

static bool has_places(const struct tt_net *net)
{
    return tt_net_is_grid(net) && net->kind != TT_NET_hypercube;
}

static void take_out(struct tt_reader *in, struct tt_net *net, int node)
{
    if (in->failed || tt_net_remove(net, node) == TUTTI_OK) return;
    tt_reader_wrong(in, in->at, "no memory for a network of %d nodes", net->nodes);
    in->starved = true;
}

/* Returns the number of the node with these n coordinates. */
static int node_at(struct tt_reader *in, const struct tt_net *net, const char *begin,
                   const int *place, int n)
{
    int node = 0;
    if (!has_places(net) || n != net->dims)
        tt_reader_wrong(in, begin, "%d coordinates, where a node is given by %s%d", n,
                        has_places(net) ? "its number or by " : "",
                        has_places(net) ? net->dims : 1);
    for (int d = 0; d < n && !in->failed; d++) {
        if (place[d] >= net->extent[d])
            tt_reader_wrong(in, begin, "%c = %d is not below %d", axes[d], place[d],
                            net->extent[d]);
        else
            node += place[d] * net->stride[d];
    }
    return node;
}

/* Parses the text in the brackets of -hole(17) or -hole(3,3,3), and removes that node. */
static void hole(struct tt_reader *in, struct tt_net *net)
{
    int place[TT_NET_DIMS], n = 0;
    const char *begin = in->at;
    do {
        if (n == TT_NET_DIMS) tt_reader_wrong(in, begin, "more than %d coordinates", n);
        if (in->failed) return;
        place[n++] = tt_reader_number(in, "a coordinate");
    } while (tt_reader_take(in, ","));
    int node = n == 1 ? place[0] : node_at(in, net, begin, place, n);
    if (node >= net->nodes) tt_reader_wrong(in, begin, "node %d of %d", node, net->nodes);
    take_out(in, net, node);
}

/* Parses the text in the brackets of -wall(x=4), and removes all nodes with that coordinate. */
static void wall(struct tt_reader *in, struct tt_net *net)
{
    const char *begin = in->at, *axis = *begin ? strchr(axes, *begin) : NULL;
    int d = axis ? (int)(axis - axes) : TT_NET_DIMS;
    if (!has_places(net)) tt_reader_wrong(in, begin, "a %s has no walls", kinds[net->kind]);
    if (d >= net->dims)
        tt_reader_wrong(in, begin, "expected a dimension: one of %.*s", net->dims, axes);
    if (in->failed) return;
    in->at++;
    tt_reader_need(in, "=", "= and a coordinate");
    int place = tt_reader_number(in, "a coordinate");
    if (place >= net->extent[d])
        tt_reader_wrong(in, begin, "%c = %d is not below %d", axes[d], place, net->extent[d]);
    for (int node = 0; node < net->nodes && !in->failed; node++)
        if (node / net->stride[d] % net->extent[d] == place) take_out(in, net, node);
}

/* Parses the text in the brackets of -random(COUNT,SEED), and removes COUNT nodes, drawn at
 * random. */
static void drawn(struct tt_reader *in, struct tt_net *net)
{
    const char *begin = in->at;
    struct tt_random random;
    int count = tt_reader_number(in, "how many are missing");
    tt_reader_need(in, ",", ", and a seed");
    tt_random_seed(&random, (uint64_t)tt_reader_number(in, "a seed"));
    if (count >= net->ranks) tt_reader_wrong(in, begin, "%d missing of %d", count, net->ranks);
    for (int left = net->ranks - count; net->ranks > left && !in->failed;)
        take_out(in, net, (int)tt_random_below(&random, (uint64_t)net->nodes));
}

static void missing(struct tt_reader *in, struct tt_net *net)
{
    if (tt_reader_take(in, "-hole("))
        hole(in, net);
    else if (tt_reader_take(in, "-wall("))
        wall(in, net);
    else if (tt_reader_take(in, "-random("))
        drawn(in, net);
    else
        tt_reader_wrong(in, in->at, "expected -hole(...), -wall(...), -random(...) or the end");
    tt_reader_need(in, ")", ")");
}

/* ---- Parsing a whole network ---- */

static const char *node_text(const struct tt_net *net, int node, char *text, size_t size)
{
    int place[TT_NET_CUBE], n = tt_net_coordinates(net, node, place);
    size_t used = (size_t)snprintf(text, size, "%d", node);
    if (!has_places(net) || n < 2) return text;
    for (int d = 0; d < n && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%d", d ? "," : " (", place[d]);
    if (used < size) snprintf(text + used, size - used, ")");
    return text;
}

typedef tutti_status settle_fn(struct tt_net *net, int cut[2]);

static tutti_status settle(struct tt_reader *in, struct tt_net *net, const char *begin,
                           settle_fn *fn)
{
    char one[64], other[64];
    int cut[2];
    if (in->failed) return in->starved ? TUTTI_ERR_MEMORY : TUTTI_ERR_ARG;
    tutti_status status = fn(net, cut);
    if (status == TUTTI_ERR_LIMIT)
        tt_reader_wrong(
            in, begin,
            "a network with missing nodes may have at most 8192 nodes, with 255 links each");
    else if (status == TUTTI_ERR_ARG && cut[0] < 0)
        tt_reader_wrong(in, begin, "no node is left");
    else if (status == TUTTI_ERR_ARG)
        tt_reader_wrong(in, begin, "nodes %s and %s cannot reach one another",
                        node_text(net, cut[0], one, sizeof one),
                        node_text(net, cut[1], other, sizeof other));
    else if (status != TUTTI_OK)
        tt_reader_wrong(in, begin, "no memory for a network of %d nodes", net->nodes);
    return status == TUTTI_ERR_LIMIT ? TUTTI_ERR_ARG : status;
}

static tutti_status parse_text(const char *text, struct tt_net *net, struct tt_reader_error *wrong,
                               settle_fn *fn)
{
    struct tt_reader in = {.text = text, .at = text, .error = wrong};
    *net = (struct tt_net){.nodes = 0};
    kind(&in, net);
    if (!in.failed) shape(&in, net);
    const char *holes = in.at;
    while (!in.failed && *in.at) missing(&in, net);
    tutti_status status = settle(&in, net, holes, fn);
    if (status != TUTTI_OK) tt_net_free(net);
    return status;
}

/* Parses the network in a file. `fn` (tt_net_settle or tt_net_join) completes the parsed network.
 * On an error, wrong->at is the place of the path in the network string, and wrong->text begins
 * with the line and column in the file. */
static tutti_status parse_file(const char *path, struct tt_net *net, struct tt_reader_error *wrong,
                               settle_fn *fn)
{
    struct file file;
    struct tt_reader_error inside;
    int line = 0, column = 0;
    *net = (struct tt_net){.nodes = 0};
    wrong->at = strlen(FILE_WORD);
    tutti_status status = read_file(path, &file, &inside);
    if (status != TUTTI_OK) {
        snprintf(wrong->text, sizeof wrong->text, "%.200s: %.200s", path, inside.text);
        return status;
    }
    status = parse_text(file.text, net, &inside, fn);
    if (status != TUTTI_OK) file_place(&file, inside.at, &line, &column);
    if (status != TUTTI_OK)
        snprintf(wrong->text, sizeof wrong->text, "%.200s:%d:%d: %.250s", path, line, column,
                 inside.text);
    free_file(&file);
    return status;
}

static tutti_status parse(const char *text, struct tt_net *net, struct tt_reader_error *error,
                          settle_fn *fn)
{
    struct tt_reader_error wrong;
    const char *path = tt_network_path(text);
    tutti_status status =
        path ? parse_file(path, net, &wrong, fn) : parse_text(text, net, &wrong, fn);
    if (status == TUTTI_OK) return TUTTI_OK;
    if (error) *error = wrong;
    if (status == TUTTI_ERR_MEMORY)
        return tt_fail(status, "network '%.200s': %s", text, wrong.text);
    return tt_fail(status, "bad network '%.200s': %s (at character %zu)", text, wrong.text,
                   wrong.at + 1);
}

tutti_status tt_network_parse(const char *text, struct tt_net *net, struct tt_reader_error *error)
{
    return parse(text, net, error, tt_net_settle);
}

tutti_status tt_network_ranks(const char *text, int *ranks, struct tt_reader_error *error)
{
    struct tt_net net;
    TT_TRY(parse(text, &net, error, tt_net_join));
    *ranks = net.ranks;
    tt_net_free(&net);
    return TUTTI_OK;
}
