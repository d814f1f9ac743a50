/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each rank reads the file up to its last row and parses its own rows; the last rank also looks for
 * the end of the file. The first line gives the width of the table; rank 0 counts the fields of
 * this line for all ranks. Without an input file, each rank makes its rows.
 */
#include "transpose.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Opens the input. It must be a regular file, because every rank reads it independently. */
static FILE *open_input(struct table *table)
{
    struct stat found;
    if (!stat(table->in, &found) && !S_ISREG(found.st_mode)) {
        table_fail(table, "%s is not a regular file", table->in);
        return NULL;
    }
    FILE *file = fopen(table->in, "re");
    if (!file) table_fail(table, "cannot open %s: %s", table->in, strerror(errno));
    return file;
}

/* Returns the next field, or NULL at the end. Moves *line past the field, and ends the field with a
 * zero byte. */
static char *next_field(char **line)
{
    char *text;
    while ((text = strsep(line, " \t\r\n")) && !*text) continue;
    return text;
}

int64_t input_width(struct table *table)
{
    char *line = NULL;
    size_t room = 0;
    int64_t n = 0;
    FILE *file = open_input(table);
    if (!file) return 0;
    if (getline(&line, &room, file) > 0) {
        for (char *rest = line; next_field(&rest);) n++;
    } else if (!feof(file)) {
        table_fail(table, "cannot read %s: %s", table->in, strerror(errno));
    }
    if (n == 0) table_fail(table, "%s: there is nothing in its first line", table->in);
    if (n > N_MAX) table_fail(table, "%s: line 1 has more than %d fields", table->in, N_MAX);
    free(line);
    fclose(file);
    return n > N_MAX ? 0 : n;
}

static bool parse_row(struct table *table, char *line, int64_t number, field *row)
{
    int64_t n = 0;
    for (char *text; (text = next_field(&line)); n++) {
        size_t length = strlen(text);
        if (length >= FIELD) {
            return table_fail(table, "%s: line %lld, field %lld: %zu bytes, more than %d",
                              table->in, (long long)number, (long long)n + 1, length, FIELD - 1);
        }
        if (n < table->n) memcpy(row[n], text, length);
    }
    return n == table->n ||
           table_fail(table, "%s is not square: line %lld has %lld field%s, line 1 has %lld",
                      table->in, (long long)number, (long long)n, n == 1 ? "" : "s",
                      (long long)table->n);
}

/* Checks that the table has as many lines as fields in a line, n. `there` says whether getline has
 * found line `number`. Records an error and returns false if a line is missing, or if there is a
 * line after line n. */
static bool expected(struct table *table, bool there, int64_t number)
{
    if (there == (number <= table->n)) return true;
    if (there) {
        return table_fail(table, "%s is not square: line 1 has %lld fields, and more lines follow",
                          table->in, (long long)table->n);
    }
    return table_fail(table, "%s is not square: line 1 has %lld fields, and there are %lld lines",
                      table->in, (long long)table->n, (long long)number - 1);
}

static bool read_line(struct table *table, FILE *file, char **line, size_t *room, int64_t number)
{
    int64_t row = number - 1 - table->first[table->me];
    ssize_t length = getline(line, room, file);
    if (length < 0 && !feof(file)) {
        return table_fail(table, "cannot read %s: %s", table->in, strerror(errno));
    }
    if (!expected(table, length >= 0, number)) return false;
    if (row < 0 || length < 0) return true;
    if (strlen(*line) != (size_t)length) {
        return table_fail(table, "%s: line %lld has a zero byte", table->in, (long long)number);
    }
    return parse_row(table, *line, number, table->rows + row * table->n);
}

void input_make(struct table *table)
{
    int64_t rows = table_rows(table, table->me), first = table->first[table->me] * table->n;
    for (int64_t i = 0; i < rows * table->n; i++)
        snprintf(table->rows[i], FIELD, "%lld", (long long)(first + i));
}

bool input_read(struct table *table)
{
    char *line = NULL;
    size_t room = 0;
    int64_t last = table->first[table->me + 1] + (table->me == table->p - 1);
    FILE *file = open_input(table);
    bool ok = file != NULL;
    for (int64_t number = 1; ok && number <= last; number++) {
        ok = read_line(table, file, &line, &room, number);
        table_progress(table, "reading", number, last);
    }
    free(line);
    if (file) fclose(file);
    return ok;
}
