/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tutti: status codes. tutti.h includes this file.
 */
#ifndef TUTTI_STATUS_H
#define TUTTI_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
/* Marks the functions of the library. */
#define TUTTI_API __attribute__((visibility("default")))
/* Marks functions whose status the caller must not ignore: the compiler warns of a call that
 * does. */
#define TUTTI_MUST_CHECK __attribute__((warn_unused_result))
#else
#define TUTTI_API
#define TUTTI_MUST_CHECK
#endif

/* The status codes: X(name, text). They are grouped by what is usually broken after the error: only
 * the call, the team, or the job. Exceptions: MEMORY and LIMIT from a blocking or nonblocking
 * collective break its team; TRUNCATED ends a message that the caller has received in part; PEER
 * for a message or a one-sided access says only that the other rank has failed or left. The
 * comments of functions state further exceptions. */
#define TUTTI_STATUS_LIST(X)                                                                       \
    X(OK, "done")                                                                                  \
    X(AGAIN, "not complete yet: ask again")                                                        \
    /* Only this call failed: it started nothing, and the next call works. */                      \
    X(ERR_ARG, "an argument is wrong")                                                             \
    X(ERR_TYPE, "the operation is not defined for this type")                                      \
    X(ERR_UNSUPPORTED, "not supported here")                                                       \
    X(ERR_MEMORY, "out of memory")                                                                 \
    X(ERR_LIMIT, "a limit of the system or of the library is reached")                             \
    X(ERR_TRUNCATED, "the message is longer than the memory it was to go to")                      \
    /* The team is broken: collectives in flight and later ones return this status. */             \
    X(ERR_PEER, "a member of the team failed")                                                     \
    X(ERR_MISMATCH, "the calls of the ranks do not match")                                         \
    /* The job does not work any more. */                                                          \
    X(ERR_BOOT, "the ranks could not find each other")                                             \
    X(ERR_VERSION, "the ranks run different versions of the library")                              \
    X(ERR_SYSTEM, "the system refused")

/* A status code: what the functions return. */
typedef enum tutti_status {
#define TUTTI_STATUS_ENUM(name, text) TUTTI_##name,
    TUTTI_STATUS_LIST(TUTTI_STATUS_ENUM)
#undef TUTTI_STATUS_ENUM
} tutti_status;

/* Returns the text of a status ("a member of the team failed"). The text is static, and never NULL,
 * even if the number is no status. Local, any thread. */
TUTTI_API const char *tutti_status_text(tutti_status status);

/* Returns a message about the calling thread's last call that failed, with the argument, or the
 * rank and the cause ("rank 3 died: signal 9 (Killed)"); "" if no call has failed. The text belongs
 * to the thread and lasts until its next call that fails. Local. */
TUTTI_API const char *tutti_error(void);

#ifdef __cplusplus
}
#endif

#endif
