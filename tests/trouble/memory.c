/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks whose whole memory is visited by a core dump, by mlockall, or by another process.
 */
#include "rank.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHARED = 64 << 20 }; /* bytes that each rank allocates and writes */

static int missing(const char *what)
{
    printf("rank %d: cannot: %s: %s\n", rank_number(), what, strerror(errno));
    return 77;
}

static int64_t file_bytes(const tutti_client *client)
{
    struct stat st;
    return fstat(client->seat.segment.fd, &st) == 0 ? st.st_size : -1;
}

static int64_t file_used(const tutti_client *client)
{
    struct stat st;
    return fstat(client->seat.segment.fd, &st) == 0 ? st.st_blocks * 512 : -1;
}

/* Joins the job and uses some shared memory. */
static tutti_client *use(void)
{
    void *memory;
    tutti_client *client = join();
    if (tutti_alloc(client, SHARED, &memory) != TUTTI_OK) abort();
    memset(memory, 1, SHARED);
    if (tutti_barrier(tutti_world(client)) != TUTTI_OK) abort();
    return client;
}

/* ---- A core dump ---- */

/* Lets the kernel include shared memory in core dumps, even where the machine's default leaves
 * shared memory out. Otherwise the test would not notice whether the library excludes its memory.
 * Returns whether that is possible. */
static bool dumps_all(void)
{
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(RLIMIT_CORE, &all) != 0) return false;
    FILE *file = fopen("/proc/self/coredump_filter", "we");
    if (!file) return false;
    bool written = fputs("0x7f", file) >= 0;
    return fclose(file) == 0 && written;
}

static int crash(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    if (!dumps_all()) return missing("a core dump of everything");
    tutti_client *client = use();
    volatile int *volatile nowhere = NULL;
    int64_t begin = tt_clock_ns();
    signal(SIGSEGV, SIG_DFL);
    if (rank_number() == 1) *nowhere = 1;
    return end(client, tutti_barrier(tutti_world(client)), TUTTI_ERR_PEER, begin);
}

/* ---- Mappings in /proc ---- */

/* Returns the number of shared mappings of the job's memory in a process; -1 if it is not known.
 * Adds to *dumped those that a core dump would contain. */
static int count_mappings(int pid, int *dumped)
{
    char path[64], line[1024];
    bool ours = false;
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/smaps", pid);
    FILE *file = fopen(path, "re");
    if (!file) return -1;
    while (fgets(line, sizeof line, file)) {
        if (strstr(line, " /") || strstr(line, ":tutti")) ours = strstr(line, "memfd:tutti");
        if (strncmp(line, "VmFlags:", 8) != 0) continue;
        n += ours;
        *dumped += ours && !strstr(line, " dd");
        ours = false;
    }
    fclose(file);
    return n;
}

/* mapped: prints how many mappings of the job's memory the rank and its guard have, and how many of
 * these mappings a core dump would contain. The rank and the guard must have one each, and a core
 * dump must contain none of them. */
static int mapped(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    tutti_client *client = use();
    int64_t begin = tt_clock_ns(), ever = tt_memory_ever();
    int dumped = 0, mine = count_mappings(getpid(), &dumped);
    int guards = count_mappings(getppid(), &dumped);
    printf("rank %d: mappings %d, of the guard %d, dumped %d; %s\n", rank_number(), mine, guards,
           dumped,
           client->fabric.segment->bytes < ever + (INT64_C(256) << 20) ? "not more than there is"
                                                                       : "too large");
    fflush(stdout);
    return end(client, tutti_barrier(tutti_world(client)), TUTTI_OK, begin);
}

/* ---- Locked memory ---- */

/* Calls mlockall with the flags that `how` names: none (no call), current, future or onfault. */
static int lock(const char *how)
{
    if (strcmp(how, "none") == 0) return 0;
    if (strcmp(how, "current") == 0) return mlockall(MCL_CURRENT);
    if (strcmp(how, "future") == 0) return mlockall(MCL_CURRENT | MCL_FUTURE);
    return mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
}

/* Checks that memory which was freed while it was locked is zero when it is allocated again. */
static tutti_status again(tutti_client *client)
{
    char *memory;
    TT_TRY(tutti_alloc(client, 1 << 20, (void **)&memory));
    memset(memory, 1, 1 << 20);
    TT_TRY(tutti_free(client, memory));
    TT_TRY(tutti_alloc(client, 1 << 20, (void **)&memory));
    for (int i = 0; i < 1 << 20; i++)
        if (memory[i]) return tt_fail(TUTTI_ERR_SYSTEM, "byte %d is not 0", i);
    return tutti_free(client, memory);
}

/* locked BEFORE AFTER: calls mlockall before joining as BEFORE says, and after joining as AFTER
 * says. The file of the shared memory must then hold what was used, and no more. */
static int locked(int argc, char **argv)
{
    if (argc < 2) return 7;
    if (lock(argv[0]) != 0) return missing("mlockall before joining");
    tutti_client *client = use();
    int64_t begin = tt_clock_ns();
    if (lock(argv[1]) != 0) return missing("mlockall after joining");
    tutti_status status = again(client);
    if (status == TUTTI_OK) status = tutti_barrier(tutti_world(client));
    int64_t used = file_used(client), bytes = file_bytes(client), most = 2 * (SHARED + (32 << 20));
    printf("rank %d: %lld KiB used of %lld: %s\n", rank_number(), (long long)used >> 10,
           (long long)bytes >> 10,
           used <= most && bytes <= most ? "no more than that" : "too much");
    fflush(stdout);
    return end(client, status, TUTTI_OK, begin);
}

/* Returns the KiB of resident memory of this process. */
static long resident_kib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%*s %ld", &pages) != 1) abort();
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void lock_one(tutti_client *client, void *how)
{
    void *memory;
    tutti_status status = tutti_alloc(client, SHARED, &memory);
    if (status == TUTTI_OK) status = tutti_barrier(tutti_world(client));
    if (tutti_rank(tutti_world(client)) == 0 && lock(how) != 0) exit(missing("mlockall"));
    if (status == TUTTI_OK) status = again(client);
    if (status == TUTTI_OK) status = tutti_barrier(tutti_world(client));
    if (status != TUTTI_OK) abort();
    if (tutti_rank(tutti_world(client)) == 0)
        printf("threads: %s\n", resident_kib() < 256 << 10 ? "no more than that" : "too much");
}

static int locked_threads(int argc, char **argv)
{
    if (argc < 2) return 7;
    if (lock(argv[0]) != 0) return missing("mlockall before joining");
    return tutti_threads(2, lock_one, argv[1]) == TUTTI_OK ? 0 : 8;
}

/* ---- Another process looks at a rank ---- */

/* looked-at FILE: rank 1 writes its process number to the file and waits until the file is removed.
 */
static int looked_at(int argc, char **argv)
{
    if (argc < 1) return 7;
    tutti_client *client = use();
    int64_t begin = tt_clock_ns();
    if (rank_number() == 1) {
        FILE *file = fopen(argv[0], "we");
        if (!file || fprintf(file, "%d\n", (int)getpid()) < 0 || fclose(file) != 0) abort();
        while (access(argv[0], F_OK) == 0) usleep(10000);
    }
    return end(client, tutti_barrier(tutti_world(client)), TUTTI_OK, begin);
}

const struct scenario memories[] = {{"crash", crash},         {"mapped", mapped},
                                    {"locked", locked},       {"locked-threads", locked_threads},
                                    {"looked-at", looked_at}, {NULL, NULL}};
