/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a rank fills its windows (run/filling.h) while ranks move to other processors: which kind of
 * stores it uses, after how many bytes it finds that the other kind is faster, and when it does not
 * try that kind. The clock is this test's, and each kind of stores takes as long as the test says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base.h"
#include "run/filling.h"

enum {
    PIECE = TT_FILLING_PIECE,
    /* bytes of the shortest store that a trial can time: one piece with each kind of stores */
    LONG = 2 * PIECE,
    TRIAL = TT_FILLING_TRIES,
    EVERY = TT_FILLING_EVERY / LONG, /* stores between two trials */
    ROUND = EVERY + TRIAL
};

/* The clock; the time that a piece takes with plain stores, and with stores that bypass caches. */
static int64_t now, plain_ns, past_ns;
static int64_t past_bytes;

int64_t __wrap_tt_clock_ns(void);
int64_t __wrap_tt_clock_ns(void)
{
    return now;
}

static void store(void *what, bool past, int64_t n)
{
    int64_t *stored = what;
    *stored += n;
    now += past ? past_ns : plain_ns;
    if (past) past_bytes += n;
}

/* Stores n bytes, `times` times. Returns how many of all these bytes bypassed the caches. */
static int64_t past(struct tt_filling *f, int times, int64_t n)
{
    past_bytes = 0;
    for (int i = 0; i < times; i++) {
        int64_t stored = 0;
        tt_filling_all(f, store, &stored, n, 1);
        assert_int_equal(stored, n);
    }
    return past_bytes;
}

static void takes(int64_t plain, int64_t bypassing)
{
    plain_ns = plain;
    past_ns = bypassing;
}

/* Returns the state of a team that has stored as many bytes as precede its first trial. slow: the
 * ranks found in tutti_init that plain stores are slow, so the team begins with stores that bypass
 * the caches. */
static struct tt_filling used(bool slow)
{
    struct tt_filling f = tt_filling(slow, false);
    assert_int_equal(past(&f, EVERY, LONG), slow ? EVERY * LONG : 0);
    return f;
}

static void follows_the_processors(void **state)
{
    (void)state;
    struct tt_filling f = used(false);
    takes(1000, 800);
    assert_int_equal(past(&f, ROUND, LONG), TRIAL * PIECE);
    takes(4000, 1000);
    assert_int_equal(past(&f, TRIAL, LONG), TRIAL * PIECE);
    assert_int_equal(past(&f, EVERY, LONG), EVERY * LONG);
    takes(800, 1000);
    assert_int_equal(past(&f, TRIAL, LONG), TRIAL * PIECE);
    assert_int_equal(past(&f, EVERY, LONG), 0);
}

static void keeps_what_is_about_as_good(void **state)
{
    (void)state;
    takes(1900, 1000);
    struct tt_filling plain = used(false), streams = used(true);
    assert_int_equal(past(&plain, ROUND, LONG), TRIAL * PIECE);
    assert_int_equal(past(&streams, ROUND, LONG), ROUND * LONG - TRIAL * PIECE);
}

/* Checks that one interruption, by another process, changes no kind of stores. The first piece that
 * is stored by the kind of stores in use, or by the other kind, takes very long. */
static void minds_no_interruption(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        struct tt_filling f = used(slow);
        takes(slow ? 1000 : 50000, slow ? 50000 : 1000);
        (void)past(&f, 1, LONG);
        takes(slow ? 2000 : 800, 1000);
        (void)past(&f, TRIAL - 1, LONG);
        assert_int_equal(past(&f, EVERY, LONG), slow ? EVERY * LONG : 0);
    }
}

/* Checks that plain stores count as slow if only some pieces of a trial are slow: the lines of the
 * other pieces have dropped out of the caches of all ranks. A message of four slices alternates
 * between two such slices and two others. */
static void minds_no_dropped_lines(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        for (int first = 0; first < 4; first++) {
            struct tt_filling f = used(slow);
            for (int i = 0; i < TRIAL; i++) {
                takes((first + i) % 4 < 2 ? 900 : 4000, 1000);
                (void)past(&f, 1, LONG);
            }
            takes(900, 1000);
            assert_int_equal(past(&f, EVERY, LONG), EVERY * LONG);
        }
    }
}

/* Checks that a trial times only two pieces of a long store, and none of a short one. */
static void pieces_are_tried(void **state)
{
    (void)state;
    enum { MORE = 1000 };
    takes(1000, 800);
    struct tt_filling f = used(false);
    assert_int_equal(past(&f, 1, LONG + MORE), PIECE);
    f = tt_filling(false, false);
    takes(4000, 1000);
    assert_int_equal(past(&f, 2 * ROUND, LONG - 1), 0);
}

/* Checks that a trial divides no element: with elements of 24 bytes a piece is 8184 bytes, and an
 * element that is longer than a piece is not timed. */
static void elements_stay_whole(void **state)
{
    (void)state;
    takes(1000, 800);
    struct tt_filling f = used(false);
    int64_t stored = 0;
    past_bytes = 0;
    tt_filling_all(&f, store, &stored, 24 * 1000, 24);
    assert_int_equal(stored, 24 * 1000);
    assert_int_equal(past_bytes, 8184);
    tt_filling_all(&f, store, &stored, 4 * (PIECE + 8), PIECE + 8);
    assert_int_equal(past_bytes, 8184);
}

static void what_is_fixed_stays(void **state)
{
    (void)state;
    takes(4000, 1000);
    struct tt_filling f = tt_filling(false, true);
    assert_int_equal(past(&f, 2 * ROUND, LONG), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_the_processors), cmocka_unit_test(keeps_what_is_about_as_good),
        cmocka_unit_test(minds_no_interruption),  cmocka_unit_test(minds_no_dropped_lines),
        cmocka_unit_test(pieces_are_tried),       cmocka_unit_test(elements_stay_whole),
        cmocka_unit_test(what_is_fixed_stays),
    };
    return TT_STREAMS ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
