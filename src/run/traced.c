/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a trace is told of a call: what it is, when it begins, when its caller waits for it, when it
 * ends. Only for execs that are traced; others never come here.
 */
#include "plan/words.h"
#include "run/exec.h"

/* A barrier has no elements, and so no type. */
static const char *type_of(const struct tt_what *what)
{
    if (what->coll == TT_COLL_barrier || what->coll >= TT_COLLS) return "";
    bool basic = what->element == 0 && what->type >= 0 && what->type < TUTTI_TYPES;
    return basic ? tt_word(&tt_type_words, what->type) : "derived";
}

/* Returns the bytes of one element; 0: not known. */
static int64_t size_of(const struct tt_what *what)
{
    if (what->element > 0) return what->element;
    if (*type_of(what) == '\0' || what->type < 0 || what->type >= TUTTI_TYPES) return 0;
    return (int64_t)tutti_type_size((tutti_type)what->type);
}

static const char *op_of(const struct tt_exec *exec, const struct tt_what *what)
{
    if (what->coll >= TT_COLLS || !tt_coll_has_op(exec->plan->coll)) return "";
    return what->op >= 0 && what->op < TUTTI_OPS ? tt_word(&tt_op_words, what->op)
                                                 : TT_OP_USER_WORD;
}

void tt_traced_begin(struct tt_exec *exec)
{
    static const struct tt_what none;
    const struct tt_team *t = exec->team;
    const struct tt_what *what = exec->what ? exec->what : &none;
    enum tt_coll coll = exec->plan->coll;
    int64_t sz = size_of(what);
    struct tt_traced_call call = {.key = exec,
                                  .team = t->id,
                                  .execution = exec->number,
                                  .team_size = t->map.p,
                                  .team_me = t->me,
                                  .coll = exec->what ? tt_what_name(what) : tt_coll_name(coll),
                                  .algorithm = exec->plan->algorithm,
                                  .type = type_of(what),
                                  .op = op_of(exec, what),
                                  .root = tt_coll_has_root(coll) ? t->job_rank[what->root] : -1,
                                  .bytes = what->n * sz,
                                  .n = sz > 0 ? what->n : -1,
                                  .blocks = exec->blocks};
    t->fabric->ops->began(t->fabric->ops, t->fabric, &call);
}

void tt_traced_wait(struct tt_exec *exec)
{
    struct tt_fabric *f = exec->team->fabric;
    f->ops->waits(f->ops, f, exec);
}

void tt_traced_end(struct tt_exec *exec)
{
    struct tt_fabric *f = exec->team->fabric;
    f->ops->ended(f->ops, f, exec, exec->status);
}
