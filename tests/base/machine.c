/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests the machine model: the times for sizes between those of a table, and the model file, which
 * must be read as it was written, and refused with a reason if it does not fit. Also tests files of
 * lines, which several processes change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/machine.h"

static char folder[] = "/tmp/tutti-machine-XXXXXX";
static char path[TT_MACHINE_PATH];

static struct tt_machine some(void)
{
    struct tt_machine m = {0};
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++) m.number[i] = 10000 + i;
    for (int t = 0; t < TT_MACHINE_TABLES_N; t++)
        for (int i = 0; i < TT_MACHINE_POINTS; i++) m.table[t][i] = (t + 1) * tt_machine_bytes[i];
    for (int i = 0; i < TT_MACHINE_POINTS; i++)
        m.table[TT_MACHINE_copy_shared][i] = m.table[TT_MACHINE_read_shared][i] = 1000;
    return m;
}

static void interpolates(void **state)
{
    (void)state;
    struct tt_machine m = some();
    enum tt_machine_table table = TT_MACHINE_copy_cached_memory; /* this table has 2 ps for each
                                                                  * byte */
    assert_int_equal(tt_machine_time(&m, table, 0), 0);
    assert_int_equal(tt_machine_time(&m, table, 1), 2 * 8);
    assert_int_equal(tt_machine_time(&m, table, 8), 2 * 8);
    assert_int_equal(tt_machine_time(&m, table, 4096), 2 * 4096);
    assert_int_equal(tt_machine_time(&m, table, 100000), 2 * 100000);
    assert_int_equal(tt_machine_time(&m, table, INT64_C(1) << 40), INT64_C(2) << 40);
}

/* Checks that the largest times and sizes do not overflow. */
static void is_bounded(void **state)
{
    (void)state;
    struct tt_machine m = some();
    for (int i = 0; i < TT_MACHINE_POINTS; i++) m.table[0][i] = TT_MACHINE_MOST;
    assert_true(tt_machine_valid(&m));
    assert_int_equal(tt_machine_time(&m, 0, 5000), TT_MACHINE_MOST);
    assert_int_equal(tt_machine_time(&m, 0, 12 << 20), 3 * TT_MACHINE_MOST);
    assert_int_equal(tt_machine_time(&m, 0, INT64_C(1) << 40), TT_MACHINE_LONGEST);
    assert_int_equal(tt_machine_time(&m, 0, INT64_MAX), TT_MACHINE_LONGEST);
    m.table[0][3] = TT_MACHINE_MOST + 1;
    assert_false(tt_machine_valid(&m));
    m.table[0][3] = 0;
    assert_false(tt_machine_valid(&m));
}

/* Checks that a model is refused if an entry is below the least value that a real machine could
 * have, or above the greatest one. */
static void is_credible(void **state)
{
    (void)state;
    char why[TT_MACHINE_WHY];
    struct tt_machine good = some(), slowed = good;
    assert_true(tt_machine_credible(&good, why));
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++) {
        struct tt_machine m = good;
        m.number[i] = 1;
        assert_false(tt_machine_credible(&m, why));
        assert_non_null(strstr(why, tt_machine_number_name((enum tt_machine_number)i)));
        m.number[i] = TT_MACHINE_MOST + 1;
        assert_false(tt_machine_credible(&m, why));
    }
    for (int i = 0; i < TT_MACHINE_TABLES_N * TT_MACHINE_POINTS; i++) {
        struct tt_machine m = good;
        int t = i / TT_MACHINE_POINTS;
        m.table[t][i % TT_MACHINE_POINTS] = 1;
        assert_false(tt_machine_credible(&m, why));
        assert_non_null(strstr(why, tt_machine_table_name((enum tt_machine_table)t)));
    }
    slowed.table[TT_MACHINE_read_shared][3] = 1000001; /* an entry above the greatest value of a
                                                        * real machine */
    assert_false(tt_machine_credible(&slowed, why));
}

static void is_read_as_written(void **state)
{
    (void)state;
    char why[TT_MACHINE_WHY];
    struct tt_machine m = some(), again = {0};
    snprintf(path, sizeof path, "%s/a/b/model", folder);
    assert_int_equal(tt_machine_write(path, &m), TUTTI_OK);
    assert_true(tt_machine_read(path, &again, why));
    assert_memory_equal(&m, &again, sizeof m);
}

static struct tt_machine some_with_network(void)
{
    struct tt_machine m = some();
    m.network.look = 3000;
    for (int t = 0; t < TT_MACHINE_WIRES_N; t++)
        for (int i = 0; i < TT_MACHINE_POINTS; i++)
            m.network.wire[t][i] = 1000 * (t + 1) + tt_machine_bytes[i];
    return m;
}

/* Checks that the file keeps a network, that a model without one stays valid, and that messages
 * without bytes take as long as short ones. */
static void network_is_optional(void **state)
{
    (void)state;
    char why[TT_MACHINE_WHY];
    struct tt_machine m = some_with_network(), again = {0}, part = m, none = some();
    assert_true(tt_machine_valid(&m) && tt_machine_has_network(&m));
    assert_true(tt_machine_valid(&none) && !tt_machine_has_network(&none));
    part.network.wire[TT_MACHINE_wire_gap][2] = 0;
    assert_false(tt_machine_valid(&part));
    part = m;
    part.network.look = 0;
    assert_false(tt_machine_valid(&part));
    assert_int_equal(tt_machine_wire(&m, TT_MACHINE_wire_send, 0), 2008);
    assert_int_equal(tt_machine_wire(&m, TT_MACHINE_wire_time, 64 << 10), 1000 + (64 << 10));
    snprintf(path, sizeof path, "%s/network", folder);
    assert_int_equal(tt_machine_write(path, &m), TUTTI_OK);
    assert_true(tt_machine_read(path, &again, why));
    assert_memory_equal(&m, &again, sizeof m);
}

/* Checks that a model is refused if a message between nodes takes less time than on any real
 * machine, or more than a model can hold. */
static void network_is_credible(void **state)
{
    (void)state;
    char why[TT_MACHINE_WHY];
    struct tt_machine m = some_with_network();
    assert_true(tt_machine_credible(&m, why));
    m.network.wire[TT_MACHINE_wire_time][4] = 1;
    assert_false(tt_machine_credible(&m, why));
    assert_non_null(strstr(why, "wire_time is 0.001 ns for 16384 bytes"));
    m.network.wire[TT_MACHINE_wire_time][4] = TT_MACHINE_MOST + 1;
    assert_false(tt_machine_network_credible(&m, why));
}

/* Replaces a text in the file of a model, and expects that the file is refused with this reason. */
static void refused_of(struct tt_machine m, const char *text, const char *by, const char *reason)
{
    char all[16384], why[TT_MACHINE_WHY];
    struct tt_machine before = m;
    assert_int_equal(tt_machine_write(path, &m), TUTTI_OK);
    FILE *file = fopen(path, "r");
    size_t n = fread(all, 1, sizeof all - 1, file);
    fclose(file);
    all[n] = '\0';
    char *at = strstr(all, text);
    assert_non_null(at);
    file = fopen(path, "w");
    fprintf(file, "%.*s%s%s", (int)(at - all), all, by, at + strlen(text));
    fclose(file);
    assert_false(tt_machine_read(path, &m, why));
    if (!strstr(why, reason)) fail_msg("'%s' does not say '%s'", why, reason);
    assert_memory_equal(&m, &before, sizeof m);
}

static void refused(const char *text, const char *by, const char *reason)
{
    refused_of(some(), text, by, reason);
}

static void others_are_refused(void **state)
{
    (void)state;
    char version[64], processor[160], name[100];
    tt_machine_processor(name, sizeof name);
    snprintf(version, sizeof version, "tutti %s", tutti_version());
    snprintf(processor, sizeof processor, "processor %s", name);
    snprintf(path, sizeof path, "%s/model", folder);
    refused(version, "tutti 0.0.1", "by Tutti 0.0.1");
    refused(processor, "processor Other 9000", "'Other 9000'");
    refused("\nprocessors ", "\nprocessors 9", "processors, and this machine has ");
    refused("\nline ", "\nline x", "is wrong");
    refused("\nline ", "\nlime ", "is wrong");
    refused("\nline 10002", "\nline 10002\nline 10002", "is wrong");
    refused("\nline 10002", "", "not complete");
    refused("\nline 10002", "\nline 0", "is wrong");
    refused("\nline 10002", "\nline 99999999999999999999", "is wrong");
    refused("\nbytes 8", "\nbytes 16", "is wrong");
    refused("\nline 10002", "\nline 10", "cannot be right: line is 0.010 ns");
    refused("copy_memory_memory ", "copy_memory_memory 7 ", "is wrong");
    refused_of(some_with_network(), "\nwire_look 3000", "", "not complete");
    refused_of(some_with_network(), "\nwire_send ", "\n#wire_send ", "not complete");
    refused_of(some_with_network(), "\nwire_look 3000", "\nwire_look 3000\nwire_look 3000",
               "is wrong");
    refused_of(some_with_network(), "\nwire_gap ", "\nwire_gap 0 ", "is wrong");
}

static void only_files_are_read(void **state)
{
    (void)state;
    char why[TT_MACHINE_WHY];
    struct tt_machine m;
    assert_false(tt_machine_read(folder, &m, why));
    assert_non_null(strstr(why, "is not a file"));
    assert_false(tt_machine_read("/nowhere/model", &m, why));
    assert_non_null(strstr(why, "No such file"));
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(tt_machine_read(path, &m, why)); /* a pipe is refused at once, without waiting for
                                                   * a writer */
}

static void path_is_found(void **state)
{
    (void)state;
    char why[TT_MACHINE_WHY];
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "/home/someone", 1);
    assert_true(tt_machine_path(path, why));
    assert_int_equal(strncmp(path, "/home/someone/.cache/tutti/", 27), 0);
    setenv("XDG_CACHE_HOME", "/var/my", 1);
    assert_true(tt_machine_path(path, why));
    assert_int_equal(strncmp(path, "/var/my/tutti/", 14), 0);
    assert_string_equal(path + strlen(path) - 8, ".machine");
    char large[TT_MACHINE_PATH + 1] = "/";
    memset(large + 1, 'x', sizeof large - 2);
    setenv("XDG_CACHE_HOME", large, 1);
    assert_false(tt_machine_path(path, why));
    assert_non_null(strstr(why, "the cache folder in XDG_CACHE_HOME or HOME has"));
    assert_non_null(strstr(why, "bytes, which is too long"));
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_false(tt_machine_path(path, why));
    assert_non_null(strstr(why, "XDG_CACHE_HOME"));
}

/* ---- Files of lines ---- */

static bool stays_but_x(const char *line, void *arg)
{
    (void)arg;
    return *line != 'x';
}

static void add_new(FILE *out, void *arg)
{
    fputs(arg, out);
}

static void expect_lines(const char *file, const char *text)
{
    char why[TT_FILE_WHY], *is;
    bool missing;
    is = tt_file_read(file, 1 << 20, &missing, why);
    if (!is) fail_msg("%s", why);
    assert_string_equal(is, text);
    tt_free(is);
}

/* Checks that lines stay in their order, that the oldest ones are dropped if there are too many
 * lines or bytes, and that a file that is too long is left as it is. */
static void lines_are_merged(void **state)
{
    char file[TT_FILE_PATH];
    struct tt_file_change change = {.most_bytes = 64,
                                    .most_lines = 3,
                                    .head = "#\n",
                                    .stays = stays_but_x,
                                    .add = add_new,
                                    .arg = (char[]){"new\n"}};
    (void)state;
    snprintf(file, sizeof file, "%s/below/lines", folder);
    assert_int_equal(tt_file_merge(file, &change), TUTTI_OK);
    expect_lines(file, "#\nnew\n");
    FILE *out = fopen(file, "w");
    fputs("1\n\nx\n4\n5", out);
    fclose(out);
    assert_int_equal(tt_file_merge(file, &change), TUTTI_OK);
    expect_lines(file, "#\n4\n5\nnew\n");
    change.head = "";
    assert_int_equal(tt_file_merge(file, &change), TUTTI_OK);
    expect_lines(file, "4\n5\nnew\nnew\n");
    change.most_bytes = 16;
    assert_int_equal(tt_file_merge(file, &change), TUTTI_OK);
    expect_lines(file, "new\nnew\nnew\n");
    change.most_bytes = 8;
    assert_int_equal(tt_file_merge(file, &change), TUTTI_ERR_SYSTEM);
    expect_lines(file, "new\nnew\nnew\n");
}

static void expect_mode(const char *file, unsigned mode)
{
    struct stat is;
    assert_int_equal(lstat(file, &is), 0);
    assert_int_equal(is.st_mode & (S_IFMT | 0777), mode);
}

static void expect_refusal(const char *file, const struct tt_file_change *change, const char *why)
{
    assert_int_equal(tt_file_try(file), TUTTI_ERR_SYSTEM);
    assert_non_null(strstr(tutti_error(), why));
    assert_int_equal(tt_file_merge(file, change), TUTTI_ERR_SYSTEM);
    assert_non_null(strstr(tutti_error(), why));
}

static const struct tt_file_change adds_new = {.most_bytes = 64,
                                               .most_lines = 3,
                                               .head = "",
                                               .stays = stays_but_x,
                                               .add = add_new,
                                               .arg = (char[]){"new\n"}};

/* The name of a file may be as long as the system allows. */
static void long_names_are_written(void **state)
{
    char file[TT_FILE_PATH], name[256] = "";
    (void)state;
    memset(name, 'n', sizeof name - 1);
    snprintf(file, sizeof file, "%s/%s", folder, name);
    assert_int_equal(tt_file_try(file), TUTTI_OK);
    assert_int_equal(tt_file_merge(file, &adds_new), TUTTI_OK);
    expect_lines(file, "new\n");
}

/* Checks that a file that is rewritten keeps its mode, and that a link to it stays a link. */
static void what_is_there_is_kept(void **state)
{
    char file[TT_FILE_PATH], link[TT_FILE_PATH];
    (void)state;
    snprintf(file, sizeof file, "%s/kept", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(tt_file_merge(file, &adds_new), TUTTI_OK);
    expect_mode(file, S_IFREG | 0600);
    assert_int_equal(chmod(file, 0664), 0);
    assert_int_equal(symlink("kept", link), 0);
    assert_int_equal(tt_file_merge(link, &adds_new), TUTTI_OK);
    expect_mode(file, S_IFREG | 0664);
    expect_mode(link, S_IFLNK | 0777);
    expect_lines(file, "new\nnew\n");
}

static int entries_of(const char *name)
{
    int n = 0;
    DIR *entries = opendir(name);
    assert_non_null(entries);
    while (readdir(entries)) n++;
    closedir(entries);
    return n;
}

/* A write beyond the limit on the size of files is an error, and not the end of the process by
 * SIGXFSZ. The old file stays, and nothing else is left. */
static void what_is_too_large_is_refused(void **state)
{
    char file[TT_FILE_PATH];
    struct rlimit before;
    sigset_t pending;
    (void)state;
    snprintf(file, sizeof file, "%s/kept", folder);
    int entries = entries_of(folder);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit none = {0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    tutti_status status = tt_file_merge(file, &adds_new);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, TUTTI_ERR_SYSTEM);
    assert_non_null(strstr(tutti_error(), strerror(EFBIG)));
    expect_lines(file, "new\nnew\n");
    assert_int_equal(entries_of(folder), entries);
    assert_int_equal(sigpending(&pending), 0);
    assert_int_equal(sigismember(&pending, SIGXFSZ), 0);
}

static void what_is_no_file_is_refused(void **state)
{
    char file[TT_FILE_PATH], other[TT_FILE_PATH], why[TT_FILE_WHY];
    bool missing;
    (void)state;
    snprintf(file, sizeof file, "%s/points", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    assert_int_equal(symlink("nowhere", file), 0);
    expect_refusal(file, &adds_new, "a symbolic link to nothing");
    assert_int_equal(mkfifo(other, 0600), 0);
    expect_refusal(other, &adds_new, "no regular file");
    expect_mode(other, S_IFIFO | 0600);
    expect_refusal(folder, &adds_new, "a directory");
    snprintf(file, sizeof file, "%s/other/below/lines", folder);
    expect_refusal(file, &adds_new, "the folder");
    snprintf(file, sizeof file, "%s/nul", folder);
    FILE *out = fopen(file, "w");
    fwrite("a\0b\n", 1, 4, out);
    fclose(out);
    assert_null(tt_file_read(file, 64, &missing, why));
    assert_non_null(strstr(why, "a byte 0"));
}

static int make_folder(void **state)
{
    (void)state;
    unsetenv("TUTTI_MACHINE");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interpolates),
        cmocka_unit_test(is_bounded),
        cmocka_unit_test(is_credible),
        cmocka_unit_test(is_read_as_written),
        cmocka_unit_test(network_is_optional),
        cmocka_unit_test(network_is_credible),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(only_files_are_read),
        cmocka_unit_test(path_is_found),
        cmocka_unit_test(lines_are_merged),
        cmocka_unit_test(long_names_are_written),
        cmocka_unit_test(what_is_there_is_kept),
        cmocka_unit_test(what_is_too_large_is_refused),
        cmocka_unit_test(what_is_no_file_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
