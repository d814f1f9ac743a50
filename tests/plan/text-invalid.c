/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For each rule about the structure of a plan, a valid plan is changed so that it breaks this rule
 * alone. tt_plan_invalid must report exactly this rule.
 */
#include "plan/text-util.h"

/* The number in the comment behind a line is the index of the step in plan->steps. The macro STEP
 * takes this index. */
static const char good[] = "plan allreduce algorithm x rank 1 of 4 type f64 op sum\n"
                           "opens IN OUT TMP\n"
                           "tmp 64\n"
                           "lane 0\n"
                           "  send %0 to 2 IN[0] len 64\n"                                  /* 0 */
                           "  get %1 TMP[0] <- OUT@3[0] len 8\n"                            /* 1 */
                           "  wait %1\n"                                                    /* 2 */
                           "  signal {0,2..3} 1\n"                                          /* 3 */
                           "  await 1.1 1\n"                                                /* 4 */
                           "  reduce OUT[0] <- IN[0] sum WIN@2[0] len 8\n"                  /* 5 */
                           "  loop 3 {\n"                                                   /* 6 */
                           "    put %2 OUT@2[8 block 8 stride 16] <- IN[0] len 64 tail 8\n" /* 7 */
                           "    signal all 2 + i\n"                                         /* 8 */
                           "    loop 6 {\n"                                                 /* 9 */
                           "      copy OUT[0 + i%3*8] <- IN[0] len 8\n"                     /* 10 */
                           "    }\n"                                                        /* 11 */
                           "  }\n"                                                          /* 12 */
                           "lane 1\n"
                           "  exchange %0 from IN order shift chunk 8 window 2\n" /* 13 */
                           "    entry 0 IN[0] -> OUT@0[0] len 8\n";

#define STEP(i) ((struct tt_step *)plan->steps + (i))
#define RANGE(i) ((struct tt_range *)plan->ranges + STEP(i)->first)
#define SHAPE(i) ((struct tt_shape *)plan->shapes + (i))
#define VARY(i) ((struct tt_vary *)plan->varies + (i))

/* A row for each rule: X(the report, the change that breaks the rule). */
#define RULES(X)                                                                                   \
    X("a team of no ranks", plan->p = 0)                                                           \
    X("a rank outside the team", plan->me = 4)                                                     \
    X("a rank outside the team", plan->me = -1)                                                    \
    X("no such collective", plan->coll = TT_COLLS)                                                 \
    X("an algorithm without a name", plan->algorithm = "")                                         \
    X("an algorithm without a name", plan->algorithm = NULL)                                       \
    X("no such type", plan->type = TUTTI_TYPES)                                                    \
    X("no such operation", plan->op = TUTTI_OPS)                                                   \
    X("no such operation", plan->op = TUTTI_OP_USER_END)                                           \
    X("opens a buffer other than IN, OUT and TMP", plan->opens |= 1u << TT_WIN)                    \
    X("scratch of negative size", plan->tmp_bytes = -1)                                            \
    X("scratch of negative size", plan->win_bytes = -1)                                            \
    X("a wrong number of lanes", plan->lanes = 0)                                                  \
    X("a wrong number of lanes", plan->lanes = TT_LANES + 1)                                       \
    X("lanes that do not follow one another", plan->lane[1].first--)                               \
    X("lanes that do not follow one another", plan->lane[0].n = UINT32_MAX)                        \
    X("steps outside of the lanes", plan->steps_n--)                                               \
    X("steps outside of the lanes", plan->lane[1].n++)                                             \
    X("a rotation by a negative number", SHAPE(1)->mod = -1)                                       \
    X("a rotation by a negative number", SHAPE(1)->phase = -1)                                     \
    X("blocks that overlap", SHAPE(1)->stride = 7)                                                 \
    X("blocks that overlap", SHAPE(1)->block = -8)                                                 \
    X("a range that a turn moves by -2^63 bytes", SHAPE(1)->step[1] = INT64_MIN)                   \
    X("shape 0 is not empty", SHAPE(0)->step[0] = 1)                                               \
    X("a tail of negative length", VARY(1)->tail = -2)                                             \
    X("a tail in negative turns", VARY(1)->tail_mod = -1)                                          \
    X("a rotation of a tail, but no tail", VARY(2)->tail_mod = 1)                                  \
    X("a tail's phase without a rotation", VARY(1)->tail_phase = 1)                                \
    X("variation 0 is not empty", VARY(0)->from = 1)                                               \
    X("no such kind of step", STEP(2)->kind = TT_EXCHANGE + 1)                                     \
    X("a peer that is no rank", STEP(0)->peer = 4)                                                 \
    X("a peer that is no rank", STEP(4)->peer = TT_ALL)                                            \
    X("a variation outside its array", STEP(0)->vary = 3)                                          \
    X("a tail of a step without a length", STEP(2)->vary = 1)                                      \
    X("a flag value of a step without a flag", STEP(2)->vary = 2)                                  \
    X("a first turn (`from`) of a step that cannot have one", VARY(1)->from = 1;                   \
      VARY(1)->tail = -1; STEP(6)->vary = 1)                                                       \
    X("a negative length", STEP(5)->len = -1)                                                      \
    X("a step of length 0", STEP(5)->len = 0)                                                      \
    X("a wrong number of ranges", STEP(0)->nops = 2)                                               \
    X("a wrong number of ranges", STEP(1)->nops = 1)                                               \
    X("a wrong number of ranges", STEP(5)->nops = 1)                                               \
    X("more ranges than plan->operands", plan->operands = 2)                                       \
    X("more ranges than plan->operands", plan->operands = 1; plan->lanes = 1;                      \
      plan->lane[0] = plan->lane[1]; plan->steps += 13; plan->steps_n = plan->lane[0].n = 1;       \
      plan->lane[0].first = 0)                                                                     \
    X("ranges outside their array", STEP(5)->first = plan->ranges_n - 2)                           \
    X("ranges outside their array", STEP(5)->first = UINT32_MAX)                                   \
    X("no such buffer", RANGE(5)->buf = TT_BUFFERS)                                                \
    X("a range of a rank outside of the team", RANGE(5)[2].rank = 4)                               \
    X("a range of a rank outside of the team", RANGE(5)[2].rank = -2)                              \
    X("a range of the own rank that is not TT_SELF", RANGE(5)[1].rank = 1)                         \
    X("a negative offset", RANGE(5)[1].off = -1)                                                   \
    X("a range that does not fit in 64 bits", RANGE(5)[1].off = INT64_MAX - 7)                     \
    X("a range that does not fit in 64 bits", RANGE(7)->shape = 0; RANGE(7)->off = INT64_MAX - 64; \
      VARY(1)->tail = 65)                                                                          \
    X("a range that does not fit in 64 bits", SHAPE(1)->stride = INT64_MAX / 4)                    \
    X("a range that does not fit in 64 bits", SHAPE(2)->step[0] = INT64_MAX / 2)                   \
    X("a range that does not fit in 64 bits", SHAPE(2)->step[0] = -(INT64_MAX / 2))                \
    X("a range that does not fit in 64 bits", SHAPE(2)->step[1] = INT64_MAX / 2)                   \
    X("a shape outside its array", RANGE(5)[1].shape = 77)                                         \
    X("a loop whose turns are no multiple of a rotation in it", STEP(9)->value = 7)                \
    X("a length that is no multiple of a block", STEP(7)->len = 60)                                \
    X("a length that is no multiple of a block", VARY(1)->tail = 4)                                \
    X("blocks in a step that is no copy, put or get", RANGE(0)->shape = 1)                         \
    X("a put or get without a range of its peer", RANGE(7)->rank = TT_SELF)                        \
    X("a put or get without a range of its peer", RANGE(1)[1].rank = TT_SELF)                      \
    X("a put or get with a range of another rank than its peer", STEP(7)->peer = 3)                \
    X("a range of another rank where one of this rank is needed", RANGE(7)[1].rank = 2)            \
    X("a range of another rank where one of this rank is needed", RANGE(0)->rank = 2)              \
    X("a range of another rank where one of this rank is needed", RANGE(5)->rank = 2)              \
    X("an empty set", STEP(3)->nops = 0)                                                           \
    X("a set outside its array", STEP(3)->first = 1)                                               \
    X("a set with no rank in it", ((int32_t *)plan->ranks)[2] = 4)                                 \
    X("a set for one rank", STEP(3)->peer = 2)                                                     \
    X("a signal to no rank", STEP(8)->peer = 4)                                                    \
    X("ids that do not ascend", STEP(7)->value = 0)                                                \
    X("ids that do not ascend", STEP(13)->value = 1)                                               \
    X("a wait for what has not been started", STEP(2)->value = 3)                                  \
    X("a wait for too long ago", STEP(2)->sub = TT_IN_FLIGHT)                                      \
    X("a wait that is neither in nor after its loop", STEP(2)->first = 2)                          \
    X("an await of no lane", STEP(4)->peer = 2; STEP(4)->sub = TT_LANES)                           \
    X("an await of a lane that this rank does not have", STEP(4)->sub = 2)                         \
    X("loops that nest too deep", *STEP(10) = *STEP(9))                                            \
    X("a loop of no turns", STEP(6)->value = 0)                                                    \
    X("a loop in a plan whose `loops` is false", plan->loops = false)                              \
    X("an end without a loop", STEP(5)->kind = TT_END; STEP(5)->nops = 0)                          \
    X("an end of another loop", STEP(11)->value = 3)                                               \
    X("a loop without an end", *STEP(12) = *STEP(2))                                               \
    X("a wrong number of ids", plan->lane[0].starts = 4)                                           \
    X("an exchange outside its array", STEP(13)->first = 1)                                        \
    X("no such order", exchange->order = (enum tt_order)3)                                         \
    X("a wrong window", exchange->window = 0)                                                      \
    X("a wrong window", exchange->window = TT_IN_FLIGHT + 1)                                       \
    X("chunks of no length", exchange->chunk = 0)                                                  \
    X("an exchange out of neither IN nor OUT", exchange->from = TT_WIN)                            \
    X("entries outside their array", exchange->n = 2)                                              \
    X("an entry for no rank", entry->peer = 4)                                                     \
    X("an entry for the rank itself", entry->peer = 1)                                             \
    X("an entry of no length", entry->len = 0)                                                     \
    X("an entry at a negative offset", entry->theirs = -1)                                         \
    X("an entry that does not fit in 64 bits", entry->mine = INT64_MAX - 7)                        \
    X("an entry that does not fit in 64 bits", entry->theirs = INT64_MAX)

static const char *const reported[] = {
#define TOLD(what, ...) what,
    RULES(TOLD)
#undef TOLD
};

enum { RULES_N = sizeof reported / sizeof reported[0] };

static void break_rule(struct tt_plan *plan, int rule)
{
    struct tt_exchange *exchange = (struct tt_exchange *)plan->exchanges;
    struct tt_entry *entry = (struct tt_entry *)plan->entries;
    int i = 0;
#define BREAK(what, ...)                                                                           \
    if (i++ == rule) {                                                                             \
        __VA_ARGS__;                                                                               \
    }
    RULES(BREAK)
#undef BREAK
}

static void each_rule_is_reported(void **state)
{
    (void)state;
    int wrong = 0;
    for (int rule = 0; rule < RULES_N; rule++) {
        struct tt_plan *plan = parsed(good);
        assert_null(tt_plan_invalid(plan, NULL));
        break_rule(plan, rule);
        const char *invalid = tt_plan_invalid(plan, NULL);
        if (!invalid || strcmp(invalid, reported[rule]) != 0) {
            print_error("rule %d: %s\n  wanted: %s\n", rule, invalid ? invalid : "valid",
                        reported[rule]);
            wrong++;
        }
        tt_plan_free(plan);
    }
    assert_int_equal(wrong, 0);
}

/* Checks that the report names the step that breaks the rule, or none if the fault is elsewhere. */
static void step_is_named(void **state)
{
    (void)state;
    struct tt_plan *plan = parsed(good);
    int64_t step = 77;
    assert_null(tt_plan_invalid(plan, &step));
    STEP(13)->value = 1;
    assert_non_null(tt_plan_invalid(plan, &step));
    assert_int_equal(step, 13);
    STEP(5)->len = 0;
    assert_non_null(tt_plan_invalid(plan, &step));
    assert_int_equal(step, 5);
    plan->p = 0;
    assert_non_null(tt_plan_invalid(plan, &step));
    assert_int_equal(step, -1);
    tt_plan_free(plan);
}

static void nobody_hears_a_lone_rank(void **state)
{
    (void)state;
    struct tt_plan *plan = parsed("plan barrier algorithm x rank 0 of 1 type i8\n"
                                  "lane 0\n"
                                  "  signal 0 1\n");
    STEP(0)->peer = TT_ALL;
    assert_string_equal(tt_plan_invalid(plan, NULL), "a signal to all in a team of one rank");
    tt_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_is_reported),
        cmocka_unit_test(step_is_named),
        cmocka_unit_test(nobody_hears_a_lone_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
