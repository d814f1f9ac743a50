/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the host: the MPI library whose functions the program would call without Tutti. Nothing
 * here runs before the first call of an exported function, because a preloaded library is also
 * loaded into launchers and shells.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/shim.h"

enum { HOSTS = 4 };

/* An object of this process that defines PMPI_Init. */
struct mpi_object {
    void *handle; /* of dlopen */
    void *base;   /* where it is loaded */
    char path[512];
};

static struct {
    struct mpi_object host[HOSTS];
    int n;
    const struct mpi_object *chosen;
} found;

/* ---- The objects of this process ---- */

/* The paths of all objects, each ended by a NUL. dlopen must not be called while dl_iterate_phdr
 * visits the objects. */
struct paths {
    char *text;
    size_t n;
};

static int add_path(struct dl_phdr_info *info, size_t size, void *input)
{
    struct paths *paths = input;
    size_t n = strlen(info->dlpi_name) + 1;
    (void)size;
    if (n == 1) return 0; /* the program itself: a host in it would have been called directly */
    char *text = realloc(paths->text, paths->n + n);
    if (!text) return 1;
    memcpy(text + paths->n, info->dlpi_name, n);
    paths->text = text;
    paths->n += n;
    return 0;
}

static void *base_of(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* Keeps the object if it defines PMPI_Init itself. dlsym also looks into the objects that an object
 * needs, so the same function may be found through several objects. */
static void look_into(const char *path)
{
    void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    void *init = handle ? dlsym(handle, "PMPI_Init") : NULL;
    void *base = init ? base_of(init) : NULL;
    struct link_map *map = NULL;
    bool own = base && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 &&
               base_of((void *)map->l_ld) == base && base != base_of((void *)look_into);
    if (own && found.n < HOSTS) {
        struct mpi_object *host = &found.host[found.n++];
        host->handle = handle;
        host->base = base;
        snprintf(host->path, sizeof host->path, "%s", path);
    } else if (handle) {
        dlclose(handle);
    }
}

/* The host whose functions come after ours for the dynamic linker; the first one if they all were
 * loaded for themselves. */
static const struct mpi_object *next_host(void)
{
    void *next = base_of(dlsym(RTLD_NEXT, "PMPI_Init"));
    for (int i = 0; i < found.n; i++)
        if (found.host[i].base == next) return &found.host[i];
    return &found.host[0];
}

bool tt_mpi_find_host(void)
{
    struct paths paths = {0};
    dl_iterate_phdr(add_path, &paths);
    for (size_t at = 0; at < paths.n; at += strlen(paths.text + at) + 1) look_into(paths.text + at);
    free(paths.text);
    if (found.n == 0) {
        tt_mpi_say("the program calls MPI, but no MPI library is loaded");
        abort();
    }
    found.chosen = next_host();
    if (found.n == 1) return true;
    tt_mpi_say("off: two MPI libraries in this process: %s, %s", found.host[0].path,
               found.host[1].path);
    return false;
}

void *tt_mpi_host_symbol(const char *name)
{
    return dlsym(found.chosen->handle, name);
}

/* If the program refers to a variable of a library directly, the linker puts the variable into the
 * program, and the library uses it there too. */
void *tt_mpi_host_variable(const char *name)
{
    void *first = dlsym(RTLD_DEFAULT, name);
    return first ? first : tt_mpi_host_symbol(name);
}

const char *tt_mpi_host_path(void)
{
    return found.chosen->path;
}

/* ---- Who calls ---- */

/* Whether the object is the host or one of its components. They are loaded while the program runs,
 * and have the names that the host's component system expects. The Fortran layer is not among them:
 * its calls are the program's. */
static bool is_host(const Dl_info *info)
{
    const char *slash = strrchr(info->dli_fname, '/');
    const char *name = slash ? slash + 1 : info->dli_fname;
    return info->dli_fbase == found.chosen->base || strncmp(name, "mca_", 4) == 0;
}

bool tt_mpi_in_host(const void *address)
{
    /* The answers for the last addresses, each as the address times two, plus one for the host. */
    static _Atomic uintptr_t seen[256];
    uintptr_t key = (uintptr_t)address;
    _Atomic uintptr_t *place = &seen[(key ^ key >> 8) & 255];
    uintptr_t known = atomic_load_explicit(place, memory_order_relaxed);
    if (known >> 1 != key) {
        Dl_info info;
        known = key << 1 | (dladdr(address, &info) && is_host(&info));
        atomic_store_explicit(place, known, memory_order_relaxed);
    }
    return known & 1;
}
