/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests the file of decisions (src/mpi/kept.h): a job reads only the decisions that were written at
 * the same place, which is the host MPI, the version of Tutti and the number of processors. Lines
 * of other places stay in the file, and no text in the file does harm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache-file.h"
#include "mpi/kept.h"

static const struct tt_mpi_place here = {.host = "mpi-v1", .version = "1.2.3", .cores = 2};
static char folder[] = "/tmp/tutti-kept-XXXXXX", path[64];

void tt_mpi_say(const char *format, ...)
{
    (void)format; /* the tests read the file, and not the messages */
}

/* Reads the environment in the folder, in which the path of the file begins, as at the beginning of
 * MPI, and leaves the folder, as a program may do. Returns 0 on success. */
static int begin_elsewhere(void)
{
    static struct tt_mpi_kept kept;
    if (setenv("TUTTI_MPI_WISDOM", "decisions", 1) != 0 || chdir(folder) != 0) return -1;
    tt_mpi_kept_read(&here, &kept);
    return chdir("/");
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/decisions", folder);
    return begin_elsewhere();
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

static struct tt_mpi_keep keep_of(int shape, int ranks, const char *layout, int tutti)
{
    struct tt_mpi_keep keep = {.ranks = ranks,
                               .decision = {.shape = shape,
                                            .tutti = tutti,
                                            .host_ns = tutti ? 2500 : 1000,
                                            .tutti_ns = tutti ? 1250 : 4321}};
    snprintf(keep.layout, sizeof keep.layout, "%s", layout);
    return keep;
}

static int shape_of(int i)
{
    return tt_mpi_shape_of((enum tt_mpi_index)(i % TT_MPI_INDEXES), i % 2,
                           INT64_C(1) << (i % (TT_MPI_MAGNITUDES - 1)));
}

static const char *layout_of(int i)
{
    static const char *const layout[] = {"", "2,2", "4,2,1,1"};
    return layout[i % 3];
}

/* Writes n decisions, some at a time, as several programs would do one after the other. */
static void write_some(int n)
{
    for (int first = 0; first < n; first += 7) {
        struct tt_mpi_kept made = {.n = 0};
        for (int i = first; i < first + 7 && i < n; i++) {
            struct tt_mpi_keep keep = keep_of(shape_of(i), 2 + i % 3, layout_of(i), i % 5 == 0);
            tt_mpi_kept_add(&made, &keep);
        }
        tt_mpi_kept_write(&here, &made);
    }
}

/* Returns the decision on a shape for this number of ranks and for nodes with the numbers of ranks
 * that `layout` lists ("4,2,1,1"); NULL: there is none. */
static const struct tt_mpi_decision *find(const struct tt_mpi_kept *kept, int ranks,
                                          const char *layout, int shape)
{
    for (int i = 0; i < kept->n; i++) {
        const struct tt_mpi_keep *keep = &kept->entry[i];
        if (keep->ranks == ranks && keep->decision.shape == shape &&
            strcmp(keep->layout, layout) == 0)
            return &keep->decision;
    }
    return NULL;
}

static void reads_what_it_wrote(void **state)
{
    (void)state;
    static struct tt_mpi_kept kept;
    write_some(200);
    write_some(200); /* replaces the decisions of the first call */
    tt_mpi_kept_read(&here, &kept);
    assert_int_equal(kept.n, 200);
    for (int i = 0; i < 200; i++) {
        const struct tt_mpi_decision *d = find(&kept, 2 + i % 3, layout_of(i), shape_of(i));
        struct tt_mpi_keep keep = keep_of(shape_of(i), 2 + i % 3, layout_of(i), i % 5 == 0);
        assert_non_null(d);
        assert_memory_equal(d, &keep.decision, sizeof *d);
    }
    assert_null(find(&kept, 5, "", shape_of(0)));
    assert_null(find(&kept, 2, "1,1", shape_of(0)));
}

/* Tests that the last TT_MPI_KEPT decisions are read if a file has more. */
static void reads_the_last(void **state)
{
    (void)state;
    static struct tt_mpi_kept kept;
    const struct tt_mpi_place other = {.host = "mpi-v9", .version = "9", .cores = 2};
    for (int i = 0; i < TT_MPI_KEPT + 8; i += 8) {
        struct tt_mpi_kept made = {.n = 0};
        for (int j = i; j < i + 8; j++) {
            struct tt_mpi_keep keep = keep_of(shape_of(0), 2 + j, "", 0);
            tt_mpi_kept_add(&made, &keep);
        }
        tt_mpi_kept_write(&other, &made);
    }
    tt_mpi_kept_read(&other, &kept);
    assert_int_equal(kept.n, TT_MPI_KEPT);
    assert_null(find(&kept, 2 + 7, "", shape_of(0)));
    for (int j = 8; j < TT_MPI_KEPT + 8; j++) assert_non_null(find(&kept, 2 + j, "", shape_of(0)));
}

/* Tests that a decision is read only for the same host MPI, version and number of processors. */
static void ignores_other_places(void **state)
{
    (void)state;
    static struct tt_mpi_kept kept;
    struct tt_mpi_place other[3] = {here, here, here};
    strcpy(other[0].host, "mpi-v2");
    strcpy(other[1].version, "1.2.4");
    other[2].cores = 1;
    for (int i = 0; i < 3; i++) {
        tt_mpi_kept_read(&other[i], &kept);
        assert_int_equal(kept.n, 0);
    }
    struct tt_mpi_kept made = {.n = 1, .entry = {keep_of(shape_of(0), 2, "", 0)}};
    tt_mpi_kept_write(&other[0], &made);
    tt_mpi_kept_read(&here, &kept);
    assert_int_equal(kept.n, 200);
    assert_true(find(&kept, 2, "", shape_of(0))->tutti);
}

/* Tests that no decision is kept if the bytes of the calls are unknown, or if Tutti and the host
 * MPI are about equally fast. */
static void keeps_what_is_clear(void **state)
{
    (void)state;
    struct tt_mpi_kept made = {.n = 0};
    struct tt_mpi_keep keep = keep_of(tt_mpi_shape_of(TT_MPI_INDEX_Alltoallv, false, 0), 2, "", 1);
    tt_mpi_kept_add(&made, &keep);
    assert_int_equal(made.n, 0);
    keep = keep_of(tt_mpi_shape_of(TT_MPI_INDEX_Barrier, false, 0), 2, "", 1);
    keep.decision.host_ns = 1000;
    for (keep.decision.tutti_ns = 1000; keep.decision.tutti_ns > 900; keep.decision.tutti_ns--)
        tt_mpi_kept_add(&made, &keep);
    assert_int_equal(made.n, 0);
    tt_mpi_kept_add(&made, &keep);
    assert_int_equal(made.n, 1);
}

static void write_text(const char *text, size_t n)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

/* Tests that every text is read without harm, and that changing one byte of a text changes at most
 * one decision. */
static void reads_any_text(void **state)
{
    (void)state;
    static struct tt_mpi_kept kept;
    bool missing;
    char why[TT_FILE_WHY], *text = tt_file_read(path, 1 << 20, &missing, why);
    assert_non_null(text);
    size_t n = strlen(text);
    unsigned seed = 1;
    for (int round = 0; round < 300; round++) {
        seed = seed * 1664525u + 1013904223u;
        size_t at = (seed >> 8) % n;
        char was = text[at];
        text[at] = round % 3 ? " ,/=p9K@\n"[seed % 9] : (char)(seed >> 24);
        write_text(text, n);
        tt_mpi_kept_read(&here, &kept);
        assert_in_range(kept.n, text[at] ? 198 : 0, 201);
        for (int i = 0; i < kept.n; i++) {
            assert_in_range(kept.entry[i].decision.shape, 0, TT_MPI_SHAPES - 1);
            assert_in_range(kept.entry[i].ranks, 2, 1 << 20);
        }
        text[at] = was;
    }
    free(text);
}

static void survives_bad_files(void **state)
{
    (void)state;
    static struct tt_mpi_kept kept;
    struct tt_mpi_kept made = {.n = 1, .entry = {keep_of(shape_of(0), 2, "", 1)}};
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    tt_mpi_kept_read(&here, &kept);
    assert_int_equal(kept.n, 0);
    tt_mpi_kept_write(&here, &made);
    assert_int_equal(rmdir(path), 0);
    setenv("TUTTI_MPI_WISDOM", "0", 1);
    tt_mpi_kept_read(&here, &kept);
    tt_mpi_kept_write(&here, &made);
    assert_int_equal(access("0", F_OK), -1);
    assert_int_equal(access(path, F_OK), -1);
    setenv("TUTTI_MPI_WISDOM", "decisions", 1);
    tt_mpi_kept_read(&here, &kept);
    setenv("TUTTI_MPI_WISDOM", "0", 1); /* changed by the program, which does not matter */
    write_text("foreign\n", 8);
    tt_mpi_kept_write(&here, &made);
    setenv("TUTTI_MPI_WISDOM", "decisions", 1);
    tt_mpi_kept_read(&here, &kept);
    assert_int_equal(kept.n, 1);
    char line[16];
    FILE *file = fopen(path, "r");
    assert_string_equal(fgets(line, sizeof line, file), "foreign\n");
    fclose(file);
}

/* The user names no file any more, but `path` stays the file, because tt_setting has read its name
 * before. */
static void keeps_no_times_of_other_settings(void **state)
{
    (void)state;
    static struct tt_mpi_kept kept;
    struct tt_mpi_kept made = {.n = 1, .entry = {keep_of(shape_of(0), 2, "", 1)}};
    assert_int_equal(unlink(path), 0);
    unsetenv("TUTTI_MPI_WISDOM");
    unsetenv("TUTTI_YIELDS");
    setenv("TUTTI_WINDOW", "64K", 1);
    tt_mpi_kept_read(&here, &kept);
    unsetenv("TUTTI_WINDOW");
    tt_mpi_kept_write(&here, &made);
    assert_int_equal(access(path, F_OK), -1);
    setenv("TUTTI_WINDOW", "128K", 1); /* the default */
    tt_mpi_kept_read(&here, &kept);
    tt_mpi_kept_write(&here, &made);
    assert_int_equal(access(path, F_OK), 0);
    setenv("TUTTI_MPI_WISDOM", "decisions", 1);
}

static void describes_nodes(void **state)
{
    (void)state;
    static const int node[] = {0, 0, 2, 2, 4, 0}, ranks[] = {2, 3, 0, 1}, apart[] = {0, 2, 1};
    char text[TT_MPI_LAYOUT];
    assert_true(tt_mpi_nodes_of(2, NULL, node, text));
    assert_string_equal(text, "");
    assert_true(tt_mpi_nodes_of(5, NULL, node, text));
    assert_string_equal(text, "2,2,1");
    assert_true(tt_mpi_nodes_of(4, ranks, node, text));
    assert_string_equal(text, "2,2");
    assert_false(tt_mpi_nodes_of(6, NULL, node, text));
    assert_false(tt_mpi_nodes_of(3, apart, node, text));
    int many[64];
    for (int i = 0; i < 64; i++) many[i] = i;
    assert_false(tt_mpi_nodes_of(64, NULL, many, text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_what_it_wrote),
                                       cmocka_unit_test(reads_the_last),
                                       cmocka_unit_test(ignores_other_places),
                                       cmocka_unit_test(keeps_what_is_clear),
                                       cmocka_unit_test(reads_any_text),
                                       cmocka_unit_test(survives_bad_files),
                                       cmocka_unit_test(keeps_no_times_of_other_settings),
                                       cmocka_unit_test(describes_nodes)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
