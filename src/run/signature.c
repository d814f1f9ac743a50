/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The text of a call as its user wrote it: names and numbers of the public interface, elements and
 * not bytes.
 */
#include "run/signature.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "type/layout.h"
#include "type/type.h"

/* ---- From the call ---- */

static uint8_t flags_of(const struct tt_call *c)
{
    bool counts = c->coll == TT_COLL_allgatherv || c->coll == TT_COLL_reduce_scatter;
    return (uint8_t)((tt_coll_has_op(c->coll) && !c->commutes ? TT_SIGNATURE_IN_ORDER : 0) |
                     (c->in_place ? TT_SIGNATURE_IN_PLACE : 0) |
                     (c->shared ? TT_SIGNATURE_SHARED : 0) | (counts ? TT_SIGNATURE_COUNTS : 0) |
                     (c->in_contents ? TT_SIGNATURE_CONTENTS : 0));
}

enum { FORM_EACH = 1, FORM_NEIGHBORS = 2 };

static uint8_t form_of(const struct tt_call *c)
{
    if (c->coll != TT_COLL_alltoallv) return 0;
    if (c->type == TT_TYPE_EACH) return FORM_EACH;
    return tt_type_neighbors(c->type) ? (uint8_t)(FORM_NEIGHBORS + (c->type - TT_TYPE_NEIGHBORS))
                                      : 0;
}

struct tt_call_signature tt_signature_of(const struct tt_call *c, int p, uint32_t print)
{
    if (c->as) return (struct tt_call_signature){.coll = c->as, .root = c->root, .print = print};
    struct tt_call_signature w = {.coll = (int16_t)c->coll,
                                  .flags = flags_of(c),
                                  .form = form_of(c),
                                  .type = (int32_t)tt_type_shape(c->type),
                                  .op = (int32_t)c->op,
                                  .root = c->root,
                                  .n = c->n,
                                  .print = print};
    if (w.form) w.type = (int32_t)TT_TYPE_EACH;
    if (!(w.flags & TT_SIGNATURE_COUNTS)) return w;
    w.n = 0;
    for (int r = 0; r < p; r++) w.n += c->out_counts[r];
    for (int r = 0; r < p && r < TT_SIGNATURE_FIRST; r++) w.counts[r] = c->out_counts[r];
    for (int r = p; r < TT_SIGNATURE_FIRST; r++) w.counts[r] = -1; /* the team has no rank r */
    return w;
}

/* ---- To a text ---- */

static const char *const other_names[] = {
    [TT_SIGNATURE_SPLIT - TT_COLLS] = "team_split",
    [TT_SIGNATURE_AGREE - TT_COLLS] = "team_agree",
    [TT_SIGNATURE_SHRINK - TT_COLLS] = "team_shrink",
    [TT_SIGNATURE_FREE - TT_COLLS] = "team_free",
    [TT_SIGNATURE_DUP - TT_COLLS] = "team_dup",
    [TT_SIGNATURE_DOMAIN - TT_COLLS] = "team_split_domain",
    [TT_SIGNATURE_CART - TT_COLLS] = "team_cart",
    [TT_SIGNATURE_GRAPH - TT_COLLS] = "team_graph",
    [TT_SIGNATURE_THREADS - TT_COLLS] = "team_threads",
    [TT_SIGNATURE_COUNTING - TT_COLLS] = "alltoallv",
    [TT_SIGNATURE_GATHERV - TT_COLLS] = "gatherv",
    [TT_SIGNATURE_SCATTERV - TT_COLLS] = "scatterv",
    [TT_SIGNATURE_MEASURE - TT_COLLS] = "measuring algorithms",
};

const char *tt_signature_name(const struct tt_call_signature *signature)
{
    int coll = signature->coll;
    if (coll < 0 || coll >= TT_SIGNATURE_KINDS) return "something else";
    if (signature->form == FORM_EACH) return "alltoallw";
    const char *neighbors =
        tt_type_neighbors(TT_TYPE_NEIGHBORS + (tutti_type)signature->form - FORM_NEIGHBORS);
    if (signature->form && neighbors) return neighbors;
    return coll < TT_COLLS ? tt_coll_name((enum tt_coll)coll) : other_names[coll - TT_COLLS];
}

bool tt_signature_neighbors(const struct tt_call_signature *signature)
{
    return signature->form >= FORM_NEIGHBORS;
}

/* A text that grows as far as there is room. */
struct signature_text {
    char *at;
    size_t room;
};

__attribute__((format(printf, 2, 3))) static void add(struct signature_text *to, const char *format,
                                                      ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(to->at, to->room, format, args);
    va_end(args);
    size_t used = n < 0 ? 0 : tt_min((size_t)n, to->room - 1);
    to->at += used;
    to->room -= used;
}

/* Returns whether the user passes a single n for all pieces of a neighbourhood collective. */
static bool has_one_n(const struct tt_call_signature *w)
{
    return w->form == FORM_NEIGHBORS + TT_NEIGHBOR_allgather ||
           w->form == FORM_NEIGHBORS + TT_NEIGHBOR_alltoall;
}

/* Writes the element type. A derived type has no name, so the text says what must match: that the
 * type is a number of elements of one basic type, or a hash of its layout if it has several basic
 * types. */
static void add_type(struct signature_text *to, const struct tt_call_signature *w)
{
    bool basic = w->type >= 0 && w->type < TUTTI_TYPES;
    unsigned layout = (unsigned)w->type - (unsigned)TUTTI_TYPE_USER_END;
    if (w->type == (int32_t)TT_TYPE_EACH)
        add(to, "several types");
    else if (w->type == (int32_t)TT_TYPE_NONE)
        add(to, "no elements");
    else if (basic && w->element == 0)
        add(to, "%s", tt_type_name((tutti_type)w->type));
    else if (basic)
        add(to, "a derived type of %d %s", w->element / (int)tutti_type_size((tutti_type)w->type),
            tt_type_name((tutti_type)w->type));
    else if (w->element == 0)
        add(to, "a derived type (layout %07x)", layout);
    else
        add(to, "a derived type of %d bytes (layout %07x)", w->element, layout);
}

static void add_counts(struct signature_text *to, const struct tt_call_signature *w)
{
    add(to, "counts=");
    for (int i = 0; i < TT_SIGNATURE_FIRST && w->counts[i] >= 0; i++)
        add(to, "%s%lld", i ? "," : "", (long long)w->counts[i]);
    uint64_t more = (uint64_t)w->n; /* unsigned: corrupt data must cause no signed overflow */
    for (int i = 0; i < TT_SIGNATURE_FIRST && w->counts[i] >= 0; i++)
        more -= (uint64_t)w->counts[i];
    if (w->counts[TT_SIGNATURE_FIRST - 1] >= 0 && more != 0)
        add(to, ",... (%lld in all)", (long long)w->n);
    add(to, " of ");
}

/* Writes the arguments of a call. It leaves out the counts of calls in which a rank knows only its
 * own counts: two ranks compare these counts, and tt_compare_uneven names them. */
static void add_arguments(struct signature_text *to, const struct tt_call_signature *w)
{
    enum tt_coll coll = (enum tt_coll)w->coll;
    if (w->coll == TT_SIGNATURE_GATHERV || w->coll == TT_SIGNATURE_SCATTERV)
        add(to, "root %d", w->root);
    if (coll == TT_COLL_barrier || w->coll >= TT_COLLS) return;
    if (w->flags & TT_SIGNATURE_COUNTS)
        add_counts(to, w);
    else if (!tt_coll_pairs(coll) || has_one_n(w))
        add(to, "n=%lld of ", (long long)w->n);
    add_type(to, w);
    if (tt_coll_has_op(coll)) add(to, ", %s", tt_op_name((tutti_op)w->op));
    if (tt_coll_has_root(coll)) add(to, ", root %d", w->root);
    if (w->flags & TT_SIGNATURE_IN_ORDER) add(to, ", in rank order");
    if (w->flags & TT_SIGNATURE_IN_PLACE) add(to, ", in place");
    if (w->flags & TT_SIGNATURE_SHARED) add(to, ", shared");
}

/* Writes that a plan file gives the schedule. The fingerprint of a call depends on the plan file,
 * so if two calls differ only in the file, their texts differ, too. */
static void add_file(struct signature_text *to, const struct tt_call_signature *w)
{
    if (w->flags & TT_SIGNATURE_PLAN_FILE) add(to, " by a plan file (fingerprint %08x)", w->print);
}

char *tt_signature_contents(const struct tt_contents *contents, int32_t element, char *buffer,
                            size_t n)
{
    struct signature_text to = {buffer, n};
    struct tt_call_signature w = {.type = contents->type, .element = element};
    bool basic = w.type >= 0 && w.type < TUTTI_TYPES;
    int64_t sz = basic ? (int64_t)tutti_type_size((tutti_type)w.type) : element;
    if (contents->bytes == 0 || sz > 0)
        add(&to, "n=%lld", (long long)(sz > 0 ? contents->bytes / sz : 0));
    else
        add(&to, "%lld bytes", (long long)contents->bytes);
    if (contents->bytes == 0) return buffer;
    if (basic) w.element = 0;
    add(&to, " of ");
    add_type(&to, &w);
    return buffer;
}

char *tt_signature_type(const struct tt_call_signature *signature, char *buffer, size_t n)
{
    struct signature_text to = {buffer, n};
    struct tt_call_signature w = *signature;
    add_type(&to, &w);
    return buffer;
}

char *tt_signature_text(const struct tt_call_signature *signature, char *buffer, size_t n)
{
    struct signature_text to = {buffer, n};
    /* a copy, because the owner of *signature may write to *signature meanwhile */
    struct tt_call_signature w = *signature;
    add(&to, "%s", tt_signature_name(&w));
    if (w.coll < 0 || w.coll >= TT_SIGNATURE_KINDS) return buffer;
    add(&to, "(");
    add_arguments(&to, &w);
    add(&to, ")");
    add_file(&to, &w);
    return buffer;
}

const char *tt_signature_argument(const struct tt_call_signature *w, bool sends, int index,
                                  char *text, size_t n)
{
    enum tt_coll coll = (enum tt_coll)w->coll;
    bool lists = coll != (sends ? TT_COLL_gatherv : TT_COLL_scatterv) && w->form <= 1;
    const char *prefix = coll == TT_COLL_gatherv || coll == TT_COLL_scatterv ? ""
                         : sends                                             ? "in_"
                                                                             : "out_";
    text[0] = '\0';
    if (lists) snprintf(text, n, " (%scounts[%d])", prefix, index);
    return text;
}
