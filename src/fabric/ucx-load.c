/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loads UCX when it is first wanted, so that a program which stays on one machine needs none, and
 * neither does building Tutti for it. Once loaded it stays: it has threads and exit handlers of its
 * own.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/ucx.h"

#define STILL "; jobs on one machine work without UCX"

struct tt_ucx_api tt_ucx;

static struct {
    pthread_once_t once;
    char why[400]; /* empty: it is there */
    char version[200];
} load = {.once = PTHREAD_ONCE_INIT};

__attribute__((format(printf, 1, 2))) static bool no(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(load.why, sizeof load.why, format, args);
    va_end(args);
    return false;
}

/* UCX takes the signals of crashes to itself when it is loaded. They are the program's. */
static void *load_quietly(const char *name)
{
    static const int crashes[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE};
    enum { CRASHES = sizeof crashes / sizeof *crashes };
    struct sigaction actions[CRASHES];
    bool wanted = getenv("UCX_HANDLE_ERRORS") || getenv("UCX_ERROR_SIGNALS");
    for (int i = 0; i < CRASHES; i++) sigaction(crashes[i], NULL, &actions[i]);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    for (int i = 0; i < CRASHES && !wanted; i++) sigaction(crashes[i], &actions[i], NULL);
    return library;
}

/* That a peer is gone is told by us, with its rank; UCX's own lines in between would only
 * confuse. */
static void be_silent(void *library)
{
    ucs_status_t (*set)(const char *, const char *);
    *(void **)&set = dlsym(library, "ucs_global_opts_set_value");
    if (set && !getenv("UCX_LOG_LEVEL")) set("LOG_LEVEL", "fatal");
}

static bool version_is_known(void *library, const char *name)
{
    unsigned major, minor, release;
    void (*get)(unsigned *, unsigned *, unsigned *);
    *(void **)&get = dlsym(library, "ucp_get_version");
    if (!get) return no("%s is not UCX's UCP: it has no ucp_get_version" STILL, name);
    get(&major, &minor, &release);
    if (major != TT_UCX_MAJOR || minor < TT_UCX_MINOR)
        return no("%s is UCX %u.%u.%u, and %d.%d or a later one of %d is needed" STILL, name, major,
                  minor, release, TT_UCX_MAJOR, TT_UCX_MINOR, TT_UCX_MAJOR);
    snprintf(load.version, sizeof load.version, "%u.%u.%u (%s)", major, minor, release, name);
    return true;
}

static bool resolve(void *library, const char *name)
{
    struct {
        const char *name;
        void *place;
    } symbols[] = {
#define SYMBOL(function) {#function, &tt_ucx.function},
        TT_UCX_LIST(SYMBOL)
#undef SYMBOL
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol) return no("%s has no %s" STILL, name, symbols[i].name);
        memcpy(symbols[i].place, &symbol, sizeof symbol);
    }
    return true;
}

static void load_once(void)
{
    const char *name = tt_setting("TUTTI_UCX");
    if (!name) name = "libucp.so.0";
    void *library = load_quietly(name);
    if (!library) {
        no("UCX cannot be loaded (%s): install it (Debian: libucx0), or say where libucp.so.0 is "
           "by TUTTI_UCX" STILL,
           dlerror());
        return;
    }
    if (version_is_known(library, name) && resolve(library, name)) be_silent(library);
}

tutti_status tt_ucx_load(void)
{
    pthread_once(&load.once, load_once);
    return load.why[0] ? tt_fail(TUTTI_ERR_UNSUPPORTED, "%s", load.why) : TUTTI_OK;
}

tutti_status tt_wire_ucx_version(const char **version)
{
    TT_TRY(tt_ucx_load());
    *version = load.version;
    return TUTTI_OK;
}

static tutti_status kind_of(ucs_status_t status)
{
    switch (status) {
    case UCS_ERR_NO_MEMORY: return TUTTI_ERR_MEMORY;
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_NOT_CONNECTED:
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_REJECTED:
    case UCS_ERR_TIMED_OUT:
    case UCS_ERR_CANCELED: return TUTTI_ERR_PEER;
    default: return TUTTI_ERR_SYSTEM;
    }
}

tutti_status tt_ucx_fail(ucs_status_t status, const char *doing)
{
    return tt_fail(kind_of(status), "%s: UCX says: %s", doing, tt_ucx.ucs_status_string(status));
}
