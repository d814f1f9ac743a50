/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti run`: reads the arguments, and starts the ranks on this host by tt_launch
 * (tools/launch.h). For ranks on other hosts, it starts nothing, and prints the command lines with
 * which the installed launchers would start them. Options that people know from other launchers
 * have the same meaning here.
 *
 *     tutti run -n 2 ./a : -n 3 -x MODE=fast ./b x y
 *               \_program_/ \______program________/
 *
 * The options -n, -x and --wdir apply to the program after them, all other options to the job.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boot/pmix.h"
#include "command.h"
#include "launch.h"
#include "run/roll.h"

/* The arguments of `tutti run`. */
struct wanted_run {
    struct tt_launch_options launch;
    /* the array that launch.program points to, with launch.programs entries */
    struct tt_launch_program *program;
    int programs;
    const char *hosts; /* the list of hosts, such as "h1,h2:4"; NULL if not given */
    char *list;        /* the memory of `hosts` if the list was read from a file */
    bool here;         /* all hosts of the list are this host */
    /* the number of ranks that all hosts together take; 0 if a host has no number */
    int64_t slots;
};

/* ---- Several hosts ---- */

/* The launchers. `slots` says whether a host name may carry the number of ranks for the host, as in
 * h1:2. mpirun and prun need this number. Slurm knows it already, and would look for a node with
 * the name h1:2. `note` is printed after the command line, as a comment of the shell. */
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

/* Prints the word, in quotes if a shell would otherwise change it. */
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

/* Returns the next host in a list such as "h1,h2:4"; NULL if `host` is the last one. */
static const char *next_host(const char *host)
{
    const char *comma = strchr(host, ',');
    return comma ? comma + 1 : NULL;
}

/* Returns how many ranks each host without a number has to take, so that all hosts together take
 * `ranks` ranks. */
static int64_t slots_for(const char *hosts, int64_t ranks)
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

/* Prints the list of hosts for a launcher. A host without a number gets the number `slots`: with 3
 * slots, "h1,h2:4" becomes "h1:3,h2:4". With 0 slots, the list is printed as it is. If takes_slots
 * is false, the numbers are left out: "h1,h2". */
static void print_hosts(const char *hosts, bool takes_slots, int64_t slots)
{
    while (*hosts) {
        size_t n = strcspn(hosts, ","), name = strcspn(hosts, ",:");
        print_word(hosts, takes_slots ? n : name);
        if (takes_slots && name == n && slots > 0) fprintf(stderr, ":%lld", (long long)slots);
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

/* Prints the part of a command line for one program: "-n 2 -x NAME=VALUE --wdir DIR ./app" for
 * mpirun and prun. For Slurm, prints --export and --chdir instead of -x and --wdir; --export=ALL
 * also passes on the rest of the environment. */
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

/* Returns the number of ranks of all programs together; 0 if the user gave no number. */
static int ranks_of(const struct wanted_run *run)
{
    int ranks = 0;
    for (int i = 0; i < run->programs; i++) ranks += run->program[i].ranks;
    return ranks;
}

static void print_line(int launcher, const struct wanted_run *run)
{
    bool slots = launchers[launcher].slots;
    int ranks = ranks_of(run);
    fprintf(stderr, "    %s", launchers[launcher].before);
    print_hosts(run->hosts, slots, ranks ? slots_for(run->hosts, ranks) : 0);
    for (int i = 0; i < run->programs; i++) {
        if (i > 0) fputs(" :", stderr);
        print_program(&run->program[i], i ? "" : launchers[launcher].after, !slots);
    }
    fprintf(stderr, "%s\n", launchers[launcher].note);
}

/* Returns whether the launcher is installed and can start these programs. srun cannot start several
 * programs, because it would start a job for each of them. */
static bool can_start(int launcher, const struct wanted_run *run)
{
    return is_in_path(launchers[launcher].name) &&
           (launchers[launcher].slots || run->programs == 1);
}

/* ---- The list of hosts ---- */

/* Returns what is wrong with the host that begins at `host`, up to the next comma; NULL if nothing
 * is. */
static const char *fault_of_host(const char *host)
{
    size_t name = strcspn(host, ",:");
    if (name == 0) return "a name is empty";
    if (*host == '-' || *host == '[')
        return "a host name or IPv4 address does not begin with '-' or '['";
    if (host[name] != ':') return NULL;
    const char *slots = host + name + 1;
    size_t digits = strspn(slots, "0123456789");
    bool ends = slots[digits] == ',' || slots[digits] == '\0';
    bool fits = digits > 0 && digits < 8 && ends && atoi(slots) > 0;
    return fits ? NULL : "a ':' is not followed by how many ranks the host takes";
}

/* Returns whether two names stand for the same host. One of the names may lack the domain. */
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

static void settle(struct wanted_run *run, const char *hosts)
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
    if (!all_say) run->slots = 0;
}

/* Sets the list of hosts, such as "h1,h2:4", which is the value of `option`. The list is not
 * copied. Reports errors by argp_error, which exits. */
static void read_hosts(const struct argp_state *state, struct wanted_run *run, const char *option,
                       const char *text)
{
    if (run->hosts) argp_error(state, "%s: the hosts have been given before", option);
    if (!*text || strpbrk(text, " \t\n'\"\\$`&|;<>()*?"))
        argp_error(state, "%s: '%s' is no list of names separated by commas", option, text);
    const char *fault = NULL;
    for (const char *host = text; host && !fault; host = next_host(host))
        fault = fault_of_host(host);
    if (fault) argp_error(state, "%s: %s in '%s'", option, fault, text);
    settle(run, text);
}

/* ---- A file of hosts ---- */

/* A host of the file. Several lines of the file may name the same host. If at least one of these
 * lines has a number of ranks (`said`), `slots` is the sum of their numbers. Otherwise a host with
 * several lines takes one rank for each line, and a host with one line has no number. */
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
    host->slots += slots_of(file, text); /* both are at most SLOTS_MOST */
    host->said = true;
    if (host->slots > SLOTS_MOST) complain(file, "too many ranks for the host", host->name);
}

/* Reads a word after the name of a host, such as "slots=4". The limits max_slots= and max-slots=
 * are checked and ignored, because the printed command lines do not use them. */
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

/* Returns the hosts as a list such as "h1:2,h2:4". The caller frees the text with free(). */
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

/* Reads the hosts from a file with a host on each line: "h1", "h2:4" or "h2 slots=4". Reports
 * errors by argp_error, which exits. */
static void read_hostfile(const struct argp_state *state, struct wanted_run *run, const char *name)
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
    if (from && ferror(from))
        argp_error(state, "--hostfile: cannot read '%s': %s", name, strerror(errno));
    if (from) fclose(from);
    if (file.hosts == 0) argp_error(state, "--hostfile: '%s' names no host", name);
    char *list = run->list = list_of(&file);
    if (!list) argp_failure(state, TT_LAUNCH_REFUSED, 0, "no memory for the hosts");
    free(line);
    tt_free(file.host);
    read_hosts(state, run, "--hostfile", list);
}

/* ---- The command lines to type ---- */

/* Returns whether the user gave an option that the printed command lines do not contain. */
static bool has_other_options(const struct tt_launch_options *o)
{
    return o->output || o->timeout_ns || o->tag || o->on_failure != TT_ON_FAILURE_END ||
           o->report_bindings || o->display_map;
}

/* Prints which launchers are installed and how each of them would start the programs on these
 * hosts. Returns the exit code TT_LAUNCH_REFUSED. */
static int run_elsewhere(const struct wanted_run *run)
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
    if (has_other_options(&run->launch))
        fprintf(stderr, "Of the options of tutti run, these lines have -n, -x and --wdir only.\n");
    if (run->slots > 0 && run->slots < ranks_of(run))
        fprintf(stderr, "But these hosts take %lld ranks, and %d are wanted.\n",
                (long long)run->slots, ranks_of(run));
    if (tt_pmix_version(&version) != TUTTI_OK) fprintf(stderr, "But %s\n", tutti_error());
    return TT_LAUNCH_REFUSED;
}

/* ---- Arguments ---- */

enum {
    OPTION_TIMEOUT = 256,
    OPTION_TAG,
    OPTION_BIND,
    OPTION_MAP_BY,
    OPTION_CORES,
    OPTION_REPORT,
    OPTION_DISPLAY,
    OPTION_DISPLAY_MAP,
    OPTION_ON_FAILURE,
    OPTION_HOSTS,
    OPTION_HOSTFILE,
    OPTION_WDIR,
    OPTION_OUTPUT,
    OPTION_NOTHING,
    OPTION_MCA,
    OPTION_ENV
};
#define ALIAS (OPTION_ALIAS | OPTION_HIDDEN)

static const struct argp_option options[] = {
    {"ranks", 'n', "N", 0,
     "start N processes, 1 to 4096 (default: as many as there are processors)", 0},
    {"np", 0, NULL, ALIAS, NULL, 0},
    {"npernode", 'N', "N", OPTION_HIDDEN, NULL, 0},
    {"ppn", 0, NULL, ALIAS, NULL, 0},
    {NULL, 'x', "NAME[=VALUE]", 0,
     "set a variable for the ranks (they have the others that are set here)", 0},
    {"wdir", OPTION_WDIR, "DIR", 0, "run the ranks in DIR", 0},
    {"wd", 0, NULL, ALIAS, NULL, 0},
    {"timeout", OPTION_TIMEOUT, "S", 0, "end everything after S seconds, with code 124", 0},
    {"on-failure", OPTION_ON_FAILURE, "end|continue|continue-fail", 0,
     "what happens to the other ranks when one fails. end (the default): they are ended after 1 s; "
     "continue: they go on, and the job ends with 0 if they do; continue-fail: they go on, and the "
     "job has failed",
     0},
    {"tag", OPTION_TAG, NULL, 0, "begin each line of output with the [rank] it comes from", 0},
    {"tag-output", 'l', NULL, ALIAS, NULL, 0},
    {"output-dir", OPTION_OUTPUT, "DIR", 0,
     "write the output of rank R to DIR/rank-R.out and DIR/rank-R.err", 0},
    {"output-filename", 0, NULL, ALIAS, NULL, 0},
    {NULL, 0, NULL, 0, "Where the ranks run:", 1},
    {"bind", OPTION_BIND, "core|thread|numa|package|none", 0,
     "bind each rank to this (default: a core each in turn, that no other job of yours is bound "
     "to; hardware threads where there are more ranks than cores; none where another job of yours "
     "leaves too few)",
     0},
    {"bind-to", 0, NULL, ALIAS, NULL, 0},
    {"map-by", OPTION_MAP_BY, "core|numa|package", 0,
     "give ranks one core after the other (the default), or deal them out to NUMA nodes or "
     "packages",
     0},
    {"cores-per-rank", OPTION_CORES, "N", 0,
     "how many cores a rank has for its threads (default: OMP_NUM_THREADS, or 1)", 0},
    {"cpus-per-rank", 0, NULL, ALIAS, NULL, 0},
    {"cpus-per-task", 0, NULL, ALIAS, NULL, 0},
    {"report-bindings", OPTION_REPORT, NULL, 0, "print what each rank is bound to", 0},
    {"display", OPTION_DISPLAY, "map|bind", 0, "print where each rank runs, and which program", 0},
    {"display-map", OPTION_DISPLAY_MAP, NULL, OPTION_HIDDEN, NULL, 0},
    {NULL, 0, NULL, 0, "Several machines:", 2},
    {"hosts", OPTION_HOSTS, "HOST,...", 0,
     "say which launcher starts ranks on several machines (if they all are this one: run here)", 0},
    {"host", 'H', NULL, ALIAS, NULL, 0},
    {"hostfile", OPTION_HOSTFILE, "FILE", 0, "like --hosts, with a host on each line of FILE", 0},
    {"machinefile", 'f', NULL, ALIAS, NULL, 0},
    {"oversubscribe", OPTION_NOTHING, NULL, OPTION_HIDDEN, NULL, 0},
    {"allow-run-as-root", 0, NULL, ALIAS, NULL, 0},
    {"mca", OPTION_MCA, "NAME", OPTION_HIDDEN, NULL, 0},
    {"genv", OPTION_ENV, "NAME", OPTION_HIDDEN, NULL, 0},
    {"env", 0, NULL, ALIAS, NULL, 0},
    {NULL, 'c', "N", OPTION_HIDDEN, NULL, 0},
    {0},
};

struct run_arguments {
    struct wanted_run run;
    struct tt_launch_program next; /* the program whose options are being read */
    int ranks;                     /* the number of ranks of the programs before `next` */
    int per_node;                  /* the value of -N; 0 if it was not given */
    bool verbatim;                 /* -- was given: all further arguments belong to one program */
};

/* ---- Values ---- */

/* Returns the index of `text` in the list of words, which ends with NULL. If the list does not
 * contain it, prints an error with the words by argp_error, which exits. */
static int word_of(const struct argp_state *state, const char *option, const char *text,
                   const char *const *words)
{
    char all[160] = "";
    for (int i = 0; words[i]; i++) {
        if (strcmp(text, words[i]) == 0) return i;
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", words[i]);
    }
    argp_error(state, "%s: '%s' is none of %s", option, text, all);
    return 0;
}

static enum tt_bind bind_of(const struct argp_state *state, const char *text)
{
    static const char *const words[] = {"core", "thread", "numa",     "package",
                                        "none", "socket", "hwthread", NULL};
    static const enum tt_bind means[] = {TT_BIND_CORE,    TT_BIND_THREAD, TT_BIND_NUMA,
                                         TT_BIND_PACKAGE, TT_BIND_NONE,   TT_BIND_PACKAGE,
                                         TT_BIND_THREAD};
    return means[word_of(state, "--bind", text, words)];
}

static enum tt_map_by map_of(const struct argp_state *state, const char *text)
{
    static const char *const words[] = {"core", "numa", "package", "slot", "socket", NULL};
    static const enum tt_map_by means[] = {TT_MAP_CORE, TT_MAP_NUMA, TT_MAP_PACKAGE, TT_MAP_CORE,
                                           TT_MAP_PACKAGE};
    return means[word_of(state, "--map-by", text, words)];
}

static void display(const struct argp_state *state, struct tt_launch_options *o, const char *text)
{
    static const char *const words[] = {"map", "bind", "map,bind", "bind,map", NULL};
    int word = word_of(state, "--display", text, words);
    o->display_map = o->display_map || word != 1;
    o->report_bindings = o->report_bindings || word == 1;
}

/* Returns whether `tutti run` itself sets the variable of this name. */
static bool is_own(const char *name, size_t n)
{
    static const char *const own[] = {"TUTTI_RANK", "TUTTI_SIZE", "TUTTI_JOB"};
    for (int i = 0; i < 3; i++)
        if (strlen(own[i]) == n && strncmp(name, own[i], n) == 0) return true;
    return false;
}

static void set_variable(const struct argp_state *state, struct tt_launch_program *p, char *text)
{
    size_t n = strcspn(text, "=");
    if (n == 0) argp_error(state, "-x: '%s' has no name before its =", text);
    if (is_own(text, n))
        argp_error(state, "-x: %.*s is set by tutti run, differently for each rank", (int)n, text);
    if (!text[n]) {
        if (!getenv(text)) fprintf(stderr, "%s: -x: %s is not set here\n", state->name, text);
        return;
    }
    char **set = tt_realloc(p->set, (size_t)(p->sets + 1) * sizeof *set);
    if (!set) argp_failure(state, TT_LAUNCH_REFUSED, 0, "no memory for a variable");
    p->set = set;
    p->set[p->sets++] = text;
}

/* Makes the folder and its parents if they do not exist. Returns false with the reason in errno. */
static bool make_folders(const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s", name) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (char *at = path; *at; at++) {
        if (*at != '/' || at == path) continue;
        *at = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST) return false;
        *at = '/';
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

static const char *folder_of(const struct argp_state *state, const char *option, const char *name,
                             bool make)
{
    struct stat is;
    if (make && !make_folders(name))
        argp_error(state, "%s: cannot make the folder '%s': %s", option, name, strerror(errno));
    if (stat(name, &is) != 0)
        argp_error(state, "%s: '%s': %s", option, name, strerror(errno));
    else if (!S_ISDIR(is.st_mode))
        argp_error(state, "%s: '%s' is not a folder", option, name);
    return name;
}

/* ---- Programs ---- */

/* Returns the index after the last argument of the program that begins at argv[at]. The program
 * ends before a ":", unless `verbatim` is true. */
static int end_of_program(const struct argp_state *state, int at, bool verbatim)
{
    int end = at;
    while (end < state->argc && (verbatim || strcmp(state->argv[end], ":") != 0)) end++;
    return end;
}

static void add_program(const struct argp_state *state, struct run_arguments *a)
{
    struct tt_launch_program *all = a->run.program;
    a->ranks += a->next.ranks;
    if (a->ranks > TT_LAUNCH_RANKS)
        argp_error(state, "-n: %d ranks are more than %d", a->ranks, TT_LAUNCH_RANKS);
    all = tt_realloc(all, (size_t)(a->run.programs + 1) * sizeof *all);
    if (!all) argp_failure(state, TT_LAUNCH_REFUSED, 0, "no memory for a program");
    a->run.program = all;
    a->run.program[a->run.programs++] = a->next;
    a->next = (struct tt_launch_program){0};
}

/* Reads the program that begins with the argument just read and ends before a ':'. Options of the
 * next program follow the ':'. */
static void read_program(struct argp_state *state, struct run_arguments *a)
{
    int at = state->next - 1, end = end_of_program(state, at, a->verbatim);
    if (end == at) argp_error(state, "there is no program before ':'");
    bool more = end < state->argc;
    a->next.argv = state->argv + at;
    add_program(state, a);
    state->next = end;
    if (!more) return;
    state->argv[end] = NULL;
    state->next = end + 1;
    if (state->next == state->argc) argp_error(state, "there is no program behind ':'");
    tt_arg_prepare(state, state->next, true);
}

/* Checks what can be known only when all arguments are read, such as that each of several programs
 * has its own -n. */
static void check_programs(const struct argp_state *state, const struct run_arguments *a)
{
    const struct wanted_run *run = &a->run;
    if (a->next.ranks || a->next.sets || a->next.folder)
        argp_error(state, "there is no program behind the last options");
    for (int i = 0; run->programs > 1 && i < run->programs; i++)
        if (run->program[i].ranks == 0)
            argp_error(state, "-n: each of several programs needs its own, %s has none",
                       run->program[i].argv[0]);
    if (a->per_node && a->ranks && a->per_node != a->ranks)
        argp_error(state, "-N: %d ranks on this machine, but -n says %d", a->per_node, a->ranks);
    if (run->here && run->slots > TT_LAUNCH_RANKS && !a->ranks && !a->per_node)
        argp_error(state, "%s: %lld ranks are more than %d on one machine; say -n for fewer",
                   run->list ? "--hostfile" : "--hosts", (long long)run->slots, TT_LAUNCH_RANKS);
    if (run->launch.tag && run->launch.output)
        argp_error(state, "--tag: with --output-dir there are no lines to tag");
}

/* ---- Reading ---- */

static error_t parse_foreign(int key, const struct argp_state *state)
{
    switch (key) {
    case OPTION_NOTHING:
        /* the options of other launchers that allow more ranks than processors, or runs as the user
         * root: tutti run always allows both */
        return 0;
    case OPTION_MCA:
        argp_error(state, "--mca is Open MPI's; settings of Tutti are variables: -x TUTTI_LOG=boot "
                          "(`man tutti` has them all)");
        return 0;
    case OPTION_ENV: argp_error(state, "variables are set by -x NAME=VALUE"); return 0;
    case 'c':
        argp_error(state, "-c: say -n for the number of ranks, or --cores-per-rank");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_job(int key, char *arg, const struct argp_state *state,
                         struct run_arguments *a)
{
    static const char *const on_failure[] = {"end", "continue", "continue-fail", NULL};
    struct tt_launch_options *o = &a->run.launch;
    switch (key) {
    case 'N': a->per_node = (int)tt_arg_number(state, "-N", arg, 1, TT_LAUNCH_RANKS); return 0;
    case OPTION_TIMEOUT: o->timeout_ns = tt_arg_seconds(state, "--timeout", arg); return 0;
    case 'l':
    case OPTION_TAG: o->tag = true; return 0;
    case OPTION_OUTPUT: o->output = folder_of(state, "--output-dir", arg, true); return 0;
    case OPTION_BIND: o->binding.bind = bind_of(state, arg); return 0;
    case OPTION_MAP_BY: o->binding.map = map_of(state, arg); return 0;
    case OPTION_CORES:
        o->binding.cores = (int)tt_arg_number(state, "--cores-per-rank", arg, 1, TT_LAUNCH_RANKS);
        return 0;
    case OPTION_REPORT: o->report_bindings = true; return 0;
    case OPTION_DISPLAY: display(state, o, arg); return 0;
    case OPTION_DISPLAY_MAP: o->display_map = true; return 0;
    case OPTION_ON_FAILURE:
        o->on_failure = (enum tt_on_failure)word_of(state, "--on-failure", arg, on_failure);
        return 0;
    case 'H':
    case OPTION_HOSTS: read_hosts(state, &a->run, "--hosts", arg); return 0;
    case 'f':
    case OPTION_HOSTFILE: read_hostfile(state, &a->run, arg); return 0;
    default: return parse_foreign(key, state);
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct run_arguments *a = state->input;
    switch (key) {
    case 'n': a->next.ranks = (int)tt_arg_number(state, "-n", arg, 1, TT_LAUNCH_RANKS); return 0;
    case 'x': set_variable(state, &a->next, arg); return 0;
    case OPTION_WDIR: a->next.folder = folder_of(state, "--wdir", arg, false); return 0;
    case ARGP_KEY_ARG:
        a->verbatim = state->quoted != 0;
        read_program(state, a);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "the program is missing; give one, as in tutti run -n 4 ./app");
        return 0;
    case ARGP_KEY_SUCCESS: check_programs(state, a); return 0;
    default: return parse_job(key, arg, state, a);
    }
}

static int start(struct wanted_run *run, int ranks)
{
    if (run->hosts && !run->here) return run_elsewhere(run);
    if (run->programs == 1 && run->program[0].ranks == 0) run->program[0].ranks = ranks;
    run->launch.program = run->program;
    run->launch.programs = run->programs;
    return tt_launch(&run->launch);
}

static void free_run(struct wanted_run *run)
{
    for (int i = 0; i < run->programs; i++) tt_free(run->program[i].set);
    tt_free(run->program);
    free(run->list);
}

int tt_run_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "PROGRAM [ARGUMENT...] [: [OPTION...] PROGRAM [ARGUMENT...]]...\n"
                    "-- PROGRAM [ARGUMENT...]",
        .doc =
            "Runs PROGRAM as N processes, the ranks of one job, and ends with the code of the "
            "first that fails (128 + number of a signal). Rank 0 reads stdin. Behind a ':' comes "
            "another program of the same job, with -n, -x and --wdir of its own; behind '--' an "
            "argument ':' is the program's.\v"
            "Other codes: 124 timeout, 125 tutti itself could not, 126 PROGRAM cannot be run, 127 "
            "there is no such PROGRAM.",
    };
    struct run_arguments a = {.run.launch.call_roll = tt_roll_call};
    argp_err_exit_status = TT_LAUNCH_REFUSED;
    tt_arg_parse(&argp, argc, argv, ARGP_IN_ORDER, &a);
    int code = start(&a.run, a.per_node ? a.per_node : (int)a.run.slots);
    free_run(&a.run);
    return code;
}
