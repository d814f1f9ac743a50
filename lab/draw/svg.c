/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes the parts that all pictures in SVG share: frame, style, text, arrows, legends and
 * scales.
 */
#include "draw/svg.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The style that is the same for light and dark backgrounds. */
static const char shapes[] =
    "text{font-family:system-ui,'DejaVu Sans',sans-serif;font-size:12px}\n"
    ".title{font-size:16px;font-weight:600}.minor{font-size:11px}.small{font-size:10px}\n"
    ".node{stroke-width:1.3}.cross{stroke-width:1.3}.hole{stroke-dasharray:3 2}\n"
    ".signal{stroke-width:.9;stroke-dasharray:3 "
    "2}.edge{stroke-width:1.4}.between{stroke-width:1.8}\n"
    ".call{stroke-width:1.2;fill-opacity:.3}.open{stroke-dasharray:4 2}.strong{font-weight:600}\n"
    ".came-late{stroke-width:1}.dead{stroke-width:2.4}.end-text{font-size:11px;font-weight:600;"
    "paint-order:stroke;stroke-width:3px}\n"
    ".step{stroke-width:1.7}.route{stroke-width:3;stroke-linejoin:round;stroke-linecap:round}\n"
    ".rank-text{font-size:11px}.closed{stroke-dasharray:3 2}\n"
    ".d1{stroke-dasharray:7 6}.d2{stroke-dasharray:.1 6}.d3{stroke-dasharray:9 6 .1 6}\n";

/* The style whose colours depend on the background. A later rule overrides an earlier one, so the
 * rules for the fill of a shape come after those for its outline. */
static const char colours[] =
    "text{fill:$text}.minor{fill:$quiet}.paper{fill:$panel}\n"
    ".line,.h0{stroke:$line;fill:none}.row{fill:$row}.axis{stroke:$quiet;fill:$quiet}\n"
    ".node{fill:$panel;stroke:$quiet}.switch{fill:$grid;stroke:$quiet}.box{fill:$row;stroke:$line}"
    "\n"
    ".hole,.cross{fill:none;stroke:$quiet}\n"
    ".send{fill:$send}.put{fill:$put}.recv{fill:$recv}.get{fill:$get}\n"
    ".signal-bar{fill:$signal}.copy{fill:$copy}.reduce{fill:$reduce}.read{fill:$read}\n"
    ".write{fill:$write}.wait{fill:$wait}.await{fill:$await}\n"
    ".message{stroke:$message;fill:$message}.signal{stroke:$message-signal;fill:$message-signal}\n"
    ".edge,.edge-head{stroke:$quiet;fill:$quiet}\n"
    ".between,.far,.between-head{stroke:$between-nodes;fill:$between-nodes}\n"
    ".f0{fill:$grid}.h1{stroke:$load-1}.f1{fill:$load-1}.h2{stroke:$load-2}.f2{fill:$load-2}\n"
    ".h3{stroke:$load-3}.f3{fill:$load-3}.h4{stroke:$load-4}.f4{fill:$load-4}\n"
    ".h5{stroke:$load-5}.f5{fill:$load-5}.h6{stroke:$load-6}.f6{fill:$load-6}\n"
    ".h7{stroke:$load-7}.f7{fill:$load-7}.h8{stroke:$load-8}.f8{fill:$load-8}\n"
    ".r0{stroke:$route-0;fill:$route-0}.r1{stroke:$route-1;fill:$route-1}\n"
    ".r2{stroke:$route-2;fill:$route-2}.r3{stroke:$route-3;fill:$route-3}\n"
    ".r4{stroke:$route-4;fill:$route-4}.r5{stroke:$route-5;fill:$route-5}\n"
    ".r6{stroke:$route-6;fill:$route-6}.r7{stroke:$route-7;fill:$route-7}\n"
    ".route{fill:none}.app{fill:$grid}.waited{fill:$wait}\n"
    ".came-late{fill:$path;stroke:$panel}.dead{stroke:$path;fill:none}.end-text{fill:$path;stroke:$"
    "panel}\n"
    ".package{fill:$package;stroke:$line}.memory{fill:$memory;stroke:$line}\n"
    ".cache{fill:$cache;stroke:$line}.core{fill:$core;stroke:$line}\n"
    ".pu{fill:$processor;stroke:$line}.rank{fill:$accent}.rank-text{fill:$on-accent}\n"
    ".closed{fill:none;stroke:$quiet}\n";

static void escaped(const char *text, size_t length, FILE *out)
{
    for (const char *end = text + length; text < end; text++) {
        if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else if ((unsigned char)*text >= ' ')
            fputc(*text, out);
    }
}

void tt_svg_tip(const char *text, FILE *out)
{
    fputs("<title>", out);
    escaped(text, strlen(text), out);
    fputs("</title>", out);
}

static void text_piece(double x, double y, const char *class, const char *anchor, const char *text,
                       size_t length, FILE *out)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, class,
            anchor);
    escaped(text, length, out);
    fputs("</text>\n", out);
}

void tt_svg_text(double x, double y, const char *class, const char *anchor, const char *text,
                 FILE *out)
{
    text_piece(x, y, class, anchor, text, strlen(text), out);
}

/* Estimates the width of the text: the average width of a letter is 0.57 of the font size in the
 * fonts of `shapes`. Bytes that continue a UTF-8 character have no width. */
static double width_of(const char *text, size_t length, double size)
{
    size_t letters = 0;
    for (size_t i = 0; i < length; i++) letters += ((unsigned char)text[i] & 0xc0) != 0x80;
    return 0.57 * size * (double)letters;
}

double tt_svg_text_width(const char *text, double size)
{
    return width_of(text, strlen(text), size);
}

/* ---- Frame ---- */

static void describe(const struct tt_picture *p, char *text, size_t size)
{
    char time[32];
    const char *by = p->algorithm[0] ? " by " : "";
    snprintf(text, size, "%s%s%s, %s%s%s, %d rank%s, %s", p->problem[0] ? p->problem : "a run", by,
             p->algorithm, p->run ? "a real run" : "simulated", p->model[0] ? " under " : "",
             p->model, p->ranks, p->ranks == 1 ? "" : "s",
             tt_svg_time_text(time, (double)p->time_ps));
}

/* Returns where the second line of a subtitle begins: after the last comma and blank up to which
 * the text fits in the first line. Returns the end of the text if all of it fits. */
static size_t second_line(const char *about, double width)
{
    enum { SIZE = 11 };
    size_t cut = strlen(about);
    if (width_of(about, cut, SIZE) <= width) return cut;
    for (const char *at = strstr(about, ", "); at; at = strstr(at + 2, ", ")) {
        size_t length = (size_t)(at + 2 - about);
        if (cut < strlen(about) && width_of(about, length, SIZE) > width) break;
        cut = length;
    }
    return cut;
}

static void subtitle(const char *about, double width, FILE *out)
{
    size_t cut = second_line(about, width - 2 * TT_SVG_MARGIN), whole = strlen(about);
    text_piece(TT_SVG_MARGIN, cut < whole ? 39 : 43, "minor", "start", about, cut, out);
    if (cut < whole) tt_svg_text(TT_SVG_MARGIN, 53, "minor", "start", about + cut, out);
}

void tt_svg_open(const char *title, const char *about, double width, double height,
                 enum tt_scheme scheme, FILE *out)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
            "height=\"%.0f\" role=\"img\">\n",
            width, height, width, height);
    tt_svg_tip(title, out);
    fputs("\n<desc>", out);
    escaped(about, strlen(about), out);
    fprintf(out, "</desc>\n<style>\n%s", shapes);
    tt_palette_style(colours, scheme, out);
    fputs("</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n", out);
    tt_svg_text(TT_SVG_MARGIN, 24, "title", "start", title, out);
    subtitle(about, width, out);
}

void tt_svg_begin(const struct tt_picture *picture, const char *what, double width, double height,
                  FILE *out)
{
    char about[TT_PROBLEM_TEXT + 256];
    describe(picture, about, sizeof about);
    tt_svg_open(what, about, width, height, picture->scheme, out);
}

void tt_svg_end(FILE *out)
{
    fputs("</svg>\n", out);
}

/* ---- Lines and legends ---- */

void tt_svg_arrow(double x0, double y0, double x1, double y1, double size, FILE *out)
{
    double length = fmax(hypot(x1 - x0, y1 - y0), 1e-9);
    double x = (x1 - x0) / length, y = (y1 - y0) / length, head = fmin(size, length * 0.6);
    double side = head * 0.38;
    if (head <= 0) {
        fprintf(out, "M%.2f %.2fL%.2f %.2f", x0, y0, x1, y1);
        return;
    }
    fprintf(out, "M%.2f %.2fL%.2f %.2fM%.2f %.2fL%.2f %.2fL%.2f %.2fZ", x0, y0, x1, y1, x1, y1,
            x1 - head * x + side * y, y1 - head * y - side * x, x1 - head * x - side * y,
            y1 - head * y + side * x);
}

static void sign_of(double x, double y, enum tt_svg_sign sign, const char *class, FILE *out)
{
    switch (sign) {
    case TT_SVG_BAR:
        fprintf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"18\" height=\"10\"/>\n",
                class, x, y - 9);
        break;
    case TT_SVG_CIRCLE:
        fprintf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\"/>\n", class, x + 9,
                y - 4);
        break;
    case TT_SVG_LINE:
        fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fh18\"/>\n", class, x, y - 4);
        break;
    case TT_SVG_ARROW:
        fprintf(out, "<path class=\"%s\" d=\"", class);
        tt_svg_arrow(x, y - 4, x + 20, y - 4, 7, out);
        fputs("\"/>\n", out);
        break;
    case TT_SVG_MARK:
        fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fl-4 -6h8z\"/>\n", class, x + 9, y - 1);
        break;
    }
}

/* Returns a width in which the text fits in any common font. Each letter is as wide as in the wider
 * of two fonts: DejaVu Sans, which is as wide as Verdana, and a font whose letters are all 0.6 of
 * the font size wide. */
static double widest(const char *text, double size)
{
    double width = 0;
    for (const char *c = text; *c; c++) {
        bool continues = ((unsigned char)*c & 0xc0) == 0x80;
        double letter = strchr("mMwW@%", *c) ? 1 : *c >= 'A' && *c <= 'Z' ? 0.8 : 0.64;
        width += continues ? 0 : letter * size;
    }
    return width;
}

void tt_svg_key(struct tt_svg_legend *l, enum tt_svg_sign sign, const char *class, const char *name)
{
    enum { TEXT = 25, GAP = 14, SIZE = 11, LINE = 18 };
    double wide = TEXT + widest(name, SIZE);
    if (l->x > l->left && l->x + wide > l->right) {
        l->x = l->left;
        l->y += LINE;
    }
    if (l->out) {
        sign_of(l->x, l->y, sign, class, l->out);
        tt_svg_text(l->x + TEXT, l->y, "minor", "start", name, l->out);
    }
    l->x += wide + GAP;
}

/* ---- Scales ---- */

/* Prints four significant digits without an exponent: 0.1234, 12.34, 1234, 12340. */
static void print_number(char *buffer, size_t size, double value)
{
    if (value >= 1000)
        snprintf(buffer, size, "%.0f", value);
    else
        snprintf(buffer, size, "%.4g", value);
}

/* Prints the value in the largest unit in which it is at least 1 after rounding to four digits. */
static char *print_in_units(char buffer[32], double value, const double *unit,
                            const char *const *name, int units)
{
    char number[24];
    int k = units - 1;
    while (k > 0 && value / unit[k] < 0.99995) k--;
    print_number(number, sizeof number, value / unit[k]);
    snprintf(buffer, 32, "%s %s", number, name[k]);
    return buffer;
}

char *tt_svg_time_text(char buffer[32], double ps)
{
    static const double unit[] = {1, 1e3, 1e6, 1e9, 1e12};
    static const char *const name[] = {"ps", "ns", "µs", "ms", "s"};
    return print_in_units(buffer, ps, unit, name, 5);
}

char *tt_svg_bytes_text(char buffer[32], double bytes)
{
    static const double unit[] = {1, 1024, 1048576, 1073741824, 1099511627776};
    static const char *const name[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    return print_in_units(buffer, bytes, unit, name, 5);
}

double tt_svg_round_step(double whole, int parts)
{
    double least = fmax(whole / parts, 1), power = pow(10, floor(log10(least)));
    for (int k = 0; k < 3; k++) {
        double step = power * (k == 0 ? 1 : k == 1 ? 2 : 5);
        if (step >= least * 0.999) return step;
    }
    return 10 * power;
}

int tt_svg_load(int64_t bytes, int64_t most)
{
    if (bytes <= 0 || most <= 0) return 0;
    int class = (int)ceil((double)bytes / (double)most * TT_SVG_LOADS);
    return class < 1 ? 1 : class > TT_SVG_LOADS ? TT_SVG_LOADS : class;
}

enum { SWATCH_WIDE = 26, SWATCH_HIGH = 12 };

static void swatch(double x, double y, int load, FILE *out)
{
    fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" class=\"f%d\"/>\n", x, y,
            SWATCH_WIDE, SWATCH_HIGH, load);
}

void tt_svg_load_legend(double x, double y, unsigned present, int64_t most, const char *of,
                        FILE *out)
{
    char text[32];
    if (present & 1) {
        swatch(x, y, 0, out);
        tt_svg_text(x + SWATCH_WIDE / 2.0, y + 26, "minor", "middle", "none", out);
        x += SWATCH_WIDE + 14;
    }
    if (present >> 1) {
        bool scale = __builtin_popcount(present >> 1) > 1;
        for (int load = scale ? 1 : TT_SVG_LOADS; load <= TT_SVG_LOADS; load++, x += SWATCH_WIDE)
            swatch(x, y, load, out);
        tt_svg_text(x - (scale ? 0 : SWATCH_WIDE / 2.0), y + 26, "minor", scale ? "end" : "middle",
                    tt_svg_bytes_text(text, (double)most), out);
        x += 10;
    }
    tt_svg_text(x, y + 11, "minor", "start", of, out);
}
