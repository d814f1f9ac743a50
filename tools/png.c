/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes PNG from SVG with librsvg and cairo. Nothing is linked with these libraries: this file
 * loads them when it first needs them, because SVG and HTML pictures do not need them.
 */
#include "png.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "base/base.h"

/* The types and functions of the two libraries that this file uses, declared as in the headers of
 * the libraries, whose ABI is stable. */
struct error {
    uint32_t domain;
    int code;
    char *message;
};
struct rectangle {
    double x, y, width, height;
};
typedef int write_fn(void *closure, const unsigned char *data, unsigned length);

struct library {
    void *(*handle_new)(const uint8_t *data, size_t length, struct error **error);
    int (*handle_size)(void *handle, double *width, double *height);
    int (*handle_render)(void *handle, void *cairo, const struct rectangle *into,
                         struct error **error);
    void (*unref)(void *object);
    void *(*surface_new)(int format, int width, int height);
    void *(*cairo_new)(void *surface);
    int (*surface_write)(void *surface, write_fn *write, void *closure);
    void (*cairo_free)(void *cairo);
    void (*surface_free)(void *surface);
};

static tutti_status missing(const char *what)
{
    return tt_fail(TUTTI_ERR_UNSUPPORTED,
                   "a .png is made by librsvg, which is not here (%s): install it (Debian and "
                   "Ubuntu: librsvg2-2; Fedora: librsvg2), or draw an .svg",
                   what);
}

static tutti_status load(struct library *l)
{
    void *rsvg = dlopen("librsvg-2.so.2", RTLD_NOW), *cairo = dlopen("libcairo.so.2", RTLD_NOW);
    const struct {
        void *from;
        const char *name;
        void *to;
    } wanted[] = {{rsvg, "rsvg_handle_new_from_data", &l->handle_new},
                  {rsvg, "rsvg_handle_get_intrinsic_size_in_pixels", &l->handle_size},
                  {rsvg, "rsvg_handle_render_document", &l->handle_render},
                  {rsvg, "g_object_unref", &l->unref},
                  {cairo, "cairo_image_surface_create", &l->surface_new},
                  {cairo, "cairo_create", &l->cairo_new},
                  {cairo, "cairo_surface_write_to_png_stream", &l->surface_write},
                  {cairo, "cairo_destroy", &l->cairo_free},
                  {cairo, "cairo_surface_destroy", &l->surface_free}};
    if (!rsvg || !cairo) return missing(rsvg ? "no libcairo.so.2" : "no librsvg-2.so.2");
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *found = dlsym(wanted[i].from, wanted[i].name);
        if (!found) return missing(wanted[i].name);
        memcpy(wanted[i].to, &found, sizeof found);
    }
    return TUTTI_OK;
}

static int write_piece(void *closure, const unsigned char *data, unsigned length)
{
    enum { SUCCESS = 0, WRITE_ERROR = 11 }; /* values of cairo_status_t */
    return fwrite(data, 1, length, closure) == length ? SUCCESS : WRITE_ERROR;
}

static tutti_status render(const struct library *l, void *svg, FILE *out)
{
    enum { SCALE = 2, MOST = 16384, ARGB32 = 0 };
    struct error *error = NULL;
    double width = 0, height = 0;
    if (!l->handle_size(svg, &width, &height) || width < 1 || height < 1)
        return tt_fail(TUTTI_ERR_UNSUPPORTED, "librsvg reports no size for the picture");
    double scale = tt_min(SCALE, (int64_t)(MOST / tt_max((int64_t)width, (int64_t)height)));
    if (scale < 1)
        return tt_fail(TUTTI_ERR_LIMIT, "%.0f by %.0f points are too many for a .png; draw an .svg",
                       width, height);
    struct rectangle all = {0, 0, width * scale, height * scale};
    void *surface = l->surface_new(ARGB32, (int)all.width, (int)all.height);
    void *cairo = l->cairo_new(surface);
    bool drawn = l->handle_render(svg, cairo, &all, &error) != 0;
    bool written = drawn && l->surface_write(surface, write_piece, out) == 0;
    l->cairo_free(cairo);
    l->surface_free(surface);
    if (written) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_SYSTEM, "librsvg cannot draw the .png: %s",
                   error ? error->message : "no memory");
}

tutti_status tt_png_there(void)
{
    struct library l;
    return load(&l);
}

tutti_status tt_png_print(const char *text, size_t length, FILE *out)
{
    struct library l;
    struct error *error = NULL;
    TT_TRY(load(&l));
    void *svg = l.handle_new((const uint8_t *)text, length, &error);
    if (!svg)
        return tt_fail(TUTTI_ERR_SYSTEM, "librsvg does not take the picture: %s",
                       error ? error->message : "no reason given");
    tutti_status status = render(&l, svg, out);
    l.unref(svg);
    return status;
}
