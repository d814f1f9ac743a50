/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of the time that a rank spends in a call.
 */
#ifndef TT_SPENT_H
#define TT_SPENT_H

/* The parts, such as copies or waits. X(name, text) */
#define TT_SPENT_LIST(X)                                                                           \
    X(calls, "calls and steps")                                                                    \
    X(lines, "lines")                                                                              \
    X(copies, "copies")                                                                            \
    X(sums, "reductions")                                                                          \
    X(reads, "reads by the system")                                                                \
    X(messages, "messages")                                                                        \
    X(wire, "wire")                                                                                \
    X(turns, "turns of other ranks")                                                               \
    X(waits, "waits")
enum tt_spent {
#define TT_SPENT_ENUM(name, text) TT_SPENT_##name,
    TT_SPENT_LIST(TT_SPENT_ENUM)
#undef TT_SPENT_ENUM
        TT_SPENT_N
};

/* The most ranks for which a time is predicted. */
enum { TT_PREDICT_RANKS = 64 };

#endif
