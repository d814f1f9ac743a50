/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What every part stands on: status with its cause, log, settings, clock, seeded random numbers,
 * memory. Nothing here knows of ranks.
 */
#ifndef TT_BASE_H
#define TT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <tutti/tutti.h>

#define TT_LINE 64 /* bytes of a cache line: what two ranks may not share if they write */

#define tt_likely(x) __builtin_expect(!!(x), 1)
#define tt_unlikely(x) __builtin_expect(!!(x), 0)
#define tt_container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

/* An invariant, checked in every build but the one with NDEBUG. */
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

/* ---- Status (status.c) ---- */

/* Notes the cause of an error for tutti_error() of this thread, and returns the status: the one way
 * an error comes into being, called once, where the cause is known. */
__attribute__((format(printf, 2, 3), cold)) tutti_status tt_fail(tutti_status status,
                                                                 const char *format, ...);
/* Like tt_fail, with ": " and the text of errno at the end. */
__attribute__((format(printf, 2, 3), cold)) tutti_status tt_fail_errno(tutti_status status,
                                                                       const char *format, ...);

#define TT_TRY(call)                                                                               \
    do {                                                                                           \
        tutti_status tt_try_status = (call);                                                       \
        if (tt_unlikely(tt_try_status != TUTTI_OK)) return tt_try_status;                          \
    } while (0)

/* ---- Log (log.c): TUTTI_LOG=choice,team,... names what is wanted ---- */

#define TT_LOG_LIST(X) X(choice) X(boot) X(fabric) X(wait)
enum tt_log {
#define TT_LOG_ENUM(name) TT_LOG_##name,
    TT_LOG_LIST(TT_LOG_ENUM)
#undef TT_LOG_ENUM
};
bool tt_log_on(enum tt_log what);
/* One line "tutti: [rank R] ..." on stderr, written at once, so that lines of ranks do not mix. */
__attribute__((format(printf, 1, 2), cold)) void tt_log(const char *format, ...);
__attribute__((format(printf, 1, 2), cold)) void tt_warn(const char *format, ...);

/* The word among `words` (n of them) that is most like `text`, with up to two letters wrong, or
 * that begins with it or with which it begins; NULL if there is none (nearest.c). */
const char *tt_nearest(const char *text, const char *const *words, size_t n);

/* ---- Settings (setting.c): TUTTI_* environment variables, each read once ----
 * settings.h has the table of them. */

const char *tt_setting(const char *name); /* NULL when unset or empty */
/* A whole number with K M G (1024s) in [min, max]; `fallback` when unset; a wrong one is warned of
 * once, and the fallback used, which may lie outside. */
int64_t tt_setting_int(const char *name, int64_t fallback, int64_t min, int64_t max);
/* Seconds, with a fraction or not, in ns; 0 when unset, or 0. A wrong one is warned of once, and 0.
 */
int64_t tt_setting_seconds(const char *name);
/* The settings that shape what the ranks share, so that they must be equal on all ranks (see
 * tt_boot_meet). X(name, default, least, most); the user cannot ask for a default outside of least
 * and most. A setting with most = 0 is a text. */
#define TT_ALIKE_LIST(X)                                                                           \
    X(WINDOW, 128 << 10, 64, 64 << 20)                                                             \
    X(EAGER, 8 << 10, 0, 1 << 30)                                                                  \
    X(RING, 256 << 10, 4 << 10, 1 << 20)                                                           \
    X(SLICE, 0, 0, INT64_C(1) << 40)                                                               \
    X(RADIX, 0, 2, 1024)                                                                           \
    X(NETWORK, 0, 0, 0)                                                                            \
    X(NODES, 0, 0, 0)
enum tt_alike {
#define TT_ALIKE_ENUM(name, fallback, least, most) TT_ALIKE_##name,
    TT_ALIKE_LIST(TT_ALIKE_ENUM)
#undef TT_ALIKE_ENUM
        TT_ALIKES
};
int64_t tt_setting_alike(enum tt_alike which);          /* not negative; of a text: a hash */
const char *tt_setting_alike_name(enum tt_alike which); /* "TUTTI_WINDOW" */
/* MISMATCH, saying so: it is `mine` here and `theirs` on "another rank" (where), but must be the
 * same on "all" (all). */
tutti_status tt_setting_differs(enum tt_alike which, int64_t mine, int64_t theirs,
                                const char *where, const char *all);
/* "1500", "64K", "4M": to *value; false unless the whole text up to `end` is one number. */
bool tt_parse_size(const char *text, const char *end, int64_t *value);
/* The other way: "64K", exact. buffer holds 24 bytes; returns buffer. */
char *tt_print_size(char *buffer, int64_t value);

/* ---- Copies (copy.c) ---- */

void tt_memcpy_near(void *to, const void *from, size_t n); /* by loads and stores, for: */

/* memcpy, but quick wherever a copy lies. From some KiB on glibc's may be one instruction (rep
 * movsb), which takes 6 to 25 times as long on AMD's Zen 3 and 4 where a copy lies less than 16
 * bytes behind its source, both modulo 4 KiB, and up to 2.6 times as long below 64 bytes (glibc's
 * bug 30994, docs/figures.md). */
static inline void tt_memcpy(void *to, const void *from, size_t n)
{
    size_t behind = ((uintptr_t)to - (uintptr_t)from) % 4096;
    if (tt_unlikely(n >= 2048 && behind > 0 && behind < 64))
        tt_memcpy_near(to, from, n);
    else
        memcpy(to, from, n);
}

/* memcpy for memory that another processor reads next: lines that its caches hold need not be
 * fetched, nor waited for. Ends with a fence, so what is stored afterwards is seen after it. */
void tt_stream(void *to, const void *from, size_t n);
#ifdef __SSE2__
#define TT_STREAMS 1
#else
#define TT_STREAMS 0 /* it is memcpy */
#endif

/* ---- Clock ---- */

int64_t tt_clock_ns(void); /* monotonic */

/* ---- Random numbers: xoshiro256**, seeded by splitmix64; equal seeds, equal numbers ---- */

struct tt_random {
    uint64_t s[4];
};
void tt_random_seed(struct tt_random *random, uint64_t seed);
uint64_t tt_random_next(struct tt_random *random);
uint64_t tt_random_below(struct tt_random *random, uint64_t n); /* 0..n-1, n > 0, unbiased */

/* ---- Memory (memory.c) ----
 * Every allocation of the library goes through these, so that a test can make the i-th one fail:
 * tt_memory_fail_at(i) lets i succeed and fails the next, once (negative: never). */

void *tt_alloc(size_t bytes); /* NULL when there is none; bytes may be 0 */
void *tt_calloc(size_t n, size_t sz);
void *tt_realloc(void *memory, size_t bytes);
void *tt_alloc_lines(size_t bytes); /* on a cache line, zeroed; freed by tt_free */
char *tt_strdup(const char *text);
void tt_free(void *memory);
void tt_memory_fail_at(int64_t i);

/* ---- Limits (limits.c) ---- */

/* Calls fn with the folder of this process' cgroup and of each above it: of version 2, and of the
 * hierarchy of version 1 that limits memory. */
typedef void tt_cgroup_fn(const char *folder, void *arg);
void tt_cgroup_each(tt_cgroup_fn *fn, void *arg);
/* Bytes that may still be used before the machine or the cgroup is full, files in cache not
 * counted. */
int64_t tt_memory_left(void);
/* Bytes that this machine and the cgroup could ever give to all, if nothing else were in use:
 * memory and swap. */
int64_t tt_memory_ever(void);

#endif
