/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tutti: what calls return. Part of tutti.h, which includes it.
 */
#ifndef TUTTI_STATUS_H
#define TUTTI_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TUTTI_API __attribute__((visibility("default")))
#define TUTTI_MUST_CHECK __attribute__((warn_unused_result))
#else
#define TUTTI_API
#define TUTTI_MUST_CHECK
#endif

/* What a call returns, grouped by what is broken by it. X(name, text). */
#define TUTTI_STATUS_LIST(X)                                                                       \
    X(OK, "done")                                                                                  \
    X(AGAIN, "not complete yet: ask again")                                                        \
    /* This call only; nothing was started, the next call works. */                                \
    X(ERR_ARG, "an argument is wrong")                                                             \
    X(ERR_TYPE, "the operation is not defined for this type")                                      \
    X(ERR_UNSUPPORTED, "not supported here")                                                       \
    X(ERR_MEMORY, "out of memory")                                                                 \
    X(ERR_LIMIT, "a limit of the system or of the library is reached")                             \
    X(ERR_TRUNCATED, "the message is longer than the memory it was to go to")                      \
    /* The team: what was started on it ends so, and so does everything started later. */          \
    X(ERR_PEER, "a member of the team failed")                                                     \
    X(ERR_MISMATCH, "the calls of the ranks do not match")                                         \
    /* The job: nothing works any more. */                                                         \
    X(ERR_BOOT, "the ranks could not find each other")                                             \
    X(ERR_VERSION, "the ranks run different versions of the library")                              \
    X(ERR_SYSTEM, "the system refused")

typedef enum tutti_status {
#define TUTTI_STATUS_ENUM(name, text) TUTTI_##name,
    TUTTI_STATUS_LIST(TUTTI_STATUS_ENUM)
#undef TUTTI_STATUS_ENUM
} tutti_status;

/* The text of a status ("a member of the team failed"). Local, any thread; static text, never
 * NULL, also for numbers that are no status. */
TUTTI_API const char *tutti_status_text(tutti_status status);

/* What exactly went wrong in the calling thread's last call that returned an error, naming the
 * argument or the rank and the cause ("rank 3 died: signal 9 (Killed)"); "" if none did. Local; the
 * text belongs to the thread and lasts until its next failing call. */
TUTTI_API const char *tutti_error(void);

#ifdef __cplusplus
}
#endif

#endif
