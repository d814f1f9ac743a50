/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Basics that every part of the library uses: status codes with the causes of errors, log,
 * settings, copies, clock, seeded random numbers, memory and its limits. No function in this file
 * communicates with another rank.
 */
#ifndef TT_BASE_H
#define TT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <tutti/tutti.h>

#define TT_LINE 64 /* bytes of a cache line; different ranks write to different lines */

#define tt_likely(x) __builtin_expect(!!(x), 1)
#define tt_unlikely(x) __builtin_expect(!!(x), 0)
#define tt_container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

/* Checks an invariant, in every build without NDEBUG. */
#ifdef NDEBUG
#define tt_assert(condition) ((void)sizeof(condition))
#else
#define tt_assert(condition)                                                                       \
    ((condition) ? (void)0 : tt_assert_failed(#condition, __FILE__, __LINE__))
#endif
_Noreturn void tt_assert_failed(const char *condition, const char *file, int line);

static inline int64_t tt_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t tt_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t tt_div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline int64_t tt_round_up(int64_t a, int64_t unit)
{
    return tt_div_up(a, unit) * unit;
}

/* The hash function FNV-1a: continues the hash h, which begins with TT_HASH_BEGIN, by n bytes. */
#define TT_HASH_BEGIN UINT64_C(0xcbf29ce484222325)
static inline uint64_t tt_hash(uint64_t h, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* ---- Status (status.c) ---- */

/* Records the cause of an error for tutti_error() of this thread, and returns the status. Every
 * error begins with one call of tt_fail, at the place where the cause is known. */
__attribute__((format(printf, 2, 3), cold)) tutti_status tt_fail(tutti_status status,
                                                                 const char *format, ...);
/* Does the same as tt_fail, and adds ": " and the text of errno to the message. */
__attribute__((format(printf, 2, 3), cold)) tutti_status tt_fail_errno(tutti_status status,
                                                                       const char *format, ...);

/* Returns the status of the last error of this thread. A function that returns NULL or false after
 * an error leaves its status here for its caller. */
tutti_status tt_error_status(void);

/* Stores the version that the processes of a job compare, as in "0.1.0/1a2b3c4d", and returns
 * `text`. Behind the slash stands a hash of the sources of the library: other sources may use
 * another layout of shared memory, or choose other algorithms. */
enum { TT_VERSION = 24 };
char *tt_version(char text[TT_VERSION]);

/* tutti_error() is about the last call of the user that failed. So a function that handles an error
 * itself, and goes on, must give tutti_error() its former text back:
 * - tt_error_undo takes back the last error of this thread. Call it right after a function failed
 *   that called tt_fail once.
 * - tt_error_keep and tt_error_restore save and restore the text around calls that may fail several
 *   times, such as an attempt to write a file of the cache folder. */
enum { TT_ERROR_TEXT = 512 };
void tt_error_undo(void);
void tt_error_keep(char kept[TT_ERROR_TEXT]);
void tt_error_restore(const char kept[TT_ERROR_TEXT]);

/* Makes `call`, and returns its status from the surrounding function unless the status is OK. */
#define TT_TRY(call)                                                                               \
    do {                                                                                           \
        tutti_status tt_try_status = (call);                                                       \
        if (tt_unlikely(tt_try_status != TUTTI_OK)) return tt_try_status;                          \
    } while (0)

/* ---- Log (log.c): TUTTI_LOG=choice,boot,... selects what is logged ---- */

#define TT_LOG_LIST(X) X(choice) X(boot) X(fabric)
enum tt_log {
#define TT_LOG_ENUM(name) TT_LOG_##name,
    TT_LOG_LIST(TT_LOG_ENUM)
#undef TT_LOG_ENUM
};
bool tt_log_on(enum tt_log what); /* whether TUTTI_LOG selects this log */
/* Print one line "tutti: [rank R] ..." to stderr; tt_log_error and tt_warn put "error: " and
 * "warning: " before the text. A line is one call of write, so that lines of several ranks do not
 * mix. */
__attribute__((format(printf, 1, 2), cold)) void tt_log(const char *format, ...);
__attribute__((format(printf, 1, 2), cold)) void tt_log_error(const char *format, ...);
__attribute__((format(printf, 1, 2), cold)) void tt_warn(const char *format, ...);

/* Returns the word, of the n words, that a user who wrote `text` most likely meant; NULL if no word
 * is similar to `text`. The function prefers, in this order: a word that differs from the text in
 * one letter; a word that begins with the text, or with which the text begins; a word that differs
 * in two letters (nearest.c). */
const char *tt_nearest(const char *text, const char *const *words, size_t n);

/* ---- Settings (setting.c): TUTTI_* environment variables, each read once ----
 *
 * settings.h has the table of settings. */

const char *tt_setting(const char *name); /* the value; NULL: unset or empty */
/* Return the whole number in the variable, which may end in K, M or G (powers of 1024). If the
 * variable is not set or its value is wrong, tt_setting_int returns the default in the table of
 * settings, which must be a number, and tt_setting_int_or returns `fallback`. tt_settings_check()
 * warns of wrong values. */
int64_t tt_setting_int(const char *name);
int64_t tt_setting_int_or(const char *name, int64_t fallback);
/* Returns the seconds in the variable, which may have a fraction, in ns. If the variable is not set
 * or its value is wrong, it returns the default. */
int64_t tt_setting_seconds(const char *name);
/* Returns the index of the variable's value among the words that the table lists for the setting,
 * or the index of the default. */
int tt_setting_word(const char *name);
/* The must-match settings: they determine the layout of shared memory and the choice of plans, so
 * they must be equal on all ranks (see tt_boot_meet). A setting of kind NUMBER whose default is not
 * a number counts as 0 if it is not set. */
#define TT_MUST_MATCH_LIST(X)                                                                      \
    X(WINDOW) X(EAGER) X(RING) X(SLICE) X(RADIX) X(LANES) X(NETWORK) X(NODES)
enum tt_must_match {
#define TT_MUST_MATCH_ENUM(name) TT_MUST_MATCH_##name,
    TT_MUST_MATCH_LIST(TT_MUST_MATCH_ENUM)
#undef TT_MUST_MATCH_ENUM
        TT_MUST_MATCH_SETTINGS
};
/* Returns the value of the setting, which is not negative. If the setting is a text, returns a hash
 * of the text; 0: the text is not set. */
int64_t tt_setting_must_match(enum tt_must_match which);
const char *tt_setting_must_match_name(enum tt_must_match which); /* such as "TUTTI_WINDOW" */
/* Returns MISMATCH, with a text which says that the setting is `mine` on this rank and `theirs` on
 * `where` (such as "another rank"), but must be the same on `all` (such as "all ranks"). */
tutti_status tt_setting_differs(enum tt_must_match which, int64_t mine, int64_t theirs,
                                const char *where, const char *all);
/* Parses a size such as "1500", "64K" or "4M". Returns false unless the whole text up to `end` is
 * one number. */
bool tt_parse_size(const char *text, const char *end, int64_t *value);
/* Prints a size in the form that tt_parse_size reads, such as "64K", without rounding. buffer has
 * 24 bytes. Returns buffer. */
char *tt_print_size(char *buffer, int64_t value);

/* ---- Copies (copy.c) ---- */

void tt_memcpy_near(void *to, const void *from, size_t n); /* copies with loads and stores */

/* memcpy that is fast for every relative alignment. From some KiB on, glibc's memcpy may be one
 * instruction (rep movsb). On AMD's Zen 3 and 4 this instruction is slow if the destination's
 * address, modulo 4 KiB, is a little above the source's address: it takes 6 to 25 times as long as
 * usual if the distance is below 16 bytes, and up to 2.6 times as long if it is below 64 bytes
 * (glibc's bug 30994, bench/results). */
static inline void tt_memcpy(void *to, const void *from, size_t n)
{
    size_t behind = ((uintptr_t)to - (uintptr_t)from) % 4096;
    if (tt_unlikely(n >= 2048 && behind > 0 && behind < 64))
        tt_memcpy_near(to, from, n);
    else
        memcpy(to, from, n);
}

/* memcpy for memory that another processor reads next. Its stores bypass the caches, so it neither
 * fetches lines that are in other caches nor waits for them. It ends with a fence, so later stores
 * become visible after the copy. */
void tt_stream(void *to, const void *from, size_t n);
#ifdef __SSE2__
#define TT_STREAMS 1
#else
#define TT_STREAMS 0 /* tt_stream is memcpy */
#endif
enum { TT_RADIX_LEAST = 2, TT_RADIX_MOST = 1024 }; /* the least and the most TUTTI_RADIX */
enum { TT_LANES_LEAST = 1, TT_LANES_MOST = 8 };    /* the least and the most TUTTI_LANES */
#define TT_SLICE_MOST (INT64_C(1) << 40)           /* the most TUTTI_SLICE, in bytes */

/* While the program runs, each rank of a team measures plain stores, and the stores of tt_stream,
 * which bypass the caches. When the ranks meet, they begin to fill windows by tt_stream if plain
 * stores take more than TT_STORES_SLOW times as long; run/filling.c describes when a rank changes
 * the kind of stores later. TUTTI_FILL overrides the measurement. tt_stream is used for pieces of
 * at least TT_STREAM_LEAST bytes. */
enum { TT_STORES_SLOW = 3, TT_STREAM_LEAST = 2 << 10 };

/* ---- Clock ---- */

int64_t tt_clock_ns(void); /* nanoseconds; never goes back */

/* ---- Random numbers: xoshiro256**, seeded by splitmix64; equal seeds give equal numbers ---- */

struct tt_random {
    uint64_t s[4];
};
void tt_random_seed(struct tt_random *random, uint64_t seed);
uint64_t tt_random_next(struct tt_random *random);
uint64_t tt_random_below(struct tt_random *random, uint64_t n); /* unbiased, in 0..n-1; n > 0 */

/* ---- Memory (memory.c) ----
 *
 * Every allocation of the library goes through these functions, so that a test can make a chosen
 * allocation fail. tt_memory_fail_at(i) lets the next i allocations succeed, and after them one
 * allocation fail; if i is negative, no allocation fails. */

void *tt_alloc(size_t bytes); /* NULL: no memory; bytes may be 0 */
void *tt_calloc(size_t n, size_t sz);
void *tt_realloc(void *memory, size_t bytes);
void *tt_alloc_lines(size_t bytes); /* aligned to a cache line, zeroed; freed by tt_free */
char *tt_strdup(const char *text);
void tt_free(void *memory);
void tt_memory_fail_at(int64_t i);
/* Returns how many allocations of this thread have failed so far. */
uint64_t tt_memory_lacks(void);

/* ---- Libraries (library.c) ---- */

/* Loads a shared library, like dlopen. Returns NULL if it cannot be loaded, and then stores the
 * reason in *why; the text is valid until this thread loads another library. */
void *tt_library_load(const char *name, int flags, const char **why);

/* ---- Limits (limits.c) ---- */

/* Calls fn with the folder of this process' cgroup and of each cgroup above it, both in the
 * hierarchy of version 2 and in the memory hierarchy of version 1. */
typedef void tt_cgroup_fn(const char *folder, void *arg);
void tt_cgroup_each(tt_cgroup_fn *fn, void *arg);
/* Returns how many bytes of memory this process can still use before the memory of the host, or the
 * limit of one of the cgroups of the process, is used up. Cached files do not count as used. */
int64_t tt_memory_left(void);
/* Returns how many bytes of memory and swap the host and the cgroups could give this process if no
 * memory were in use. */
int64_t tt_memory_ever(void);

#endif
