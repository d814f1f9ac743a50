/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Functions that the measuring programs share: a clock, memory, lists of numbers, the memory in
 * use, the median, and an error exit.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

__attribute__((format(printf, 1, 2), noreturn)) static inline void die(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    exit(1);
}

static inline double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns page-aligned private memory, whose pages are mapped when they are first written. The
 * caller frees it with munmap. */
static inline void *pages(int64_t bytes)
{
    void *memory =
        mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) die("no memory for %lld bytes", (long long)bytes);
    return memory;
}

static inline int64_t line_up(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Reads a list such as "8,64,4096" into numbers[0..most-1]. Returns how many numbers there are. */
static inline int parse_list(const char *text, int64_t *numbers, int most)
{
    int n = 0;
    for (const char *at = text; *at;) {
        char *end;
        long long value = strtoll(at, &end, 10);
        if (end == at || value < 0 || (*end != ',' && *end) || n == most) {
            die("not a list of at most %d numbers: \"%s\"", most, text);
        }
        numbers[n++] = value;
        at = *end ? end + 1 : end;
    }
    return n;
}

/* Returns the Pss of the process in KiB: its private pages, and its share of the pages that other
 * processes map, too. */
static inline long pss_kib(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[200];
    long kib = -1;
    if (!file) die("no /proc/self/smaps_rollup");
    while (kib < 0 && fgets(line, sizeof line, file)) {
        if (sscanf(line, "Pss: %ld kB", &kib) != 1) kib = -1;
    }
    fclose(file);
    return kib;
}

static inline int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the values and returns their median. */
static inline double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, ascending);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

#endif
