/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes JSON: an array with one row on each line, which people can read and tools like grep can
 * search.
 */
#include "json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool print_rows(const cJSON *rows, FILE *file)
{
    const cJSON *row;
    const char *before = "[\n  ";
    cJSON_ArrayForEach(row, rows)
    {
        char *text = cJSON_PrintUnformatted(row);
        if (!text) return false;
        fprintf(file, "%s%s", before, text);
        free(text);
        before = ",\n  ";
    }
    fprintf(file, "%s]\n", rows && rows->child ? "\n" : "[");
    return rows != NULL;
}

/* Writes a complete text to the file, or to standard output for "-". */
static bool write_text(const char *text, size_t n, const char *path)
{
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
    if (!file) return false;
    bool written = fwrite(text, 1, n, file) == n && fflush(file) == 0;
    if (file != stdout) written = fclose(file) == 0 && written;
    return written;
}

static bool cannot(const char *path)
{
    fprintf(stderr, "tutti: cannot write JSON to %s: %s\n", path, strerror(errno));
    return false;
}

bool tt_json_writable(const char *path)
{
    if (strcmp(path, "-") == 0) return true;
    FILE *file = fopen(path, "ae");
    if (!file) return cannot(path);
    fclose(file);
    return true;
}

bool tt_json_write(cJSON *rows, const char *path)
{
    char *text = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&text, &n);
    bool written = memory && print_rows(rows, memory);
    if (memory) written = fclose(memory) == 0 && written;
    cJSON_Delete(rows);
    if (written) errno = 0;
    written = written && write_text(text, n, path);
    if (!written) cannot(path);
    free(text);
    return written;
}

bool tt_json_print(cJSON *object)
{
    char *text = cJSON_Print(object);
    bool printed = text && puts(text) >= 0;
    if (!printed) fprintf(stderr, "tutti: cannot write JSON to standard output\n");
    free(text);
    cJSON_Delete(object);
    return printed;
}
