/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks as text. If the text is refused, the error has a position. If it is accepted, every link
 * has one in the opposite direction, and the routes between some pairs of ranks use existing links
 * only and reach their end. A text with several lines is also read as a file.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "plan/network.h"

enum {
    PAIRS = 8,
    HOPS = 2048, /* hops of a route that are checked; a route in a long ring may have half a
                  * million */
    WIDE = 1024, /* the test searches for the opposite links only if each vertex has at most so many
                  * ports */
    HOLED = 256  /* networks with missing nodes are tried with at most so many ranks, because their
                  * memory grows with the square of the number of ranks */
};

static void is_reported(const char *text, const struct tt_reader_error *error)
{
    fuzz_check(error->at <= strlen(text), "%zu", error->at);
    fuzz_check(error->text[0], "nothing is said");
}

static int node_of(const struct tt_net *net, uint64_t drawn)
{
    int rank = (int)(drawn % (uint64_t)net->ranks), node = tt_net_node(net, rank);
    fuzz_check(node >= 0 && node < net->nodes, "rank %d is on node %d", rank, node);
    fuzz_check(tt_net_rank(net, node) == rank, "node %d of rank %d", node, rank);
    return node;
}

/* Checks that the hop is a link from vertex `at` to an existing vertex. */
static void is_link(const struct tt_net *net, int at, const struct tt_hop *hop)
{
    fuzz_check(hop->link / net->ports == at, "link %lld from %d", (long long)hop->link, at);
    int to = tt_net_neighbour(net, at, (int)(hop->link % net->ports));
    fuzz_check(to == hop->to && to >= 0 && to < net->vertices, "to %d, hop to %d", to, hop->to);
    fuzz_check(hop->channel == 0 || hop->channel == 1, "channel %d", hop->channel);
}

static void is_route(const struct tt_net *net, int from, int to)
{
    struct tt_route route = tt_route(from, to);
    struct tt_hop hop;
    int at = from, length = 0;
    while (length < HOPS && tt_route_next(net, &route, &hop)) {
        is_link(net, at, &hop);
        fuzz_check(++length <= net->vertices, "%d to %d goes round", from, to);
        at = hop.to;
    }
    fuzz_check(at == to || length == HOPS, "%d to %d ends at %d", from, to, at);
}

static void leads_both_ways(const struct tt_net *net, int vertex)
{
    for (int port = 0; port < net->ports && port < PAIRS && net->ports <= WIDE; port++) {
        int to = tt_net_neighbour(net, vertex, port), back = 0;
        if (to < 0) continue;
        while (back < net->ports && tt_net_neighbour(net, to, back) != vertex) back++;
        fuzz_check(back < net->ports, "from %d to %d, not back", vertex, to);
    }
}

static void is_sound(const struct tt_net *net)
{
    struct tt_random random;
    fuzz_check(net->ranks >= 1 && net->ranks <= net->nodes && net->nodes <= net->vertices,
               "%d ranks, %d nodes, %d vertices", net->ranks, net->nodes, net->vertices);
    tt_random_seed(&random, 1);
    for (int i = 0; i < PAIRS; i++) {
        int from = node_of(net, tt_random_next(&random)),
            to = node_of(net, tt_random_next(&random));
        is_route(net, from, to);
        is_route(net, to, to);
        leads_both_ways(net, from);
    }
}

static void judged(const char *text)
{
    struct tt_reader_error error = {.at = SIZE_MAX};
    struct tt_net net;
    int ranks = 0;
    tutti_status status = tt_network_ranks(text, &ranks, &error);
    if (status != TUTTI_OK) {
        fuzz_check(status == TUTTI_ERR_ARG, "%d", (int)status);
        is_reported(text, &error);
    } else if (ranks <= HOLED || !strchr(text, '-')) {
        fuzz_check(tt_network_is_one(text), "%s", text);
        fuzz_check(tt_network_parse(text, &net, &error) == TUTTI_OK, "%s", error.text);
        fuzz_check(net.ranks == ranks, "%d, not %d", net.ranks, ranks);
        is_sound(&net);
        tt_net_free(&net);
    }
}

static void judged_in_a_file(const uint8_t *data, size_t size)
{
    char path[64];
    int file = memfd_create("map", MFD_CLOEXEC), ranks = 0;
    struct tt_reader_error error = {.at = SIZE_MAX};
    if (file < 0 || write(file, data, size) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "file:/proc/self/fd/%d", file);
    if (tt_network_ranks(path, &ranks, &error) != TUTTI_OK) is_reported(path, &error);
    close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    if (strstr(text, "file:") != text) judged(text); /* skips names of files on this machine */
    if (memchr(data, '\n', size)) judged_in_a_file(data, size);
    free(text);
    return 0;
}
