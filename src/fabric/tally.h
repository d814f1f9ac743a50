/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank counts its calls for the report (TUTTI_REPORT) in a wrapper in front of the fabric, as for
 * traces. A job without a report has no wrapper, and its calls cost no time for reports.
 */
#ifndef TT_TALLY_H
#define TT_TALLY_H

#include "base/cache-file.h"
#include "fabric/fabric.h"

enum { TT_TALLY_WORD = 32, TT_TALLY_ROWS = 512 };

/* The calls of one shape by one algorithm. The shape of a call consists of coll, type, op, bytes,
 * ranks and blocks. The time of a call lasts from its start to its end; if the call does not block,
 * the program may have computed meanwhile. */
struct tt_tally_row {
    char coll[TT_TALLY_WORD], algorithm[TT_TALLY_WORD], type[TT_TALLY_WORD], op[TT_TALLY_WORD];
    int64_t bytes;
    int ranks;
    bool blocks;
    int64_t calls, ns, least_ns, most_ns;
    int64_t waited_ns; /* time of waiting for flags of other ranks and for messages */
};

struct tt_tally {
    /* TUTTI_REPORT as an absolute path, which may contain %r; or "1", for standard error */
    char path[TT_FILE_PATH];
    struct tt_tally_row *row; /* an array of TT_TALLY_ROWS rows */
    int rows;
    int64_t lost; /* calls that are in no row, because there was no room */
    int64_t begin_ns;
    /* by rank of the job: how long this rank has waited for flags and messages of that rank, and
     * for the end of sends to that rank */
    int64_t *for_rank_ns;
};

#endif
