/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loads shared libraries. A program that is linked with a static C library cannot use them: each
 * library needs the shared C library, and glibc would load it as a second C library without setting
 * it up, so that the first thread that the library starts ends the program by a signal.
 */
#include <dlfcn.h>
#include <link.h>

#include "base/base.h"
#include "base/signals.h"

/* Sets *arg to true if the program names a dynamic linker, and so is not linked statically.
 * dl_iterate_phdr calls the function for the program first, and then stops because the function
 * returns 1. */
static int names_linker(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_INTERP) *(bool *)arg = true;
    return 1;
}

/* Blocks signals, because a library may start a thread when it is loaded. */
void *tt_library_load(const char *name, int flags, const char **why)
{
    bool dynamic = false;
    dl_iterate_phdr(names_linker, &dynamic);
    sigset_t before;
    tt_signals_block(&before);
    void *library = dynamic ? dlopen(name, flags) : NULL;
    tt_signals_restore(&before);
    if (!library)
        *why = dynamic ? dlerror()
                       : "the program has a static C library, so it cannot load shared libraries";
    return library;
}
