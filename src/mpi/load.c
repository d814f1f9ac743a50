/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loads libtutti.so from the folder of libtutti_mpi.so, or, if it is not there or the program is
 * linked statically, from where the dynamic linker finds it.
 */
#include <dlfcn.h>
#include <library-build.h>
#include <stdio.h>
#include <string.h>

#include "mpi/load.h"
#include "mpi/shim.h"

#define TUTTI_LIBRARY "libtutti.so.0"
/* The libtutti.so that was built from the same sources returns this text from tutti_build. */
#define BUILD TUTTI_VERSION "/" TT_LIBRARY_BUILD

struct tt_mpi_tutti tt_mpi_tutti;

static void *open_beside(void)
{
    char path[4096];
    const char *own = tt_mpi_own_path(), *slash = strrchr(own, '/');
    if (!slash) return NULL;
    snprintf(path, sizeof path, "%.*s/" TUTTI_LIBRARY, (int)(slash - own), own);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

const char *tt_mpi_load(void)
{
    static char why[256];
    void *handle = open_beside();
    if (!handle) handle = dlopen(TUTTI_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        snprintf(why, sizeof why, "cannot load " TUTTI_LIBRARY ": %s", dlerror());
        return why;
    }
#define LOOK_UP(NAME)                                                                              \
    tt_mpi_tutti.NAME = (__typeof__(tutti_##NAME) *)dlsym(handle, "tutti_" #NAME);                 \
    if (!tt_mpi_tutti.NAME)                                                                        \
        return TUTTI_LIBRARY " is of another build than libtutti_mpi: it has no tutti_" #NAME;
    TT_MPI_OF_TUTTI(LOOK_UP)
    if (strcmp(tt_mpi_tutti.build(), BUILD) == 0) return NULL;
    snprintf(why, sizeof why,
             TUTTI_LIBRARY " is of the build %s, but libtutti_mpi is of the build " BUILD
                           ": install both from one build",
             tt_mpi_tutti.build());
    return why;
}
