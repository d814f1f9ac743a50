/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `tutti draw --what costs`: a diagram with a curve for each algorithm of a collective: its
 * predicted time by the number of bytes. The diagram also shows which algorithm runs, and measured
 * times. Both axes are logarithmic.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "choose/plan-file.h"
#include "choose/predict.h"
#include "command.h"
#include "draw.h"
#include "draw/svg.h"
#include "write.h"

enum {
    SIZES = 20, /* the number of sizes: 8 bytes, 16, ... 4 MiB */
    LEAST = 8,
    CURVES = 32,
    COLOURS = 8,
    WIDTH = 640,
    HEIGHT = 400,
    LEFT = 76,
    LEGEND = 190,
    ROW = 17,
    FILE_MOST = 16 << 20
};

/* The times of an algorithm in ps, for each of the sizes; 0 if a time is not known. */
struct curve {
    const struct tt_algorithm *algorithm;
    int64_t predicted_ps[SIZES];
    double measured_ps[SIZES];
};

struct draw_costs {
    const char *text;
    struct tt_case c;
    struct curve curve[CURVES];
    int curves;
    const struct tt_algorithm *chosen[SIZES];
    /* the logarithms of the times at the lower and upper ends of the axis of times */
    double low, high;
    enum tt_scheme scheme;
};

/* ---- Times ---- */

/* Sets *call to the call with the i-th size. Returns false if this size is not a whole number of
 * elements. */
static bool call_of(const struct draw_costs *d, int i, struct tt_call *call)
{
    *call = tt_case_given(&d->c);
    int64_t bytes = (int64_t)LEAST << i;
    if (bytes % call->sz) return false;
    call->n = bytes / call->sz;
    return true;
}

/* Returns the predicted time of the plan file that TUTTI_ALGORITHM names; 0 if its plans do not fit
 * this call or are not proven for it, so that a program would not run them, or if there is no
 * prediction. */
static int64_t predict_file(const struct draw_costs *d, const struct tt_call *call)
{
    struct tt_lab_answer answer;
    struct tt_prediction prediction = {.time_ps = 0};
    struct tt_algorithm row = d->c.row.row;
    int p = d->c.problem.p;
    if (tt_plan_from_file(d->c.row.file.name, call, &d->c.map, 0, &answer) != TUTTI_OK) return 0;
    tt_plan_free(answer.plan);
    struct tt_plan **plans = tt_calloc((size_t)p, sizeof *plans);
    if (plans && tt_plan_file_plans(&d->c.row.file, call, p, plans)) {
        row.plans = (const struct tt_plan *const *)plans;
        if (tt_predict(&row, call, &d->c.map, &prediction) != TUTTI_OK) prediction.time_ps = 0;
        for (int r = 0; r < p; r++) tt_plan_free(plans[r]);
    }
    tt_free(plans);
    return prediction.time_ps;
}

static void predict_size(struct draw_costs *d, int i)
{
    struct tt_call call;
    struct tt_choice choice;
    struct tt_prediction p;
    if (!call_of(d, i, &call)) return;
    for (int k = 0; k < d->curves; k++) {
        struct curve *c = &d->curve[k];
        if (c->algorithm->refuse(&call, &d->c.map)) continue;
        if (c->algorithm->plans)
            c->predicted_ps[i] = predict_file(d, &call);
        else if (tt_predict(c->algorithm, &call, &d->c.map, &p) == TUTTI_OK)
            c->predicted_ps[i] = p.time_ps;
    }
    if (d->c.row.p > 0)
        d->chosen[i] = d->c.algorithm;
    else if (tt_choose(&call, &d->c.map, d->c.rankings, &choice, NULL) == TUTTI_OK)
        d->chosen[i] = choice.algorithm;
    else
        d->chosen[i] = NULL;
}

static void predict_all(struct draw_costs *d)
{
    for (int i = 0; tt_algorithms[i] && d->curves < CURVES; i++)
        if (tt_algorithms[i]->coll == d->c.problem.call.coll)
            d->curve[d->curves++].algorithm = tt_algorithms[i];
    if (d->c.row.p > 0 && d->curves < CURVES) d->curve[d->curves++].algorithm = d->c.algorithm;
    for (int i = 0; i < SIZES; i++) predict_size(d, i);
}

/* Records the time in a row of `tutti bench --json`, if the row is about this collective and number
 * of ranks. */
static void take_row(struct draw_costs *d, const cJSON *row)
{
    const cJSON *problem = cJSON_GetObjectItem(row, "problem");
    const cJSON *algorithm = cJSON_GetObjectItem(row, "algorithm");
    double bytes = cJSON_GetNumberValue(cJSON_GetObjectItem(row, "bytes"));
    double us = cJSON_GetNumberValue(cJSON_GetObjectItem(row, "median_us"));
    double ranks = cJSON_GetNumberValue(cJSON_GetObjectItem(row, "ranks"));
    const char *coll = tt_coll_name(d->c.problem.call.coll);
    size_t n = strlen(coll);
    if (!cJSON_IsString(problem) || !cJSON_IsString(algorithm) || !(us > 0) ||
        strncmp(problem->valuestring, coll, n) != 0 || problem->valuestring[n] != '/' ||
        !(fabs(ranks - d->c.map.p) < 0.5))
        return;
    for (int k = 0; k < d->curves; k++)
        for (int i = 0; i < SIZES; i++)
            if (strcmp(d->curve[k].algorithm->name, algorithm->valuestring) == 0 &&
                fabs(bytes - (double)((int64_t)LEAST << i)) < 0.5)
                d->curve[k].measured_ps[i] = 1e6 * us;
}

/* Reads the times that `tutti bench --json` has written to the file. Returns false after printing
 * the error. */
static bool read_measured(struct draw_costs *d, const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = file ? tt_calloc(1, FILE_MOST + 1) : NULL;
    size_t n = text ? fread(text, 1, FILE_MOST, file) : 0;
    const char *why = file && !text ? "no memory" : !file || ferror(file) ? strerror(errno) : NULL;
    cJSON *rows = n > 0 ? cJSON_Parse(text) : NULL;
    const cJSON *row;
    bool good = cJSON_IsArray(rows);
    cJSON_ArrayForEach(row, rows)
    {
        take_row(d, row);
    }
    if (why)
        fprintf(stderr, "tutti draw: cannot read %s: %s\n", path, why);
    else if (!good)
        fprintf(stderr, "tutti draw: %s is no array of tutti bench --json\n", path);
    cJSON_Delete(rows);
    tt_free(text);
    if (file) fclose(file);
    return good;
}

/* Records the times in the wisdom file that are about this collective and number of ranks. */
static void take_wisdom(struct draw_costs *d)
{
    struct tt_wisdom_file file = {0};
    char path[TT_FILE_PATH], why[TT_FILE_WHY];
    if (!tt_wisdom_path(path, why) || !tt_wisdom_read(path, &file, why)) return;
    for (int n = 0; n < file.n; n++) {
        const struct tt_wisdom_line *l = &file.entry[n].line;
        if (!file.entry[n].fits || l->wise.coll != (uint8_t)d->c.problem.call.coll ||
            l->wise.p != d->c.map.p || l->layout[0] || l->wise.slice || l->wise.radix ||
            l->wise.lanes)
            continue;
        for (int k = 0; k < d->curves; k++)
            for (int i = 0; i < SIZES; i++)
                if (d->curve[k].algorithm == tt_wisdom_algorithm(&l->wise) &&
                    l->wise.bytes == (int64_t)LEAST << i)
                    d->curve[k].measured_ps[i] = (double)l->time_ps;
    }
    tt_wisdom_close(&file);
}

/* ---- Axes ---- */

static double x_of(int i)
{
    return LEFT + (double)WIDTH * i / (SIZES - 1);
}

static double y_of(const struct draw_costs *d, double ps)
{
    return TT_SVG_TOP + HEIGHT - HEIGHT * (log10(ps) - d->low) / (d->high - d->low);
}

static void extend(double ps, double *least, double *most)
{
    if (!(ps > 0)) return;
    *least = fmin(*least, ps);
    *most = fmax(*most, ps);
}

/* Sets the ends of the axis of times. Returns false if there is no time to draw. */
static bool scale(struct draw_costs *d)
{
    double least = INFINITY, most = 0;
    for (int k = 0; k < d->curves; k++)
        for (int i = 0; i < SIZES; i++) {
            extend((double)d->curve[k].predicted_ps[i], &least, &most);
            extend(d->curve[k].measured_ps[i], &least, &most);
        }
    if (!(most > 0)) return false;
    d->low = floor(log10(least));
    d->high = fmax(ceil(log10(most)), d->low + 1);
    return true;
}

static void line(double x0, double y0, double x1, double y1, FILE *out)
{
    fprintf(out, "<line class=\"line\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x0, y0,
            x1, y1);
}

static void print_axes(const struct draw_costs *d, FILE *out)
{
    char text[32];
    for (double power = d->low; power <= d->high; power++) {
        double y = y_of(d, pow(10, power));
        line(LEFT, y, LEFT + WIDTH, y, out);
        tt_svg_text(LEFT - 8, y + 4, "minor", "end", tt_svg_time_text(text, pow(10, power)), out);
    }
    for (int i = 0; i < SIZES; i++) {
        if (i % 2 == 0) line(x_of(i), TT_SVG_TOP, x_of(i), TT_SVG_TOP + HEIGHT, out);
        if (i % 2 == 0)
            tt_svg_text(x_of(i), TT_SVG_TOP + HEIGHT + 16, "minor", "middle",
                        tt_print_size(text, (int64_t)LEAST << i), out);
    }
}

/* ---- Curves ---- */

/* Writes the CSS classes of curve k: curves of the same colour have different dashes. */
static void print_class(int k, FILE *out)
{
    fprintf(out, "route r%d d%d", k % COLOURS, k / COLOURS % 4);
}

static bool is_drawn(const struct curve *c)
{
    for (int i = 0; i < SIZES; i++)
        if (c->predicted_ps[i] > 0 || c->measured_ps[i] > 0) return true;
    return false;
}

/* Returns whether a curve that is drawn after curve k covers it at two sizes in a row. */
static bool is_hidden(const struct draw_costs *d, int k)
{
    const double near = 0.02; /* a distance in powers of ten */
    for (int later = k + 1; later < d->curves; later++)
        for (int i = 0, row = 0; i < SIZES; i++) {
            int64_t a = d->curve[k].predicted_ps[i], b = d->curve[later].predicted_ps[i];
            bool meets = a > 0 && b > 0 && fabs(log10((double)a) - log10((double)b)) < near;
            row = meets ? row + 1 : 0;
            if (row == 2) return true;
        }
    return false;
}

/* Draws curve k, with a thicker line if another curve covers it, so that its edges can be seen. */
static void print_curve(const struct draw_costs *d, int k, FILE *out)
{
    const struct curve *c = &d->curve[k];
    const char *verb = "M";
    fputs("<path class=\"", out);
    print_class(k, out);
    fprintf(out, "\" stroke-width=\"%d\" style=\"fill:none\" d=\"", is_hidden(d, k) ? 6 : 2);
    for (int i = 0; i < SIZES; i++) {
        if (c->predicted_ps[i] == 0) continue;
        fprintf(out, "%s%.1f %.1f", verb, x_of(i), y_of(d, (double)c->predicted_ps[i]));
        verb = "L";
    }
    fputs("\"/>\n", out);
}

/* Draws, for the algorithm of curve k, a cross for each measured time, and a disc at each size for
 * which the library would run it. */
static void print_points(const struct draw_costs *d, int k, FILE *out)
{
    const struct curve *c = &d->curve[k];
    for (int i = 0; i < SIZES; i++) {
        if (d->chosen[i] == c->algorithm && c->predicted_ps[i] > 0)
            fprintf(out, "<circle class=\"r%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n", k % COLOURS,
                    x_of(i), y_of(d, (double)c->predicted_ps[i]));
        if (!(c->measured_ps[i] > 0)) continue;
        double y = y_of(d, c->measured_ps[i]);
        fprintf(out, "<path class=\"r%d\" stroke-width=\"1.5\" d=\"M%.1f %.1fl8 8m0 -8l-8 8\"/>\n",
                k % COLOURS, x_of(i) - 4, y - 4);
    }
}

static bool has_measured(const struct draw_costs *d)
{
    bool has = false;
    for (int k = 0; k < d->curves; k++)
        for (int i = 0; i < SIZES; i++) has |= d->curve[k].measured_ps[i] > 0;
    return has;
}

static void print_legend(const struct draw_costs *d, FILE *out)
{
    double x = LEFT + WIDTH + 24, y = TT_SVG_TOP + 10;
    for (int k = 0; k < d->curves; k++) {
        if (!is_drawn(&d->curve[k])) continue;
        fputs("<path class=\"", out);
        print_class(k, out);
        fprintf(out, "\" stroke-width=\"2\" style=\"fill:none\" d=\"M%.1f %.1fh28\"/>\n", x, y - 4);
        tt_svg_text(x + 36, y, "", "start", d->curve[k].algorithm->name, out);
        y += ROW;
    }
    tt_svg_text(x, y + 8, "minor", "start", "disc: this algorithm runs", out);
    if (has_measured(d)) tt_svg_text(x, y + 24, "minor", "start", "cross: measured", out);
}

static tutti_status print_costs(void *arg, FILE *out)
{
    const struct draw_costs *d = arg;
    char title[160], about[200], nodes[40] = "";
    if (d->c.map.nodes > 1) snprintf(nodes, sizeof nodes, " of %d nodes", d->c.map.nodes);
    snprintf(title, sizeof title, "Predicted times of %s on %d ranks%s",
             tt_coll_name(d->c.problem.call.coll), d->c.map.p, nodes);
    snprintf(about, sizeof about,
             "by the model of this machine, over the bytes that a rank contributes; %d processors",
             d->c.map.cores);
    tt_svg_open(title, about, LEFT + WIDTH + LEGEND, TT_SVG_TOP + HEIGHT + 36, d->scheme, out);
    print_axes(d, out);
    for (int k = 0; k < d->curves; k++) print_curve(d, k, out);
    for (int k = 0; k < d->curves; k++) print_points(d, k, out);
    print_legend(d, out);
    tt_svg_end(out);
    return TUTTI_OK;
}

/* ---- Command ---- */

static int draw_it(struct draw_costs *d, const struct tt_draw *draw, const char *measured)
{
    if (d->c.problem.call.coll == TT_COLL_barrier || tt_call_counts(&d->c.problem.call)) {
        fprintf(stderr, "tutti draw: %s: costs can be drawn only of collectives with one size\n",
                d->text);
        return TT_EXIT_USAGE;
    }
    predict_all(d);
    if (!measured && scale(d)) take_wisdom(d); /* without predicted times there is no picture */
    if (measured && !read_measured(d, measured)) return TT_EXIT_FAILED;
    if (!scale(d)) {
        fprintf(stderr, "tutti draw: %s: no time can be predicted: %s\n", d->text, tutti_error());
        return TT_EXIT_FAILED;
    }
    return tt_draw_put(draw, print_costs, d) ? TT_EXIT_OK : TT_EXIT_FAILED;
}

int tt_draw_costs(const struct tt_draw *draw, const char *problem, const char *measured)
{
    static struct draw_costs d;
    if (draw->format != TT_DRAW_AS_svg) {
        fprintf(stderr, "tutti draw: costs can be drawn only as .svg or .png\n");
        return TT_EXIT_USAGE;
    }
    d.text = problem;
    d.scheme = draw->scheme;
    if (!tt_case_open(&d.c, "tutti draw", problem, NULL, NULL)) return TT_EXIT_USAGE;
    bool apart = tt_write_apart("tutti draw", draw->output, measured) &&
                 tt_write_spares("tutti draw", draw->output, d.c.problem.map, NULL);
    int code = apart ? draw_it(&d, draw, measured) : TT_EXIT_USAGE;
    tt_case_close(&d.c);
    return code;
}
