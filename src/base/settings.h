/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of all settings. A new TUTTI_* variable needs a row in this table. Without a row, the
 * library warns of the variable when a job starts, and tt_setting() fails an assertion. The tests
 * compare this table with docs/tuning.md and with the sources.
 */
#ifndef TT_SETTINGS_H
#define TT_SETTINGS_H

#include "base/base.h"

/* SAME: the setting must be the same on all ranks, or tutti_init fails. AGREED: the ranks of a job
 * agree on one value, whatever value each of them has. OWN: each rank has its own value. */
enum tt_setting_rule { TT_SETTING_OWN, TT_SETTING_SAME, TT_SETTING_AGREED };

/* NUMBER: a whole number in a range, which may end in K, M or G (powers of 1024). SECONDS: a number
 * of seconds in a range, which may have a fraction. WORD: one word of a list. WORDS: several words
 * of a list, separated by commas. TEXT: any text; the part of the library that uses the text checks
 * it. */
enum tt_setting_kind {
    TT_SETTING_NUMBER,
    TT_SETTING_SECONDS,
    TT_SETTING_WORD,
    TT_SETTING_WORDS,
    TT_SETTING_TEXT
};

#define TT_NUMBER(least, most) TT_SETTING_NUMBER, least, most, NULL
#define TT_SECONDS(most) TT_SETTING_SECONDS, 0, most, NULL
#define TT_WORD(words) TT_SETTING_WORD, 0, 0, words
#define TT_WORDS(words) TT_SETTING_WORDS, 0, 0, words
#define TT_TEXT TT_SETTING_TEXT, 0, 0, NULL

#define TT_LOG_WORD(name) #name " "

/* X(NAME, kind, rule, "default", "what it does"). The default is a value, or a text that says where
 * the value comes from. The words of a list are separated by spaces. */
/* clang-format off */
#define TT_SETTING_LIST(X) \
    X(LOG, TT_WORDS(TT_LOG_LIST(TT_LOG_WORD)), OWN, "nothing", "what is logged on standard error") \
    X(ALGORITHM, TT_TEXT, OWN, "the planner's choice", "algorithms that are forced") \
    X(CHOICE, TT_WORD("table estimate measure"), AGREED, "table", \
      "what chooses the algorithm where there is no wisdom") \
    X(MACHINE, TT_TEXT, AGREED, "in the cache folder", "the file of the model of this machine") \
    X(WISDOM, TT_TEXT, AGREED, "in the cache folder", "the file of measured choices; 0: none") \
    X(RANKINGS, TT_TEXT, AGREED, "in the cache folder", \
      "the file of what the model was found to choose; 0: none") \
    X(SLICE, TT_NUMBER(0, INT64_C(1) << 40), SAME, "the algorithm's", \
      "bytes of a slice of a pipeline") \
    X(RADIX, TT_NUMBER(TT_RADIX_LEAST, TT_RADIX_MOST), SAME, "the algorithm's", \
      "branching of trees") \
    X(NETWORK, TT_TEXT, SAME, "none", "the network that the ranks are in") \
    X(NODES, TT_TEXT, SAME, "as the ranks share memory", \
      "nodes that ranks of one machine behave as") \
    X(WINDOW, TT_NUMBER(64, 64 << 20), SAME, "128K", \
      "bytes of each window of a rank in a team") \
    X(EAGER, TT_NUMBER(0, 1 << 30), SAME, "8K", "bytes up to which messages go through the ring") \
    X(RING, TT_NUMBER(4 << 10, 1 << 20), SAME, "256K", "bytes of a ring of messages") \
    X(FILL, TT_NUMBER(0, 1), OWN, "measured", "how data get into rings and windows") \
    X(WIRE, TT_NUMBER(0, 1), OWN, "0", \
      "1: messages on one machine go over the network library, too") \
    X(SPLIT_COPY, TT_NUMBER(0, 1), OWN, "by ranks and processors", \
      "1: the origin writes part of a message") \
    X(REMOTE_KEYS, TT_NUMBER(0, 1), OWN, "by the network", \
      "1: access between machines by remote keys") \
    X(CMA, TT_NUMBER(0, 1), AGREED, "1", "0: ranks do not access each other's memory") \
    X(READ_COST, TT_NUMBER(0, 1000), AGREED, "measured", "what reading a peer's memory costs") \
    X(SPINS, TT_NUMBER(0, INT32_MAX), OWN, "by ranks and processors", \
      "looks before a waiting rank yields") \
    X(YIELDS, TT_NUMBER(0, INT32_MAX), OWN, "by ranks and processors", \
      "yields before a waiting rank sleeps") \
    X(ISA, TT_WORD("base avx2 avx512"), OWN, "the processor's", "kernels for reductions") \
    X(TRACE, TT_TEXT, OWN, "none", "the folder for traces of what each rank does") \
    X(REPORT, TT_TEXT, OWN, "none", "the file for a report of each rank's or rank 0's calls") \
    X(WATCHDOG, TT_SECONDS(1000000000), OWN, "0", \
      "seconds of waiting after which the roll call is printed") \
    X(FAULT, TT_TEXT, OWN, "none", "faults to inject, for tests") \
    X(UCX, TT_TEXT, OWN, "libucp.so.0", "the library between machines") \
    X(PEER_TIMEOUT, TT_NUMBER(2, 3600), OWN, "10", \
      "seconds after which a silent machine is given up") \
    X(PMIX, TT_TEXT, OWN, "libpmix.so.2", "the library of other launchers; 0: not used") \
    X(DETACH, TT_NUMBER(0, 1), OWN, "0", "1: ranks leave other launchers when they have met") \
    X(BOOT_TIMEOUT, TT_NUMBER(1, 86400), OWN, "300", "seconds that all ranks have for coming") \
    X(MPI, TT_TEXT, OWN, "on", "under MPI programs: on, off, or count, which counts their calls") \
    X(MPI_REPORT, TT_TEXT, OWN, "standard error", "the file for these counts; .json: as JSON") \
    X(MPI_WISDOM, TT_TEXT, OWN, "in the cache folder", \
      "the file of choices between Tutti and the MPI; 0: none") \
    X(RANK, TT_TEXT, OWN, "set by tutti run", "the rank of this process") \
    X(SIZE, TT_TEXT, OWN, "set by tutti run", "the ranks of the job") \
    X(JOB, TT_TEXT, OWN, "set by tutti run", "what the ranks of the job share")
/* clang-format on */

struct tt_known_setting {
    const char *name; /* such as "TUTTI_LOG" */
    enum tt_setting_kind kind;
    int64_t least, most; /* the range of a NUMBER or of SECONDS */
    const char *words;   /* the list for a WORD or WORDS, separated by spaces */
    enum tt_setting_rule rule;
    const char *otherwise, *does;
};

extern const struct tt_known_setting tt_settings[];
extern const int tt_settings_n;

/* Returns the row of a name; NULL: there is none. */
const struct tt_known_setting *tt_setting_known(const char *name);
/* Returns whether the environment may contain this name without a warning: it does not begin with
 * TUTTI_, or is a setting, a variable of the tests (TUTTI_TEST...), or a variable with which
 * environment modules and build systems say where Tutti is installed (TUTTI_ROOT, TUTTI_DIR
 * ...). */
bool tt_setting_is_expected(const char *name);

/* Returns the index of the word text[0..n-1] in a list of words that are separated by spaces; -1:
 * the word is not in the list. */
int tt_word_place(const char *words, const char *text, size_t n);
/* Returns whether the setting accepts this value. A setting of kind TEXT accepts every value. */
bool tt_setting_accepts(const struct tt_known_setting *setting, const char *value);
/* Writes which values the setting accepts, such as "a whole number from 2 to 3600", into a buffer
 * of n bytes, and returns the buffer. For a setting of kind TEXT, writes "". */
char *tt_setting_values(const struct tt_known_setting *setting, char *buffer, size_t n);

/* Calls fn(arg, text) for each TUTTI_* variable of the environment that has no effect: because it
 * is no setting (the text suggests the setting with the most similar name), or because the setting
 * does not accept its value (the text says which values it accepts, and what is used instead). */
typedef void tt_setting_warn_fn(void *arg, const char *text);
void tt_settings_check(tt_setting_warn_fn *fn, void *arg);

/* The warnings about settings that a rank has, so that a job prints each of them once. When the
 * ranks have met, `first` is the lowest rank of the job that has the warning, and `ranks` says how
 * many ranks have it. Before that, `first` is this rank, and `ranks` is 0. */
enum { TT_WARNINGS = 16 };
struct tt_warnings {
    int n;
    struct tt_warning {
        uint64_t id; /* a hash of the warning's text, not 0 */
        int32_t first, ranks;
    } warning[TT_WARNINGS];
};
/* Adds the ranks that `theirs` counts to the counts in `mine`, for the warnings that `mine` has. */
void tt_warnings_add(struct tt_warnings *mine, const struct tt_warnings *theirs);

#endif
