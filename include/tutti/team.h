/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tutti: teams. The ranks of a team call collectives together. tutti.h includes this file, and
 * states what holds for all functions.
 */
#ifndef TUTTI_TEAM_H
#define TUTTI_TEAM_H

#include <stdint.h>

#include <tutti/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the team of all ranks of the job, which belongs to the client. Local, any thread. */
TUTTI_API tutti_team *tutti_world(tutti_client *client);

/* Return this process' rank in the team, and the number of ranks in the team. Local, any thread. */
TUTTI_API int tutti_rank(const tutti_team *team);
TUTTI_API int tutti_size(const tutti_team *team);

/* This paragraph holds for all functions that make a team from a team. If the arguments of one rank
 * are wrong, all ranks get the error of that rank, with a text that names the rank, and the old
 * team goes on working. Only a rank whose `team` is no live team returns alone; the other ranks
 * wait for it, and get MISMATCH or PEER when it makes another call on the team or leaves.
 *
 * "All ranks return the same status" holds as long as no rank dies or leaves, and none revokes
 * `team`. If one of these happens while some ranks are still in the call, these may get PEER and no
 * new team, although the call of others has returned OK with a new team. The others would then wait
 * for them in the calls on that team. So a program that goes on after PEER calls tutti_team_agree
 * on `team` after the call, and uses the new team only if all ranks have got it. Otherwise it frees
 * the new team.
 *
 * Makes one team for each colour. The ranks of a team are ordered by key, then by their rank in
 * `team`. A rank with a negative colour takes part and gets *part = NULL. Collective over `team`;
 * blocks; all ranks return the same status. The caller frees the team. Errors: ARG (part is NULL),
 * MEMORY, LIMIT, PEER, MISMATCH. One thread per team. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_split(tutti_team *team, int color, int key,
                                                         tutti_team **part);

/* Makes a team of the same ranks in the same order. The two teams are independent: calls on one of
 * them do not count as calls on the other. The new team has the grid or the graph of `team`.
 * Collective over `team`; blocks; all ranks return the same status. The caller frees the team.
 * Errors: ARG, MEMORY, LIMIT, PEER, MISMATCH. One thread per team. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_dup(tutti_team *team, tutti_team **part);

/* Kinds of memory domains: memory to which some processors are closer than others. */
typedef enum tutti_domain {
    TUTTI_DOMAIN_NODE, /* the ranks that share memory */
    TUTTI_DOMAIN_NUMA, /* a NUMA domain of a node: the processors next to a part of its memory */
    TUTTI_DOMAIN_L3    /* the processors that share an L3 cache */
} tutti_domain;

/* Makes one team for each memory domain; its ranks are ordered by key, then by rank in `team`. A
 * rank belongs to the NUMA domain or L3 cache that has all processors on which the calling thread
 * may run (`tutti run` and other launchers bind ranks). Ranks whose processors are in several such
 * domains belong to none of them, and form one more team on each node. Collective over `team`;
 * blocks; all ranks return the same status. The caller frees the team. One thread per team. Errors:
 *
 *     ARG          part is NULL, or the domain is unknown or not the same on all ranks
 *     UNSUPPORTED  on some host the library finds no hwloc, or hwloc knows no such domain;
 *                  TUTTI_DOMAIN_NODE always works
 *     MEMORY, LIMIT, PEER, MISMATCH */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_split_domain(tutti_team *team,
                                                                tutti_domain domain, int key,
                                                                tutti_team **part);

/* Makes a team of the n ranks of `team` that ranks[] lists: ranks[i] becomes rank i of the new
 * team. Only these ranks call this function, and all with the same list and tag; the other ranks of
 * `team` take no part, and may have failed. The call does not belong to the order of collectives on
 * `team`. A rank may make several teams one after the other, also teams of different ranks; in this
 * case there must be no circle of ranks in which each waits for the next one. Calls with different
 * tags are independent: two threads of a rank that make teams at the same time pass different tags.
 * As long as `team` exists, each rank remembers each pair of a tag and a list, in about 60 bytes.
 * Blocks until all ranks of the list have called it, and advances context 0 and the client's teams.
 * Collective over the listed ranks, which return the same status, except as stated below. The
 * caller frees the team. One thread per client. The ranks meet by an agreement as in
 * tutti_team_agree, with a few messages for each rank; the call is MPI_Comm_create_group of MPI 3
 * (Dinan et al., "Noncollective communicator creation in MPI", EuroMPI 2011). Errors:
 *
 *     ARG       n is not in 1 .. size of the team, ranks is NULL, an entry is no rank of the team
 *               or is in the list twice, or this rank is not in the list: only this rank returns,
 *               and the others wait until it makes the right call or leaves
 *     ARG       part is NULL at some rank: all ranks of the list return
 *     MISMATCH  two ranks that wait for each other passed different lists with the same tag; all
 *               ranks of these lists that make such a call return it. The old team goes on
 *               working, but this tag does not work any more on it for these ranks
 *     PEER      a rank of the list has failed or left, or this rank counts as failed; or a rank has
 *               revoked `team`, before the call or during it
 *     MEMORY, LIMIT */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_of(tutti_team *team, const int *ranks, int n,
                                                      int tag, tutti_team **part);

/* Frees a team that another function of this file made. The caller must have freed the team's
 * requests. All members call this function, at any time: it waits for no other rank, so ranks may
 * free several teams in different orders. The other members may still read this rank's memory. So
 * the library frees that memory later, when all members have called this function: in a call that
 * makes a team or advances context 0, or in tutti_finalize. NULL is allowed. Errors: ARG (the team
 * is the world, or has requests); PEER, MISMATCH (the team is broken; it is freed all the same). If
 * the calls on the team turn out later not to match, tutti_advance or tutti_finalize returns
 * MISMATCH. One thread per team. */
TUTTI_API tutti_status tutti_team_free(tutti_team *team);

/* ---- Teams with neighbours ----
 *
 * A team may have neighbours: its ranks form a Cartesian grid or a graph. This does not change the
 * collectives of the team. The functions that ask for neighbours are local and do not block; any
 * thread may call them. Errors: ARG (the team has no grid, or no neighbours at all; an argument is
 * NULL or out of range). */

/* The most dimensions that a grid has. */
#define TUTTI_CART_DIMS 32
/* Stands in the place of a rank if there is no such rank. */
#define TUTTI_NO_RANK (-1)

/* How a grid is numbered. */
typedef enum tutti_cart_order {
    TUTTI_CART_LAST_FASTEST,  /* as arrays in C, and as in MPI: rank 1 has coordinates ..., 0, 1 */
    TUTTI_CART_FIRST_FASTEST, /* as arrays in Fortran: rank 1 has coordinates 1, 0, ... */
    /* The ranks of each node form a block of the grid, so that few neighbours are on other nodes.
     * A rank may get another number than in the old team. If the nodes do not hold equally many
     * ranks, or no such block divides the grid, this is the same as TUTTI_CART_LAST_FASTEST. */
    TUTTI_CART_NODES
} tutti_cart_order;

/* Replaces each 0 in dims[0..n-1] so that the product of all dims is p. The result has the least
 * sum that is possible (72 ranks in 2 dimensions: 9x8), and the new dimensions do not ascend.
 * Local, any thread, does not block. Errors: ARG (p < 1; n is not in 1 .. TUTTI_CART_DIMS; dims is
 * NULL or has a negative number; the product of the given dimensions does not divide p, or is not p
 * if all are given). */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_cart_dims(int p, int n, int *dims);

/* Makes a team whose ranks form a grid of n dimensions with dims[0] * ... * dims[n-1] places. The
 * new team has the first ranks of `team`, one for each place. A rank that is left over takes part
 * and gets *part = NULL. periodic[i] is 1 if the last and the first coordinate of dimension i are
 * neighbours, else 0. If periodic is NULL, no dimension is periodic. Collective over `team`;
 * blocks; all ranks return the same status. The caller frees the team. One thread per team. Errors:
 *
 *     ARG  n is not in 1 .. TUTTI_CART_DIMS, a dimension is less than 1, the grid has more places
 *          than the team has ranks, periodic[i] is neither 0 nor 1, the order is unknown, or a
 *          pointer is NULL; or the ranks passed different n, dims, periodic or order
 *     MEMORY, LIMIT, PEER, MISMATCH */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_cart(tutti_team *team, int n, const int *dims,
                                                        const int *periodic, tutti_cart_order order,
                                                        tutti_team **part);

/* Returns the grid of the team: the number of dimensions in *n, and up to TUTTI_CART_DIMS entries
 * of dims and periodic. Each of the three pointers may be NULL. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_cart_grid(const tutti_team *team, int *n, int *dims,
                                                        int *periodic);
/* tutti_cart_coords stores the coordinates of a rank of the team, one for each dimension.
 * tutti_cart_rank stores the rank at the given coordinates. In a periodic dimension a coordinate
 * may have any value. In other dimensions it may lie outside of the grid; *rank is then
 * TUTTI_NO_RANK. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_cart_coords(const tutti_team *team, int rank,
                                                          int *coords);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_cart_rank(const tutti_team *team, const int *coords,
                                                        int *rank);
/* Returns the partners of this rank in a shift by `distance` (which may be negative) in dimension
 * `dim`: this rank sends to *destination and receives from *source. TUTTI_NO_RANK stands for places
 * outside of the grid. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_cart_shift(const tutti_team *team, int dim,
                                                         int distance, int *source,
                                                         int *destination);

/* Makes a team of the same ranks in the same order, in which this rank receives from the ranks in
 * sources[] and sends to the ranks in destinations[]. The entries are ranks of `team`; a rank may
 * occur several times, and may be this rank. Each rank has to name this rank as often in its
 * destinations as this rank names it in its sources. A list of 0 entries may be NULL. Collective
 * over `team`; blocks; all ranks return the same status. The caller frees the team. One thread per
 * team. Errors:
 *
 *     ARG  a number of entries is negative, an entry is no rank of the team, a pointer is NULL, or
 *          the lists of two ranks contradict each other
 *     MEMORY, LIMIT, PEER, MISMATCH */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_graph(tutti_team *team, int sources_n,
                                                         const int *sources, int destinations_n,
                                                         const int *destinations,
                                                         tutti_team **part);

/* tutti_team_sources lists the ranks from which this rank receives, and tutti_team_destinations
 * those to which it sends. In a graph, they are the lists that this rank gave. In a grid of d
 * dimensions, both lists have 2 * d entries. Entry 2i is the neighbour with the lower coordinate i,
 * and entry 2i + 1 that with the higher one. TUTTI_NO_RANK stands for a missing neighbour. Stores
 * the first n entries in ranks, and the length of the list in *count if count is not NULL. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_sources(const tutti_team *team, int *ranks,
                                                           int n, int *count);
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_destinations(const tutti_team *team, int *ranks,
                                                                int n, int *count);

/* ---- Recovery ----
 *
 * When a member of a team dies, collectives in flight on the team end with TUTTI_ERR_PEER at every
 * member that waits for it, and so do collectives that the members start later. Teams without that
 * member go on. The members that are left can agree on what to do, and go on as a new team:
 *
 *     int64_t good = work(team) == TUTTI_OK;     TUTTI_OK on some ranks, TUTTI_ERR_PEER on others
 *     tutti_team_agree(team, &good, NULL);       did it work everywhere?
 *     if (!good) {
 *         tutti_team_shrink(team, &rest);
 *         tutti_team_free(team);                 only if it is not the world
 *         team = rest;                           with which to do the work once more
 *     }
 *
 * An error other than a peer's failure would occur again on the new team. docs/recovery.md in the
 * sources of Tutti has a whole program, which ends in that case.
 *
 * The launcher must let the other ranks live when a rank dies: `tutti run --on-failure=continue`.
 *
 * tutti_advance (message.h) reports a broken team once, or not at all if a call on the team has
 * reported it before, so that messages go on working. Calls on the team report the error each time.
 *
 * tutti_team_agree and tutti_team_shrink are collective over the living members, whether the team
 * has failed or not; all members call them in the same order. They block until all living members
 * have called them, whichever member dies meanwhile, and they advance context 0 and the client's
 * teams. A member that leaves the job (tutti_finalize) without calling them counts as failed. If a
 * collective returns MEMORY, LIMIT, SYSTEM or MISMATCH to a rank, that rank counts as failed in all
 * teams of the client from then on. The library has reported to the other members that the rank
 * cannot go on; if the rank itself calls tutti_team_agree or tutti_team_shrink, it gets PEER. The
 * method and its proof are in src/recover/accord.h of the sources; the calls are those of
 * user-level failure mitigation for MPI (Bland, Bouteiller, Herault, Bosilca, Dongarra,
 * IJHPCA 27(3), 2013). */

/* Combines *value of all members by bitwise AND and returns the result in *value. The result
 * contains the value of every member that returns OK; it may or may not contain that of a member
 * that died meanwhile. All members that return OK get the same result and the same set of failed
 * members, even those that die right afterwards. The set contains every member whose failure
 * PEER has reported to any member before. *failed receives the number of failed members if failed
 * is not NULL; tutti_team_failed lists them. One thread per team. Errors:
 *
 *     PEER      this rank counts as failed
 *     MISMATCH  other members called tutti_team_shrink; or they called a collective or
 *               tutti_team_free on a team that had not failed, and the team is broken now
 *     ARG       value is NULL: this rank took part with the value 0
 *     LIMIT     the team has more than 65535 members
 *     MEMORY */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_agree(tutti_team *team, int64_t *value,
                                                         int *failed);

/* Makes a team of the members that have not failed, in their old order, after an agreement on which
 * members have failed. If no member has failed, the new team is a copy. A member that dies after
 * the agreement belongs to the new team, and the first call on that team returns PEER; the members
 * can shrink that team again. If one member has no memory for the new team, no member gets one. The
 * caller frees the new team. The caller also frees the old team, after the requests of the old
 * team. Errors: ARG (part is NULL), PEER, MISMATCH, MEMORY, LIMIT; if one member gets ARG, MEMORY
 * or LIMIT, all members do. One thread per team. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_shrink(tutti_team *team, tutti_team **part);

/* Breaks the team for all its members: collectives that they have in flight on it, or start later,
 * end with PEER ("rank 2 revoked the team"), and so does tutti_team_of. tutti_team_agree,
 * tutti_team_shrink and tutti_team_failed still work. A rank calls this function if it stops taking
 * part in the collectives of a team that has no failed member, for example because of a failure in
 * another team. Otherwise the members would wait for this rank. The call does not reach a rank that
 * waits in tutti_init for a further client, because tutti_init belongs to no team: it returns when
 * all ranks of the job have called it, or with PEER if one has died before. Local, does not block;
 * the other members notice it when they next call the library. Errors: ARG, MEMORY, LIMIT. One
 * thread per team. */
TUTTI_API TUTTI_MUST_CHECK tutti_status tutti_team_revoke(tutti_team *team);

/* Lists the members of the team on whose failure the last successful tutti_team_agree or
 * tutti_team_shrink has agreed. The list is empty if there was no such call. It contains ranks of
 * the team, in ascending order. Stores the first n of these ranks in ranks, and the length of the
 * list in *count if count is not NULL. Errors: ARG. Local, does not block. One thread per team. */
TUTTI_API tutti_status tutti_team_failed(const tutti_team *team, int *ranks, int n, int *count);

#ifdef __cplusplus
}
#endif

#endif
