/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A library that is loaded in place of libtutti.so.0. It depends on the real one, so that all
 * functions of Tutti are found in it. It counts the calls of the functions that advance Tutti
 * without waiting, and makes bcasts and persistent calls fail before they begin if the program asks
 * for this.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti/message.h>
#include <tutti/tutti.h>

__attribute__((visibility("default"))) long advances; /* the program looks up these two variables by
                                                       * name */
__attribute__((visibility("default"))) int refuses;   /* if set, bcasts and tutti_start get a
                                                       * wrong argument */

/* Returns the function of the real libtutti.so.0. */
static void *real(const char *name)
{
    void *library = dlopen(TUTTI_PATH, RTLD_NOW);
    void *function = library ? dlsym(library, name) : NULL;
    if (function) return function;
    fprintf(stderr, "%s has no %s\n", TUTTI_PATH, name);
    abort();
}

tutti_status tutti_test(tutti_request *request)
{
    static __typeof__(tutti_test) *function;
    if (!function) function = (__typeof__(tutti_test) *)real("tutti_test");
    advances++;
    return function(request);
}

tutti_status tutti_advance(tutti_context *context, int *events)
{
    static __typeof__(tutti_advance) *function;
    if (!function) function = (__typeof__(tutti_advance) *)real("tutti_advance");
    advances++;
    return function(context, events);
}

tutti_status tutti_ibcast(tutti_team *team, void *buffer, int64_t n, tutti_type type, int root,
                          tutti_request **request)
{
    static __typeof__(tutti_ibcast) *function;
    if (!function) function = (__typeof__(tutti_ibcast) *)real("tutti_ibcast");
    return function(team, buffer, refuses ? -1 : n, type, root, request);
}

tutti_status tutti_bcast_init(tutti_team *team, void *buffer, int64_t n, tutti_type type, int root,
                              unsigned flags, tutti_request **request)
{
    static __typeof__(tutti_bcast_init) *function;
    if (!function) function = (__typeof__(tutti_bcast_init) *)real("tutti_bcast_init");
    return function(team, buffer, refuses ? -1 : n, type, root, flags, request);
}

tutti_status tutti_start(tutti_request *request)
{
    static __typeof__(tutti_start) *function;
    if (!function) function = (__typeof__(tutti_start) *)real("tutti_start");
    return function(refuses ? NULL : request);
}
