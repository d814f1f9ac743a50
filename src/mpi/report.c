/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes the report on the calls of all ranks: as a table, or as JSON if the name of the file ends
 * in .json.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file-limit.h"
#include "base/locale.h"
#include "mpi/shim.h"

#define CHOICE(NAME, TEXT) TEXT,
const char *const tt_mpi_choices[TT_MPI_CHOICES_N] = {TT_MPI_CHOICES(CHOICE)};

/* ---- Adding up ---- */

static int compare_shapes(const void *a, const void *b)
{
    const struct tt_mpi_row *x = a, *y = b;
    if (x->function != y->function) return x->function < y->function ? -1 : 1;
    if (x->ranks != y->ranks) return x->ranks < y->ranks ? 1 : -1;
    int texts = strcmp(x->communicator, y->communicator);
    if (texts == 0) texts = strcmp(x->type, y->type);
    if (texts == 0) texts = strcmp(x->operation, y->operation);
    if (texts == 0) texts = x->choice - y->choice;
    return texts ? texts : x->magnitude - y->magnitude;
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Adds up the rows of all ranks that have the same shape, so that one row of each shape remains. */
static void add_up(struct tt_mpi_report *report)
{
    struct tt_mpi_row *row = report->row;
    size_t n = 0;
    qsort(row, report->n, sizeof *row, compare_shapes);
    for (size_t i = 0; i < report->n; i++) {
        if (n == 0 || compare_shapes(&row[n - 1], &row[i]) != 0) {
            row[n++] = row[i];
            continue;
        }
        struct tt_mpi_row *sum = &row[n - 1];
        sum->calls += row[i].calls;
        sum->bytes += row[i].bytes;
        sum->starts += row[i].starts;
        sum->ns += row[i].ns;
        sum->costs.saved_ns += row[i].costs.saved_ns;
        sum->costs.host_ns = larger(sum->costs.host_ns, row[i].costs.host_ns);
        sum->costs.tutti_ns = larger(sum->costs.tutti_ns, row[i].costs.tutti_ns);
        sum->least = lesser(sum->least, row[i].least);
        sum->most = larger(sum->most, row[i].most);
    }
    report->n = n;
}

/* Returns the number of collective calls of a row: all ranks of the communicator together make one
 * call, which each of them has counted. */
static double calls_of(const struct tt_mpi_row *row)
{
    return (double)row->calls / row->ranks;
}

/* Returns how often the persistent collectives of a row were started: all ranks of the communicator
 * together make one start, which each of them has counted. */
static double starts_of(const struct tt_mpi_row *row)
{
    return (double)row->starts / row->ranks;
}

static double seconds_of(const struct tt_mpi_report *report, const struct tt_mpi_row *row)
{
    return (double)row->ns * 1e-9 / report->ranks;
}

static double saved_by(const struct tt_mpi_report *report, const struct tt_mpi_row *row)
{
    return (double)row->costs.saved_ns * 1e-9 / report->ranks;
}

static bool is_measured(const struct tt_mpi_row *row)
{
    return row->costs.host_ns > 0 || row->costs.tutti_ns > 0;
}

static double seconds_in_all(const struct tt_mpi_report *report)
{
    double seconds = 0;
    for (size_t i = 0; i < report->n; i++)
        seconds += report->row[i].function < 0 ? 0 : seconds_of(report, &report->row[i]);
    return seconds;
}

/* ---- Characters ---- */

/* Returns how many bytes of a text are its first character in UTF-8, as the Unicode standard
 * defines it (table 3-7). 0: they are not UTF-8. */
static int length_of(const unsigned char *c)
{
    if (c[0] < 0x80) return 1;
    int n = c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;
    for (int i = 1; i < n; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    /* After some first bytes, a part of the second bytes is wrong: the character would have a
     * shorter form, be half of a pair of UTF-16, or be too large. */
    bool wrong = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] >= 0xa0) ||
                 (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] >= 0x90);
    return wrong ? 0 : n;
}

/* Prints the first character of a text, which is not empty, and moves *text behind it. A program
 * may give a communicator any name, so control characters, and bytes that are not UTF-8, are
 * printed as JSON escapes them. Returns how many columns of a terminal the output takes, if each
 * character takes one. */
static int print_character(FILE *out, const char **text)
{
    const unsigned char *c = (const unsigned char *)*text;
    int n = length_of(c);
    bool two = n == 2 && c[0] == 0xc2; /* U+0080 to U+00BF: the second byte is the number */
    int number = two ? c[1] : c[0];
    *text += n > 0 ? n : 1;
    if (n == 0 || number < ' ' || number == 0x7f || (two && number < 0xa0))
        return fprintf(out, "\\u%04x", number);
    fprintf(out, "%.*s", n, (const char *)c);
    return 1;
}

/* ---- Text ---- */

/* Prints a text; an empty one is printed as "-". If `width` is not 0, prints blanks after the text
 * up to this width, and at least one blank. */
static void print_cell(FILE *out, const char *text, int width)
{
    int n = 0;
    if (!*text) text = "-";
    while (*text) n += print_character(out, &text);
    fprintf(out, "%*s", n < width ? width - n : width > 0, "");
}

static void print_row(FILE *out, const struct tt_mpi_report *report, const struct tt_mpi_row *row)
{
    fprintf(out, "%-24s %5d  ", tt_mpi_names[row->function], row->ranks);
    print_cell(out, row->communicator, 17);
    print_cell(out, row->type, 23);
    print_cell(out, row->operation, 13);
    fprintf(out, "%10.10g %10.10g %12lld %12lld %15lld %10.6f", calls_of(row), starts_of(row),
            (long long)row->least, (long long)row->most, (long long)row->bytes,
            seconds_of(report, row));
    if (report->choices && is_measured(row))
        fprintf(out, " %10.3f %10.3f %10.6f", (double)row->costs.host_ns * 1e-3,
                (double)row->costs.tutti_ns * 1e-3, saved_by(report, row));
    else if (report->choices)
        fprintf(out, " %10s %10s %10s", "-", "-", "-");
    fprintf(out, report->choices ? "  %s\n" : "\n", tt_mpi_choices[row->choice]);
}

/* Prints how many calls Tutti did, how long they took, and how much time that has saved. */
static void print_taken(FILE *out, const struct tt_mpi_report *report)
{
    double calls = 0, taken = 0, seconds = 0, saved = 0;
    for (size_t i = 0; i < report->n; i++) {
        const struct tt_mpi_row *row = &report->row[i];
        if (row->function < 0) continue;
        calls += calls_of(row);
        if (row->choice != TT_MPI_TAKEN) continue;
        taken += calls_of(row);
        seconds += seconds_of(report, row);
        saved += saved_by(report, row);
    }
    fprintf(out,
            "Tutti took %.10g of %.10g calls, and %.3f s were spent in these; those that were "
            "measured saved %.3f s\n",
            taken, calls, seconds, saved);
}

static void print_text(FILE *out, const struct tt_mpi_report *report)
{
    fprintf(out, "Collective calls of ");
    print_cell(out, program_invocation_short_name, 0);
    fprintf(out, " on %d ranks over %s\n", report->ranks, report->host);
    fprintf(out,
            "%.3f s from MPI_Init to MPI_Finalize; a rank spends %.3f s of them in these calls"
            " on average\n",
            report->seconds, seconds_in_all(report));
    if (report->choices) print_taken(out, report);
    for (size_t i = 0; i < report->n; i++) {
        const struct tt_mpi_row *row = &report->row[i];
        if (row->function >= 0) continue;
        fprintf(out, "%g communicator(s) of %d ranks, ", calls_of(row), row->ranks);
        print_cell(out, row->communicator, 0);
        fprintf(out, "\n");
    }
    fprintf(out, "%-24s %5s  %-16s %-22s %-12s %10s %10s %12s %12s %15s %10s", "function", "ranks",
            "communicator", "type", "operation", "calls", "starts", "least bytes", "most bytes",
            "bytes, all", "seconds");
    if (report->choices)
        fprintf(out, " %10s %10s %10s  %s", "host us", "Tutti us", "saved s", "choice");
    fprintf(out, "\n");
    for (size_t i = 0; i < report->n; i++)
        if (report->row[i].function >= 0) print_row(out, report, &report->row[i]);
}

/* ---- JSON ---- */

static void print_string(FILE *out, const char *text)
{
    fputc('"', out);
    while (*text) {
        if (*text == '"' || *text == '\\') fputc('\\', out);
        (void)print_character(out, &text);
    }
    fputc('"', out);
}

static void print_member(FILE *out, const char *name, const char *text)
{
    fprintf(out, "\"%s\": ", name);
    print_string(out, text);
    fprintf(out, ", ");
}

static void print_json_row(FILE *out, const struct tt_mpi_report *report,
                           const struct tt_mpi_row *row)
{
    fprintf(out, "{");
    if (row->function >= 0) fprintf(out, "\"function\": \"%s\", ", tt_mpi_names[row->function]);
    print_member(out, "communicator", row->communicator);
    fprintf(out, "\"ranks\": %d, ", row->ranks);
    if (row->function >= 0) {
        print_member(out, "type", row->type);
        print_member(out, "operation", row->operation);
        if (report->choices) print_member(out, "choice", tt_mpi_choices[row->choice]);
        fprintf(out,
                "\"bytes_least\": %lld, \"bytes_most\": %lld, \"bytes\": %lld, "
                "\"seconds\": %.9f, ",
                (long long)row->least, (long long)row->most, (long long)row->bytes,
                seconds_of(report, row));
    }
    if (row->starts > 0) fprintf(out, "\"starts\": %.17g, ", starts_of(row));
    if (is_measured(row))
        fprintf(out, "\"host_us\": %.3f, \"tutti_us\": %.3f, \"saved_seconds\": %.9f, ",
                (double)row->costs.host_ns * 1e-3, (double)row->costs.tutti_ns * 1e-3,
                saved_by(report, row));
    if (report->choices && row->function >= 0)
        fprintf(out, "\"taken\": %.17g, ", row->choice == TT_MPI_TAKEN ? calls_of(row) : 0);
    fprintf(out, "\"%s\": %.17g}", row->function < 0 ? "number" : "calls", calls_of(row));
}

/* Prints an array of JSON. Its elements are the rows that count communicators if `communicators` is
 * true, and otherwise the rows that count calls. */
static void print_array(FILE *out, const struct tt_mpi_report *report, const char *name,
                        bool communicators)
{
    const char *between = "";
    fprintf(out, " \"%s\": [", name);
    for (size_t i = 0; i < report->n; i++) {
        if ((report->row[i].function < 0) != communicators) continue;
        fprintf(out, "%s\n  ", between);
        print_json_row(out, report, &report->row[i]);
        between = ",";
    }
    fprintf(out, "]");
}

static void print_json(FILE *out, const struct tt_mpi_report *report)
{
    fprintf(out, "{");
    print_member(out, "program", program_invocation_short_name);
    print_member(out, "mpi", report->host);
    fprintf(out, "\"ranks\": %d, \"seconds\": %.9f,\n", report->ranks, report->seconds);
    print_array(out, report, "communicators", true);
    fprintf(out, ",\n");
    print_array(out, report, "calls", false);
    fprintf(out, "}\n");
}

/* ---- Writing the report ---- */

static bool is_json(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && strcmp(dot, ".json") == 0;
}

/* Returns the report as text, and its length; NULL: there is no memory. */
static char *compose(const struct tt_mpi_report *report, bool json, size_t *n)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, n);
    if (!out) return NULL;
    locale_t former = tt_locale_enter();
    if (json)
        print_json(out, report);
    else
        print_text(out, report);
    tt_locale_leave(former);
    bool failed = ferror(out) != 0;
    if (fclose(out) == 0 && !failed) return text;
    free(text);
    return NULL;
}

/* Returns the path of the file for the report, TUTTI_MPI_REPORT. If processes of another world have
 * spawned this one, that world writes a report, too, so the path then has the number of this
 * process before its ending (calls-1234.json). NULL: there is no memory. The caller frees the
 * path. */
static char *path_of(const struct tt_mpi_report *report)
{
    const char *path = tt_mpi_setting.report_path, *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    size_t stem = dot ? (size_t)(dot - path) : strlen(path);
    char *own = NULL;
    if (!report->spawned) return strdup(path);
    if (asprintf(&own, "%.*s-%ld%s", (int)stem, path, (long)getpid(), path + stem) < 0) return NULL;
    return own;
}

static void write_file(const char *path, const char *text, size_t n)
{
    struct tt_file_limit limit;
    FILE *out = fopen(path, "w");
    if (!out) {
        tt_mpi_say("cannot write the report to TUTTI_MPI_REPORT '%s': %s", path, strerror(errno));
        return;
    }
    tt_file_limit_enter(&limit);
    bool failed = fwrite(text, 1, n, out) != n;
    failed |= fclose(out) != 0;
    tt_file_limit_leave(&limit);
    if (failed) tt_mpi_say("cannot write the whole report to '%s'", path);
}

/* Writes the report at once, because other worlds may write to the same standard error. */
static void write_error(const char *text, size_t n)
{
    struct tt_file_limit limit;
    tt_file_limit_enter(&limit);
    (void)!fwrite(text, 1, n, stderr);
    fflush(stderr);
    tt_file_limit_leave(&limit);
}

void tt_mpi_report(struct tt_mpi_report *report)
{
    size_t n = 0;
    bool to_file = tt_mpi_setting.report_path != NULL;
    char *path = to_file ? path_of(report) : NULL, *text = NULL;
    add_up(report);
    if (path || !to_file) text = compose(report, path && is_json(path), &n);
    if (!text)
        tt_mpi_say("no memory for the report");
    else if (to_file)
        write_file(path, text, n);
    else
        write_error(text, n);
    free(text);
    free(path);
}
