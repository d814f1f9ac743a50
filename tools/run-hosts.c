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

/* How many ranks a host takes: mpirun and prun want to be told, Slurm knows. `note` is a comment to a shell. */
static const struct {
    const char *name, *before, *after, *note;
    bool slots;
} launchers[] = {
    {"mpirun", "mpirun --host ", " --map-by slot", "", true},
    {"srun", "srun --mpi=pmix --nodelist=", "",
     "    # of nodes of Slurm, where `srun --mpi=list` names pmix", false},
    {"prun", "prun --host ", " --map-by slot", "", true},
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

static int count(const char *hosts)
{
    int n = 1;
    for (; *hosts; hosts++) n += *hosts == ',';
    return n;
}

/* "h1,h2" as "h1:3,h2:3"; one that has a number keeps it. */
static void print_slots(const char *hosts, int slots)
{
    while (*hosts) {
        int n = (int)strcspn(hosts, ",");
        fprintf(stderr, "%.*s", n, hosts);
        if (!memchr(hosts, ':', (size_t)n)) fprintf(stderr, ":%d", slots);
        hosts += n;
        if (*hosts) fputc(*hosts++, stderr);
    }
}

static void print_line(int launcher, const char *hosts, int ranks, char *const *argv)
{
    int machines = count(hosts);
    fprintf(stderr, "    %s", launchers[launcher].before);
    if (ranks && launchers[launcher].slots)
        print_slots(hosts, (ranks + machines - 1) / machines);
    else
        fputs(hosts, stderr);
    if (ranks) fprintf(stderr, " -n %d", ranks);
    fputs(launchers[launcher].after, stderr);
    for (; argv && *argv; argv++) print_word(*argv);
    fprintf(stderr, "%s\n", launchers[launcher].note);
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
        print_line(i, hosts, ranks, argv);
    }
    if (!found)
        fprintf(stderr, "    none of mpirun, srun, prun: install one on all machines (Debian: "
                        "openmpi-bin), then\n");
    if (!found) print_line(0, hosts, ranks, argv);
    if (tt_pmix_version(&version) != TUTTI_OK) fprintf(stderr, "But %s\n", tutti_error());
    return TT_LAUNCH_REFUSED;
}
