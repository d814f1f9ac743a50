/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inboxes of a job's nodes, and what is sent to them and taken out of them.
 */
#include "boot/inboxes.h"

#include <sys/random.h>
#include <unistd.h>

#include "boot/directory.h"
#include "boot/question.h"

static struct {
    int fd; /* the inbox of this node; -1: the job has one node */
    /* the random number that notices to the inbox must carry, on the rank that opened it; 0 on the
     * other ranks */
    uint64_t token;
    struct tt_inbox *of; /* the inbox of each node, once the nodes have agreed */
} inboxes = {.fd = -1};

/* ---- Making them ---- */

bool tt_inboxes_make(int nodes)
{
    inboxes.of = tt_calloc((size_t)nodes, sizeof *inboxes.of);
    return inboxes.of;
}

tutti_status tt_inboxes_open(void)
{
    TT_TRY(tt_inbox_open(&inboxes.fd));
    if (getrandom(&inboxes.token, sizeof inboxes.token, 0) == sizeof inboxes.token) return TUTTI_OK;
    return tt_fail_errno(TUTTI_ERR_SYSTEM, "cannot draw a random number");
}

int tt_inboxes_held(void)
{
    return inboxes.fd;
}

void tt_inboxes_hold(int fd)
{
    inboxes.fd = fd;
}

void tt_inboxes_close(void)
{
    if (inboxes.fd >= 0) close(inboxes.fd);
    tt_free(inboxes.of);
    inboxes.fd = -1;
    inboxes.token = 0;
    inboxes.of = NULL;
}

void tt_inboxes_describe(struct tt_terms *terms)
{
    terms->token = inboxes.token;
    terms->inbox = tt_inbox_port(inboxes.fd);
}

void tt_inboxes_learn(int node, const struct tt_terms *terms)
{
    tt_inbox_of_terms(&inboxes.of[node], terms);
}

/* ---- Sending and taking ---- */

/* Returns whether some rank of the node has neither left nor failed. */
static bool has_living(const struct tt_fabric *f, int node)
{
    for (int r = 0; r < f->size; r++)
        if (f->job->rank[r].node == node && tt_common_state(f->job, f->common, r) < TT_RANK_LEFT)
            return true;
    return false;
}

void tt_inboxes_notify(struct tt_fabric *f, const struct tt_notice *notice)
{
    int here = f->job->rank[f->me].node, nodes = f->job->nodes;
    for (int node = 0; node < nodes; node++)
        if (tt_notice_goes(here, node, nodes) && has_living(f, node))
            tt_notice_send(&inboxes.of[node], notice, tt_peer_timeout());
}

int tt_inboxes_fd(const struct tt_fabric *f)
{
    return tt_directory_serves(f->job) && inboxes.of ? inboxes.fd : -1;
}

void tt_inboxes_take(struct tt_fabric *f)
{
    struct tt_notice notice;
    int asker;
    if (tt_inboxes_fd(f) < 0) return;
    const struct tt_inbox *own = &inboxes.of[f->job->rank[f->me].node];
    /* Before the nodes have agreed, the inbox has no port, and no token by which to recognise
     * notices (struct tt_inbox), so this rank takes no notices. */
    if (!own->port) return;
    while (tt_inbox_take(inboxes.fd, own->token, &notice, &asker)) {
        if (!notice.asks)
            tt_notice_note(f->job, &notice);
        else if (f->answer_roll)
            f->answer_roll(f, asker);
        else
            close(asker);
    }
    (void)tt_notice_advance();
}

bool tt_inboxes_ask(struct tt_fabric *f, int64_t until_ns, tt_answer_fn *fn, void *arg)
{
    int here = f->job->rank[f->me].node, nodes = f->job->nodes;
    struct tt_notice notice = {
        .client = (uint32_t)f->client, .from = f->me, .about = f->me, .asks = true};
    if (tt_inboxes_fd(f) < 0) return false;
    struct tt_question *questions = tt_calloc((size_t)nodes, sizeof *questions);
    if (!questions) return false;
    for (int node = 0; node < nodes; node++)
        if (node != here && has_living(f, node)) questions[node].to = &inboxes.of[node];
    tt_question_ask(questions, nodes, &notice, until_ns);
    for (int node = 0; node < nodes; node++) {
        const struct tt_question *q = &questions[node];
        if (node != here) fn(arg, node, q->to != NULL, q->answered ? q->text : NULL);
        tt_free(q->text);
    }
    tt_free(questions);
    return true;
}
