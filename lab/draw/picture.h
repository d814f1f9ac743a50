/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A picture is everything that can be drawn of a collective, simulated or run, as plain data: the
 * steps of each rank with their times, the messages with their times, the bytes from each rank to
 * each other (traffic), the tree along which the data went, and the network with the load of its
 * links.
 *
 *     begin; step and message for each event; (network;) end  ->  any of the writers  ->  free
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
    TT_PICTURE_MOST = 500000, /* the most steps, and messages, that are kept; the rest is counted */
    TT_PICTURE_GROUPS = 64,   /* the most rows of the traffic matrix */
    TT_PICTURE_LINKS = 500000, /* a network with more links has no picture */
    TT_PICTURE_ROUTES = 64
};

struct tt_picture_list {
    struct tt_sim_event *at;
    int64_t n, room, left_out;
};

/* The pairs of ranks between which data went, as long as they may form a tree. */
struct tt_picture_pairs {
    uint64_t *key; /* lower rank * ranks + higher + 1; 0: free */
    size_t room;
    int n;
    bool many;        /* there are more pairs than a tree has */
    int64_t *sent_ps; /* by rank: when it first sent data; -1: never */
    bool *received;
};

struct tt_picture_vertex {
    double x, y; /* in units of the distance of neighbours; y downwards */
    int slice;   /* the slice of a grid of 3 and more dimensions; otherwise 0 */
    int rank;    /* -1: a missing node; -2: a switch */
};

struct tt_picture_link {
    int from, to;
    int64_t bytes;
};

/* The network in a picture; vertices == 0: there is none. */
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
    int *route[TT_PICTURE_ROUTES]; /* vertices, with -1 behind the last */
};

/* Invariants (tt_picture_valid): steps and messages name ranks in 0 .. ranks-1 (the peer of a step
 * may be -1), times ascend from begin to end, bytes are not negative. traffic has groups *
 * groups numbers; the row is the group of the sender, and rank r is in group r / per_group. */
struct tt_picture {
    char problem[TT_PROBLEM_TEXT], algorithm[64], model[16]; /* "": not known */
    bool run;                                                /* false: a simulation */
    enum tt_scheme scheme;                                   /* scheme for SVG */
    int ranks;
    int first, last; /* steps and messages are kept for these ranks; all the rest is kept for all */
    int64_t time_ps;
    struct tt_picture_list steps, messages;
    int groups, per_group;
    int64_t *traffic;
    int edges;      /* edges of the tree: ranks - 1; 0 if the data did not go along a tree */
    int (*edge)[2]; /* parent and child; parents in breadth-first order from the root */
    struct tt_picture_pairs pairs;
    struct tt_picture_net net;
    struct tt_calls calls; /* the calls of a real run; empty for a simulation */
    tutti_status status;   /* ERR_MEMORY: something could not be kept */
};

bool tt_picture_valid(const struct tt_picture *picture);

/* ---- Making ---- */

tutti_status tt_picture_begin(struct tt_picture *picture, int ranks);
/* Observers for tt_sim_job; `picture` is a struct tt_picture. */
void tt_picture_step(void *picture, const struct tt_sim_event *event);
void tt_picture_message(void *picture, const struct tt_sim_event *message);
/* Sorts what has come and finds the tree. root: the root of the collective, or -1 if it is not
 * known. Returns TUTTI_OK or ERR_MEMORY. */
tutti_status tt_picture_end(struct tt_picture *picture, int root);
void tt_picture_free(struct tt_picture *picture);

/* Sets the network and the places of its vertices. link_bytes is as in tt_sim_result; with NULL the
 * messages are added up along their routes. Returns TUTTI_OK; TUTTI_ERR_LIMIT if the network is too
 * large; ERR_MEMORY. */
tutti_status tt_picture_network(struct tt_picture *picture, const struct tt_net *net,
                                const char *text, const int64_t *link_bytes);
/* Adds a route between two ranks. Routes beyond TT_PICTURE_ROUTES are only counted. Returns
 * TUTTI_OK or ERR_MEMORY. */
tutti_status tt_picture_route(struct tt_picture *picture, const struct tt_net *net, int from,
                              int to);
/* Adds routes between neighbours of missing nodes that would lead through those nodes; if there are
 * none, the route between the first and the last rank. Returns TUTTI_OK or ERR_MEMORY. */
tutti_status tt_picture_detours(struct tt_picture *picture, const struct tt_net *net);

/* ---- Writing ---- */

void tt_picture_json(const struct tt_picture *picture, FILE *out);
/* Writes Chrome's trace event format, as an object that also describes the picture. trace.h reads
 * it. */
void tt_picture_trace(const struct tt_picture *picture, FILE *out);

/* Writes an interactive page: the JSON and the code that shows it. */
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
 * late ranks below. first, last and left_out are as in tt_svg_time. */
void tt_svg_calls(const struct tt_picture *picture, int first, int last, char left_out[200],
                  FILE *out);
/* Draw the tree, which needs edges, and the network, which needs at most TT_SVG_VERTICES
 * vertices. */
void tt_svg_tree(const struct tt_picture *picture, FILE *out);
void tt_svg_network(const struct tt_picture *picture, FILE *out);
/* Draws the steps on a network in one plane. net is the network of the picture; left_out is as in
 * tt_svg_time. Returns TUTTI_OK or ERR_MEMORY. */
tutti_status tt_svg_steps(const struct tt_picture *picture, const struct tt_net *net,
                          char left_out[200], FILE *out);
/* Draws the network with the routes alone; left_out is as in tt_svg_time. */
void tt_svg_routes(const struct tt_picture *picture, char left_out[200], FILE *out);
void tt_svg_traffic(const struct tt_picture *picture, FILE *out);
/* Places n vertices of a tree level by level, each parent above the middle of its children: sets x
 * and y. parent[i] < i, or -1 for the root. Returns TUTTI_OK or ERR_MEMORY. */
tutti_status tt_place_tree(const int *parent, int n, struct tt_picture_vertex *vertex);

#endif
