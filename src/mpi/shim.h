/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Declarations that the files of libtutti_mpi.so share. The library is put between a program and
 * its MPI, which is called the *host*, without recompiling the program:
 *
 *     program --> MPI_Allreduce (stub.c) --> table --> host's PMPI_Allreduce
 *                                                 \--> backend.c: counts, and calls the host's
 *
 * A stub does not depend on an MPI: every argument is a pointer, an integer or a handle, and all of
 * them are passed as machine words, so that one stub serves every host. At the first call, find.c
 * finds the host and start.c fills the table. Only the files of a backend (host.h lists them)
 * include an mpi.h; they are compiled once for each host. count.c counts calls and report.c prints
 * the counts. trial.c decides which calls Tutti does and which the host does, and kept.c keeps
 * these decisions for the next program. None of these four files includes an mpi.h.
 */
#ifndef TT_MPI_SHIM_H
#define TT_MPI_SHIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/functions.h"

/* The numbers of the exported functions: TT_MPI_Allreduce ..., TT_MPI_X_Allreduce_init ... */
#define TT_MPI_NUMBER(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) TT_MPI_##NAME,
#define TT_MPI_NUMBER_X(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) TT_MPI_X_##NAME,
enum tt_mpi_number {
    TT_MPI_FUNCTIONS(TT_MPI_NUMBER) TT_MPI_COLLECTIVES_X(TT_MPI_NUMBER_X) TT_MPI_N
};
#undef TT_MPI_NUMBER
#undef TT_MPI_NUMBER_X

typedef void (*tt_mpi_function)(void);

/* ---- find.c; static.c in a program that is linked statically ---- */

/* Finds the host. False: there are two hosts, and a line on standard error says so. If there is
 * none, prints a line and ends the process, because the program's call could not be made. */
bool tt_mpi_find_host(void);
/* Return the address of a function of the host (its name begins with "PMPI_"), or of a variable of
 * the host; NULL: the host has none with this name. */
void *tt_mpi_host_symbol(const char *name);
void *tt_mpi_host_variable(const char *name);
/* Returns the function with this name (it begins with "MPI_") that the program would call without
 * Tutti, if it belongs to a tool, such as a profiler, that the program is linked with or that is
 * preloaded after Tutti. NULL: the program would call the function of an MPI itself. */
void *tt_mpi_tool_symbol(const char *name);
/* Returns where the host's code reads the address of a function of another library each time that
 * it calls this function; NULL: the place is not known. A function that is stored there is called
 * instead. *sealed: whether this place is in a page that is read-only. */
_Atomic(tt_mpi_function) *tt_mpi_host_import(const char *name, bool *sealed);
const char *tt_mpi_host_path(void);
/* Returns the path of this library; "": the library is a part of the program. */
const char *tt_mpi_own_path(void);
/* Returns whether the code at this address belongs to the host: a collective that MPI-IO calls, for
 * example, is not a call of the program. */
bool tt_mpi_in_host(const void *address);

/* ---- start.c ---- */

/* The values of the setting TUTTI_MPI. All ranks must have the same value, and no rank may have
 * TT_MPI_DOUBT (an unknown value, or two hosts); otherwise every call goes to the host. */
enum tt_mpi_mode { TT_MPI_OFF, TT_MPI_DOUBT, TT_MPI_ON, TT_MPI_TAKE, TT_MPI_COUNT };
/* Returns whether Tutti does collectives of the program: those for which it is measured to be
 * faster, or all. */
static inline bool tt_mpi_takes(enum tt_mpi_mode mode)
{
    return mode == TT_MPI_ON || mode == TT_MPI_TAKE;
}

/* The values of TUTTI_MPI and TUTTI_MPI_REPORT, and the build of this library. */
struct tt_mpi_setting {
    enum tt_mpi_mode mode;
    bool unknown; /* TUTTI_MPI has a value that means nothing; the mode is DOUBT */
    bool report;
    /* TUTTI_CHOICE=measure is set, after MPI_Init: on any rank. Blocking functions of Tutti then
     * measure algorithms, and functions that start a call do not. */
    bool measures;
    const char *report_path; /* the absolute path of the report's file; NULL: standard error */
    bool left[TT_MPI_N];     /* functions that Tutti leaves to the host */
    const char *build;       /* a hash of the sources, which is the same on all ranks */
};
extern struct tt_mpi_setting tt_mpi_setting;

/* A call is either taken, which means that Tutti does it, or left to the host for one of these
 * reasons. X(NAME, text). */
#define TT_MPI_CHOICES(X)                                                                          \
    X(TAKEN, "taken")                                                                              \
    X(LEFT_KIND, "left: not taken by Tutti")                                                       \
    X(LEFT_NONBLOCKING, "left: nonblocking calls are not measured")                                \
    X(LEFT_UNDRIVEN, "left: this MPI cannot drive Tutti")                                          \
    X(LEFT_SETTING, "left: TUTTI_MPI")                                                             \
    X(LEFT_INTER, "left: two groups")                                                              \
    X(LEFT_ALONE, "left: one rank")                                                                \
    X(LEFT_FOREIGN, "left: ranks of another world")                                                \
    X(LEFT_TEAM, "left: no team could be made")                                                    \
    X(LEFT_EARLY, "left: one of the first calls")                                                  \
    X(LEFT_SLOWER, "left: Tutti is not faster")                                                    \
    X(LEFT_OPERATION, "left: type or operation")                                                   \
    X(LEFT_WRONG, "left: a wrong argument")
#define TT_MPI_CHOICE(NAME, TEXT) TT_MPI_##NAME,
enum tt_mpi_choice { TT_MPI_CHOICES(TT_MPI_CHOICE) TT_MPI_CHOICES_N };
#undef TT_MPI_CHOICE
/* The texts of TT_MPI_CHOICES, by choice. */
extern const char *const tt_mpi_choices[TT_MPI_CHOICES_N];

/* The names of the exported functions: "MPI_Init" ... */
extern const char *const tt_mpi_names[TT_MPI_N];
/* Finds the host and the program's tools, and fills the two tables of stub.c, once in a process:
 * the exported function PMPI_X jumps to its entry in `table`, and MPI_X to its entry in `outer`,
 * which is the function of a tool or, if no tool has MPI_X, the same as in `table`. `outer` is NULL
 * in a program that is linked statically, where MPI_X jumps to its entry in `table`. */
void tt_mpi_start(tt_mpi_function *table, tt_mpi_function *outer);
/* Must be called after an entry of `table` has changed: copies such entries to `outer`
 * (tt_mpi_start). */
void tt_mpi_table_changed(void);
/* Makes every entry of the table the host's function. */
void tt_mpi_leave_all(void);
/* Prints a line on standard error: "tutti: MPI: ...". */
__attribute__((format(printf, 1, 2))) void tt_mpi_say(const char *format, ...);

/* ---- backend.c ---- */

/* A backend: the files that host.h lists, compiled with the mpi.h of a host. */
struct tt_mpi_backend {
    const char *version; /* what the host's MPI_Get_library_version begins with */
    /* Looks up all functions and handles of the host that the backend needs. Returns the name of
     * one that is missing, or NULL. */
    const char *(*open)(void);
    /* Puts the backend's functions MPI_Init and MPI_Init_thread into the table. These two functions
     * begin MPI, and then put further functions of the backend into the table: those that end MPI,
     * and, as far as TUTTI_MPI and TUTTI_MPI_REPORT ask for them, those that do or count
     * collectives. */
    void (*take)(tt_mpi_function *table);
};
/* The backends in this library; the last is NULL. */
extern const struct tt_mpi_backend *const tt_mpi_backends[];

/* ---- count.c ---- */

/* The most bytes that the name of a communicator or type has in any host, its last '\0' included
 * (MPI_MAX_OBJECT_NAME). */
enum { TT_MPI_NAME = 128 };

/* host_ns and tutti_ns: the measured cost of a call by the host, and by Tutti. saved_ns: the time
 * that Tutti's calls have saved, which is computed from these two costs. All zero: nothing was
 * measured. */
struct tt_mpi_costs {
    int64_t host_ns, tutti_ns, saved_ns;
};

/* Counts of the calls of one function with the same shape. Ranks send rows to each other as bytes.
 */
struct tt_mpi_row {
    int32_t function; /* an enum tt_mpi_number; -1: the row counts communicators, not calls */
    /* ranks of the communicator; of an intercommunicator, those of both groups */
    int32_t ranks;
    int32_t magnitude; /* 0: no bytes; else 2^(magnitude-1) <= bytes < 2^magnitude */
    int32_t choice;    /* an enum tt_mpi_choice */
    char communicator[TT_MPI_NAME], type[TT_MPI_NAME], operation[TT_MPI_NAME];
    int64_t calls, bytes, least, most, ns;
    int64_t starts; /* how often the requests of a persistent collective were started */
    struct tt_mpi_costs costs;
};

/* A map from handles, which are never 0, to numbers or pointers. */
struct tt_mpi_entry {
    uint64_t handle; /* 0: the entry is free */
    int64_t number;
};
struct tt_mpi_map {
    struct tt_mpi_entry *entry;
    size_t size, n; /* size: the number of entries, a power of two, or 0; n: how many of them are
                     * used */
};
/* Returns the entry of the handle, or the free entry where the handle belongs. The map must have at
 * least one free entry. */
static inline struct tt_mpi_entry *tt_mpi_map_entry(const struct tt_mpi_map *map, uint64_t handle)
{
    size_t i = (size_t)(handle * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (map->size - 1);
    while (map->entry[i].handle != handle && map->entry[i].handle) i = (i + 1) & (map->size - 1);
    return &map->entry[i];
}
/* Returns the address of the number of a handle; NULL: the map does not have the handle. */
static inline int64_t *tt_mpi_map_find(const struct tt_mpi_map *map, uint64_t handle)
{
    if (map->n == 0) return NULL;
    struct tt_mpi_entry *entry = tt_mpi_map_entry(map, handle);
    return entry->handle ? &entry->number : NULL;
}
/* Sets the number of a handle. False: there is no memory. */
bool tt_mpi_map_set(struct tt_mpi_map *map, uint64_t handle, int64_t number);
void tt_mpi_map_remove(struct tt_mpi_map *map, uint64_t handle);

/* Returns the number that stands for a text of less than TT_MPI_NAME bytes, always the same for
 * equal texts; 0 for "", and for a new text if there is no memory. */
int tt_mpi_text(const char *text);

/* Calls that are equal in all these members are counted together. `communicator`, `type` and
 * `operation` are numbers of texts (tt_mpi_text). */
struct tt_mpi_shape {
    /* the communicator's handle; 0: the communicator is freed. `communicator` stands for the name
     * of a communicator that is freed, and is not used before */
    uint64_t handle;
    int function, ranks, communicator, type, operation;
    enum tt_mpi_choice choice;
};
/* The events that tt_mpi_count counts: a call, or a start of a persistent collective whose
 * preparation was counted as a call with the same shape and bytes. For a start, ns and costs are
 * not used. */
enum tt_mpi_counted { TT_MPI_CALL, TT_MPI_START };
void tt_mpi_count(enum tt_mpi_counted what, const struct tt_mpi_shape *shape, int64_t bytes,
                  int64_t ns, const struct tt_mpi_costs *costs);
/* Must be called when a communicator is freed: what was counted by its handle counts for its name
 * from now on. Returns the number that stands for the name. */
int tt_mpi_count_freed(uint64_t handle, const char *name);
/* Writes the name of a communicator that is not freed. */
typedef void tt_mpi_name_fn(uint64_t handle, char name[TT_MPI_NAME]);
/* Returns all rows of this process, which the caller frees; NULL: there is no memory. */
struct tt_mpi_row *tt_mpi_rows(size_t *n, tt_mpi_name_fn *name_of);

/* ---- report.c ---- */

struct tt_mpi_report {
    const char *host; /* the name and version of the host, such as "Open MPI v4.1.4" */
    int ranks;
    bool spawned;   /* whether processes of another world have spawned this world */
    double seconds; /* from MPI_Init to MPI_Finalize */
    bool choices;   /* whether Tutti was to take calls: the report shows who did each */
    struct tt_mpi_row *row;
    size_t n;
};
/* Adds up the rows of all ranks, which changes report->row, and prints them as TUTTI_MPI_REPORT
 * says. */
void tt_mpi_report(struct tt_mpi_report *report);

#endif
