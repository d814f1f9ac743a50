/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A picture is what can be drawn of a collective that was run, on paper or in truth, as plain data:
 * who did what when (deeds), what went from whom to whom when (trips), who gave how much to whom
 * (traffic), the tree along which the data went, the network with what its links carried.
 *
 *     begin, step and message as they come, (network,) end  ->  any of the writers  ->  free
 *
 * The writers print to a FILE; whether all of it arrived is ferror's to tell.
 */
#ifndef TT_DRAW_PICTURE_H
#define TT_DRAW_PICTURE_H

#include <stdio.h>

#include "draw/calls.h"
#include "draw/palette.h"
#include "plan/problem.h"
#include "sim/sim.h"

enum {
    TT_PICTURE_MOST = 500000,  /* deeds, and trips, that are kept; the rest is counted */
    TT_PICTURE_GROUPS = 64,    /* rows of the traffic matrix, at most */
    TT_PICTURE_LINKS = 500000, /* a network with more has no picture */
    TT_PICTURE_ROUTES = 64
};

struct tt_picture_list {
    struct tt_sim_deed *at;
    int64_t n, room, left_out;
};

/* Pairs of ranks between which data went, as long as they may be those of a tree. */
struct tt_picture_pairs {
    uint64_t *key; /* lower rank * ranks + higher + 1; 0: free */
    size_t room;
    int n;
    bool many;        /* more than a tree has */
    int64_t *sent_ps; /* of each rank: when it first sent data; -1: never */
    bool *received;
};

struct tt_picture_vertex {
    double x, y; /* in steps between neighbours; y downwards */
    int slice;   /* of a grid of 3 and more dimensions; else 0 */
    int rank;    /* -1: a node that is missing; -2: a switch */
};

struct tt_picture_link {
    int from, to;
    int64_t bytes;
};

/* vertices == 0: there is none. */
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
    int *route[TT_PICTURE_ROUTES]; /* vertices, and -1 behind the last */
};

/* Invariants: deeds and trips name ranks in 0 .. ranks-1 (a step's peer may be -1), times ascend
 * from begin to end, bytes are not negative; traffic has groups * groups numbers, row = who gave,
 * of rank r: r / per_group. */
struct tt_picture {
    char problem[TT_PROBLEM_TEXT], algorithm[64], model[16]; /* "": not known */
    bool run;                                                /* else a simulation */
    enum tt_scheme scheme;                                   /* of an SVG */
    int ranks;
    int first, last; /* of these ranks deeds and trips are kept, of all the rest */
    int64_t time_ps;
    struct tt_picture_list deeds, trips;
    int groups, per_group;
    int64_t *traffic;
    int edges;      /* of the logical tree: ranks - 1, or 0 where data went other ways */
    int (*edge)[2]; /* parent and child; parents in breadth-first order from the root */
    struct tt_picture_pairs pairs;
    struct tt_picture_net net;
    struct tt_calls calls; /* of a real run; none of a simulation */
    tutti_status status;   /* MEMORY: something could not be kept */
};

/* ---- Making ---- */

tutti_status tt_picture_begin(struct tt_picture *picture, int ranks);
/* As observers of a simulation; `picture` is a struct tt_picture. */
void tt_picture_step(void *picture, const struct tt_sim_deed *deed);
void tt_picture_message(void *picture, const struct tt_sim_deed *trip);
/* Puts in order what has come. root: of the collective; -1: not known. MEMORY. */
tutti_status tt_picture_end(struct tt_picture *picture, int root);
void tt_picture_free(struct tt_picture *picture);

/* The network and where its vertices are drawn; link_bytes as in tt_sim_result, or NULL: as the
 * trips load them. LIMIT: too large; MEMORY. */
tutti_status tt_picture_network(struct tt_picture *picture, const struct tt_net *net,
                                const char *text, const int64_t *link_bytes);
/* A route between ranks to be shown; those beyond TT_PICTURE_ROUTES are only counted. MEMORY. */
tutti_status tt_picture_route(struct tt_picture *picture, const struct tt_net *net, int from,
                              int to);
/* Routes between neighbours of missing nodes that would lead through those; else between the first
 * and the last rank. */
tutti_status tt_picture_detours(struct tt_picture *picture, const struct tt_net *net);

/* ---- Writing ---- */

void tt_picture_json(const struct tt_picture *picture, FILE *out);
/* Chrome's trace event format, as an object with what the picture is of; trace.h reads it. */
void tt_picture_trace(const struct tt_picture *picture, FILE *out);

/* A page to look around in: the JSON, and what shows it. */
void tt_picture_html(const struct tt_picture *picture, FILE *out);
/* The logical tree; the network with its loads. */
void tt_picture_dot_tree(const struct tt_picture *picture, FILE *out);
void tt_picture_dot_network(const struct tt_picture *picture, FILE *out);

/* SVG, made to be read. */
enum { TT_SVG_RANKS = 64, TT_SVG_DEEDS = 20000, TT_SVG_VERTICES = 4096 };
/* Ranks down, time across: of ranks first .. last, TT_SVG_RANKS at most, and of their deeds and of
 * their trips the first TT_SVG_DEEDS. What is left out is said in the picture and, as a line of
 * text, in `left_out` ("": nothing). */
void tt_svg_time(const struct tt_picture *picture, int first, int last, char left_out[200],
                 FILE *out);
/* Of a run: its calls as bars, the time in the application between them, and below who came late.
 * first, last and left_out likewise. */
void tt_svg_calls(const struct tt_picture *picture, int first, int last, char left_out[200],
                  FILE *out);
/* Want edges, and a network of TT_SVG_VERTICES vertices at most. */
void tt_svg_tree(const struct tt_picture *picture, FILE *out);
void tt_svg_network(const struct tt_picture *picture, FILE *out);
/* Of a network in one plane; net is the picture's; left_out as of tt_svg_time. MEMORY. */
tutti_status tt_svg_steps(const struct tt_picture *picture, const struct tt_net *net,
                          char left_out[200], FILE *out);
/* left_out: as of tt_svg_time. */
void tt_svg_routes(const struct tt_picture *picture, char left_out[200], FILE *out);
void tt_svg_traffic(const struct tt_picture *picture, FILE *out);
#endif
