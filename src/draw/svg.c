/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Frame, style, text and scales of the pictures in SVG.
 */
#include "draw/svg.h"

#include <inttypes.h>
#include <math.h>

static const char style[] =
    "text{font-family:system-ui,'DejaVu Sans',sans-serif;font-size:12px;fill:#24292f}\n"
    ".title{font-size:16px;font-weight:600}.minor{fill:#57606a;font-size:11px}.small{font-size:"
    "10px}\n"
    ".paper{fill:#ffffff}.line{stroke:#d0d7de;fill:none}.row{fill:#f3f5f7}.axis{stroke:#8c959f}\n"
    ".node{fill:#ffffff;stroke:#57606a;stroke-width:1.3}.switch{fill:#d0d7de;stroke:#57606a}\n"
    ".hole{fill:none;stroke:#8c959f;stroke-dasharray:3 2}.cross{stroke:#8c959f;stroke-width:1.3}\n"
    ".copy{fill:#56b4e9}.reduce{fill:#d55e00}.start{fill:#009e73}.wait{fill:#dfe3e8}.await{fill:#"
    "eadff0}\n"
    ".trip{stroke:#24292f;stroke-width:1;fill:none}"
    ".signal{stroke:#b3589a;stroke-width:.8;stroke-dasharray:3 2;fill:none}\n"
    ".edge{stroke:#57606a;stroke-width:1.4;fill:none}\n"
    ".far{stroke:#0072b2;stroke-width:2.2;fill:none}.box{fill:#f3f5f7;stroke:#8c959f}\n"
    ".h0{stroke:#dfe3e8}.f0{fill:#f3f5f7}.h1{stroke:#fbc48a}.f1{fill:#fbc48a}.h2{stroke:#fa9b6c}."
    "f2{fill:#fa9b6c}"
    ".h3{stroke:#f2705f}.f3{fill:#f2705f}.h4{stroke:#d9466b}.f4{fill:#d9466b}\n"
    ".h5{stroke:#b0357b}.f5{fill:#b0357b}.h6{stroke:#842681}.f6{fill:#842681}.h7{stroke:#57157e}."
    "f7{fill:#57157e}"
    ".h8{stroke:#2a0f5a}.f8{fill:#2a0f5a}\n"
    ".r0{stroke:#0072b2}.r1{stroke:#d55e00}.r2{stroke:#009e73}.r3{stroke:#cc79a7}\n"
    ".r4{stroke:#e69f00}.r5{stroke:#56b4e9}.r6{stroke:#24292f}.r7{stroke:#b0a500}\n"
    ".d1{stroke-dasharray:7 6}.d2{stroke-dasharray:.1 6}.d3{stroke-dasharray:9 6 .1 6}\n"
    ".step{fill:none;stroke-width:1.7}.route{fill:none;stroke-width:3;stroke-"
    "linejoin:round;stroke-linecap:round}"
    "\n"
    "@media "
    "(prefers-color-scheme:dark){text{fill:#e6edf3}.minor{fill:#9da7b3}.paper{fill:#0d1117}\n"
    ".line{stroke:#30363d}.row{fill:#161b22}.axis{stroke:#6e7681}.node{fill:#0d1117;stroke:#9da7b3}"
    "\n"
    ".switch{fill:#30363d;stroke:#9da7b3}.hole,.cross{stroke:#6e7681}.wait{fill:#2b3138}.await{"
    "fill:#3a2f42}\n"
    ".far{stroke:#56b4e9}.box{fill:#161b22;stroke:#6e7681}\n"
    ".r6{stroke:#e6edf3}.r7{stroke:#f0e442}.trip{stroke:#e6edf3}.edge{stroke:#9da7b3}.signal{"
    "stroke:#cc79a7}\n"
    ".h0{stroke:#2b3138}.f0{fill:#161b22}.h1{stroke:#4a2a80}.f1{fill:#4a2a80}.h2{stroke:#6f2f92}."
    "f2{fill:#6f2f92}"
    ".h3{stroke:#993a8e}.f3{fill:#993a8e}.h4{stroke:#c24a80}.f4{fill:#c24a80}\n"
    ".h5{stroke:#e26570}.f5{fill:#e26570}.h6{stroke:#f58a66}.f6{fill:#f58a66}.h7{stroke:#fbb578}."
    "f7{fill:#fbb578}"
    ".h8{stroke:#fde3a8}.f8{fill:#fde3a8}}\n";

static void escaped(const char *text, FILE *out)
{
    for (; *text; text++) {
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

void tt_svg_text(double x, double y, const char *class, const char *anchor, const char *text,
                 FILE *out)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, class,
            anchor);
    escaped(text, out);
    fputs("</text>\n", out);
}

static void describe(const struct tt_picture *p, char *text, size_t size)
{
    char time[32];
    const char *by = p->algorithm[0] ? " by " : "";
    snprintf(text, size, "%s%s%s, %s%s%s, %d rank%s, %s", p->problem[0] ? p->problem : "a run", by,
             p->algorithm, p->run ? "a real run" : "simulated", p->model[0] ? " under " : "",
             p->model, p->ranks, p->ranks == 1 ? "" : "s",
             tt_svg_time_text(time, (double)p->time_ps));
}

void tt_svg_begin(const struct tt_picture *picture, const char *what, double width, double height,
                  FILE *out)
{
    char text[TT_PROBLEM_TEXT + 256];
    describe(picture, text, sizeof text);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
            "height=\"%.0f\" role=\"img\">\n<title>",
            width, height, width, height);
    escaped(what, out);
    fputs("</title>\n<desc>", out);
    escaped(text, out);
    fprintf(out, "</desc>\n<style>\n%s</style>\n", style);
    fputs("<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n", out);
    tt_svg_text(TT_SVG_MARGIN, 24, "title", "start", what, out);
    tt_svg_text(TT_SVG_MARGIN, 43, "minor", "start", text, out);
}

void tt_svg_end(FILE *out)
{
    fputs("</svg>\n", out);
}

/* ---- Scales ---- */

char *tt_svg_time_text(char buffer[32], double ps)
{
    static const struct {
        double ps;
        const char *name;
    } units[] = {{1e12, "s"}, {1e9, "ms"}, {1e6, "us"}, {1e3, "ns"}, {1, "ps"}};
    int unit = 0;
    while (unit < 4 && ps < units[unit].ps) unit++;
    snprintf(buffer, 32, "%.5g %s", ps / units[unit].ps, units[unit].name);
    return buffer;
}

char *tt_svg_bytes_text(char buffer[32], double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    for (; unit < 4 && bytes >= 1024; unit++) bytes /= 1024;
    snprintf(buffer, 32, "%.4g %s", bytes, units[unit]);
    return buffer;
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

double tt_svg_load_legend(double x, double y, int64_t most, const char *of, FILE *out)
{
    enum { WIDE = 26, HIGH = 12 };
    char text[32];
    for (int i = 0; i <= TT_SVG_LOADS; i++)
        fprintf(out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" class=\"f%d line\"/>\n",
                x + i * WIDE, y, WIDE, HIGH, i);
    tt_svg_text(x, y + 26, "minor", "start", "none", out);
    tt_svg_text(x + (TT_SVG_LOADS + 1) * WIDE, y + 26, "minor", "end",
                tt_svg_bytes_text(text, (double)most), out);
    tt_svg_text(x + (TT_SVG_LOADS + 1) * WIDE + 10, y + 11, "minor", "start", of, out);
    return (TT_SVG_LOADS + 1) * WIDE + 150;
}
