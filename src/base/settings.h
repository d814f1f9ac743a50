/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of all settings. A new TUTTI_* variable needs a row in this table. Without a row, the
 * library warns of the variable when a job starts, and tt_setting() fails an assertion. The tests
 * compare this table with docs/tuning.md and with the sources.
 */
#ifndef TT_SETTINGS_H
#define TT_SETTINGS_H

#include "base/base.h"

/* SAME: the setting must be the same on all ranks, or tutti_init fails. AGREED: the ranks may have
 * different values, and agree in tutti_init on the value that is in force (docs/tuning.md says
 * which rank's value that is). OWN: each rank uses its own value. */
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

/* PLAIN: the setting does not change what calls cost. COSTS: the setting changes this, so times
 * that were measured with the setting do not hold for jobs without it (tt_setting_of_costs).
 * RECORDED: the setting changes what calls cost, but times in the wisdom and in models either do
 * not depend on it or are stored together with its value. So only the times by which a program
 * chooses between Tutti and its MPI do not hold for jobs without it. */
enum tt_setting_costs { TT_SETTING_PLAIN, TT_SETTING_RECORDED, TT_SETTING_COSTS };

/* X(NAME, kind, rule, costs, "default", "what the setting does"). The default is a value, or a text
 * that says where the value comes from. The words of a list are separated by spaces. */
/* clang-format off */
#define TT_SETTING_LIST(X) \
    X(LOG, TT_WORDS(TT_LOG_LIST(TT_LOG_WORD)), OWN, PLAIN, "nothing", \
      "the subjects that are logged on standard error") \
    X(ALGORITHM, TT_TEXT, OWN, RECORDED, "the planner's choice", \
      "forces algorithms: COLLECTIVE=NAME, COLLECTIVE=@FILE or NAME, separated by commas") \
    X(CHOICE, TT_WORD("auto table estimate measure"), AGREED, RECORDED, "auto", \
      "what chooses the algorithm where there is no wisdom") \
    X(MACHINE, TT_TEXT, AGREED, PLAIN, "in the cache folder", \
      "the file of the model of this machine") \
    X(WISDOM, TT_TEXT, AGREED, PLAIN, "in the cache folder", "the file of the wisdom; 0: no file") \
    X(RANKINGS, TT_TEXT, AGREED, PLAIN, "in the cache folder", \
      "the file of the rankings that estimates have computed; 0: no file") \
    X(SLICE, TT_NUMBER(0, TT_SLICE_MOST), SAME, COSTS, "the algorithm's", \
      "bytes of a slice of a pipeline") \
    X(RADIX, TT_NUMBER(TT_RADIX_LEAST, TT_RADIX_MOST), SAME, COSTS, "the algorithm's", \
      "a number k: children in a tree, ranks that exchange at once, or a radix, by algorithm") \
    X(LANES, TT_NUMBER(TT_LANES_LEAST, TT_LANES_MOST), SAME, COSTS, "the algorithm's", \
      "the most slices on which an algorithm for several nodes works at the same time") \
    X(NETWORK, TT_TEXT, SAME, PLAIN, "none", "the network that the ranks are in") \
    X(NODES, TT_TEXT, SAME, PLAIN, "as the ranks share memory", \
      "4,2,1,1: ranks of one machine behave as if they were on nodes of 4, 2, 1 and 1 ranks") \
    X(WINDOW, TT_NUMBER(64, 64 << 20), SAME, COSTS, "128K", \
      "bytes of each window of a rank in a team") \
    X(EAGER, TT_NUMBER(0, 1 << 30), SAME, COSTS, "8K", \
      "bytes of the longest message that travels with its payload") \
    X(RING, TT_NUMBER(4 << 10, 1 << 20), SAME, COSTS, "256K", \
      "bytes of the ring for the messages from one context to another") \
    X(FILL, TT_NUMBER(0, 1), OWN, COSTS, "measured", \
      "0: plain stores fill rings and windows; 1: stores that bypass the caches") \
    X(WIRE, TT_NUMBER(0, 1), OWN, COSTS, "0", \
      "1: messages on one machine go over the network library, too") \
    X(SPLIT_COPY, TT_NUMBER(0, 1), OWN, COSTS, "by ranks and processors", \
      "1: the origin writes a part of a long message; 0: the target reads all of it") \
    X(REMOTE_KEYS, TT_NUMBER(0, 1), OWN, COSTS, "by the network", \
      "1: long data between machines go by remote keys; 0: they go in messages") \
    X(CMA, TT_NUMBER(0, 1), AGREED, RECORDED, "1", \
      "0: ranks do not access each other's memory by system calls") \
    X(READ_COST, TT_NUMBER(0, 1000), AGREED, COSTS, "measured", \
      "the time of reading another rank's memory, as a multiple of that through windows") \
    X(LINK_MBIT, TT_NUMBER(0, 100000000), AGREED, PLAIN, "the model's or the kernel's", \
      "the speed of a machine's link to other machines, in Mbit/s; 0: not known") \
    X(SPINS, TT_NUMBER(0, INT32_MAX), OWN, COSTS, "by ranks and processors", \
      "looks before a waiting rank yields") \
    X(YIELDS, TT_NUMBER(0, INT32_MAX), OWN, COSTS, "by ranks and processors", \
      "the most yields before a waiting rank sleeps") \
    X(ISA, TT_WORD("base avx2 avx512"), OWN, COSTS, "the processor's", \
      "the instructions that reductions use") \
    X(TRACE, TT_TEXT, OWN, COSTS, "none", "the folder for traces of what each rank does") \
    X(REPORT, TT_TEXT, OWN, PLAIN, "none", \
      "the file for a report of rank 0's calls; with %r in its name, of each rank's; " \
      "1: standard error") \
    X(WATCHDOG, TT_SECONDS(1000000000), OWN, PLAIN, "0", \
      "seconds of waiting after which a rank prints the roll call; 0: never") \
    X(FAULT, TT_TEXT, OWN, COSTS, "none", "faults to inject, for tests") \
    X(UCX, TT_TEXT, OWN, PLAIN, "libucp.so.0", "the UCX library, a name or a path") \
    X(PEER_TIMEOUT, TT_NUMBER(2, 3600), OWN, PLAIN, "10", \
      "seconds within which a machine that does not answer counts as lost") \
    X(PMIX, TT_TEXT, OWN, PLAIN, "libpmix.so.2", \
      "the PMIx library, a name or a path; 1: the default; 0: other launchers are ignored") \
    X(DETACH, TT_NUMBER(0, 1), OWN, PLAIN, "0", "1: ranks leave PMIx in their first tutti_init") \
    X(BOOT_TIMEOUT, TT_NUMBER(1, 86400), OWN, PLAIN, "300", \
      "seconds in which all ranks have to call tutti_init") \
    X(MPI, TT_TEXT, OWN, PLAIN, "on", \
      "the collectives of an MPI program that Tutti does: on: those that it is measured to do " \
      "faster than the MPI; take: all that it can do; -NAME,... or take,-NAME,...: as on or " \
      "take, without these; count: none, it counts the calls; off: none") \
    X(MPI_REPORT, TT_TEXT, OWN, PLAIN, "with count: standard error", \
      "the file for rank 0's report of the MPI program's calls; NAME.json: as JSON; " \
      "1: standard error; 0: as if not set") \
    X(MPI_WISDOM, TT_TEXT, OWN, PLAIN, "in the cache folder", \
      "the file of choices between Tutti and the MPI; 0: no file") \
    X(RANK, TT_TEXT, OWN, PLAIN, "set by tutti run", "the rank of this process") \
    X(SIZE, TT_TEXT, OWN, PLAIN, "set by tutti run", "the number of ranks of the job") \
    X(JOB, TT_TEXT, OWN, PLAIN, "set by tutti run", \
      "the file descriptor of the memory that the ranks of the job share")
/* clang-format on */

struct tt_known_setting {
    const char *name; /* such as "TUTTI_LOG" */
    enum tt_setting_kind kind;
    int64_t least, most; /* the range of a NUMBER or of SECONDS */
    /* the words that a setting of kind WORD or WORDS accepts, separated by spaces */
    const char *words;
    enum tt_setting_rule rule;
    enum tt_setting_costs costs;
    const char *otherwise, *does;
};

extern const struct tt_known_setting tt_settings[];
extern const int tt_settings_n;

/* Returns the row of the table of settings for a name; NULL: there is none. */
const struct tt_known_setting *tt_setting_known(const char *name);
/* Returns whether the environment may contain this name without a warning. This holds for names
 * that do not begin with TUTTI_, for settings, for variables of the tests (TUTTI_TEST...), and for
 * variables with which environment modules and build systems say where Tutti is installed
 * (TUTTI_ROOT, TUTTI_DIR ...). */
bool tt_setting_is_expected(const char *name);

/* Returns the name of a setting that changes what calls cost and has a value other than its default
 * in this process; NULL: there is none. Leaves out the setting `except`, which may be NULL. What
 * such a process measures is kept only in a file that the user names, and not in the cache folder,
 * where it would count for all later jobs. */
const char *tt_setting_of_costs(const char *except);

/* Makes the setting one that is not set, from now on and for all parts of the library: the caller
 * has found that the setting is meant for another process. */
void tt_setting_ignore(const char *name);

/* Returns the index of the word text[0..n-1] in a list of words that are separated by spaces; -1:
 * the word is not in the list. */
int tt_word_place(const char *words, const char *text, size_t n);
/* Returns whether the setting accepts this value. A setting of kind TEXT accepts every value. */
bool tt_setting_accepts(const struct tt_known_setting *setting, const char *value);
/* Writes which values the setting accepts, such as "a whole number from 2 to 3600", into a buffer
 * of n bytes, and returns the buffer. For a setting of kind TEXT, writes "". */
char *tt_setting_values(const struct tt_known_setting *setting, char *buffer, size_t n);

/* Reads all settings, so that they keep the values that they have now (tt_setting). Then calls
 * fn(arg, text) for each TUTTI_* variable of the environment that has no effect. If the
 * variable is no setting, the text suggests the setting with the most similar name. If the setting
 * does not accept the value, the text says which values it accepts, and what is used instead. */
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
/* Updates *mine, the warnings of one group of ranks, by *theirs, those of another group. Each
 * warning in *mine that *theirs also has gets the sum of both numbers of ranks, and the lower of
 * the two first ranks. Warnings that only *theirs has are ignored. */
void tt_warnings_add(struct tt_warnings *mine, const struct tt_warnings *theirs);

#endif
