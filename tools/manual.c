/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints the manual page of a command from the options and texts that its --help prints, so that
 * the two cannot differ.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "command.h"

static const struct tt_command *commands; /* an entry without a name ends the list */

void tt_manual_commands(const struct tt_command *list)
{
    commands = list;
}

/* ---- Text in the format of man(7) ---- */

static void put(FILE *out, char c)
{
    switch (c) {
    case '\\': fputs("\\e", out); return;
    case '-': fputs("\\-", out); return;
    case '\'': fputs("\\(aq", out); return;
    case '/': fputs("/\\:", out); return; /* the \: allows a line break after the slash */
    default: fputc(c, out);
    }
}

/* Prints a text in one line. Words in `backquotes` become bold. A dot at the beginning is escaped,
 * because a line that starts with a dot is a request of the format. */
static void put_text(FILE *out, const char *text)
{
    bool bold = false;
    if (*text == '.') fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '`') {
            bold = !bold;
            fputs(bold ? "\\fB" : "\\fR", out);
        } else {
            put(out, *text == '\n' ? ' ' : *text);
        }
    }
}

static bool is_word(char c, bool upper)
{
    return c == '_' || (upper ? isupper((unsigned char)c) : islower((unsigned char)c) || c == '-');
}

/* Prints arguments such as "[PID...]" or "end|continue": words in capitals are the user's to
 * replace and become italic; others are typed as they are and become bold. */
static void put_arguments(FILE *out, const char *text)
{
    while (*text) {
        bool upper = is_word(*text, true), lower = is_word(*text, false);
        if (!upper && !lower) {
            put(out, *text++);
            continue;
        }
        fputs(upper ? "\\fI" : "\\fB", out);
        for (; *text && is_word(*text, upper); text++) put(out, *text);
        fputs("\\fR", out);
    }
}

/* ---- Parts of a page ---- */

/* Prints the name of the page, which is also its title and file name: "tutti-run" for "tutti run".
 * If `capitals` is true, prints it in capitals. */
static void put_page_name(FILE *out, const char *name, bool capitals)
{
    for (; *name; name++)
        put(out, *name == ' ' ? '-' : (char)(capitals ? toupper((unsigned char)*name) : *name));
}

static void put_more(FILE *out, const char *place)
{
    fprintf(out, ".\\\" more: %s\n", place);
}

/* Returns the description of the command for the section NAME of the page. */
static const char *purpose(const char *name)
{
    const char *space = strchr(name, ' ');
    for (const struct tt_command *c = commands; space && c->name; c++)
        if (strcmp(c->name, space + 1) == 0) return c->does;
    return "collective communication: run, time, prove and show it";
}

/* Prints the synopsis, with one line for each line of the argp's args_doc. */
static void put_synopsis(FILE *out, const struct argp *argp, const char *name)
{
    const char *line = argp->args_doc ? argp->args_doc : "";
    fprintf(out, ".SH SYNOPSIS\n");
    for (bool first = true; line; first = false) {
        size_t n = strcspn(line, "\n");
        char *arguments = strndup(line, n);
        if (!arguments) return;
        fprintf(out, "%s\\fB%s\\fR [\\fIOPTION\\fR...] ", first ? "" : ".br\n", name);
        put_arguments(out, arguments);
        fputc('\n', out);
        free(arguments);
        line = line[n] ? line + n + 1 : NULL;
    }
}

/* Prints the description: the argp's doc before its \v, which --help prints before the options, and
 * the argp's doc after the \v, which --help prints at the end. */
static void put_description(FILE *out, const struct argp *argp)
{
    const char *cut = strchr(argp->doc, '\v');
    char *first = strndup(argp->doc, cut ? (size_t)(cut - argp->doc) : strlen(argp->doc));
    fprintf(out, ".SH DESCRIPTION\n");
    if (first) put_text(out, first);
    free(first);
    if (cut && cut[1]) {
        fprintf(out, "\n.PP\n");
        put_text(out, cut + 1);
    }
    fputc('\n', out);
    put_more(out, "DESCRIPTION");
}

/* Prints the text of an option, which is a fragment in --help, as a sentence: with a capital letter
 * and a full stop. */
static void put_sentence(FILE *out, const char *text)
{
    put(out, (char)toupper((unsigned char)*text));
    put_text(out, text + 1);
    fprintf(out, ".\n");
}

static void put_option_name(FILE *out, const struct argp_option *o)
{
    if (isgraph(o->key)) {
        fputs("\\fB\\-", out);
        put(out, (char)o->key);
        fprintf(out, "\\fR%s", o->name ? ", " : "");
    }
    if (o->name) {
        fputs("\\fB\\-\\-", out);
        for (const char *c = o->name; *c; c++) put(out, *c);
        fputs("\\fR", out);
    }
    if (!o->arg) return;
    bool may = (o->flags & OPTION_ARG_OPTIONAL) != 0;
    fputs(may ? "[=" : o->name ? "=" : " ", out);
    put_arguments(out, o->arg);
    if (may) fputc(']', out);
}

static void put_option(FILE *out, const struct argp_option *o)
{
    char place[64];
    if (!o->name && !o->key) { /* the entry is the title of a group */
        fprintf(out, ".PP\n");
        put_text(out, o->doc);
        fputc('\n', out);
        return;
    }
    fprintf(out, ".TP\n");
    put_option_name(out, o);
    fputc('\n', out);
    put_sentence(out, o->doc);
    if (o->name)
        snprintf(place, sizeof place, "--%s", o->name);
    else
        snprintf(place, sizeof place, "-%c", o->key);
    put_more(out, place);
}

/* Prints the options of a parser in the order of its table, and then those of its children
 * (argp_child). */
static void put_options(FILE *out, const struct argp *argp)
{
    const struct argp_option *o = argp->options;
    for (; o && (o->name || o->key || o->doc || o->group); o++)
        if (!(o->flags & (OPTION_HIDDEN | OPTION_ALIAS)) && o->doc) put_option(out, o);
    for (const struct argp_child *child = argp->children; child && child->argp; child++)
        put_options(out, child->argp);
}

static void put_commands(FILE *out)
{
    fprintf(out, ".SH COMMANDS\n");
    for (const struct tt_command *c = commands; c->name; c++) {
        if (!c->does) continue;
        fprintf(out, ".TP\n.BR tutti\\-%s (1)\n", c->name);
        put_sentence(out, c->does);
    }
}

/* Prints the entry of a setting: its text, the values that it accepts, and its default, from the
 * table of settings. */
static void put_setting(FILE *out, const struct tt_known_setting *setting)
{
    static const char *const rules[] = {
        [TT_SETTING_OWN] = "",
        [TT_SETTING_SAME] = " It must be the same on all ranks.",
        [TT_SETTING_AGREED] = " The ranks may have different values; docs/tuning.md in the sources "
                              "of Tutti says which "
                              "one is in force.",
    };
    char values[200];
    fprintf(out, ".TP\n.B %s\n", setting->name);
    put_more(out, setting->name);
    if (setting->kind != TT_SETTING_TEXT) {
        fprintf(out, "The value is ");
        put_text(out, tt_setting_values(setting, values, sizeof values));
        fprintf(out, ". ");
    }
    fprintf(out, "Default: ");
    put_text(out, setting->otherwise);
    fprintf(out, ".%s\n", rules[setting->rule]);
}

static void put_environment(FILE *out)
{
    fprintf(out, ".SH ENVIRONMENT\n");
    put_more(out, "ENVIRONMENT");
    for (int i = 0; i < tt_settings_n; i++) put_setting(out, &tt_settings[i]);
    put_more(out, "EXAMPLES");
}

static void put_related(FILE *out, bool all)
{
    fprintf(out, ".SH SEE ALSO\n");
    if (!all) fprintf(out, ".BR tutti (1)");
    for (const struct tt_command *c = commands; all && c->name; c++)
        if (c->does) fprintf(out, "%s.BR tutti\\-%s (1)", c == commands ? "" : " ,\n", c->name);
    fputc('\n', out);
}

void tt_manual_print(const struct argp *argp, const char *name, FILE *out)
{
    bool all = strchr(name, ' ') == NULL;
    fprintf(out, ".\\\" SPDX-License-Identifier: BSD-3-Clause\n.TH ");
    put_page_name(out, name, true);
    fprintf(out, " 1 \"\" \"Tutti %s\" \"User commands\"\n.nh\n.ad l\n.SH NAME\n", TUTTI_VERSION);
    put_page_name(out, name, false);
    fprintf(out, " \\- ");
    put_text(out, purpose(name));
    fputc('\n', out);
    put_synopsis(out, argp, name);
    put_description(out, argp);
    if (all) put_commands(out);
    fprintf(out, ".SH OPTIONS\n");
    put_options(out, argp);
    put_more(out, "SECTIONS");
    if (all) put_environment(out);
    put_related(out, all);
}
