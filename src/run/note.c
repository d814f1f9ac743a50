/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls without a plan: free, agree and shrink. Each team has one exec without steps, the note,
 * which runs once for each such call. So members that make another call find the mismatch as in any
 * execution.
 */
#include "run/exec.h"

/* Returns the signature of a call without a plan. An agreement and a shrink have the same
 * fingerprint here: if one member calls agree and another member calls shrink, the agreement
 * protocol notices the difference, on all members in the same way (recover/agree.c). */
static const struct tt_call_signature *signature_of_note(enum tt_signature_other signature)
{
    enum { AGREE = 0x1e3779b1, FREE = 0x15ebca6b };
    static const struct tt_call_signature agree = {.coll = TT_SIGNATURE_AGREE, .print = AGREE},
                                          shrink = {.coll = TT_SIGNATURE_SHRINK, .print = AGREE},
                                          leave = {.coll = TT_SIGNATURE_FREE, .print = FREE};
    return signature == TT_SIGNATURE_AGREE    ? &agree
           : signature == TT_SIGNATURE_SHRINK ? &shrink
                                              : &leave;
}

static struct tt_exec *note_of(struct tt_team *t)
{
    static const struct tt_plan nothing = {.coll = TT_COLL_barrier, .algorithm = "none"};
    if (t->note) return t->note;
    t->note = tt_exec_new(t, &nothing, TT_SHORT_WINDOWS);
    if (t->note) t->note->traced = false;
    return t->note;
}

tutti_status tt_exec_begin_note(struct tt_team *t, enum tt_signature_other signature)
{
    struct tt_exec *exec = note_of(t);
    if (!exec) {
        tt_team_break(t, TUTTI_ERR_MEMORY);
        return TUTTI_ERR_MEMORY;
    }
    exec->signature = signature_of_note(signature);
    exec->shape = (uint64_t)signature << 32 | exec->signature->print;
    tt_exec_start(exec);
    return TUTTI_OK;
}

tutti_status tt_exec_note(struct tt_team *t, enum tt_signature_other signature)
{
    TT_TRY(tt_exec_begin_note(t, signature));
    return tt_exec_wait(t->note);
}
