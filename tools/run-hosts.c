/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti run --hosts`: ranks on several machines are started by another launcher, which is told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boot/launch.h"
#include "boot/pmix.h"
#include "command.h"

static const struct {
    const char *name, *line; /* of the line: hosts, ranks */
} launchers[] = {
    {"mpirun", "mpirun --host %s%s --map-by slot"},
    {"srun", "srun --mpi=pmix --nodelist=%s%s"},
    {"prun", "prun --host %s%s --map-by slot"},
};
enum { LAUNCHERS = sizeof launchers / sizeof launchers[0] };

static bool is_in_path(const char *name)
{
    char file[4096];
    const char *at = getenv("PATH");
    while (at && *at) {
        size_t n = strcspn(at, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)n, at, name);
        if (access(file, X_OK) == 0) return true;
        at += n + (at[n] == ':');
    }
    return false;
}

/* As a shell reads it back. */
static void print_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=:,./@%";
    if (*word && word[strspn(word, plain)] == 0) {
        fprintf(stderr, " %s", word);
        return;
    }
    fputs(" '", stderr);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", stderr);
        else
            fputc(*word, stderr);
    fputc('\'', stderr);
}

static void print_line(const char *line, const char *hosts, int ranks, char *const *argv)
{
    char n[24] = "";
    if (ranks) snprintf(n, sizeof n, " -n %d", ranks);
    fputs("    ", stderr);
    fprintf(stderr, line, hosts, n);
    for (; argv && *argv; argv++) print_word(*argv);
    fputc('\n', stderr);
}

int tt_run_elsewhere(const char *hosts, int ranks, char *const *argv)
{
    const char *version;
    int found = 0;
    fprintf(stderr, "tutti run: starts ranks on this machine only. On several machines a launcher "
                    "with PMIx does; here is\n");
    for (int i = 0; i < LAUNCHERS; i++) {
        if (!is_in_path(launchers[i].name)) continue;
        found++;
        print_line(launchers[i].line, hosts, ranks, argv);
    }
    if (!found)
        fprintf(stderr, "    none of mpirun, srun, prun: install one on all machines (Debian: "
                        "openmpi-bin), then\n");
    if (!found) print_line(launchers[0].line, hosts, ranks, argv);
    if (tt_pmix_version(&version) != TUTTI_OK) fprintf(stderr, "But %s\n", tutti_error());
    return TT_LAUNCH_REFUSED;
}
