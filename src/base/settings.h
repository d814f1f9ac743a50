/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of all settings. A new TUTTI_* variable needs a row here. Otherwise the library warns
 * of it when a job starts, and tt_setting() fails an assertion. The tests fail, too: they compare
 * this table with docs/tuning.md and with the sources.
 */
#ifndef TT_SETTINGS_H
#define TT_SETTINGS_H

#include "base/base.h"

/* SAME: the setting must be the same on all ranks, or tutti_init fails. AGREED: the ranks of a job
 * agree on one value, whatever value each of them has. OWN: each rank has its own value. */
enum tt_setting_rule { TT_SETTING_OWN, TT_SETTING_SAME, TT_SETTING_AGREED };

/* X(NAME, least, most, rule, "default", "what it does"). With most = 0 the setting is a text. */
/* clang-format off */
#define TT_SETTING_LIST(X) \
    X(LOG, 0, 0, OWN, "nothing", "what is logged on standard error") \
    X(ALGORITHM, 0, 0, OWN, "the planner's choice", "algorithms that are forced") \
    X(CHOICE, 0, 0, AGREED, "table", "table, estimate or measure: what chooses the algorithm") \
    X(MACHINE, 0, 0, AGREED, "in the cache folder", "the file of the model of this machine") \
    X(WISDOM, 0, 0, AGREED, "in the cache folder", "the file of measured choices; 0: none") \
    X(SLICE, 0, INT64_C(1) << 40, SAME, "the algorithm's", "bytes of a slice of a pipeline") \
    X(RADIX, 2, 1024, SAME, "the algorithm's", "branching of trees") \
    X(NETWORK, 0, 0, SAME, "none", "the network that the ranks are in") \
    X(NODES, 0, 0, SAME, "as the ranks share memory", "nodes that ranks of one machine behave as") \
    X(WINDOW, 64, 64 << 20, SAME, "128K", "bytes of a rank's window in each slot of a team") \
    X(EAGER, 0, 1 << 30, SAME, "8K", "bytes up to which messages go through the ring") \
    X(RING, 4 << 10, 1 << 20, SAME, "256K", "bytes of a ring of messages") \
    X(FILL, 0, 1, OWN, "measured", "how data get into a ring") \
    X(WIRE, 0, 1, OWN, "0", "1: messages on one machine go over the network library, too") \
    X(SPLIT_COPY, 0, 1, OWN, "by ranks and processors", "1: the origin writes part of a message") \
    X(REMOTE_KEYS, 0, 1, OWN, "by the network", "1: access between machines by remote keys") \
    X(CMA, 0, 1, AGREED, "1", "0: ranks do not access each other's memory") \
    X(READ_COST, 0, 1000, AGREED, "measured", "what reading a peer's memory costs") \
    X(SPINS, 0, INT32_MAX, OWN, "by ranks and processors", "looks before a waiting rank yields") \
    X(YIELDS, 0, INT32_MAX, OWN, "by ranks and processors", "yields before a waiting rank sleeps") \
    X(ISA, 0, 0, OWN, "the processor's", "kernels for reductions") \
    X(TRACE, 0, 0, OWN, "none", "the folder for traces of what each rank does") \
    X(REPORT, 0, 0, OWN, "none", "the file for a report of each rank's or rank 0's calls") \
    X(WATCHDOG, 0, 0, OWN, "0", "seconds of waiting after which the roll call is printed") \
    X(FAULT, 0, 0, OWN, "none", "faults to inject, for tests") \
    X(UCX, 0, 0, OWN, "libucp.so.0", "the library between machines") \
    X(PEER_TIMEOUT, 2, 3600, OWN, "10", "seconds after which a silent machine is given up") \
    X(PMIX, 0, 0, OWN, "libpmix.so.2", "the library of other launchers; 0: not used") \
    X(DETACH, 0, 1, OWN, "0", "1: ranks leave other launchers when they have met") \
    X(BOOT_TIMEOUT, 1, 86400, OWN, "300", "seconds that all ranks have for coming") \
    X(MPI, 0, 0, OWN, "on", "under MPI programs: on, off, or count, which counts their calls") \
    X(MPI_REPORT, 0, 0, OWN, "standard error", "the file for these counts; .json: as JSON") \
    X(RANK, 0, 0, OWN, "set by tutti run", "the rank of this process") \
    X(SIZE, 0, 0, OWN, "set by tutti run", "the ranks of the job") \
    X(JOB, 0, 0, OWN, "set by tutti run", "what the ranks of the job share")
/* clang-format on */

struct tt_known_setting {
    const char *name; /* "TUTTI_LOG" */
    int64_t least, most;
    enum tt_setting_rule rule;
    const char *otherwise, *does;
};

extern const struct tt_known_setting tt_settings[];
extern const int tt_settings_n;

/* Returns the row of a name; NULL: there is none. */
const struct tt_known_setting *tt_setting_known(const char *name);
/* Whether the environment may contain this name: a setting, a variable of the tests
 * (TUTTI_TEST...), or a variable that says where Tutti is installed, as environment modules and
 * build systems set it (TUTTI_ROOT, TUTTI_DIR ...). */
bool tt_setting_is_expected(const char *name);
/* Whether the environment has a valid value of the setting. */
bool tt_setting_in_force(const struct tt_known_setting *setting);
/* Warns of each TUTTI_* variable of the environment that is no setting, and suggests the setting
 * with the most similar name. Only the first call in a process does anything. */
void tt_settings_check(void);

#endif
