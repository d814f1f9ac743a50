/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Converts words to numbers and back. The lists are short and searched in order.
 */
#include "plan/words.h"

#include <stdio.h>
#include <string.h>

#include "plan/plan.h"

static const char *const types[] = {
#define TYPE(name, text, sz) #text,
    TUTTI_TYPE_LIST(TYPE)
#undef TYPE
};

static const char *const ops[] = {
#define OP(name, text) #text,
    TUTTI_OP_LIST(OP)
#undef OP
};

static const char *const buffers[] = {
    [TT_IN] = "IN", [TT_OUT] = "OUT", [TT_TMP] = "TMP", [TT_WIN] = "WIN"};

static const char *const steps[] = {
    [TT_SEND] = "send",   [TT_RECV] = "recv", [TT_PUT] = "put",
    [TT_GET] = "get",     [TT_WAIT] = "wait", [TT_SIGNAL] = "signal",
    [TT_AWAIT] = "await", [TT_COPY] = "copy", [TT_REDUCE] = "reduce",
    [TT_LOOP] = "loop",   [TT_END] = "}",     [TT_EXCHANGE] = "exchange"};

static const char *const orders[] = {
    [TT_ORDER_SHIFT] = "shift", [TT_ORDER_RANDOM] = "random", [TT_ORDER_RANK] = "rank"};

const struct tt_words tt_buffer_words = {buffers, TT_BUFFERS};
const struct tt_words tt_step_words = {steps, sizeof steps / sizeof steps[0]};
const struct tt_words tt_order_words = {orders, 3};
const struct tt_words tt_type_words = {types, TUTTI_TYPES};
const struct tt_words tt_op_words = {ops, TUTTI_OPS};

const char *tt_word(const struct tt_words *words, int i)
{
    return i >= 0 && i < words->n ? words->word[i] : "?";
}

int tt_word_find(const struct tt_words *words, const char *text, size_t len)
{
    for (int i = 0; i < words->n; i++) {
        if (strlen(words->word[i]) == len && memcmp(words->word[i], text, len) == 0) return i;
    }
    return -1;
}

char *tt_words_list(const struct tt_words *words, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (int i = 0; i < words->n && used < size; i++) {
        int wrote = snprintf(buffer + used, size - used, "%s%s", i ? " " : "", words->word[i]);
        used += (size_t)wrote;
    }
    return buffer;
}
