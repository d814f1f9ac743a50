/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The palette of all pictures. Each colour has a name, and one value for light and one for dark
 * backgrounds. The SVG writers take the values from here. `page/assemble`, which makes the
 * interactive HTML page for pictures, writes them at the top of the page's style, each as a CSS
 * variable `--NAME`. So a step has the same colour in an SVG and on the page.
 *
 * The colours of the kinds of steps can be distinguished with every kind of colour vision, and have
 * a contrast ratio of at least 3 to the panel behind them; steps that only wait are pale. `load-0`
 * to `load-8` are the scale for amounts, such as the bytes of a link: Cividis (Nunez, Anderton,
 * Renslow 2018), in even steps of lightness; a larger amount is darker on a light page and lighter
 * on a dark one. `route-0` to `route-7` can be distinguished with every kind of colour vision, too.
 * tests/draw/palette.py checks all this.
 */
#ifndef TT_DRAW_PALETTE_H
#define TT_DRAW_PALETTE_H

#include <stdio.h>

/* clang-format off */
#define TT_PALETTE(COLOUR) \
    /* The colours of surfaces, lines and text. */ \
    COLOUR("back", "#f4f5f7", "#11151a") \
    COLOUR("panel", "#ffffff", "#191f26") \
    COLOUR("text", "#1b2027", "#e8ecf0") \
    COLOUR("quiet", "#505a66", "#aab4bf") \
    COLOUR("line", "#c3c9d1", "#424c57") \
    COLOUR("grid", "#eceef1", "#232a32") \
    COLOUR("row", "#f7f8fa", "#1d232b") \
    COLOUR("row-marked", "#fdf0cf", "#3a3320") \
    COLOUR("accent", "#0b5cad", "#6fb6f5") \
    COLOUR("on-accent", "#ffffff", "#08131e") \
    COLOUR("note-back", "#fff6dd", "#33290f") \
    COLOUR("note-text", "#553c00", "#f2dca2") \
    COLOUR("error-back", "#fdecea", "#3d1a17") \
    COLOUR("error-text", "#7d1a12", "#ffc9c2") \
    /* The colours of the steps of a rank. */ \
    COLOUR("send", "#0043c0", "#356fde") \
    COLOUR("put", "#4e74c9", "#80b5ff") \
    COLOUR("recv", "#1a4e30", "#02ab74") \
    COLOUR("get", "#27a39f", "#86ffb0") \
    COLOUR("signal", "#7f1f7f", "#ff7aba") \
    COLOUR("copy", "#ce830a", "#edc03d") \
    COLOUR("reduce", "#a55f15", "#ff6129") \
    COLOUR("read", "#7e6173", "#717383") \
    COLOUR("write", "#221527", "#ddd4ff") \
    COLOUR("wait", "#dfe4ea", "#303943") \
    COLOUR("await", "#ecdfeb", "#403343") \
    /* The colours of messages between ranks. */ \
    COLOUR("message", "rgba(27,32,39,.5)", "rgba(232,236,240,.45)") \
    COLOUR("message-signal", "rgba(163,57,138,.6)", "rgba(226,143,203,.6)") \
    COLOUR("message-chosen", "#111418", "#ffffff") \
    COLOUR("between-nodes", "#0b5cad", "#6fb6f5") \
    COLOUR("cursor", "#c1121f", "#ff6b6b") \
    COLOUR("path", "#d1260b", "#ff7a59") \
    /* The colours of amounts, from least to most. */ \
    COLOUR("load-0", "#e4cc5a", "#4d566d") \
    COLOUR("load-1", "#c1b36e", "#66666f") \
    COLOUR("load-2", "#a29b78", "#7a7773") \
    COLOUR("load-3", "#8a8577", "#8c8877") \
    COLOUR("load-4", "#727072", "#a09978") \
    COLOUR("load-5", "#565c6e", "#b7ac72") \
    COLOUR("load-6", "#32486e", "#d2c065") \
    COLOUR("load-7", "#0d346b", "#edd454") \
    COLOUR("load-8", "#002051", "#fdea45") \
    /* The colours of routes that are drawn side by side. */ \
    COLOUR("route-0", "#096df3", "#6c8aff") \
    COLOUR("route-1", "#8a1307", "#c23a1b") \
    COLOUR("route-2", "#0753a2", "#416d8d") \
    COLOUR("route-3", "#cd5b8e", "#ad9693") \
    COLOUR("route-4", "#8a691f", "#fea118") \
    COLOUR("route-5", "#56b4e9", "#4bccff") \
    COLOUR("route-6", "#3f1745", "#b9ffff") \
    COLOUR("route-7", "#a09710", "#fff108") \
    /* The colours of the parts of a host. */ \
    COLOUR("package", "#f4f5f7", "#11151a") \
    COLOUR("memory", "#f6e3d3", "#4a3426") \
    COLOUR("cache", "#e3e7ec", "#2b333c") \
    COLOUR("core", "#d3e4dc", "#1f3d33") \
    COLOUR("processor", "#ffffff", "#191f26")
/* clang-format on */

/* The background that a picture is made for. With TT_SCHEME_BOTH the picture contains the colours
 * for light and for dark backgrounds: a browser chooses the background that its reader prefers, and
 * a program that does not know a preference (a converter) uses the light ones. */
enum tt_scheme { TT_SCHEME_BOTH, TT_SCHEME_LIGHT, TT_SCHEME_DARK };

/* Prints style rules in which "$name;" or "$name}" stands for a colour of the palette. With
 * TT_SCHEME_BOTH, the rules are printed once with the light values and once with the dark ones. */
void tt_palette_style(const char *rules, enum tt_scheme scheme, FILE *out);
/* Returns the value of a colour by its name; NULL if there is no such colour. */
const char *tt_palette_colour(const char *name, size_t length, enum tt_scheme scheme);
/* Returns the light value of a colour, whose name must be in the palette. */
const char *tt_palette_light(const char *name);

#endif
