/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti run --hosts` and `--hostfile`. This command does not start ranks on other hosts: it prints
 * the command lines with which the installed launchers would. If all hosts are this one, `tutti
 * run` starts the ranks itself.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boot/pmix.h"
#include "run.h"

/* The launchers. `slots` says whether a host name may carry the number of ranks for the host, as in
 * h1:2. mpirun and prun need that. Slurm knows the number already, and would look for a node of the
 * name h1:2. `note` is printed behind the command line, as a comment for the shell. */
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

/* Prints the word so that a shell reads it back unchanged. */
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

/* The host after this one in a list such as "h1,h2:4"; NULL if this is the last. */
static const char *next_host(const char *host)
{
    const char *comma = strchr(host, ',');
    return comma ? comma + 1 : NULL;
}

/* The number of ranks for each host that has no number of its own. */
static int slots_for(const char *hosts, int ranks)
{
    int bare = 0;
    for (; hosts; hosts = next_host(hosts)) {
        size_t name = strcspn(hosts, ",:");
        if (hosts[name] == ':')
            ranks -= atoi(hosts + name + 1);
        else
            bare++;
    }
    return bare > 0 && ranks > 0 ? (ranks + bare - 1) / bare : 1;
}

/* Prints the list of hosts. With 3 slots, "h1,h2:4" becomes "h1:3,h2:4", because a host keeps its
 * own number; with 0 slots it stays as it is. If the launcher takes no slots, it becomes
 * "h1,h2". */
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

static void print_words(const char *option, char *const *words, int n)
{
    for (int i = 0; i < n && words[i]; i++) {
        fprintf(stderr, "%s ", option);
        print_word(words[i], strlen(words[i]));
    }
}

/* Prints "-n 2 -x NAME=VALUE --wdir DIR ./app" for mpirun and prun. Slurm has other options for the
 * last two; it needs --export=ALL to pass the rest of the environment on as well. */
static void print_program(const struct tt_launch_program *p, const char *after, bool slurm)
{
    if (p->ranks) fprintf(stderr, " -n %d", p->ranks);
    fputs(after, stderr);
    if (!slurm) print_words(" -x", p->set, p->sets);
    if (slurm && p->sets > 0) fputs(" --export=ALL", stderr);
    for (int i = 0; slurm && i < p->sets; i++) {
        fputc(',', stderr);
        print_word(p->set[i], strlen(p->set[i]));
    }
    if (p->folder)
        print_words(slurm ? " --chdir" : " --wdir", (char *const[]){(char *)p->folder}, 1);
    print_words("", p->argv, INT_MAX);
}

static void print_line(int launcher, const struct tt_run *run)
{
    bool slots = launchers[launcher].slots;
    int ranks = 0;
    for (int i = 0; i < run->programs; i++) ranks += run->program[i].ranks;
    fprintf(stderr, "    %s", launchers[launcher].before);
    print_hosts(run->hosts, slots, ranks ? slots_for(run->hosts, ranks) : 0);
    for (int i = 0; i < run->programs; i++) {
        if (i > 0) fputs(" :", stderr);
        print_program(&run->program[i], i ? "" : launchers[launcher].after, !slots);
    }
    fprintf(stderr, "%s\n", launchers[launcher].note);
}

/* Whether the launcher is installed and can start these programs. srun takes only one program here,
 * because it would start a job for each of several. */
static bool can_start(int launcher, const struct tt_run *run)
{
    return is_in_path(launchers[launcher].name) &&
           (launchers[launcher].slots || run->programs == 1);
}

/* ---- The list of hosts ---- */

/* The error in the host that begins here, as in "h1,h2:4", up to its comma; NULL if there is
 * none. */
static const char *fault_of_host(const char *host)
{
    size_t name = strcspn(host, ",:");
    if (name == 0) return "a name is empty";
    if (host[name] != ':') return NULL;
    const char *slots = host + name + 1;
    size_t digits = strspn(slots, "0123456789");
    bool ends = slots[digits] == ',' || slots[digits] == '\0';
    bool fits = digits > 0 && digits < 8 && ends && atoi(slots) > 0;
    return fits ? NULL : "a ':' is not followed by how many ranks the host takes";
}

/* Whether two names are the same host name. One of them may lack its domain. */
static bool same_name(const char *a, size_t n, const char *b)
{
    size_t m = strlen(b), least = n < m ? n : m;
    bool ends = n == m || (n < m ? b[n] : a[m]) == '.';
    return least > 0 && ends && strncasecmp(a, b, least) == 0;
}

static bool is_here(const char *host)
{
    char name[256] = "";
    size_t n = strcspn(host, ",:");
    gethostname(name, sizeof name - 1);
    return same_name(host, n, name) || same_name(host, n, "localhost") ||
           same_name(host, n, "127.0.0.1");
}

static void settle(struct tt_run *run, const char *hosts)
{
    bool all_say = true;
    run->hosts = hosts;
    run->here = true;
    run->slots = 0;
    for (const char *host = hosts; host; host = next_host(host)) {
        size_t name = strcspn(host, ",:");
        run->here = run->here && is_here(host);
        all_say = all_say && host[name] == ':';
        if (host[name] == ':') run->slots += atoi(host + name + 1);
    }
    if (!all_say || run->slots > TT_LAUNCH_RANKS) run->slots = 0;
}

void tt_run_hosts(const struct argp_state *state, struct tt_run *run, const char *option,
                  const char *text)
{
    if (run->hosts) argp_error(state, "%s: the hosts have been given before", option);
    if (!*text || strpbrk(text, " \t\n'\"\\$`&|;<>()*?"))
        argp_error(state, "%s: '%s' is no list of names with commas between", option, text);
    const char *fault = NULL;
    for (const char *host = text; host && !fault; host = next_host(host))
        fault = fault_of_host(host);
    if (fault) argp_error(state, "%s: %s in '%s'", option, fault, text);
    settle(run, text);
}

/* ---- A file of hosts ---- */

/* A host of the file. `slots` is the sum of the numbers on its lines, if any line has one (`said`).
 * Otherwise a host with several lines takes one rank for each line, and a host with one line has no
 * number. */
struct host {
    char name[256];
    int slots, lines;
    bool said;
};
enum { HOSTS_MOST = 1 << 16, SLOTS_MOST = 1 << 20 };

struct hostfile {
    const struct argp_state *state;
    const char *name;
    int line;
    struct host *host;
    int hosts;
};

static void complain(const struct hostfile *file, const char *what, const char *word)
{
    argp_error(file->state, "--hostfile: %s:%d: %s '%s' (expected HOST, HOST:N or HOST slots=N)",
               file->name, file->line, what, word);
}

static struct host *host_named(struct hostfile *file, const char *name)
{
    for (int i = 0; i < file->hosts; i++)
        if (strcmp(file->host[i].name, name) == 0) return &file->host[i];
    struct host *host = tt_realloc(file->host, (size_t)(file->hosts + 1) * sizeof *host);
    if (!host || file->hosts == HOSTS_MOST) complain(file, "no room for the host", name);
    if (!host) return NULL;
    file->host = host;
    host = &file->host[file->hosts++];
    *host = (struct host){.lines = 0};
    snprintf(host->name, sizeof host->name, "%s", name);
    return host;
}

static int slots_of(const struct hostfile *file, const char *text)
{
    int64_t n = 0;
    if (!tt_parse_size(text, text + strlen(text), &n) || n < 1 || n > SLOTS_MOST)
        complain(file, "no number of ranks:", text);
    return (int)n;
}

static void read_slots(const struct hostfile *file, struct host *host, const char *text)
{
    host->slots += slots_of(file, text);
    host->said = true;
}

/* Reads "slots=4". The limits max_slots= and max-slots= are checked and ignored, because the
 * printed command lines do not use them. */
static void read_word(const struct hostfile *file, struct host *host, const char *word)
{
    if (strncmp(word, "slots=", 6) == 0)
        read_slots(file, host, word + 6);
    else if (strncmp(word, "max_slots=", 10) == 0 || strncmp(word, "max-slots=", 10) == 0)
        (void)slots_of(file, word + 10);
    else
        complain(file, "unknown word", word);
}

/* Reads one line: empty, a comment, or a host. */
static void read_line(struct hostfile *file, char *line)
{
    char *rest = line, *word;
    line[strcspn(line, "#\n\r")] = '\0';
    while ((word = strsep(&rest, " \t")) && !*word) continue;
    if (!word) return;
    char *slots = strchr(word, ':');
    if (slots) *slots++ = '\0';
    if (!*word || strpbrk(word, "'\"\\$`&|;<>()*?,=")) complain(file, "no name of a host:", word);
    struct host *host = host_named(file, word);
    if (!host) return;
    host->lines++;
    if (slots) read_slots(file, host, slots);
    while ((word = strsep(&rest, " \t")))
        if (*word) read_word(file, host, word);
}

/* The hosts as "h1:2,h2:4". The caller frees the text with free(). */
static char *list_of(const struct hostfile *file)
{
    char *text = NULL;
    size_t n;
    FILE *memory = open_memstream(&text, &n);
    if (!memory) return NULL;
    for (int i = 0; i < file->hosts; i++) {
        const struct host *host = &file->host[i];
        fprintf(memory, "%s%s", i ? "," : "", host->name);
        int slots = host->said ? host->slots : host->lines > 1 ? host->lines : 0;
        if (slots > 0) fprintf(memory, ":%d", slots);
    }
    return fclose(memory) == 0 ? text : NULL;
}

void tt_run_hostfile(const struct argp_state *state, struct tt_run *run, const char *name)
{
    struct hostfile file = {.state = state, .name = name};
    char *line = NULL;
    size_t room = 0;
    FILE *from = fopen(name, "re");
    if (!from) argp_error(state, "--hostfile: cannot read '%s': %s", name, strerror(errno));
    while (from && getline(&line, &room, from) >= 0) {
        file.line++;
        read_line(&file, line);
    }
    if (from) fclose(from);
    if (file.hosts == 0) argp_error(state, "--hostfile: '%s' names no host", name);
    char *list = run->list = list_of(&file);
    if (!list) argp_failure(state, TT_LAUNCH_REFUSED, 0, "no memory for the hosts");
    free(line);
    tt_free(file.host);
    tt_run_hosts(state, run, "--hostfile", list);
}

/* ---- The command lines to type ---- */

int tt_run_elsewhere(const struct tt_run *run)
{
    const char *version;
    int found = 0;
    fprintf(stderr, "tutti run: starts ranks on this machine only. On several machines a launcher "
                    "with PMIx does; here is\n");
    for (int i = 0; i < LAUNCHERS; i++) {
        if (!can_start(i, run)) continue;
        found++;
        print_line(i, run);
    }
    if (!found)
        fprintf(stderr, "    none of mpirun, srun, prun: install one on all machines (Debian: "
                        "openmpi-bin), then\n");
    if (!found) print_line(0, run);
    if (tt_pmix_version(&version) != TUTTI_OK) fprintf(stderr, "But %s\n", tutti_error());
    return TT_LAUNCH_REFUSED;
}
