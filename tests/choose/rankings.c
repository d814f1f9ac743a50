/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rankings that are kept for the next job: they are found again and computed no more, and a line
 * that is damaged, or about something else, changes no choice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "choose/choose.h"
#include "choose/rankings.h"
#include "model.h"
#include "text/problem.h"

static char folder[] = "/tmp/tutti-rankings-XXXXXX", path[64];
static struct tt_rankings all;

static struct tt_call call_of(const char *text)
{
    struct tt_problem problem;
    assert_int_equal(tt_problem_parse(text, &problem, NULL), TUTTI_OK);
    return problem.call;
}

static const char *const problems[] = {"barrier/p3", "bcast/u8/8/p3", "bcast/u8/64K/p3",
                                       "allreduce/f64/sum/8/p3", "allreduce/f64/user/1M/p3"};
enum { PROBLEMS = sizeof problems / sizeof *problems, SHAPES = 3 };

/* Makes a choice for each problem with the rankings `all`, and checks that it is the same as
 * without any rankings. Returns how many entries of rankings had to be computed. An entry is an
 * algorithm in a ranking; it is computed when a call first needs it (base/rankings.h). */
static uint32_t choose_all(const struct tt_map *map)
{
    uint32_t before = all.computed;
    for (int i = 0; i < PROBLEMS; i++) {
        struct tt_call call = call_of(problems[i]);
        const struct tt_algorithm *a = tt_estimate(&all, &call, map, NULL);
        assert_non_null(a);
        assert_ptr_equal(a, tt_estimate(NULL, &call, map, NULL));
    }
    return all.computed - before;
}

/* Loads the rankings as a job of three ranks does. Returns how many it has loaded. */
static int load_for(const struct tt_machine *m)
{
    memset(&all, 0, sizeof all);
    tt_rankings_load(m, 3, &all);
    assert_int_equal(all.n, all.given);
    return all.given;
}

static void expect_lines(const struct tt_machine *m, int lines, int fit)
{
    char why[TT_FILE_WHY];
    int is, fits;
    if (!tt_rankings_count(path, m, &is, &fits, why)) fail_msg("%s", why);
    assert_int_equal(is, lines);
    assert_int_equal(fits, fit);
}

static void write_text(const char *text, size_t n)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static char *read_text(void)
{
    char why[TT_FILE_WHY];
    bool missing;
    char *text = tt_file_read(path, 1 << 20, &missing, why);
    if (!text) fail_msg("%s", why);
    return text;
}

static void keep_anew(const struct tt_map *map)
{
    (void)unlink(path);
    memset(&all, 0, sizeof all);
    assert_in_range(choose_all(map), PROBLEMS, PROBLEMS + TT_RANKED);
    tt_rankings_keep(map->machine, &all);
}

static void found_again(void **state)
{
    (void)state;
    struct tt_machine m = measured_model();
    struct tt_map map = map_of(3, 2, &m);
    keep_anew(&map);
    expect_lines(&m, SHAPES, SHAPES);
    assert_int_equal(load_for(&m), SHAPES);
    assert_int_equal(choose_all(&map), 0);
    struct stat before, after;
    assert_int_equal(stat(path, &before), 0);
    tt_rankings_keep(&m, &all); /* nothing was computed, so the file stays */
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    /* A job of fewer ranks has no team of three, so it gets none of these lines. */
    memset(&all, 0, sizeof all);
    tt_rankings_load(&m, 2, &all);
    assert_int_equal(all.given, 0);
    tt_rankings_load(&m, 4, &all);
    assert_int_equal(all.given, SHAPES);
}

static uint64_t hash(const char *text, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    return h;
}

/* Writes the lines of `text` to the file, but with `value` as the value of the key, and with right
 * checksums, as another version or build would have written them. */
static void forge(const char *text, const char *key, const char *value)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        char forged[4096];
        const char *at = strstr(line, key), *check = strstr(line, "check=");
        assert_true(at && at < end && check < end);
        at += strlen(key);
        int n = snprintf(forged, sizeof forged, "%.*s%s%.*s", (int)(at - line), line, value,
                         (int)(check - at - (int)strcspn(at, " ")), at + strcspn(at, " "));
        fprintf(file, "%scheck=%016" PRIx64 "\n", forged, hash(forged, (size_t)n));
    }
    assert_int_equal(fclose(file), 0);
}

/* Checks that a line that was computed under another model, by another version or another build is
 * not used, and that a new line replaces it. */
static void other_origins_are_ignored(void **state)
{
    (void)state;
    static const char *const key[] = {"model=", "tutti=", "build="};
    struct tt_machine m = measured_model(), other = m;
    other.number[0]++;
    struct tt_map map = map_of(3, 2, &m);
    keep_anew(&map);
    char *text = read_text();
    expect_lines(&other, SHAPES, 0);
    assert_int_equal(load_for(&other), 0);
    for (int i = 0; i < 3; i++) {
        forge(text, key[i], "0123456789abcdef");
        expect_lines(&m, SHAPES, 0);
        assert_int_equal(load_for(&m), 0);
        assert_in_range(choose_all(&map), PROBLEMS, PROBLEMS + TT_RANKED);
        tt_rankings_keep(&m, &all);
        expect_lines(&m, SHAPES, SHAPES);
    }
    forge(text, "cores=", "2"); /* the true value, so the lines are used: this shows that the
                                 * forged checksums are right */
    expect_lines(&m, SHAPES, SHAPES);
    tt_free(text);
}

/* Checks that a line is used for its own shape only. */
static void other_shapes_are_computed(void **state)
{
    enum { OTHERS = 6 };
    (void)state;
    struct tt_machine m = measured_model();
    struct tt_map map = map_of(3, 2, &m), other[OTHERS];
    struct tt_call call = call_of("bcast/u8/64K/p3");
    keep_anew(&map);
    for (int i = 0; i < OTHERS; i++) other[i] = map;
    other[0].cores = 3;
    other[1].win_bytes /= 2;
    other[2].reads = false;
    other[3].writes = false;
    other[4].mapped = true;
    other[5].read_cost = 2;
    for (int i = 0; i < OTHERS; i++) {
        assert_int_equal(load_for(&m), SHAPES);
        assert_in_range(choose_all(&other[i]), PROBLEMS, PROBLEMS + TT_RANKED);
    }
    for (int i = 0; i < 3; i++) {
        struct tt_call c = call;
        assert_int_equal(load_for(&m), SHAPES);
        if (i == 0) c.slice = 4096;
        if (i == 1) c.radix = 4;
        if (i == 2) c.shared = true;
        assert_ptr_equal(tt_estimate(&all, &c, &map, NULL), tt_estimate(NULL, &c, &map, NULL));
        assert_true(all.computed > 0);
    }
}

/* Checks that rankings are the same for maps that differ only in numbers on which no ranking
 * depends. The cost of reading, which each job measures anew, is one of them where ranks load from
 * each other's buffers. */
static void the_rest_does_not_matter(void **state)
{
    (void)state;
    struct tt_machine m = measured_model();
    static struct tt_rankings one, two;
    struct tt_map map = map_of(4, 2, &m), other = map;
    int node[4] = {0};
    map.mapped = true;
    other = map;
    other.read_cost = 5;
    other.one_kernel = other.rdma = other.measures = true;
    other.node = node;
    for (int c = 0; c < TT_COLLS; c++) {
        bool reduces = tt_coll_has_op((enum tt_coll)c);
        if (tt_coll_pairs((enum tt_coll)c)) continue;
        for (int log2 = 3; log2 <= 21; log2 += 6) {
            struct tt_call call = {.coll = (enum tt_coll)c,
                                   .type = reduces ? TUTTI_F64 : TUTTI_U8,
                                   .op = TUTTI_SUM,
                                   .commutes = true,
                                   .n = c == TT_COLL_barrier ? 0 : (1 << log2) / (reduces ? 8 : 1),
                                   .sz = reduces ? 8 : 1};
            const int64_t counts[4] = {call.n, call.n, call.n, call.n};
            if (tt_call_counts(&call)) call.out_counts = call.out_displs = counts;
            (void)tt_estimate(&one, &call, &map, NULL);
            (void)tt_estimate(&two, &call, &other, NULL);
        }
    }
    assert_true(one.n > 10);
    assert_int_equal(one.n, two.n);
    assert_memory_equal(one.ranking, two.ranking, sizeof one.ranking);
}

/* Checks that a damaged file changes no choice, wherever the file ends and whichever byte of it is
 * wrong: only complete lines are used. */
static void damage_is_harmless(void **state)
{
    (void)state;
    struct tt_machine m = measured_model();
    struct tt_map map = map_of(3, 2, &m);
    keep_anew(&map);
    char *text = read_text();
    size_t n = strlen(text);
    for (size_t end = 0; end < n; end++) {
        int whole = 0;
        for (size_t i = 0; i <= end; i++) whole += text[i] == '\n';
        write_text(text, end);
        assert_int_equal(load_for(&m), whole);
        if (end % 97 == 0) choose_all(&map);
    }
    for (size_t at = 0; at < n; at++) {
        char was = text[at];
        text[at] = " =/,p9K\n"[at % 8];
        write_text(text, n);
        if (text[at] != was) assert_in_range(load_for(&m), SHAPES - 2, SHAPES - (was != '\n'));
        if (at % 97 == 0) choose_all(&map);
        text[at] = was;
    }
    tt_free(text);
    write_text("foreign\nx=", 10);
    assert_int_equal(load_for(&m), 0);
    choose_all(&map);
    tt_rankings_keep(&m, &all);
    expect_lines(&m, SHAPES + 2, SHAPES); /* lines of unknown origin stay */
}

/* WRITERS processes write to the file at the same time. Each of them computes rankings for EACH
 * sizes of a shape that all processes have, and of a shape of its own. */
enum { WRITERS = 4, EACH = 6 };

static void write_some(int writer)
{
    struct tt_machine m = measured_model();
    struct tt_map map = map_of(3, 2, &m), own = map_of(4 + writer, 2, &m);
    for (int i = 0; i < EACH; i++) {
        char text[64];
        memset(&all, 0, sizeof all);
        snprintf(text, sizeof text, "bcast/u8/%d/p3", 8 << (writer + i * WRITERS) % 20);
        struct tt_call call = call_of(text);
        if (!tt_estimate(&all, &call, &map, NULL) || !tt_estimate(&all, &call, &own, NULL))
            _exit(1);
        tt_rankings_keep(&m, &all);
    }
    _exit(0);
}

static void writers_at_once(void **state)
{
    (void)state;
    struct tt_machine m = measured_model();
    struct tt_map map = map_of(3, 2, &m);
    (void)unlink(path);
    for (int w = 0; w < WRITERS; w++) {
        pid_t pid = fork();
        assert_int_not_equal(pid, -1);
        if (pid == 0) write_some(w);
    }
    for (int w = 0; w < WRITERS; w++) {
        int code;
        assert_int_not_equal(wait(&code), -1);
        assert_int_equal(code, 0);
    }
    expect_lines(&m, 1 + WRITERS, 1 + WRITERS);
    load_for(&m);
    for (int log2 = 3; log2 < 23; log2++) {
        char text[64];
        snprintf(text, sizeof text, "bcast/u8/%d/p3", 1 << log2);
        struct tt_call call = call_of(text);
        assert_non_null(tt_estimate(&all, &call, &map, NULL));
    }
    assert_int_equal(all.computed, 0);
}

/* Keeps the rankings on a disk that is full: writing fails after the first bytes. */
static void keep_on_full_disk(const struct tt_machine *m)
{
    const struct rlimit few = {64, 64};
    int code;
    pid_t pid = fork();
    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        if (setrlimit(RLIMIT_FSIZE, &few) == 0) tt_rankings_keep(m, &all);
        _exit(0);
    }
    assert_int_not_equal(wait(&code), -1);
    assert_int_equal(code, 0);
}

/* Checks that, if the file cannot be read or written, all rankings are computed, and the file
 * stays. */
static void no_file_is_harmless(void **state)
{
    (void)state;
    struct tt_machine m = measured_model();
    struct tt_map map = map_of(3, 2, &m);
    (void)unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(load_for(&m), 0);
    choose_all(&map);
    tt_rankings_keep(&m, &all);
    assert_int_equal(rmdir(path), 0);
    write_text("occupied\n", 9);
    keep_on_full_disk(&m);
    expect_lines(&m, 1, 0);
    tt_rankings_keep(&m, &all);
    expect_lines(&m, 1 + SHAPES, SHAPES);
}

/* Checks that, if there are too many shapes, rankings that this rank has computed are forgotten,
 * and the rankings from the file stay. A rank that has had fewer shapes still chooses by the
 * rankings from the file, and all ranks must choose alike. */
static void room_is_bounded(void **state)
{
    (void)state;
    struct tt_machine m = measured_model();
    struct tt_map map = map_of(3, 2, &m);
    struct tt_call call = call_of("barrier/p3");
    keep_anew(&map);
    assert_int_equal(load_for(&m), SHAPES);
    for (int i = 1; i < 3 * TT_RANKINGS_MOST; i++) {
        call.radix = i + 1;
        assert_non_null(tt_estimate(&all, &call, &map, NULL));
    }
    assert_int_equal(all.n, TT_RANKINGS_MOST);
    assert_true(all.forgotten > 0);
    assert_int_equal(choose_all(&map), 0);
}

static void choose_barrier(const struct tt_map *map, int32_t radix)
{
    struct tt_call call = call_of("barrier/p3");
    call.radix = radix;
    assert_non_null(tt_estimate(&all, &call, map, NULL));
}

/* Checks that, if the file has more lines than a job takes, the newest lines are used. */
static void newest_lines_are_given(void **state)
{
    (void)state;
    struct tt_machine m = measured_model();
    struct tt_map map = map_of(3, 2, &m);
    (void)unlink(path);
    memset(&all, 0, sizeof all);
    for (int32_t radix = 2; radix < 2 + TT_RANKINGS_GIVEN; radix++) choose_barrier(&map, radix);
    tt_rankings_keep(&m, &all);
    assert_int_equal(load_for(&m), TT_RANKINGS_GIVEN);
    choose_barrier(&map, 1000);
    assert_int_equal(all.computed, 1);
    tt_rankings_keep(&m, &all);
    expect_lines(&m, TT_RANKINGS_GIVEN + 1, TT_RANKINGS_GIVEN + 1);
    assert_int_equal(load_for(&m), TT_RANKINGS_GIVEN);
    choose_barrier(&map, 1000);
    assert_int_equal(all.computed, 0);
    choose_barrier(&map, 2); /* the oldest line was not loaded */
    assert_int_equal(all.computed, 1);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/rankings", folder);
    return setenv("TUTTI_RANKINGS", path, 1);
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder); /* fails if another file is left in the folder */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_again),
        cmocka_unit_test(other_origins_are_ignored),
        cmocka_unit_test(other_shapes_are_computed),
        cmocka_unit_test(the_rest_does_not_matter),
        cmocka_unit_test(damage_is_harmless),
        cmocka_unit_test(writers_at_once),
        cmocka_unit_test(no_file_is_harmless),
        cmocka_unit_test(room_is_bounded),
        cmocka_unit_test(newest_lines_are_given),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
