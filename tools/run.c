/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti run`: only the reading of arguments; the work is in boot/launch.h, and for several machines another
 * launcher's.
 */
#include <stdlib.h>
#include <string.h>

#include "boot/launch.h"
#include "command.h"
#include "run/roll.h"

enum { OPTION_TIMEOUT = 256, OPTION_TAG, OPTION_BIND, OPTION_ON_FAILURE, OPTION_HOSTS };

static const struct argp_option options[] = {
    {"ranks", 'n', "N", 0, "how many processes (default: as many as there are cores)", 0},
    {"timeout", OPTION_TIMEOUT, "S", 0, "end everything after S seconds, with code 124", 0},
    {"tag", OPTION_TAG, NULL, 0, "begin each line of output with the [rank] it comes from", 0},
    {"bind", OPTION_BIND, "core|none", 0, "rank i on the i-th core only (default: none)", 0},
    {"on-failure", OPTION_ON_FAILURE, "end|continue|continue-fail", 0,
     "what becomes of the others when a rank fails: they are ended after 1 s (the default); they "
     "go "
     "on, and the job ends with 0 if they do; they go on, and the job has failed",
     0},
    {"hosts", OPTION_HOSTS, "HOST,...", 0, "say which launcher starts ranks on several machines",
     0},
    {0},
};

static bool second_of(const struct argp_state *state, const char *option, const char *text,
                      const char *first, const char *second)
{
    if (strcmp(text, first) != 0 && strcmp(text, second) != 0)
        argp_error(state, "%s: '%s' is neither %s nor %s", option, text, first, second);
    return strcmp(text, second) == 0;
}

static enum tt_on_failure on_failure_of(const struct argp_state *state, const char *text)
{
    static const char *const words[] = {"end", "continue", "continue-fail"};
    for (int i = 0; i < 3; i++)
        if (strcmp(text, words[i]) == 0) return (enum tt_on_failure)i;
    argp_error(state, "--on-failure: '%s' is none of end, continue, continue-fail", text);
    return TT_ON_FAILURE_END;
}

/* What is wrong with one of "h1,h2:4", up to its comma; NULL: nothing. */
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

static const char *hosts_of(const struct argp_state *state, const char *text)
{
    if (!*text || strpbrk(text, " \t\n'\"\\$`&|;<>()*?"))
        argp_error(state, "--hosts: '%s' is no list of names with commas between", text);
    const char *fault = NULL;
    for (const char *host = text; host && !fault; host = tt_next_host(host))
        fault = fault_of_host(host);
    if (fault) argp_error(state, "--hosts: %s in '%s'", fault, text);
    return text;
}

struct arguments {
    struct tt_launch_options launch;
    const char *hosts;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    struct tt_launch_options *o = &a->launch;
    switch (key) {
    case 'n': o->ranks = (int)tt_arg_number(state, "-n", arg, 1, TT_LAUNCH_RANKS); return 0;
    case OPTION_TIMEOUT: o->timeout_ns = tt_arg_seconds(state, "--timeout", arg); return 0;
    case OPTION_TAG: o->tag = true; return 0;
    case OPTION_BIND: o->bind = !second_of(state, "--bind", arg, "core", "none"); return 0;
    case OPTION_ON_FAILURE: o->on_failure = on_failure_of(state, arg); return 0;
    case OPTION_HOSTS: a->hosts = hosts_of(state, arg); return 0;
    case ARGP_KEY_ARG: /* the program: what follows is its own */
        o->argv = state->argv + state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "which program?"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int tt_run_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "[--] PROGRAM [ARGUMENT...]",
        .doc =
            "Runs PROGRAM as N processes, the ranks of one job, and ends with the code of the "
            "first "
            "that fails (128 + number of a signal). Rank 0 reads stdin.\v"
            "Other codes: 124 timeout, 125 tutti itself could not, 126 PROGRAM cannot be run, 127 "
            "there is no such PROGRAM.",
    };
    struct arguments a = {.launch.call_roll = tt_roll_call};
    argp_err_exit_status = TT_LAUNCH_REFUSED;
    tt_arg_parse(&argp, argc, argv, ARGP_IN_ORDER, &a);
    if (a.hosts) return tt_run_elsewhere(a.hosts, a.launch.ranks, a.launch.argv);
    return tt_launch(&a.launch);
}
