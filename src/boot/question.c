/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends questions to other nodes and receives their answers; sends the answer to a question.
 */
#include "boot/question.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TEXT_MOST = 1 << 16, LOOK_MS = 1, SEND_MS = 200 };

/* ---- Asking ---- */

static void begin(struct tt_question *q, int timeout_s)
{
    if (!q->to || !q->to->port || !(q->text = tt_calloc(TEXT_MOST, 1))) return;
    tt_connect_begin(&q->line, q->to->port, q->to->address, q->to->addresses, false, timeout_s);
}

/* Sends the question once the connection is up. The question fits into the empty send buffer of a
 * socket. */
static void put(struct tt_question *q, const struct tt_notice *notice)
{
    uint8_t bytes[TT_NOTICE_BYTES];
    enum tt_connect state = tt_connect_look(&q->line);
    if (state == TT_CONNECT_UNDER_WAY) return;
    size_t n = tt_notice_write(notice, q->to->token, bytes);
    q->sent = state == TT_CONNECT_UP &&
              send(q->line.fds[0], bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n;
    if (!q->sent) tt_connect_end(&q->line);
}

/* Receives a part of the answer. The text will be printed on a terminal, so characters that are
 * neither printable nor ends of lines are replaced by ?. */
static void take(struct tt_question *q)
{
    ssize_t n = recv(q->line.fds[0], q->text + q->n, TEXT_MOST - 1 - q->n, MSG_DONTWAIT);
    if (n < 0) return;
    for (ssize_t i = 0; i < n; i++) {
        char *c = &q->text[q->n + (size_t)i];
        if ((*c < ' ' || *c > '~') && *c != '\n') *c = '?';
    }
    q->n += (size_t)n;
    if (n > 0) return;
    q->answered = q->n > 0;
    tt_connect_end(&q->line);
}

/* Sends the question or receives a part of the answer. Returns whether the answer is not complete
 * yet. */
static bool move_on(struct tt_question *q, const struct tt_notice *notice)
{
    if (q->line.n > 0 && q->sent)
        take(q);
    else if (q->line.n > 0)
        put(q, notice);
    return q->line.n > 0;
}

void tt_question_ask(struct tt_question *questions, int n, const struct tt_notice *notice,
                     int64_t until_ns)
{
    int timeout_s = 1 + (int)((until_ns - tt_clock_ns()) / 1000000000);
    for (int i = 0; i < n; i++) begin(&questions[i], timeout_s);
    for (bool some = true; some && tt_clock_ns() < until_ns;) {
        some = false;
        for (int i = 0; i < n; i++) some |= move_on(&questions[i], notice);
        if (some) (void)poll(NULL, 0, LOOK_MS);
    }
    for (int i = 0; i < n; i++) tt_connect_end(&questions[i].line);
}

/* ---- Answering ---- */

void tt_question_answer(int fd, const char *text, size_t n)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    for (size_t done = 0; done < n && poll(&p, 1, SEND_MS) > 0;) {
        ssize_t sent = send(fd, text + done, n - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent <= 0) break;
        done += (size_t)sent;
    }
    close(fd);
}
