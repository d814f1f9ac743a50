/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints the report of this rank's calls: their shapes, algorithms, predicted and measured times,
 * and the ranks for which this rank has waited. A *row* (struct tt_tally_row) counts the calls of
 * one shape by one algorithm.
 */
#include "api/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file-limit.h"
#include "base/locale.h"
#include "choose/predict.h"
#include "fabric/tally.h"
#include "plan/words.h"

enum { REPORT_PATH = TT_FILE_PATH + 16, MOST_WAITED = 8 };

static double us(int64_t ns)
{
    return 1e-3 * (double)ns;
}

static double seconds(int64_t ns)
{
    return 1e-9 * (double)ns;
}

/* ---- Predictions ---- */

/* Sets *call to a call of the kind that the row counts. Returns false if the row does not count
 * calls of a collective, or if their type is not basic. */
static bool call_of(const struct tt_tally_row *row, struct tt_call *call)
{
    int coll = tt_word_find(&tt_coll_words, row->coll, strlen(row->coll));
    int type = tt_word_find(&tt_type_words, row->type, strlen(row->type));
    int op = tt_word_find(&tt_op_words, row->op, strlen(row->op));
    if (coll < 0 || (type < 0 && coll != TT_COLL_barrier)) return false;
    *call = (struct tt_call){.coll = (enum tt_coll)coll,
                             .type = type < 0 ? TUTTI_U8 : (tutti_type)type,
                             .op = op < 0 ? TUTTI_SUM : (tutti_op)op,
                             .commutes = true};
    call->sz = (int64_t)tutti_type_size(call->type);
    call->n = row->bytes / call->sz;
    return true;
}

/* Returns the time that the machine model predicts for a call that the row counts; -1: it predicts
 * none. The team of the call may be freed by now, so only its number of ranks is known, and not on
 * which nodes they are. So the function predicts a call only if the job is on one node, or if the
 * team has as many ranks as the world. If the ranks of the call had counts of their own, the
 * function predicts the time with equal counts. */
static int64_t predicted_ps(const tutti_client *client, const struct tt_tally_row *row)
{
    struct tt_map map = client->world->run.map;
    struct tt_call call;
    struct tt_equal_counts equal;
    struct tt_prediction prediction;
    if (!map.machine || row->ranks < 2 || row->ranks > TT_PREDICT_RANKS) return -1;
    if (!call_of(row, &call) || tt_coll_pairs(call.coll)) return -1;
    if (row->ranks != map.p && !tt_map_one_node(&map)) return -1;
    map.p = row->ranks;
    /* The row counts the elements of all ranks, and tt_give_equal_counts gets those of one. */
    if (call.coll == TT_COLL_allgatherv) call.n /= map.p;
    tt_give_equal_counts(&call, &equal, map.p);
    const struct tt_algorithm *a = tt_algorithm_find(call.coll, row->algorithm);
    if (!a || a->refuse(&call, &map)) return -1;
    return tt_predict(a, &call, &map, &prediction) == TUTTI_OK ? prediction.time_ps : -1;
}

/* ---- What is printed ---- */

static int by_time(const void *a, const void *b)
{
    const struct tt_tally_row *x = a, *y = b;
    return (y->ns > x->ns) - (y->ns < x->ns);
}

static int64_t spent_ns(const struct tt_tally *t)
{
    int64_t ns = 0;
    for (int i = 0; i < t->rows; i++) ns += t->row[i].ns;
    return ns;
}

/* Goes through the ranks for which this rank has waited, in the order of the waiting times, the
 * longest first; ranks with equal times are ordered by number. Returns the rank that follows rank
 * `last` in this order; -1: no rank follows. `below` is the waiting time of rank `last`. */
static int next_waited(const struct tt_tally *t, int size, int64_t below, int last)
{
    int found = -1;
    for (int r = 0; r < size; r++) {
        int64_t ns = t->for_rank_ns[r];
        bool later = ns < below || (ns == below && r > last);
        if (ns > 0 && later && (found < 0 || ns > t->for_rank_ns[found])) found = r;
    }
    return found;
}

static void print_waits(FILE *out, const struct tt_tally *t, int size)
{
    int64_t below = INT64_MAX;
    const char *between = "waited for rank ";
    for (int i = 0, r = -1; i < MOST_WAITED; i++) {
        r = next_waited(t, size, below, r);
        if (r < 0) break;
        below = t->for_rank_ns[r];
        fprintf(out, "%s%d: %.6f s", between, r, seconds(below));
        between = ", rank ";
    }
    if (between[0] != 'w') fprintf(out, "\n");
}

static void print_text(FILE *out, const tutti_client *client, const struct tt_tally *t)
{
    fprintf(out, "Calls of rank %d of %d; %.6f s in the job, %.6f s of them in calls\n",
            client->fabric.me, client->fabric.size, seconds(tt_clock_ns() - t->begin_ns),
            seconds(spent_ns(t)));
    print_waits(out, t, client->fabric.size);
    if (t->lost > 0)
        fprintf(out, "%lld calls are in no row of the table: there was no room\n",
                (long long)t->lost);
    fprintf(out, "%-20s %-6s %-6s %12s %6s %-18s %9s %12s %12s %12s %12s\n", "call", "type", "op",
            "bytes", "ranks", "algorithm", "calls", "predicted us", "mean us", "least us",
            "waited us");
    for (int i = 0; i < t->rows; i++) {
        const struct tt_tally_row *r = &t->row[i];
        char predicted[32] = "-";
        int64_t ps = predicted_ps(client, r), calls = tt_max(1, r->calls);
        if (ps >= 0) snprintf(predicted, sizeof predicted, "%.3f", 1e-6 * (double)ps);
        fprintf(out, "%-20s %-6s %-6s %12lld %6d %-18s %9lld %12s %12.3f %12.3f %12.3f\n", r->coll,
                r->type[0] ? r->type : "-", r->op[0] ? r->op : "-", (long long)r->bytes, r->ranks,
                r->algorithm, (long long)r->calls, predicted, us(r->ns / calls),
                r->calls ? us(r->least_ns) : 0, us(r->waited_ns / calls));
    }
}

/* Prints a row as JSON. All texts in it are words of the library, so they need no escapes. */
static void print_json_row(FILE *out, const tutti_client *client, const struct tt_tally_row *r)
{
    int64_t ps = predicted_ps(client, r);
    fprintf(out, "{\"call\": \"%s\", \"type\": \"%s\", \"operation\": \"%s\", ", r->coll, r->type,
            r->op);
    fprintf(out, "\"bytes\": %lld, \"ranks\": %d, \"algorithm\": \"%s\", \"blocks\": %s, ",
            (long long)r->bytes, r->ranks, r->algorithm, r->blocks ? "true" : "false");
    if (ps >= 0) fprintf(out, "\"predicted_us\": %.3f, ", 1e-6 * (double)ps);
    fprintf(out,
            "\"calls\": %lld, \"us\": %.3f, \"least_us\": %.3f, \"most_us\": %.3f, "
            "\"waited_us\": %.3f}",
            (long long)r->calls, us(r->ns), r->calls ? us(r->least_ns) : 0, us(r->most_ns),
            us(r->waited_ns));
}

static void print_json(FILE *out, const tutti_client *client, const struct tt_tally *t)
{
    fprintf(out, "{\"rank\": %d, \"ranks\": %d, \"seconds\": %.9f, \"in_calls\": %.9f,\n",
            client->fabric.me, client->fabric.size, seconds(tt_clock_ns() - t->begin_ns),
            seconds(spent_ns(t)));
    fprintf(out, " \"lost\": %lld, \"waited_for\": [", (long long)t->lost);
    for (int r = 0; r < client->fabric.size; r++)
        fprintf(out, "%s%.9f", r ? ", " : "", seconds(t->for_rank_ns[r]));
    fprintf(out, "],\n \"calls\": [");
    for (int i = 0; i < t->rows; i++) {
        fprintf(out, "%s\n  ", i ? "," : "");
        print_json_row(out, client, &t->row[i]);
    }
    fprintf(out, "]}\n");
}

/* ---- Where to ---- */

/* Copies `text` to `path`, with the rank's number in the place of %r. Returns false if this rank
 * writes no report. */
static bool name_file(const char *text, int rank, char path[REPORT_PATH])
{
    const char *place = strstr(text, "%r");
    if (!place) {
        snprintf(path, REPORT_PATH, "%s", text);
        return rank == 0;
    }
    snprintf(path, REPORT_PATH, "%.*s%d%s", (int)(place - text), text, rank, place + 2);
    return true;
}

static bool ends_in(const char *path, const char *ending)
{
    size_t n = strlen(path), m = strlen(ending);
    return n >= m && strcmp(path + n - m, ending) == 0;
}

static void write_to(FILE *out, const tutti_client *client, const char *path)
{
    const struct tt_tally *t = client->fabric.tally;
    locale_t former = tt_locale_enter();
    if (ends_in(path, ".json"))
        print_json(out, client, t);
    else
        print_text(out, client, t);
    tt_locale_leave(former);
}

void tt_report_write(tutti_client *client)
{
    char path[REPORT_PATH], error[TT_ERROR_TEXT];
    struct tt_file_limit limit;
    struct tt_tally *t = client->fabric.tally;
    if (!t || !name_file(t->path, client->fabric.me, path)) return;
    bool to_file = strcmp(path, "1") != 0;
    FILE *out = to_file ? fopen(path, "we") : stderr;
    if (!out) {
        tt_warn("TUTTI_REPORT: cannot write %.300s: %s", path, strerror(errno));
        return;
    }
    tt_error_keep(error);
    qsort(t->row, (size_t)t->rows, sizeof *t->row, by_time);
    tt_file_limit_enter(&limit);
    write_to(out, client, path);
    tt_error_restore(error);
    bool failed = fflush(out) != 0 || ferror(out);
    if (to_file) failed |= fclose(out) != 0;
    tt_file_limit_leave(&limit);
    if (failed) tt_warn("TUTTI_REPORT: cannot write the whole report to %.300s", path);
}
