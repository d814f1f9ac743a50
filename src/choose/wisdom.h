/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wisdom: which algorithm was measured to be the fastest for a problem. It is kept in a text file
 * in the user's cache folder, a line for each problem:
 *
 *     allreduce/f64/sum/1M/p4 halving radix=4 us=613.520 others=window:702.101,direct:911.480
 *         cores=2 reach=read date=2026-11-25T18:03:11Z tutti=0.9.0 machine=intel-r-xeon-2
 *
 * (in one line). The line begins with the problem (collective, type, operation, bytes, number of
 * ranks) and the fastest algorithm. Each line is complete by itself: files can be concatenated,
 * sent to another machine of the same kind, and edited. The keys have these values:
 *
 *     slice radix lanes
 *                   parameters of the algorithm; without them, the algorithm's own
 *     us            the time of a call; `others` has the times of the other candidates
 *     cores         processors for these ranks, at most as many as there are ranks
 *     reach         how ranks reach each other's buffers (base/wisdom.h)
 *     tutti         the version that measured it
 *     machine       the kind and number of processors
 *
 * A line is used only by the version and on the kind of machine that it names. A line that another
 * version wrote, or that cannot be read, stays in the file as it is.
 *
 * Rank 0 of a job reads its file and gives the lines that fit to all ranks when they meet. So all
 * ranks choose alike, and jobs with the same wisdom for all their calls get the same bits.
 */
#ifndef TT_WISDOM_H
#define TT_WISDOM_H

#include "base/machine.h"
#include "base/wisdom.h"
#include "coll/coll.h"

enum { TT_WISDOM_LAYOUT = 128, TT_WISDOM_OTHERS = 512, TT_WISDOM_LINE = 1280 };

/* ---- In a job (wisdom.c) ---- */

/* Fills in those properties of a call that a line of the wisdom names: all of *wise except slice,
 * radix, lanes and algorithm; and in `layout` the numbers of ranks on the nodes, as in a problem
 * string ("4,4,1", or "4*64" for many equal nodes; "" on one node). Returns false if there can be
 * no line for the call: the call has a count for each rank, the map has a network, the ranks of a
 * node are not adjacent, or there are too many nodes that differ. A type or operation that the user
 * has defined becomes TT_WISE_NONE. */
bool tt_wisdom_place(const struct tt_call *call, const struct tt_map *map, struct tt_wise *wise,
                     char layout[TT_WISDOM_LAYOUT]);
/* Returns the line of the job's wisdom that decides the algorithm of the call; NULL: none does. A
 * line fits only if its bytes and those of the call round up to the same power of two
 * (tt_size_class). Among the lines that fit, one with the same type, operation and bytes is
 * preferred, then one with the same type and operation. */
const struct tt_wise *tt_wisdom_find(const struct tt_call *call, const struct tt_map *map);
/* Returns the algorithm that the line names; NULL: there is none. */
const struct tt_algorithm *tt_wisdom_algorithm(const struct tt_wise *wise);
/* Returns the logarithm to the base 2 of `bytes`, the bytes of a call, rounded up; at least 3,
 * because fewer than 8 bytes take as long as 8. */
int tt_size_class(int64_t bytes);
/* Returns a hash of the numbers of ranks on the nodes, as tt_wisdom_place writes them; 0: all ranks
 * are on one node. */
static inline uint32_t tt_wisdom_hash(const char *layout)
{
    uint32_t h = 0x811c9dc5u;
    if (!*layout) return 0;
    for (; *layout; layout++) h = (h ^ (unsigned char)*layout) * 0x01000193u;
    return h | 1;
}

/* ---- The file (wisdom-file.c) ---- */

struct tt_wisdom_line {
    struct tt_wise wise;
    char layout[TT_WISDOM_LAYOUT];
    int64_t time_ps;
    char others[TT_WISDOM_OTHERS]; /* the times of the other candidates, "NAME:US,NAME:US..."; "":
                                    * there were none */
    char date[24], version[24];    /* "": they are filled in when the line is written */
    char machine[TT_MACHINE_NAME];
};

/* A file as it was read, with the reason for each line that is not used. */
struct tt_wisdom_file {
    char *text;
    int n;
    struct tt_wisdom_entry {
        char *text; /* the whole line */
        struct tt_wisdom_line line;
        bool fits; /* the line is used here; otherwise `why` has the reason */
        char why[160];
    } * entry;
};

/* Parses a line. Returns false, with the reason in `why`, if the text is no line of wisdom. */
bool tt_wisdom_parse(const char *text, struct tt_wisdom_line *line, char why[TT_FILE_WHY]);
/* Writes a line without a newline. Returns `text`. */
char *tt_wisdom_print(const struct tt_wisdom_line *line, char text[TT_WISDOM_LINE]);
/* Writes the problem of a line: "allreduce/f64/sum/1M/p4@nodes:2,2". Returns `text`. */
char *tt_wisdom_problem(const struct tt_wise *wise, const char *layout, char text[TT_WISDOM_LINE]);

/* Writes the path of the file: the value of TUTTI_WISDOM, or a file in the cache folder. Returns
 * false, with the reason in `why`, if TUTTI_WISDOM=0 or the environment names no folder. */
bool tt_wisdom_path(char path[TT_FILE_PATH], char why[TT_FILE_WHY]);
/* Reads the file; a file that does not exist counts as empty. The caller ends with tt_wisdom_close.
 * Returns false, with the reason in `why`, if the file cannot be read. */
bool tt_wisdom_read(const char *path, struct tt_wisdom_file *file, char why[TT_FILE_WHY]);
void tt_wisdom_close(struct tt_wisdom_file *file);
/* Fills in the wisdom of a job of `ranks` ranks. Lines for that many ranks go first. Warns of a
 * file that TUTTI_WISDOM names and that cannot be read; logs which lines are ignored, and why. */
void tt_wisdom_load(int ranks, struct tt_wisdom *wisdom);
/* Returns whether lines may be added to the file: it does not exist, has only comments, or has at
 * least one line of wisdom. Otherwise it is a file of another kind, which tt_wisdom_add refuses;
 * then, or if the file cannot be read, returns false, with the reason in `why`. */
bool tt_wisdom_takes_lines(const char *path, char why[TT_FILE_WHY]);
/* Adds n lines to the file. Each of them replaces the old line for the same problem, cores, reach
 * and machine. Comments and lines that other processes add meanwhile stay; the oldest lines go if
 * there are too many (tt_file_merge). Errors: SYSTEM, MEMORY; the file is then as it was. */
tutti_status tt_wisdom_add(const char *path, const struct tt_wisdom_line *line, int n);

#endif
