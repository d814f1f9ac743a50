/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti calibrate`: measures what the steps of a plan cost on this machine, and writes the model
 * to a file.
 */
#include "calibrate-jobs.h"
#include "calibrate-memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"

struct calibrate_arguments {
    const char *output;
    bool shows;
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0,
     "write the model to FILE (default: TUTTI_MACHINE, or the file of this kind of machine in the "
     "user's cache folder)",
     0},
    {"show", 's', NULL, 0, "measure nothing; print the model that is known", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct calibrate_arguments *a = state->input;
    switch (key) {
    case 'o': a->output = arg; return 0;
    case 's': a->shows = true; return 0;
    case ARGP_KEY_ARG: argp_error(state, "there is nothing to do with '%s'", arg); return 0;
    case ARGP_KEY_END:
        if (a->shows && a->output) argp_error(state, "--show writes nothing: without --output");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* ---- Printing ---- */

static void print_time(int64_t ps)
{
    double ns = (double)ps / 1000;
    if (ns < 100)
        printf(" %9.1f", ns);
    else
        printf(" %9.0f", ns);
}

static void print_numbers(const struct tt_machine *m)
{
    printf("numbers, in ns\n");
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++) {
        printf("  %-20s", tt_machine_number_name((enum tt_machine_number)i));
        print_time(m->number[i]);
        printf("  %s\n", tt_machine_number_text((enum tt_machine_number)i));
    }
}

static void print_tables(const struct tt_machine *m)
{
    char size[24];
    printf("tables, in ns; the last two per mille\n  %-20s", "bytes");
    for (int i = 0; i < TT_MACHINE_POINTS; i++)
        printf(" %9s", tt_print_size(size, tt_machine_bytes[i]));
    printf("\n");
    for (int t = 0; t < TT_MACHINE_TABLES_N; t++) {
        bool mille = t >= TT_MACHINE_copy_shared;
        printf("  %-20s", tt_machine_table_name((enum tt_machine_table)t));
        for (int i = 0; i < TT_MACHINE_POINTS; i++)
            print_time(mille ? 1000 * m->table[t][i] : m->table[t][i]);
        printf("\n");
    }
}

static void print_model(const struct tt_machine *m)
{
    print_numbers(m);
    print_tables(m);
}

/* ---- Command ---- */

static int show(void)
{
    struct tt_machine machine;
    char path[TT_MACHINE_PATH], why[TT_MACHINE_WHY];
    if (!tt_machine_find(&machine, path, why)) {
        fprintf(stderr, "tutti calibrate: %s\n", why);
        return TT_EXIT_FAILED;
    }
    printf("%s\n", path);
    print_model(&machine);
    return TT_EXIT_OK;
}

/* Keeps the lower of the two times in each cell of the tables, because other programs can only make
 * it slower to move bytes. */
static void keep_least(struct tt_machine *m, const struct tt_machine *again)
{
    for (int t = 0; t < TT_MACHINE_copy_shared; t++)
        for (int i = 0; i < TT_MACHINE_POINTS; i++)
            m->table[t][i] = tt_min(m->table[t][i], again->table[t][i]);
    m->number[TT_MACHINE_line] = tt_min(m->number[TT_MACHINE_line], again->number[TT_MACHINE_line]);
    m->number[TT_MACHINE_take] = tt_min(m->number[TT_MACHINE_take], again->number[TT_MACHINE_take]);
}

/* Lets the small jobs choose their algorithms from the table, without a model. Otherwise they would
 * warn that there is no model, which this command is about to measure. */
static void choose_by_table(void)
{
    (void)unsetenv("TUTTI_MACHINE");
    (void)setenv("TUTTI_CHOICE", "table", 1);
}

/* Measures everything again, a few times at most, while the model contradicts itself or has numbers
 * that no machine can have. Returns whether the last model is credible. */
static bool measure_until_credible(struct tt_machine *machine)
{
    enum { TRIES = 4 };
    char why[TT_MACHINE_WHY] = "";
    struct tt_machine parts = {0}, again = {0};
    for (int i = 0; i < TRIES; i++) {
        if (!tt_calibrate_memory(&again)) return false;
        if (i == 0) parts = again;
        keep_least(&parts, &again);
        *machine = parts;
        if (tt_calibrate_jobs(machine, why) && tt_machine_credible(machine, why)) return true;
        if (!why[0]) return false;
    }
    fprintf(stderr, "tutti calibrate: the machine is too busy: %s; nothing is written\n", why);
    return false;
}

static int failed(void)
{
    fprintf(stderr, "tutti calibrate: %s\n", tutti_error());
    return TT_EXIT_FAILED;
}

static int measure(const char *output)
{
    struct tt_machine machine = {0};
    char path[TT_MACHINE_PATH], why[TT_MACHINE_WHY];
    if (output) {
        snprintf(path, sizeof path, "%s", output);
    } else if (!tt_machine_path(path, why)) {
        fprintf(stderr, "tutti calibrate: there is no file to write: %s; --output names one\n",
                why);
        return TT_EXIT_FAILED;
    }
    if (tt_file_try(path) != TUTTI_OK) return failed();
    choose_by_table();
    if (!measure_until_credible(&machine)) return TT_EXIT_FAILED;
    print_model(&machine);
    if (tt_machine_write(path, &machine) != TUTTI_OK) return failed();
    printf("written to %s\n", path);
    return TT_EXIT_OK;
}

int tt_calibrate_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Measures what the steps of a plan cost on this machine: exchanging a cache line, "
               "copying and reducing by size and by where the data lie, reading another process, "
               "taking turns on a processor. This takes some seconds; nothing else should run "
               "meanwhile. The model is kept in a file, from which Tutti predicts the times of "
               "algorithms.\v"
               "Exit status: 0 done, 1 failed, 2 wrong usage."};
    struct calibrate_arguments a = {0};
    tt_arg_parse(&argp, argc, argv, 0, &a);
    return a.shows ? show() : measure(a.output);
}
