/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti mpi`: starts a command, usually a launcher of MPI programs, with libtutti_mpi.so preloaded
 * into it and into every process that it starts.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

#define LIBRARY "libtutti_mpi.so"

/* The exit codes for a command that cannot be run or is not found, as in env(1) and in shells. */
enum { EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

struct mpi_arguments {
    bool count;
    char **command;
};

/* Finds libtutti_mpi.so in one of two folders, whose paths are relative to the folder of this
 * command: the folder of the library in a build, or its folder after installation. Returns false if
 * it is in neither of them. */
static bool find_library(char path[PATH_MAX])
{
    char self[PATH_MAX], beside[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return false;
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    static const char *const folders[] = {TT_LIBRARY_FOLDER, "../lib"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        snprintf(beside, sizeof beside, "%s/%s/" LIBRARY, self, folders[i]);
        if (realpath(beside, path)) return true;
    }
    return false;
}

/* Returns whether the list contains the word. The words of the list are separated by `separator` or
 * by blanks, as LD_PRELOAD allows. */
static bool is_listed(const char *list, char separator, const char *word)
{
    const char between[] = {separator, ' ', '\0'};
    size_t n = strlen(word);
    for (list += strspn(list, between); *list; list += strspn(list, between)) {
        size_t length = strcspn(list, between);
        if (length == n && memcmp(list, word, n) == 0) return true;
        list += length;
    }
    return false;
}

/* Appends a word to a list in a variable of the environment, if the list does not have it. */
static bool append(const char *variable, char separator, const char *word)
{
    const char *old = getenv(variable);
    char *value;
    if (!old || !*old) return setenv(variable, word, 1) == 0;
    if (is_listed(old, separator, word)) return true;
    if (asprintf(&value, "%s%c%s", old, separator, word) < 0) return false;
    bool set = setenv(variable, value, 1) == 0;
    free(value);
    return set;
}

/* Returns how many values an option of Open MPI's launcher has, which are the words after it.
 * `option` has no hyphens at its beginning. The list names the options without a value. An option
 * that it does not name is taken for one with a value. If it has none, the name of a program is
 * taken for its value, and has_x regards more words as options, but misses none. */
static int values_of(const char *option)
{
    static const char flags[] =
        "allow-run-as-root bind-to-core bind-to-socket bycore bynode byslot continuous d debug "
        "debug-daemons debug-daemons-file debug-devel disable-recovery display-allocation "
        "display-devel-allocation display-devel-map display-diffable-map display-map display-topo "
        "do-not-launch do-not-resolve dvm enable-instant-on-support enable-recovery "
        "fwd-mpirun-port get-stack-traces index-argv-by-rank leave-session-attached "
        "merge-stderr-to-stdout nolocal nooversubscribe noprefix novm output-proctable "
        "oversubscribe pernode preload-binary q quiet report-bindings report-child-jobs-separately "
        "report-state-on-timeout s set-cwd-to-session-dir show-progress tag-output "
        "timestamp-output tv use-hwthread-cpus use-regexp v verbose V version xml";
    size_t n = strlen(option);
    if (n == 0 || is_listed(flags, ' ', option)) return 0;
    return n >= 3 && strcmp(option + n - 3, "mca") == 0 ? 2 : 1;
}

/* Returns whether a command line of Open MPI's launcher has the option -x. The options of a program
 * end at its name. After ':' follow the options of the next program. The options of the programs
 * themselves do not count. */
static bool has_x(char **word)
{
    for (bool options = true; *word; word++) {
        const char *option = *word + strspn(*word, "-");
        if (strcmp(*word, ":") == 0) {
            options = true;
        } else if (!options) {
            continue;
        } else if (**word != '-') {
            options = false;
        } else {
            if (strcmp(option, "x") == 0) return true;
            for (int n = values_of(option); n > 0 && word[1] && !strchr("-:", *word[1]); n--)
                word++;
        }
    }
    return false;
}

/* Returns whether the command is a launcher of MPI programs, so that OMPI_MCA_mca_base_env_list has
 * to name the variables that it shall pass to other hosts. (Open MPI's launcher passes only the
 * variables named there; MPICH's launcher passes all variables and ignores this one.) Open MPI
 * refuses a job with both OMPI_MCA_mca_base_env_list and the option -x, so the result is false if
 * the launcher has a -x. */
static bool has_to_ask(char **command)
{
    const char *slash = strrchr(command[0], '/'), *name = slash ? slash + 1 : command[0];
    bool launcher = false;
    static const char *const names[] = {"mpirun", "mpiexec", "orterun"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        launcher = launcher || strncmp(name, names[i], strlen(names[i])) == 0;
    return launcher && !has_x(command + 1);
}

static bool set_environment(const char *library, const struct mpi_arguments *a)
{
    bool set =
        append("LD_PRELOAD", ':', library) && (!a->count || setenv("TUTTI_MPI", "count", 1) == 0);
    if (!has_to_ask(a->command)) return set;
    static const char *const passed[] = {"LD_PRELOAD", "TUTTI_MPI", "TUTTI_MPI_REPORT",
                                         "TUTTI_MPI_WISDOM"};
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
        if (getenv(passed[i])) set = set && append("OMPI_MCA_mca_base_env_list", ';', passed[i]);
    return set;
}

static int start(const struct mpi_arguments *a)
{
    char library[PATH_MAX];
    if (!find_library(library)) {
        fprintf(stderr, "tutti mpi: no " LIBRARY " is found beside this command: Tutti was built "
                        "without MPI's headers, or /proc/self/exe cannot be read\n");
        return TT_EXIT_FAILED;
    }
    if (strpbrk(library, " :;")) {
        fprintf(stderr,
                "tutti mpi: %s: a library with a space, ':' or ';' in its path cannot be "
                "preloaded\n",
                library);
        return TT_EXIT_FAILED;
    }
    if (!set_environment(library, a)) {
        fprintf(stderr, "tutti mpi: no memory for the environment\n");
        return TT_EXIT_FAILED;
    }
    execvp(a->command[0], a->command);
    int why = errno;
    fprintf(stderr, "tutti mpi: cannot run '%s': %s\n", a->command[0], strerror(why));
    return why == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct mpi_arguments *a = state->input;
    (void)arg;
    switch (key) {
    case 'c': a->count = true; return 0;
    case ARGP_KEY_ARGS: a->command = state->argv + state->next; return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "the command is missing; give one, as in tutti mpi mpirun -n 4 ./app");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int tt_mpi_main(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"count", 'c', NULL, 0,
         "count the collective calls of the program, and print a table when it calls MPI_Finalize "
         "(TUTTI_MPI_REPORT=FILE: into a file; as JSON if its name ends in .json)",
         0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "COMMAND [ARGUMENT...]",
        .doc =
            "Runs a command, such as `mpirun -n 4 ./app`, with Tutti between the MPI programs "
            "that it starts and their MPI (Open MPI 4 or MPICH 4). Tutti does their blocking "
            "collectives: barrier, bcast, reduce, allreduce, scan, exscan, reduce_scatter(_block), "
            "gather(v), scatter(v), allgather(v) and alltoall(v, w) on communicators of several "
            "ranks, where it is measured to be faster than the program's own MPI. That MPI does "
            "the others. The ranks may be on several machines.\v"
            "TUTTI_MPI_REPORT=1 prints at MPI_Finalize which calls Tutti did, and why not the "
            "others; TUTTI_MPI_REPORT=FILE writes that into a file. TUTTI_MPI=-bcast,-scan leaves "
            "these two to the program's MPI, and TUTTI_MPI=off all. With TUTTI_MPI=take, Tutti "
            "does them also where it is slower, and does the nonblocking and persistent ones, too. "
            "What was measured is kept for later programs in the user's cache "
            "folder (TUTTI_MPI_WISDOM=FILE: in this file; 0: it is not).",
    };
    struct mpi_arguments a = {0};
    tt_arg_parse(&argp, argc, argv, ARGP_IN_ORDER, &a);
    return start(&a);
}
