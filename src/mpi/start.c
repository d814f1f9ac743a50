/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The first call: finds the host's backend, and fills the table.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/shim.h"

void tt_mpi_say(const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "tutti: MPI: %s\n", text);
}

/* ---- The setting ---- */

static enum tt_mpi_mode mode_set(void)
{
    const char *text = getenv("TUTTI_MPI");
    if (!text || !*text || strcmp(text, "on") == 0) return TT_MPI_ON;
    if (strcmp(text, "count") == 0) return TT_MPI_COUNT;
    return strcmp(text, "off") == 0 ? TT_MPI_OFF : TT_MPI_DOUBT;
}

/* ---- The table ---- */

#define TEXT(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) #NAME,
const char *const tt_mpi_names[TT_MPI_N] = {TT_MPI_FUNCTIONS(TEXT)};

static tt_mpi_function *table; /* of stub.c */

static void missing(void)
{
    tt_mpi_say("the program called a function that %s does not have", tt_mpi_host_path());
    abort();
}

void tt_mpi_leave_all(void)
{
    char name[64];
    for (int i = 0; i < TT_MPI_N; i++) {
        snprintf(name, sizeof name, "PMPI_%s", tt_mpi_names[i]);
        void *function = tt_mpi_host_symbol(name);
        table[i] = function ? (tt_mpi_function)function : missing;
    }
}

typedef int get_version(char *text, int *length);

/* The backend of the host; NULL, after a line that says why: there is none. */
static const struct tt_mpi_backend *backend_of(void)
{
    char version[8192] = ""; /* MPI_MAX_LIBRARY_VERSION_STRING of MPICH */
    int n = 0;
    get_version *get = (get_version *)tt_mpi_host_symbol("PMPI_Get_library_version");
    if (get) get(version, &n);
    for (const struct tt_mpi_backend *const *b = tt_mpi_backends; *b; b++) {
        if (strncmp(version, (*b)->version, strlen((*b)->version)) != 0) continue;
        const char *lacks = (*b)->open();
        if (!lacks) return *b;
        tt_mpi_say("off: %s has no %s", tt_mpi_host_path(), lacks);
        return NULL;
    }
    version[strcspn(version, "\n,")] = '\0';
    tt_mpi_say("off: this Tutti was not built for %s (%s)", version, tt_mpi_host_path());
    return NULL;
}

static void start(void)
{
    bool sure = tt_mpi_find_host();
    tt_mpi_leave_all();
    enum tt_mpi_mode mode = mode_set();
    if (mode == TT_MPI_DOUBT)
        tt_mpi_say("off: TUTTI_MPI is '%s' (known: on, off, count)", getenv("TUTTI_MPI"));
    if (!sure) mode = TT_MPI_DOUBT;
    const struct tt_mpi_backend *backend = backend_of();
    if (backend) backend->take(table, mode);
}

void tt_mpi_start(tt_mpi_function *stubs)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    table = stubs;
    pthread_once(&once, start);
}
