/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti calibrate`: measures what the steps of a plan cost on this machine, and writes the model
 * to a file.
 */
#include "calibrate-jobs.h"
#include "calibrate-memory.h"
#include "calibrate-network.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "command.h"
#include "write.h"

struct calibrate_arguments {
    const char *output;
    bool shows, network;
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0,
     "write the model to FILE (default: TUTTI_MACHINE, or, if no setting changes the times, the "
     "file of this kind of machine in the user's cache folder)",
     0},
    {"network", 'n', NULL, 0,
     "as two ranks on two hosts: measure messages between the hosts, and add them to the model of "
     "rank 0",
     0},
    {"show", 's', NULL, 0, "measure nothing; print the model that is known", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct calibrate_arguments *a = state->input;
    switch (key) {
    case 'o':
        a->output = arg;
        if (strcmp(arg, "-") == 0)
            argp_error(
                state,
                "--output: a model is written to a file, not to standard output; --show prints it");
        return 0;
    case 'n': a->network = true; return 0;
    case 's': a->shows = true; return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "there is nothing to do with '%s': the command takes options only", arg);
        return 0;
    case ARGP_KEY_END:
        if (a->shows && a->output)
            argp_error(state, "--show writes no file, so --output cannot be given, too");
        if (a->shows && a->network)
            argp_error(state, "--show measures nothing, so --network cannot be given, too");
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

static void print_row(const char *name, const int64_t time[TT_MACHINE_POINTS])
{
    printf("  %-20s", name);
    for (int i = 0; i < TT_MACHINE_POINTS; i++) print_time(time[i]);
    printf("\n");
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
        int64_t time[TT_MACHINE_POINTS];
        for (int i = 0; i < TT_MACHINE_POINTS; i++)
            time[i] = mille ? 1000 * m->table[t][i] : m->table[t][i];
        print_row(tt_machine_table_name((enum tt_machine_table)t), time);
    }
}

static void print_network(const struct tt_machine_network *network)
{
    printf("messages between two nodes, in ns\n  %-20s", "wire_look");
    print_time(network->look);
    printf("  looking once for messages of other nodes\n");
    for (int i = 0; i < TT_MACHINE_WIRES_N; i++)
        print_row(tt_machine_wire_name((enum tt_machine_wire)i), network->wire[i]);
}

static void print_model(const struct tt_machine *m)
{
    print_numbers(m);
    print_tables(m);
    if (tt_machine_has_network(m))
        print_network(&m->network);
    else
        printf("messages between two nodes: not measured (tutti calibrate --network)\n");
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

/* Lets the small jobs choose their algorithms by the limits in the library's table
 * (src/choose/table.c), and not by predicted times. For the latter they need the model that this
 * command is about to measure, and would warn that there is none. The jobs have one, two or more
 * ranks on this machine, so they cannot have the nodes and the network of the user's jobs. */
static void prepare_jobs(void)
{
    (void)unsetenv("TUTTI_MACHINE");
    (void)unsetenv("TUTTI_NODES");
    (void)unsetenv("TUTTI_NETWORK");
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

/* Finds the path of the file to write: `output`, or the file of this machine if `output` is NULL.
 * Returns false after printing the error, also if the command would read the file for another
 * setting. */
static bool find_path(const char *output, char path[TT_MACHINE_PATH])
{
    char why[TT_MACHINE_WHY];
    bool found = output || tt_machine_path(path, why);
    if (output) snprintf(path, TT_MACHINE_PATH, "%s", output);
    if (found) return tt_write_spares("tutti calibrate", path, NULL, "TUTTI_MACHINE");
    fprintf(stderr, "tutti calibrate: there is no file to write: %s; --output names one\n", why);
    return false;
}

static int write_model(const char *path, const struct tt_machine *machine)
{
    if (tt_machine_write(path, machine) != TUTTI_OK) return failed();
    print_model(machine);
    printf("written to %s\n", path);
    return TT_EXIT_OK;
}

static int measure(const char *output)
{
    struct tt_machine machine = {0}, before = {0};
    char path[TT_MACHINE_PATH], why[TT_MACHINE_WHY];
    if (!tt_arg_keeps_times("tutti calibrate", output, "TUTTI_MACHINE", NULL))
        return TT_EXIT_FAILED;
    if (!find_path(output, path)) return TT_EXIT_FAILED;
    if (tt_file_try(path) != TUTTI_OK) return failed();
    prepare_jobs();
    if (!measure_until_credible(&machine)) return TT_EXIT_FAILED;
    if (tt_machine_read(path, &before, why))
        machine.network = before.network;
    else if (access(path, F_OK) == 0)
        fprintf(
            stderr,
            "tutti calibrate: %s is replaced, and its network, if it had one, is not kept: %s\n",
            path, why);
    return write_model(path, &machine);
}

/* ---- The network ---- */

/* Returns why this job cannot measure the network; NULL: it can. */
static const char *unfit(const tutti_team *world)
{
    static char why[256];
    const struct tt_map *map = &world->run.map;
    if (map->p == 2 && !tt_map_one_node(map)) return NULL;
    if (map->p == 2) return "both ranks are on one host; --network measures between two hosts";
    snprintf(why, sizeof why,
             "--network needs two ranks on two hosts, and there %s %d; start it by a launcher, as "
             "in: mpirun -n 2 --host HOST1,HOST2 tutti calibrate --network",
             map->p == 1 ? "is" : "are", map->p);
    return why;
}

/* Reads the model to which the network is added, and finds out whether its file can be written.
 * TUTTI_WIRE may have any value: it has no effect on messages between hosts, and lets the messages
 * of two ranks on one host take the way of messages between hosts. Returns false after printing the
 * error. */
static bool open_model(const char *output, struct tt_machine *machine, char path[TT_MACHINE_PATH])
{
    char why[TT_MACHINE_WHY];
    if (!tt_arg_keeps_times("tutti calibrate", output, "TUTTI_MACHINE", "TUTTI_WIRE")) return false;
    if (!find_path(output, path)) return false;
    if (!tt_machine_read(path, machine, why)) {
        fprintf(stderr,
                "tutti calibrate: %s; first measure this machine alone, by tutti calibrate\n", why);
        return false;
    }
    bool writable = tt_file_try(path) == TUTTI_OK;
    if (!writable) (void)failed();
    return writable;
}

/* Measures the network, and writes the model on rank 0. The other parts of the model's file may
 * have changed meanwhile, so the file is read again. Returns the exit code. */
static int add_network(tutti_team *world, const char *path, struct tt_machine *machine)
{
    char why[TT_MACHINE_WHY];
    struct tt_machine now;
    if (tt_calibrate_network(world, machine) != TUTTI_OK) return failed();
    if (tutti_rank(world) > 0) return TT_EXIT_OK;
    if (!tt_machine_network_credible(machine, why)) {
        fprintf(
            stderr,
            "tutti calibrate: no model can have these times, because the machine is too busy or "
            "the network too slow: %s; nothing is written\n",
            why);
        return TT_EXIT_FAILED;
    }
    if (!tt_machine_read(path, &now, why)) now = *machine;
    now.network = machine->network;
    return write_model(path, &now);
}

/* Measures the network as a rank of a job. All ranks return the exit code of rank 0. */
static int measure_as_rank(tutti_team *world, const char *output)
{
    struct tt_machine machine = {0};
    char path[TT_MACHINE_PATH] = "";
    const char *why = unfit(world);
    int32_t code = TT_EXIT_OK;
    bool first = tutti_rank(world) == 0;
    if (why) {
        if (first) fprintf(stderr, "tutti calibrate: %s\n", why);
        return TT_EXIT_FAILED;
    }
    if (first && !open_model(output, &machine, path)) code = TT_EXIT_FAILED;
    if (first && code == TT_EXIT_OK && tt_setting("TUTTI_NODES") &&
        tt_setting_int("TUTTI_WIRE") != 1)
        fprintf(stderr, "tutti calibrate: without TUTTI_WIRE=1, nodes that TUTTI_NODES makes send "
                        "messages through shared memory, unlike hosts\n");
    if (tutti_bcast(world, &code, 1, TUTTI_I32, 0) != TUTTI_OK) return failed();
    if (code == TT_EXIT_OK) code = add_network(world, path, &machine);
    if (tutti_bcast(world, &code, 1, TUTTI_I32, 0) != TUTTI_OK) return failed();
    return code;
}

static int measure_network(const char *output)
{
    tutti_client *client;
    if (tutti_init(&client) != TUTTI_OK) return failed();
    int code = measure_as_rank(tutti_world(client), output);
    if (tutti_finalize(client) != TUTTI_OK && code == TT_EXIT_OK) return failed();
    return code;
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
               "algorithms. With --network, a launcher starts the command as two ranks on two "
               "hosts, and it measures messages between them.\v"
               "Exit status: 0 done, 1 failed, 2 wrong usage."};
    struct calibrate_arguments a = {0};
    tt_arg_parse(&argp, argc, argv, 0, &a);
    if (a.network) return measure_network(a.output);
    return a.shows ? show() : measure(a.output);
}
