/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rankings (estimate.h) that are kept for the next job on this machine, in a text file next to the
 * file of the machine's model, a line for each shape:
 *
 *     allreduce/p4 buffers=own reach=read-write cores=2 window=131072 eager=8192 slice=0 radix=0
 *         model=2f0c9e1ab4d35577 tutti=0.9.0 build=91c07a2be45fd033 8=flat 64K=window 1M=direct
 *         check=5b1f22d07c8e9a46
 *
 * (in one line). allreduce/p4 is the shape: the collective and the number of ranks. "64K=window"
 * stands for calls of more than 32K and up to 64K bytes. If the first algorithm does not apply to
 * some of these calls, the algorithms after it follow, as in "8=ring,flat"; "none" says that there
 * are no more. The keys state on what the ranking depends:
 *
 *     buffers                own, or shared: each rank can read them by plain loads
 *     reach                  the accesses to other ranks' buffers that work
 *     cores window eager     processors of the ranks; bytes of a window; most bytes of a short
 *                            message
 *     slice radix            the settings; 0: the algorithm's own
 *     model                  a hash of the numbers of the machine's model
 *     tutti build            the version, and a hash of the source code that ranks algorithms
 *
 * `check` is a hash of the line up to there. A line is used only if its hash is right and its keys
 * have the values of the job that reads it; otherwise the algorithms are ranked again, and the new
 * line replaces it. So nobody should edit a line: the wisdom (wisdom.h) is the place for choices of
 * a user.
 */
#ifndef TT_RANKINGS_H
#define TT_RANKINGS_H

#include "base/machine.h"
#include "base/rankings.h"

/* Writes the path of the file: the value of TUTTI_RANKINGS, or a file in the cache folder. Returns
 * false, with the reason in `why`, if TUTTI_RANKINGS=0 or the environment names no folder. */
bool tt_rankings_path(char path[TT_FILE_PATH], char why[TT_FILE_WHY]);
/* Fills in *rankings, which must be empty, with the lines of the file that are about this model and
 * for at most `ranks` ranks. Lines for exactly `ranks` ranks go first, and newer lines go before
 * older ones. A file that cannot be read counts as empty. */
void tt_rankings_load(const struct tt_machine *machine, int ranks, struct tt_rankings *rankings);
/* Adds to the file the rankings that were computed after the file was loaded. Lines that other
 * processes add meanwhile stay; the oldest lines go if there are too many. If the file cannot be
 * written, it stays as it is, and the next job computes these rankings again; this function then
 * warns if TUTTI_RANKINGS names the file. */
void tt_rankings_keep(const struct tt_machine *machine, struct tt_rankings *rankings);
/* Sets *lines to the number of lines of the file, and *fit to the number of those that are about
 * this model (0 if `machine` is NULL). Returns false, with the reason in `why`, if the file cannot
 * be read. A missing file has no lines. */
bool tt_rankings_count(const char *path, const struct tt_machine *machine, int *lines, int *fit,
                       char why[TT_FILE_WHY]);

#endif
