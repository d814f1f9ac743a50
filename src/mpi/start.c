/* SPDX-License-Identifier: BSD-3-Clause
 *
 * At the first call of MPI in a process, finds the host (the program's MPI) and its backend, and
 * fills the table of functions (shim.h).
 */
#include <limits.h>
#include <linux/membarrier.h>
#include <mpi-build.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/locale.h"
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

#define TEXT(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) "MPI_" #NAME,
#define TEXT_X(NAME, PARAMETERS, ARGUMENTS, FACT, ROLES) "MPIX_" #NAME,
const char *const tt_mpi_names[TT_MPI_N] = {TT_MPI_FUNCTIONS(TEXT) TT_MPI_COLLECTIVES_X(TEXT_X)};

/* ---- The setting ---- */

struct tt_mpi_setting tt_mpi_setting = {.build = TT_MPI_BUILD};

/* Returns whether a word of n letters in TUTTI_MPI is the name of a function: in small letters,
 * without "MPI_" or "MPIX_", and without "_c", because such a function is switched off together
 * with the one whose counts are int. */
static bool names(const char *word, size_t n, const char *function)
{
    function = strchr(function, '_') + 1;
    size_t length = strlen(function);
    if (length > 2 && strcmp(function + length - 2, "_c") == 0) length -= 2;
    locale_t former = tt_locale_enter(); /* in Turkish, I is not the capital letter of i */
    bool same = length == n && strncasecmp(word, function, n) == 0;
    tt_locale_leave(former);
    return same;
}

/* Reads a list of functions to leave to the host, such as "-bcast,-scan". False: a word is no
 * function. */
static bool read_list(const char *text)
{
    while (*text == '-') {
        size_t n = strcspn(++text, ",");
        bool found = false;
        for (int i = TT_MPI_Barrier; i < TT_MPI_N; i++) {
            if (!names(text, n, tt_mpi_names[i])) continue;
            tt_mpi_setting.left[i] = true;
            found = true;
        }
        if (!found) return false;
        text += n + (text[n] == ',');
    }
    return *text == '\0';
}

static enum tt_mpi_mode mode_set(void)
{
    const char *text = getenv("TUTTI_MPI");
    if (!text || !*text || strcmp(text, "on") == 0) return TT_MPI_ON;
    if (strcmp(text, "count") == 0) return TT_MPI_COUNT;
    if (strcmp(text, "off") == 0) return TT_MPI_OFF;
    if (strcmp(text, "take") == 0) return TT_MPI_TAKE;
    bool all = strncmp(text, "take,", 5) == 0;
    if (!read_list(all ? text + 5 : text)) return TT_MPI_DOUBT;
    return all ? TT_MPI_TAKE : TT_MPI_ON;
}

/* ---- The table ---- */

/* The tables in stub.c; `outer` is NULL in a program that is linked statically. */
static tt_mpi_function *table, *outer;
static tt_mpi_function tools[TT_MPI_N]; /* the functions of tools; NULL: no tool has the function */

void tt_mpi_table_changed(void)
{
    for (int i = 0; outer && i < TT_MPI_N; i++) outer[i] = tools[i] ? tools[i] : table[i];
}

static void find_tools(void)
{
    for (int i = 0; i < TT_MPI_N; i++)
        tools[i] = (tt_mpi_function)tt_mpi_tool_symbol(tt_mpi_names[i]);
}

static void missing(void)
{
    tt_mpi_say("the program called a function that %s does not have", tt_mpi_host_path());
    abort();
}

void tt_mpi_leave_all(void)
{
    char name[64];
    for (int i = 0; i < TT_MPI_N; i++) {
        snprintf(name, sizeof name, "P%s", tt_mpi_names[i]);
        void *function = tt_mpi_host_symbol(name);
        table[i] = function ? (tt_mpi_function)function : missing;
    }
    tt_mpi_table_changed();
}

typedef int get_version(char *text, int *length);

/* Returns the backend for the host. NULL: there is none, and a line was printed that says why. */
static const struct tt_mpi_backend *backend_of(void)
{
    char version[8192] = ""; /* as long as MPI_MAX_LIBRARY_VERSION_STRING of MPICH */
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
    if (*tt_mpi_own_path())
        tt_mpi_say("off: this Tutti was not built for %s (%s)", version, tt_mpi_host_path());
    else
        tt_mpi_say("off: libtutti_mpi.a is for programs that are linked with MPICH 4, and this "
                   "program uses %s: link it with libtutti_mpi.so instead",
                   version);
    return NULL;
}

/* Registers the process for membarrier(2), as tutti_init does if the ranks need that (job/wait.h).
 * At the first call of MPI, mostly MPI_Init, the process has a single thread, and the registration
 * takes less than a microsecond. Later, when the host's progress threads run, it would take 10 to
 * 30 ms. */
static void register_early(void)
{
    if (tt_mpi_setting.mode == TT_MPI_ON || tt_mpi_setting.mode == TT_MPI_TAKE)
        (void)syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0);
}

/* Reads TUTTI_MPI_REPORT. Keeps an absolute path of its own for MPI_Finalize, when the report is
 * written, because the program may change its folder before, and may overwrite the environment. */
static void set_report(void)
{
    const char *text = getenv("TUTTI_MPI_REPORT");
    bool wanted = text && *text && strcmp(text, "0") != 0, to_file = wanted && strcmp(text, "1");
    char here[PATH_MAX], *path = NULL;
    bool relative = to_file && *text != '/' && getcwd(here, sizeof here);
    if (to_file && asprintf(&path, "%s%s%s", relative ? here : "", relative ? "/" : "", text) < 0)
        path = NULL;
    tt_mpi_setting.report = tt_mpi_setting.mode == TT_MPI_COUNT || wanted;
    tt_mpi_setting.report_path = path ? path : to_file ? text : NULL;
}

static void set_measures(void)
{
    const char *choice = getenv("TUTTI_CHOICE");
    tt_mpi_setting.measures = choice && strcmp(choice, "measure") == 0;
}

static void start(void)
{
    bool sure = tt_mpi_find_host();
    find_tools();
    tt_mpi_leave_all();
    tt_mpi_setting.mode = mode_set();
    tt_mpi_setting.unknown = tt_mpi_setting.mode == TT_MPI_DOUBT;
    if (!sure) tt_mpi_setting.mode = TT_MPI_DOUBT;
    register_early();
    set_report();
    set_measures();
    const struct tt_mpi_backend *backend = backend_of();
    if (backend) backend->take(table);
    tt_mpi_table_changed();
}

void tt_mpi_start(tt_mpi_function *stubs, tt_mpi_function *outer_stubs)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    table = stubs;
    outer = outer_stubs;
    pthread_once(&once, start);
}
