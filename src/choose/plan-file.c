/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loads the lab. The lab is beside libtutti.so; for a program that contains libtutti.a, it is where
 * the dynamic linker looks for libraries.
 */
#include "choose/plan-file.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LAB "libtutti-lab.so.0"

static struct {
    pthread_once_t once;
    tt_lab_plan *plan; /* NULL: the lab could not be loaded, and `why` has the reason */
    char why[512];
} lab = {.once = PTHREAD_ONCE_INIT};

void tt_lab_provide(tt_lab_plan *plan)
{
    lab.plan = plan;
}

/* Writes the path of the lab beside this library, or "" if that path is not known. */
static void path_beside(char *path, size_t n)
{
    Dl_info info;
    const char *slash = NULL;
    if (dladdr((const void *)&lab, &info) && info.dli_fname) slash = strrchr(info.dli_fname, '/');
    path[0] = '\0';
    if (slash) snprintf(path, n, "%.*s/" LAB, (int)(slash - info.dli_fname), info.dli_fname);
}

static void load(void)
{
    char beside[4096];
    char mine[TT_VERSION];
    const char *(*version)(void);
    void *plan;
    if (lab.plan) return;
    path_beside(beside, sizeof beside);
    const char *why = NULL;
    void *library = beside[0] ? tt_library_load(beside, RTLD_NOW | RTLD_LOCAL, &why) : NULL;
    if (!library) library = tt_library_load(LAB, RTLD_NOW | RTLD_LOCAL, &why);
    if (!library) {
        snprintf(lab.why, sizeof lab.why,
                 "the laboratory, which proves plan files, cannot be loaded (%s): install " LAB
                 " beside libtutti.so",
                 why);
        return;
    }
    *(void **)&version = dlsym(library, "tutti_lab_version");
    plan = dlsym(library, "tutti_lab_plan");
    if (version && plan && strcmp(version(), tt_version(mine)) == 0)
        *(void **)&lab.plan = plan;
    else
        snprintf(lab.why, sizeof lab.why, "%s is not of version %s of Tutti", LAB, mine);
}

/* Returns whether the collective takes plan files: not allgatherv, and not the collectives in which
 * a rank knows only its own counts, so that no rank could prove the schedule for all ranks. */
static bool takes_files(enum tt_coll coll)
{
    return coll != TT_COLL_allgatherv && !tt_coll_pairs(coll);
}

/* The standard input, pipes and devices are refused: every rank reads the file itself, and from a
 * pipe, each byte would reach only one rank, and the others would wait. */
const char *tt_plan_from_file_refused(const char *path)
{
    struct stat is;
    if (strcmp(path, "-") == 0) return "a program cannot read a plan from its standard input";
    if (stat(path, &is) != 0 || S_ISREG(is.st_mode) || S_ISDIR(is.st_mode)) return NULL;
    return "a program reads plans from regular files only";
}

tutti_status tt_plan_from_file(const char *path, const struct tt_call *call,
                               const struct tt_map *map, int me, struct tt_lab_answer *answer)
{
    const struct tt_lab_request request = {.path = path, .call = call, .map = map, .me = me};
    const char *coll = tt_coll_name(call->coll);
    if (!takes_files(call->coll))
        return tt_fail(TUTTI_ERR_UNSUPPORTED,
                       "TUTTI_ALGORITHM=%s=@%s: plan files cannot be used for %s and the other "
                       "collectives with a count for each rank, except reduce_scatter",
                       coll, path, coll);
    const char *unfit = tt_plan_from_file_refused(path);
    if (unfit)
        return tt_fail(TUTTI_ERR_UNSUPPORTED, "TUTTI_ALGORITHM=%s=@%s: %s", coll, path, unfit);
    pthread_once(&lab.once, load);
    if (!lab.plan)
        return tt_fail(TUTTI_ERR_UNSUPPORTED, "TUTTI_ALGORITHM=%s=@%s: %s", coll, path, lab.why);
    lab.plan(&request, answer);
    if (answer->status == TUTTI_OK) return TUTTI_OK;
    return tt_fail(answer->status, "TUTTI_ALGORITHM=%s=@%s: %s", coll, path, answer->why);
}
