/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A progress bar, which the example programs share. It appears on a terminal only.
 */
#ifndef BAR_H
#define BAR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static struct {
    bool shown;
    int64_t next_ms; /* when the bar may be drawn again */
} bar;

/* Removes the bar, before anything else is printed. */
static inline void bar_clear(void)
{
    if (bar.shown) fputs("\r\033[K", stderr);
    bar.shown = false;
    bar.next_ms = 0;
}

/* Draws the bar, ten times a second at most. `what` names the work: `done` of `total` is done. */
static inline void bar_show(const char *what, int64_t done, int64_t total)
{
    enum { BAR_WIDTH = 40, BAR_MS = 100 };
    static const char full[] = "########################################";
    struct timespec now;
    if (!isatty(STDERR_FILENO)) return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    if (ms < bar.next_ms) return;
    double share = total > 0 ? (double)done / (double)total : 1;
    fprintf(stderr, "\r\033[K[%-*.*s] %s %.0f %%", BAR_WIDTH, (int)(BAR_WIDTH * share), full, what,
            100 * share);
    fflush(stderr);
    bar.shown = true;
    bar.next_ms = ms + BAR_MS;
}

#endif
