/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A picture is everything that can be drawn of a simulated or real collective, as plain data: the
 * steps of each rank with their times, the messages with their times, how many bytes each rank
 * sends to every other rank (traffic), the tree along which the data went, and the network with the
 * load of its links. The functions are called in this order:
 *
 *     tt_picture_begin
 *     tt_picture_step or tt_picture_message for each event
 *     tt_picture_end
 *     tt_picture_network, if there is a network
 *     any of the functions that write a picture
 *     tt_picture_free
 *
 * The writers print to a FILE; the caller checks ferror.
 */
#ifndef TT_DRAW_PICTURE_H
#define TT_DRAW_PICTURE_H

#include <stdio.h>

#include "draw/calls.h"
#include "draw/palette.h"
#include "text/problem.h"
#include "sim/sim.h"

enum {
    /* the most steps, and also the most messages, that a picture keeps; it only counts further
     * ones */
    TT_PICTURE_MOST = 500000,
    TT_PICTURE_GROUPS = 64,    /* the most rows of the traffic matrix */
    TT_PICTURE_LINKS = 500000, /* a network with more links has no picture */
    TT_PICTURE_ROUTES = 64
};

struct tt_picture_list {
    struct tt_sim_event *at;
    int64_t n, room, left_out;
};

/* A hash table of the pairs of ranks between which data went. No pairs are added any more once
 * there are too many of them for a tree. */
struct tt_picture_pairs {
    uint64_t *key; /* lower rank * ranks + higher rank + 1, or 0 if the entry is free */
    size_t room;
    int n;
    /* there are more pairs than a tree of all ranks has edges, so the pairs form no tree */
    bool many;
    int64_t *sent_ps; /* for each rank: when it first sent data; -1 if it never did */
    bool *received;
};

struct tt_picture_vertex {
    double x, y; /* in units of the distance of neighbours; y grows downwards */
    /* in a grid of 3 or more dimensions: the index of the two-dimensional slice in which it lies */
    int slice;
    int rank; /* the rank on this node; -1: a missing node; -2: a switch */
};

struct tt_picture_link {
    int from, to;
    int64_t bytes;
};

/* The network in a picture. vertices is 0 if the picture has no network. */
struct tt_picture_net {
    char text[TT_PROBLEM_MAP];
    enum tt_net_kind kind;
    int dims, extent[TT_NET_CUBE], nodes, slices;
    int vertices;
    struct tt_picture_vertex *vertex;
    int64_t links;
    struct tt_picture_link *link;
    int64_t max_link_bytes;
    double mean_link_bytes;
    int routes, routes_left_out;
    int *route[TT_PICTURE_ROUTES]; /* the vertices of each route, with -1 after the last */
};

/* Invariants (tt_picture_valid checks them): steps and messages name ranks in 0 .. ranks-1 (the
 * peer of a step may be -1), no step or message ends before it begins, and bytes are not negative.
 * traffic is a matrix of groups * groups numbers of bytes: the row is the group of the sender, and
 * the column is the group of the receiver. Rank r is in group r / per_group. */
struct tt_picture {
    char problem[TT_PROBLEM_TEXT], algorithm[64], model[16]; /* each is "" if it is not known */
    /* true: a real run; false: a simulation */
    bool run;
    enum tt_scheme scheme; /* the scheme of colours for an SVG */
    int ranks;
    /* steps and messages are kept for these ranks only; everything else is kept for all ranks */
    int first, last;
    int64_t time_ps;
    struct tt_picture_list steps, messages;
    int groups, per_group;
    int64_t *traffic;
    /* the number of edges of the tree: ranks - 1; 0 if the data did not go along a tree */
    int edges;
    /* parent and child of each edge; parents are in breadth-first order from the root */
    int (*edge)[2];
    struct tt_picture_pairs pairs;
    struct tt_picture_net net;
    struct tt_calls calls; /* the calls of a real run; empty for a simulation */
    tutti_status status;   /* ERR_MEMORY: there was no memory for a step or a message */
};

bool tt_picture_valid(const struct tt_picture *picture);

/* ---- Making ---- */

tutti_status tt_picture_begin(struct tt_picture *picture, int ranks);
/* These functions record a step or a message. The simulator can call them as the functions `step`
 * and `message` of a tt_sim_job. `picture` is a struct tt_picture. */
void tt_picture_step(void *picture, const struct tt_sim_event *event);
void tt_picture_message(void *picture, const struct tt_sim_event *message);
/* Sorts the steps and messages, and finds the tree along which the data went. root: the root of the
 * collective; -1 if it is not known. Returns TUTTI_OK or ERR_MEMORY. */
tutti_status tt_picture_end(struct tt_picture *picture, int root);
void tt_picture_free(struct tt_picture *picture);

/* Sets the network and the places of its vertices. link_bytes has the bytes on each link, as in
 * tt_sim_result. If it is NULL, the bytes of each message are added to the links of its route.
 * Returns TUTTI_OK; TUTTI_ERR_LIMIT if the network is too large; ERR_MEMORY. */
tutti_status tt_picture_network(struct tt_picture *picture, const struct tt_net *net,
                                const char *text, const int64_t *link_bytes);
/* Adds a route between two ranks. Routes beyond TT_PICTURE_ROUTES are only counted. Returns
 * TUTTI_OK or ERR_MEMORY. */
tutti_status tt_picture_route(struct tt_picture *picture, const struct tt_net *net, int from,
                              int to);
/* Adds at most six routes which show how the network avoids missing nodes. Each of them leads from
 * one neighbour of a missing node to another neighbour; in the complete network, the route between
 * the two leads through this node. If there is no such route and the picture has none yet, adds the
 * route between the first and the last rank. Returns TUTTI_OK or ERR_MEMORY. */
tutti_status tt_picture_detours(struct tt_picture *picture, const struct tt_net *net);

/* ---- Writing ---- */

void tt_picture_json(const struct tt_picture *picture, FILE *out);
/* Writes Chrome's trace event format, as an object that also describes the picture. trace.h reads
 * it. */
void tt_picture_trace(const struct tt_picture *picture, FILE *out);

/* Writes an interactive HTML page: the JSON of the picture and the code that shows it. */
void tt_picture_html(const struct tt_picture *picture, FILE *out);
/* Write the logical tree, and the network with its loads, for Graphviz. */
void tt_picture_dot_tree(const struct tt_picture *picture, FILE *out);
void tt_picture_dot_network(const struct tt_picture *picture, FILE *out);

/* Limits of SVG pictures, so that they stay readable. */
enum { TT_SVG_RANKS = 64, TT_SVG_EVENTS = 20000, TT_SVG_VERTICES = 4096 };
/* Draws ranks downwards and time to the right, for ranks first .. last (TT_SVG_RANKS at most), with
 * the first TT_SVG_EVENTS of their steps and of their messages. If something is left out, the
 * picture and the line of text in `left_out` say so; otherwise left_out is "". */
void tt_svg_time(const struct tt_picture *picture, int first, int last, char left_out[200],
                 FILE *out);
/* Draws the calls of a run as bars, with the time in the application between them, and a table of
 * late ranks below. The ranks are first .. last. If something is left out, the line of text in
 * `left_out` says so; otherwise left_out is "". */
void tt_svg_calls(const struct tt_picture *picture, int first, int last, char left_out[200],
                  FILE *out);
/* Draw the tree (there must be edges), and the network (with at most TT_SVG_VERTICES vertices). */
void tt_svg_tree(const struct tt_picture *picture, FILE *out);
void tt_svg_network(const struct tt_picture *picture, FILE *out);
/* Draws the steps of the collective on its network, which must not be a grid that is drawn as
 * several slices. net is the network of the picture. If something is left out, the line of text in
 * `left_out` says so; otherwise left_out is "". Returns TUTTI_OK or ERR_MEMORY. */
tutti_status tt_svg_steps(const struct tt_picture *picture, const struct tt_net *net,
                          char left_out[200], FILE *out);
/* Draws the network with its routes, without loads. If something is left out, the line of text in
 * `left_out` says so; otherwise left_out is "". */
void tt_svg_routes(const struct tt_picture *picture, char left_out[200], FILE *out);
void tt_svg_traffic(const struct tt_picture *picture, FILE *out);
/* Places n vertices of a tree level by level, each parent above the middle of its children: sets x
 * and y. parent[i] is the number of the parent of vertex i, which must be less than i; -1 for the
 * root. Returns TUTTI_OK or ERR_MEMORY. */
tutti_status tt_place_tree(const int *parent, int n, struct tt_picture_vertex *vertex);

#endif
