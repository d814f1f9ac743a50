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

/* How many ranks a host takes (its slots): mpirun and prun want to be told, Slurm knows, and has no node of the name h1:2.
 * `note` is a comment to a shell. */
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
static void print_word(const char *word, size_t n)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=:,./@%";
    if (n > 0 && strspn(word, plain) >= n) {
        fprintf(stderr, "%.*s", (int)n, word);
        return;
    }
    fputc('\'', stderr);
    for (; n > 0; n--, word++)
        if (*word == '\'')
            fputs("'\\''", stderr);
        else
            fputc(*word, stderr);
    fputc('\'', stderr);
}

const char *tt_next_host(const char *host)
{
    const char *comma = strchr(host, ',');
    return comma ? comma + 1 : NULL;
}

/* How many ranks each host without a number is to take. */
static int slots_for(const char *hosts, int ranks)
{
    int bare = 0;
    for (; hosts; hosts = tt_next_host(hosts)) {
        size_t name = strcspn(hosts, ",:");
        if (hosts[name] == ':')
            ranks -= atoi(hosts + name + 1);
        else
            bare++;
    }
    return bare > 0 && ranks > 0 ? (ranks + bare - 1) / bare : 1;
}

/* "h1,h2:4" with 3 slots as "h1:3,h2:4", since one that has a number keeps it; with 0 as it is; for Slurm as "h1,h2". */
static void print_hosts(const char *hosts, bool takes_slots, int slots)
{
    while (*hosts) {
        size_t n = strcspn(hosts, ","), name = strcspn(hosts, ",:");
        print_word(hosts, takes_slots ? n : name);
        if (takes_slots && name == n && slots > 0) fprintf(stderr, ":%d", slots);
        hosts += n;
        if (*hosts) fputc(*hosts++, stderr);
    }
}

static void print_line(int launcher, const char *hosts, int ranks, char *const *argv)
{
    fprintf(stderr, "    %s", launchers[launcher].before);
    print_hosts(hosts, launchers[launcher].slots, ranks ? slots_for(hosts, ranks) : 0);
    if (ranks) fprintf(stderr, " -n %d", ranks);
    fputs(launchers[launcher].after, stderr);
    for (; argv && *argv; argv++) {
        fputc(' ', stderr);
        print_word(*argv, strlen(*argv));
    }
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
