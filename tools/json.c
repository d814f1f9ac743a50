/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes JSON. An array has one row on each line, so that people can read it and tools like grep
 * can search it.
 */
#include "json.h"

#include <stdio.h>
#include <stdlib.h>

#include "write.h"

/* Returns the number of bytes of the UTF-8 character at `text`; 0 if there is no valid
 * character. */
static int character(const unsigned char *text)
{
    /* the first byte of a character with 1, 2, 3 or 4 bytes has the bits `lead` under this
     * `mask` */
    static const struct {
        unsigned char mask, lead;
    } kinds[] = {{0x80, 0x00}, {0xe0, 0xc0}, {0xf0, 0xe0}, {0xf8, 0xf0}};
    for (int n = 1; n <= 4; n++) {
        if ((*text & kinds[n - 1].mask) != kinds[n - 1].lead) continue;
        for (int i = 1; i < n; i++)
            if ((text[i] & 0xc0) != 0x80) return 0;
        bool longer = *text == 0xc0 || *text == 0xc1 || (*text == 0xe0 && text[1] < 0xa0) ||
                      (*text == 0xf0 && text[1] < 0x90);
        bool none = (*text == 0xed && text[1] >= 0xa0) || *text > 0xf4 ||
                    (*text == 0xf4 && text[1] >= 0x90);
        return longer || none ? 0 : n;
    }
    return 0;
}

/* Replaces bytes that are no UTF-8 character by question marks: JSON is UTF-8, but paths and
 * settings may have any bytes. Returns the text, which may be NULL. */
static char *make_utf8(char *text)
{
    for (char *at = text; at && *at;) {
        int n = character((unsigned char *)at);
        if (n == 0) *at = '?';
        at += n > 0 ? n : 1;
    }
    return text;
}

static bool print_rows(const cJSON *rows, FILE *file)
{
    const cJSON *row;
    const char *before = "[\n  ";
    cJSON_ArrayForEach(row, rows)
    {
        char *text = make_utf8(cJSON_PrintUnformatted(row));
        if (!text) return false;
        fprintf(file, "%s%s", before, text);
        free(text);
        before = ",\n  ";
    }
    fprintf(file, "%s]\n", rows && rows->child ? "\n" : "[");
    return rows != NULL;
}

static tutti_status print_all(void *rows, FILE *out)
{
    return print_rows(rows, out) ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "no memory for JSON");
}

bool tt_json_write(const char *command, cJSON *rows, const char *path)
{
    bool written = tt_write_whole(command, path, print_all, rows);
    cJSON_Delete(rows);
    return written;
}

bool tt_json_print(cJSON *object)
{
    char *text = make_utf8(cJSON_Print(object));
    bool printed = text != NULL;
    if (printed)
        puts(text); /* tt_arg_finish reports errors of standard output */
    else
        fprintf(stderr, "tutti: no memory for JSON\n");
    free(text);
    cJSON_Delete(object);
    return printed;
}
