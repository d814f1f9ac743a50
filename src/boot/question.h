/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Questions to other nodes: a rank asks another node what its ranks do. The answer is that node's
 * part of the roll call.
 *
 * A question is a struct tt_notice whose member `asks` is true, on a connection that the asking
 * rank keeps open. The rank of the other node that takes the question out of the inbox sends the
 * text of its node over the same connection. A rank takes questions while it waits in the library.
 * With TUTTI_WATCHDOG each rank also has a thread that takes them, so a node answers even if all
 * its ranks are outside the library. A rank that is stopped does not answer; another rank of its
 * node does.
 */
#ifndef TT_QUESTION_H
#define TT_QUESTION_H

#include "boot/notice.h"
#include "boot/watch-net.h"

/* A question and its answer. */
struct tt_question {
    /* the inbox of the node to ask; NULL: this question is not sent, and its node gives no
     * answer */
    const struct tt_inbox *to;
    char *text;    /* the answer; set by tt_question_ask, freed by the caller with tt_free */
    size_t n;      /* the length of the text received so far, without the final 0 */
    bool answered; /* the text is complete */
    /* the connections that are being made; once `sent`, the connection over which the answer
     * comes */
    struct tt_connecting line;
    bool sent; /* the question was sent */
};

/* Sends the notice to the nodes of all n questions, and waits for the answers until the given time
 * (tt_clock_ns). If there is no memory or no descriptor, some questions get no answer. */
void tt_question_ask(struct tt_question *questions, int n, const struct tt_notice *notice,
                     int64_t until_ns);
/* Sends an answer, a text of n bytes, over the connection `fd`, and closes the connection. */
void tt_question_answer(int fd, const char *text, size_t n);

#endif
