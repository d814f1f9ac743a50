/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans written by hand, each broken in one way: the prover must reject each with the right kind of
 * report. For most cases the name says what is wrong.
 */
#include "plan/prove-util.h"

/* The beginnings of plans of two ranks that read each other's input buffers directly. Each case
 * adds the steps that follow. */
#define OPEN_0 "opens IN OUT\nlane 0\n signal 1 1\n await 1 1\n"
#define OPEN_1 "opens IN OUT\nlane 0\n signal 0 1\n await 0 1\n"
#define CLOSE_0 " signal 1 2\n await 1 2\n"
#define CLOSE_1 " signal 0 2\n await 0 2\n"
#define BOTH_0 " reduce OUT[0] <- IN[0] sum IN@1[0] len 8\n"
#define BOTH_1 " reduce OUT[0] <- IN@0[0] sum IN[0] len 8\n"
/* The beginnings of plans of two ranks with one round through windows. */
#define WIN_0 "lane 0\n copy WIN[0] <- IN[0] len 8\n signal 1 1\n await 1 1\n"
#define WIN_1 "lane 0\n copy WIN[0] <- IN[0] len 8\n signal 0 1\n await 0 1\n"
#define DONE_0 " reduce OUT[0] <- IN[0] sum WIN@1[0] len 8\n"
#define DONE_1 " reduce OUT[0] <- WIN@0[0] sum IN[0] len 8\n"

#define ALLREDUCE .coll = TT_COLL_allreduce, .n = 2, .p = 2
#define BCAST .coll = TT_COLL_bcast, .n = 2, .p = 2
#define SCAN .coll = TT_COLL_scan, .n = 2, .p = 2
#define ALLGATHER .coll = TT_COLL_allgather, .n = 2, .p = 2

static const struct hand data[] = {
    {.name = "an output half of which nobody writes",
     .fault = TT_FAULT_UNWRITTEN,
     .says = "OUT[4..8) of rank 1",
     BCAST,
     .plan = {"lane 0\n send %0 to 1 OUT[0] len 4\n wait %0\n",
              "lane 0\n recv %0 from 0 OUT[0] len 4\n wait %0\n"}},
    {.name = "an operand in a window that its owner has not filled",
     .fault = TT_FAULT_UNWRITTEN,
     .says = "WIN",
     ALLREDUCE,
     .plan = {WIN_0 " reduce OUT[0] <- IN[0] sum WIN@1[8] len 8\n",
              WIN_1 DONE_1 " copy WIN[16] <- IN[0] len 8\n"}},
    {.name = "a look into a window whose owner may not have begun, although nothing depends on it",
     .fault = TT_FAULT_UNWRITTEN,
     .says = "WIN[0..8) of rank 1",
     ALLREDUCE,
     .plan = {"tmp 64\nlane 0\n copy TMP[0] <- WIN@1[0] len 8\n copy WIN[0] <- IN[0] len 8\n"
              " signal 1 1\n await 1 1\n" DONE_0,
              WIN_1 DONE_1}},
    {.name = "pieces put in each other's place",
     .fault = TT_FAULT_WRONG,
     ALLGATHER,
     .plan = {WIN_0 " copy OUT[8] <- IN[0] len 8\n copy OUT[0] <- WIN@1[0] len 8\n",
              WIN_1 " copy OUT[8] <- IN[0] len 8\n copy OUT[0] <- WIN@0[0] len 8\n"}},
    {.name = "elements combined with other elements",
     .fault = TT_FAULT_WRONG,
     .says = "combines",
     ALLREDUCE,
     .plan = {WIN_0 " reduce OUT[0] <- IN[0] sum WIN@1[4] len 4\n"
                    " reduce OUT[4] <- IN[4] sum WIN@1[0] len 4\n",
              WIN_1 DONE_1}},
    {.name = "a contribution left out",
     .fault = TT_FAULT_MISSING,
     .says = "rank 2",
     .coll = TT_COLL_reduce,
     .n = 1,
     .p = 3,
     .plan = {"lane 0\n await 1 1\n await 2 1\n reduce OUT[0] <- IN[0] sum WIN@1[0] len 4\n",
              "lane 0\n copy WIN[0] <- IN[0] len 4\n signal 0 1\n",
              "lane 0\n copy WIN[0] <- IN[0] len 4\n signal 0 1\n"}},
    {.name = "a contribution counted twice in one step",
     .fault = TT_FAULT_TWICE,
     .says = "rank 1 is counted twice",
     ALLREDUCE,
     .plan = {WIN_0 " reduce OUT[0] <- IN[0] sum WIN@1[0] sum WIN@1[0] len 8\n", WIN_1 DONE_1}},
    {.name = "a contribution counted again a step later",
     .fault = TT_FAULT_TWICE,
     ALLREDUCE,
     .plan = {WIN_0 DONE_0 " reduce OUT[0] <- OUT[0] sum WIN@1[0] len 8\n", WIN_1 DONE_1}},
    {.name = "a scatter that sends another rank's piece",
     .fault = TT_FAULT_WRONG,
     .says = "not bytes 4 to 7 of rank 0's input",
     .coll = TT_COLL_scatter,
     .n = 1,
     .p = 2,
     .plan = {"lane 0\n send %0 to 1 IN[0] len 4\n copy OUT[0] <- IN[0] len 4\n wait %0\n",
              "lane 0\n recv %0 from 0 OUT[0] len 4\n wait %0\n"}},
    {.name = "a scan that includes the rank behind",
     .fault = TT_FAULT_WRONG,
     .says = "rank 0",
     SCAN,
     .plan = {WIN_0 DONE_0, WIN_1 DONE_1}},
    {.name = "a scan that lacks the rank itself",
     .fault = TT_FAULT_MISSING,
     .says = "lacks the contribution of rank 1",
     SCAN,
     .plan = {WIN_0 " copy OUT[0] <- IN[0] len 8\n", WIN_1 " copy OUT[0] <- WIN@0[0] len 8\n"}},
    {.name = "an exscan that includes the rank itself",
     .fault = TT_FAULT_WRONG,
     .says = "rank 1",
     .coll = TT_COLL_exscan,
     .n = 2,
     .p = 2,
     .plan = {WIN_0, WIN_1 DONE_1}},
    {.name = "operands swapped, and the operation does not commute",
     .fault = TT_FAULT_ORDER,
     ALLREDUCE,
     .in_order = true,
     .plan = {WIN_0 DONE_0, WIN_1 " reduce OUT[0] <- IN[0] sum WIN@0[0] len 8\n"}},
    {.name = "ranks 0 and 2 combined before 1 comes between",
     .fault = TT_FAULT_ORDER,
     .coll = TT_COLL_reduce,
     .n = 1,
     .p = 3,
     .in_order = true,
     .plan = {"tmp 64\nlane 0\n await 1 1\n await 2 1\n"
              " reduce TMP[0] <- IN[0] sum WIN@2[0] len 4\n"
              " reduce OUT[0] <- TMP[0] sum WIN@1[0] len 4\n",
              "lane 0\n copy WIN[0] <- IN[0] len 4\n signal 0 1\n",
              "lane 0\n copy WIN[0] <- IN[0] len 4\n signal 0 1\n"}},
    {.name = "each rank combines its own operand first",
     .fault = TT_FAULT_BITS,
     ALLREDUCE,
     .plan = {WIN_0 DONE_0, WIN_1 " reduce OUT[0] <- IN[0] sum WIN@0[0] len 8\n"}},
    {.name = "a reduction from the middle of an element",
     .fault = TT_FAULT_MISALIGNED,
     ALLREDUCE,
     .plan = {WIN_0 " reduce OUT[0] <- IN[0] sum WIN@1[2] len 4\n", WIN_1 DONE_1}},
    {.name = "elements shifted by a copy before they are combined",
     .fault = TT_FAULT_MISALIGNED,
     ALLREDUCE,
     .plan = {"tmp 64\n" WIN_0 " copy TMP[0] <- WIN@1[2] len 4\n"
              " reduce OUT[0] <- IN[0] sum TMP[0] len 4\n",
              WIN_1 DONE_1}},
};

static const struct hand progress[] = {
    {.name = "both send before they receive",
     .fault = TT_FAULT_DEADLOCK,
     .says = "waits for",
     ALLGATHER,
     .plan =
         {"lane 0\n send %0 to 1 IN[0] len 8\n wait %0\n recv %1 from 1 OUT[8] len 8\n wait %1\n",
          "lane 0\n send %0 to 0 IN[0] len 8\n wait %0\n recv %1 from 0 OUT[0] len 8\n"
          " wait %1\n"}},
    {.name = "both await before they signal",
     .fault = TT_FAULT_DEADLOCK,
     .coll = TT_COLL_barrier,
     .p = 2,
     .plan = {"lane 0\n await 1 1\n signal 1 1\n", "lane 0\n await 0 1\n signal 0 1\n"}},
    {.name = "a lane that awaits its own later signal",
     .fault = TT_FAULT_DEADLOCK,
     .coll = TT_COLL_barrier,
     .p = 1,
     .plan = {"lane 0\n await 0 1\n signal 0 1\n"}},
    {.name = "an await on the wrong writer",
     .fault = TT_FAULT_NEVER_SIGNALLED,
     .says = "to others, not to rank 0",
     .coll = TT_COLL_barrier,
     .p = 3,
     .plan = {"lane 0\n await 1 1\n await 2 1\n signal all 1\n",
              "lane 0\n signal 0 1\n await 0 1\n", "lane 0\n signal 1 1\n await 0 1\n"}},
    {.name = "an await of a value that is left out",
     .fault = TT_FAULT_NEVER_SIGNALLED,
     .says = "goes to 2 without 1",
     .coll = TT_COLL_barrier,
     .p = 2,
     .plan = {"lane 0\n signal 1 2\n await 1 1\n", "lane 0\n signal 0 1\n await 0 1\n"}},
    {.name = "an await of a value that does not come",
     .fault = TT_FAULT_NEVER_SIGNALLED,
     .coll = TT_COLL_barrier,
     .p = 2,
     .plan = {"lane 0\n signal 1 1\n await 1 2\n", "lane 0\n signal 0 1\n await 0 1\n"}},
    {.name = "an await of a lane that is not there",
     .fault = TT_FAULT_NEVER_SIGNALLED,
     .coll = TT_COLL_barrier,
     .p = 2,
     .plan = {"lane 0\n signal 1 1\n await 1.3 1\n", "lane 0\n signal 0 1\n await 0 1\n"}},
    {.name = "a flag that is lowered",
     .fault = TT_FAULT_FLAG,
     .coll = TT_COLL_barrier,
     .p = 2,
     .plan = {"lane 0\n signal 1 2\n signal 1 1\n await 1 1\n",
              "lane 0\n signal 0 1\n await 0 1\n"}},
    {.name = "a value signalled twice",
     .fault = TT_FAULT_FLAG,
     .coll = TT_COLL_barrier,
     .p = 2,
     .plan = {"lane 0\n loop 2 {\n  signal 1 1\n }\n await 1 1\n",
              "lane 0\n signal 0 1\n await 0 1\n"}},
    {.name = "a send that nobody receives",
     .fault = TT_FAULT_UNMATCHED,
     .says = "sends 8 bytes to rank 1",
     BCAST,
     .plan =
         {"lane 0\n send %0 to 1 OUT[0] len 8\n wait %0\n send %1 to 1 OUT[0] len 8\n wait %1\n",
          "lane 0\n recv %0 from 0 OUT[0] len 8\n wait %0\n"}},
    {.name = "a receive that nobody sends",
     .fault = TT_FAULT_UNMATCHED,
     .says = "receives 8 bytes from rank 0",
     BCAST,
     .plan = {"lane 0\n", "lane 0\n recv %0 from 0 OUT[0] len 8\n wait %0\n"}},
    {.name = "a message received on another lane",
     .fault = TT_FAULT_OTHER_LANE,
     BCAST,
     .plan = {"lane 0\n send %0 to 1 OUT[0] len 8\n wait %0\n",
              "lane 0\nlane 1\n recv %0 from 0 OUT[0] len 8\n wait %0\n"}},
    {.name = "a message longer than what is received",
     .fault = TT_FAULT_SIZE,
     BCAST,
     .plan = {"lane 0\n send %0 to 1 OUT[0] len 8\n wait %0\n",
              "lane 0\n recv %0 from 0 OUT[0] len 4\n recv %1 from 0 OUT[4] len 4\n wait %0\n"
              " wait %1\n"}},
    {.name = "a wait naming the wrong turn: a later one",
     .fault = TT_FAULT_NEVER_STARTED,
     .says = "instance 2 of %0",
     BCAST,
     .plan = {"lane 0\n loop 2 {\n  send %0 to 1 OUT[0 + i*4] len 4\n }\n wait %0\n wait %0 -1\n",
              "lane 0\n loop 2 {\n  recv %0 from 0 OUT[0 + i*4] len 4\n  wait %0\n }\n"}},
    {.name = "a wait naming the wrong turn: an earlier one",
     .fault = TT_FAULT_NOT_WAITED,
     .says = "instance 1 of %0",
     BCAST,
     .plan =
         {"lane 0\n loop 2 {\n  send %0 to 1 OUT[0 + i*4] len 4\n  wait %0 -1\n }\n wait %0 -2\n",
          "lane 0\n loop 2 {\n  recv %0 from 0 OUT[0 + i*4] len 4\n  wait %0\n }\n"}},
    {.name = "a start without a wait",
     .fault = TT_FAULT_NOT_WAITED,
     BCAST,
     .plan = {"lane 0\n send %0 to 1 OUT[0] len 8\n",
              "lane 0\n recv %0 from 0 OUT[0] len 8\n wait %0\n"}},
    {.name = "more instances under way than a runner keeps",
     .fault = TT_FAULT_IN_FLIGHT,
     .coll = TT_COLL_bcast,
     .p = 2,
     .n = 5,
     .plan = {"lane 0\n loop 5 {\n  send %0 to 1 OUT[0 + i*4] len 4\n }\n wait %0 -1\n wait %0 -2\n"
              " wait %0 -3\n",
              "lane 0\n loop 5 {\n  recv %0 from 0 OUT[0 + i*4] len 4\n  wait %0\n }\n"}},
    {.name = "a barrier that one rank leaves at once",
     .fault = TT_FAULT_BARRIER,
     .says = "rank 0 may leave the barrier before rank 1",
     .coll = TT_COLL_barrier,
     .p = 2,
     .plan = {"lane 0\n signal 1 1\n", "lane 0\n await 0 1\n"}},
    {.name = "a dissemination with a round too few",
     .fault = TT_FAULT_BARRIER,
     .coll = TT_COLL_barrier,
     .p = 3,
     .plan = {"lane 0\n signal 1 1\n await 2 1\n", "lane 0\n signal 2 1\n await 0 1\n",
              "lane 0\n signal 0 1\n await 1 1\n"}},
};

static const struct hand memory[] = {
    {.name = "a window read before its owner says it is filled",
     .fault = TT_FAULT_RACE,
     ALLREDUCE,
     .plan = {"lane 0\n copy WIN[0] <- IN[0] len 8\n signal 1 1\n await 1 1\n" DONE_0,
              "lane 0\n signal 0 1\n copy WIN[0] <- IN[0] len 8\n await 0 1\n" DONE_1}},
    {.name = "a window overwritten while it may be read",
     .fault = TT_FAULT_RACE,
     .says = "rank 0, step 2 writes",
     BCAST,
     .plan = {"lane 0\n copy WIN[0] <- OUT[0] len 4\n signal 1 1\n copy WIN[0] <- OUT[4] len 4\n"
              " signal 1 2\n",
              "lane 0\n await 0 1\n copy OUT[0] <- WIN@0[0] len 4\n await 0 2\n"
              " copy OUT[4] <- WIN@0[0] len 4\n"}},
    {.name = "half a window overwritten a turn early",
     .fault = TT_FAULT_RACE,
     .coll = TT_COLL_bcast,
     .p = 2,
     .n = 7,
     .plan = {"lane 0\n loop 4 {\n  await 1 -2 + i*1 from 3\n"
              "  copy WIN[0 + i%2*8] <- OUT[0 + i*8] len 8 tail 4\n  signal 1 1 + i*1\n }\n",
              "lane 0\n loop 4 {\n  await 0 1 + i*1\n"
              "  copy OUT[0 + i*8] <- WIN@0[0 + i%2*8] len 8 tail 4\n  signal 0 1 + i*1\n }\n"}},
    {.name = "a received message used before its wait",
     .fault = TT_FAULT_RACE,
     .says = "until its wait",
     ALLREDUCE,
     .plan = {"tmp 64\nlane 0\n recv %0 from 1 TMP[0] len 8\n send %1 to 1 IN[0] len 8\n"
              " reduce OUT[0] <- IN[0] sum TMP[0] len 8\n wait %0\n wait %1\n",
              "tmp 64\nlane 0\n recv %0 from 0 TMP[0] len 8\n send %1 to 0 IN[0] len 8\n wait %0\n"
              " reduce OUT[0] <- TMP[0] sum IN[0] len 8\n wait %1\n"}},
    {.name = "a send's source written before its wait",
     .fault = TT_FAULT_RACE,
     ALLREDUCE,
     .plan = {"tmp 64\nlane 0\n copy OUT[0] <- IN[0] len 8\n recv %0 from 1 TMP[0] len 8\n"
              " send %1 to 1 OUT[0] len 8\n wait %0\n reduce OUT[0] <- OUT[0] sum TMP[0] len 8\n"
              " wait %1\n",
              "tmp 64\nlane 0\n recv %0 from 0 TMP[0] len 8\n send %1 to 0 IN[0] len 8\n wait %0\n"
              " reduce OUT[0] <- TMP[0] sum IN[0] len 8\n wait %1\n"}},
    {.name = "a put signalled before it is in place",
     .fault = TT_FAULT_RACE,
     BCAST,
     .plan = {"lane 0\n await 1 1\n put %0 WIN@1[0] <- OUT[0] len 8\n signal 1 1\n wait %0\n",
              "lane 0\n signal 0 1\n await 0 1\n copy OUT[0] <- WIN[0] len 8\n"}},
    {.name = "two puts to one place",
     .fault = TT_FAULT_RACE,
     .coll = TT_COLL_bcast,
     .p = 3,
     .n = 2,
     .plan = {"lane 0\n put %0 WIN@2[0] <- OUT[0] len 8\n wait %0\n",
              "lane 0\n put %0 WIN@2[4] <- OUT[0] len 4\n wait %0\n",
              "lane 0\n copy WIN[8] <- OUT[0] len 4\n"}},
    {.name = "a read of a window beyond the part that its owner uses",
     .fault = TT_FAULT_OUTSIDE,
     .says = "WIN[4..12) of rank 1",
     ALLREDUCE,
     .plan = {WIN_0 " reduce OUT[0] <- IN[0] sum WIN@1[4] len 8\n", WIN_1 DONE_1}},
    {.name = "a put into a window that its owner does not use",
     .fault = TT_FAULT_OUTSIDE,
     .says = "WIN[0..8) of rank 1",
     BCAST,
     .plan = {"lane 0\n await 1 1\n put %0 WIN@1[0] <- OUT[0] len 8\n wait %0\n signal 1 1\n",
              "lane 0\n signal 0 1\n await 0 1\n"}},
    {.name = "lanes that nothing orders",
     .fault = TT_FAULT_RACE,
     .says = "lane 1",
     .coll = TT_COLL_allreduce,
     .n = 2,
     .p = 1,
     .plan =
         {"tmp 64\nlane 0\n copy OUT[0] <- TMP[0] len 8\nlane 1\n copy TMP[0] <- IN[0] len 8\n"}},
    {.name = "a copy onto a part of itself",
     .fault = TT_FAULT_RACE,
     .says = "reads and writes",
     .coll = TT_COLL_allreduce,
     .n = 2,
     .p = 1,
     .plan = {"lane 0\n copy OUT[0] <- IN[0] len 8\n copy OUT[2] <- OUT[0] len 4\n"
              " copy OUT[0] <- IN[0] len 8\n"
              ""}},
    {.name = "in place, where a partner still reads the input",
     .fault = TT_FAULT_RACE,
     ALLREDUCE,
     .in_place = true,
     .plan = {OPEN_0 BOTH_0 CLOSE_0, OPEN_1 BOTH_1 CLOSE_1}},
    {.name = "a window overwritten one execution early",
     .fault = TT_FAULT_SLOT,
     .says = "execution 0",
     BCAST,
     .executions = 5,
     .held = 5,
     .plan = {"lane 0\n copy WIN[0] <- OUT[0] len 8\n signal 1 1\n",
              "lane 0\n await 0 1\n copy OUT[0] <- WIN@0[0] len 8\n"}},
    {.name = "a write behind the end of OUT",
     .fault = TT_FAULT_OUTSIDE,
     ALLREDUCE,
     .plan = {WIN_0 DONE_0 " copy OUT[8] <- WIN@1[0] len 4\n", WIN_1 DONE_1}},
    {.name = "a peer's input read behind its end",
     .fault = TT_FAULT_OUTSIDE,
     ALLREDUCE,
     .plan = {OPEN_0 " reduce OUT[0] <- IN[0] sum IN@1[4] len 8\n" CLOSE_0, OPEN_1 BOTH_1 CLOSE_1}},
    {.name = "the output of a rank that has none",
     .fault = TT_FAULT_OUTSIDE,
     .says = "there are 0 bytes",
     .coll = TT_COLL_reduce,
     .n = 1,
     .p = 2,
     .plan = {"lane 0\n await 1 1\n reduce OUT[0] <- IN[0] sum WIN@1[0] len 4\n",
              "lane 0\n copy OUT[0] <- IN[0] len 4\n copy WIN[0] <- OUT[0] len 4\n signal 0 1\n"}},
    {.name = "more scratch than there is",
     .fault = TT_FAULT_OUTSIDE,
     BCAST,
     .plan =
         {"tmp 64\nlane 0\n copy TMP[60] <- OUT[0] len 8\n send %0 to 1 TMP[60] len 8\n wait %0\n",
          "lane 0\n recv %0 from 0 OUT[0] len 8\n wait %0\n"}},
    {.name = "more window than a slot has",
     .fault = TT_FAULT_OUTSIDE,
     ALLREDUCE,
     .win_bytes = 4,
     .plan = {WIN_0 DONE_0, WIN_1 DONE_1}},
    {.name = "a gap between the pieces",
     .fault = TT_FAULT_OUTSIDE,
     .says = "not in one of the call's pieces",
     .coll = TT_COLL_allgatherv,
     .p = 2,
     .plan = {"lane 0\n copy OUT[4] <- IN[0] len 4\n", "lane 0\n"}},
    {.name = "a segment that is another's",
     .fault = TT_FAULT_OUTSIDE,
     .says = "4 bytes",
     .coll = TT_COLL_allgatherv,
     .p = 2,
     .plan =
         {"opens OUT\nlane 0\n await 1 1\n put %0 OUT@1[4] <- IN[0] len 4\n wait %0\n signal 1 1\n",
          "opens OUT\nlane 0\n signal 0 1\n await 0 1\n"}},
    {.name = "the input written",
     .fault = TT_FAULT_INPUT,
     ALLREDUCE,
     .plan = {WIN_0 DONE_0 " copy IN[0] <- OUT[0] len 8\n", WIN_1 DONE_1}},
    {.name = "a peer's input written",
     .fault = TT_FAULT_INPUT,
     ALLREDUCE,
     .plan = {OPEN_0 " put %0 IN@1[0] <- IN[0] len 8\n wait %0\n" CLOSE_0, OPEN_1 BOTH_1 CLOSE_1}},
    {.name = "a buffer that its owner does not open",
     .fault = TT_FAULT_NOT_OPENED,
     ALLREDUCE,
     .plan = {"lane 0\n signal 1 1\n await 1 1\n" BOTH_0 CLOSE_0,
              "opens OUT\nlane 0\n signal 0 1\n await 0 1\n" CLOSE_1}},
    {.name = "a peer's buffer used before its opening",
     .fault = TT_FAULT_UNOPENED,
     ALLREDUCE,
     .plan = {"opens IN\nlane 0\n signal 1 1\n" BOTH_0 CLOSE_0, OPEN_1 BOTH_1 CLOSE_1}},
    {.name = "an opening known by hearsay only",
     .fault = TT_FAULT_UNOPENED,
     .coll = TT_COLL_bcast,
     .n = 2,
     .p = 3,
     .plan = {"opens OUT\nlane 0\n signal 1 1\n await 1 1\n await 2 1\n",
              "lane 0\n await 0 1\n signal 2 1\n copy OUT[0] <- OUT@0[0] len 8\n signal 0 2\n",
              "lane 0\n await 1 1\n copy OUT[0] <- OUT@0[0] len 8\n signal 0 1\n"}},
    {.name = "the other lane awaited the opening, unknown to this one",
     .fault = TT_FAULT_UNOPENED,
     BCAST,
     .plan = {"opens OUT\nlane 0\n signal 1 1\n await 1.1 1\n",
              "lane 0\n await 0 1\nlane 1\n copy OUT[0] <- OUT@0[0] len 8\n signal 0 1\n"}},
    {.name = "a peer's buffer used after its end",
     .fault = TT_FAULT_CLOSED,
     ALLREDUCE,
     .plan = {OPEN_0 BOTH_0, OPEN_1 BOTH_1 CLOSE_1 " copy OUT[0] <- OUT[0] len 8\n"}},
    {.name = "an end that awaits a signal given too early",
     .fault = TT_FAULT_CLOSED,
     .says = "rank 1 ends while rank 0",
     ALLREDUCE,
     .plan = {OPEN_0 " signal 1 2\n" BOTH_0 " await 1 2\n", OPEN_1 BOTH_1 CLOSE_1}},
    {.name = "a window on another node",
     .fault = TT_FAULT_REACH,
     ALLREDUCE,
     .remote = true,
     .plan = {WIN_0 DONE_0, WIN_1 DONE_1}},
    {.name = "reading that the map does not allow",
     .fault = TT_FAULT_REACH,
     ALLREDUCE,
     .unread = true,
     .plan = {OPEN_0 BOTH_0 CLOSE_0, OPEN_1 BOTH_1 CLOSE_1}},
};

static void judge(const struct hand *h, size_t n)
{
    for (size_t i = 0; i < n; i++) hand_judged(&h[i]);
}

static void wrong_data(void **state)
{
    (void)state;
    judge(data, sizeof data / sizeof *data);
}

static void no_progress(void **state)
{
    (void)state;
    judge(progress, sizeof progress / sizeof *progress);
}

static void wrong_memory(void **state)
{
    (void)state;
    judge(memory, sizeof memory / sizeof *memory);
}

/* Checks that data which execution 0 left in a window do not count as data of the next execution,
 * even if the bytes are right: in the rank's own window, and in that of another rank. */
static void stale_window(void **state)
{
    (void)state;
    const struct hand fills = {.name = "fills", ALLREDUCE, .plan = {WIN_0 DONE_0, WIN_1 DONE_1}};
    const struct hand forgets_own = {
        .name = "forgets to fill the own window",
        ALLREDUCE,
        .plan = {"lane 0\n copy WIN[8] <- IN[0] len 8\n signal 1 1\n await 1 1\n"
                 " reduce OUT[0] <- WIN[0] sum WIN@1[0] len 8\n",
                 WIN_1 " reduce OUT[0] <- WIN@0[8] sum IN[0] len 8\n"}};
    const struct hand forgets = {
        .name = "forgets to fill the window for the other rank",
        ALLREDUCE,
        .plan = {WIN_0 DONE_0,
                 "lane 0\n copy WIN[8] <- IN[0] len 8\n signal 0 1\n await 0 1\n" DONE_1}};
    struct tt_proof proof = hand_sequence(&fills, 4, &forgets_own);
    assert_int_equal(proof.fault, TT_FAULT_WRONG);
    assert_int_equal(proof.execution, 4);
    assert_non_null(strstr(proof.text, "rank 0's input in execution 0"));
    proof = hand_sequence(&fills, 4, &forgets);
    assert_int_equal(proof.fault, TT_FAULT_UNWRITTEN);
    assert_int_equal(proof.execution, 4);
    assert_non_null(strstr(proof.text, "WIN[0..8) of rank 1"));
}

/* Checks that the tables contain every kind of fault. */
static void every_kind_occurs(void **state)
{
    (void)state;
    bool seen[TT_FAULTS] = {true};
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) seen[data[i].fault] = true;
    for (size_t i = 0; i < sizeof progress / sizeof *progress; i++) seen[progress[i].fault] = true;
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) seen[memory[i].fault] = true;
    for (int i = 0; i < TT_FAULTS; i++)
        if (!seen[i]) fail_msg("no case of %s", tt_fault_name((enum tt_fault)i));
}

/* Checks the position in a report: execution, rank, lane and step. */
static void report_tells_where(void **state)
{
    (void)state;
    struct tt_proof proof = hand_proof(&memory[0]);
    assert_int_equal(proof.execution, 0);
    assert_int_equal(proof.lane, 0);
    assert_true(proof.rank >= 0 && proof.step >= 0);
    assert_non_null(strstr(proof.text, "step"));
    assert_string_equal(tt_fault_name(TT_FAULT_RACE), "RACE");
    assert_string_equal(tt_fault_text(TT_FAULT_RACE), "race");
    assert_string_equal(tt_fault_name(TT_FAULTS), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_data),         cmocka_unit_test(no_progress),
        cmocka_unit_test(wrong_memory),       cmocka_unit_test(every_kind_occurs),
        cmocka_unit_test(report_tells_where), cmocka_unit_test(stale_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
