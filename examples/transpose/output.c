/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes the output completely or not at all: rank 0 creates a file beside the output, all ranks
 * write their rows to it at once, each at its offset, and when all have succeeded rank 0 renames
 * the file to the output.
 */
#include "transpose.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Prints this rank's rows as text, which the caller frees; NULL if there is no memory. */
static char *print_rows(const struct table *table, size_t *size)
{
    char *text = NULL;
    FILE *stream = open_memstream(&text, size);
    if (!stream) return NULL;
    int64_t fields = table_rows(table, table->me) * table->n;
    for (int64_t i = 0; i < fields; i++) {
        fputs(table->rows[i], stream);
        putc((i + 1) % table->n ? '\t' : '\n', stream);
        if (i % 4096 == 0) table_progress(table, "printing", i, fields);
    }
    bool ok = !ferror(stream);
    if (fclose(stream) || !ok) {
        free(text);
        return NULL;
    }
    return text;
}

/* Creates the file. Only rank 0 calls this function. Refuses a device or a link, because the rename
 * would replace it by a plain file. */
static bool begin(struct table *table)
{
    struct stat found;
    if (!lstat(table->out, &found) && !S_ISREG(found.st_mode)) {
        return table_fail(table, "%s is not a regular file", table->out);
    }
    int fd = open(table->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return table_fail(table, "cannot create %s: %s", table->part, strerror(errno));
    table->began = true;
    close(fd);
    return true;
}

/* Creates the file, on rank 0, and sets its name on all ranks. The name contains the process id of
 * rank 0, so that jobs with the same output use different files. */
static bool begin_together(struct table *table)
{
    int64_t pid = getpid();
    if (!table_did(table, tutti_bcast(table->team, &pid, 1, TUTTI_I64, 0))) return false;
    int length = snprintf(table->part, sizeof table->part, "%s.%lld", table->out, (long long)pid);
    bool ok = length < (int)sizeof table->part || table_fail(table, "the name of OUT is too long");
    if (!table_agree(table, ok && (table->me != 0 || begin(table)))) return false;
    table->began = true;
    return true;
}

static bool write_all(int fd, const char *text, size_t size, int64_t offset)
{
    while (size > 0) {
        ssize_t wrote = pwrite(fd, text, size, offset);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return false;
        text += wrote;
        size -= (size_t)wrote;
        offset += wrote;
    }
    return true;
}

static bool write_part(struct table *table, const char *text, size_t size)
{
    int64_t offset = 0;
    for (int r = 0; r < table->me; r++) offset += table->sizes[r];
    int fd = open(table->part, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write_all(fd, text, size, offset);
    if (!ok) table_fail(table, "cannot write %s: %s", table->part, strerror(errno));
    /* Some file systems report only at close that there was no room. */
    if (fd >= 0 && close(fd) && ok) {
        ok = table_fail(table, "cannot write %s: %s", table->part, strerror(errno));
    }
    return ok;
}

/* Renames the complete file to the output. Only rank 0 calls this function. */
static bool finish(struct table *table)
{
    return !rename(table->part, table->out) ||
           table_fail(table, "cannot create %s: %s", table->out, strerror(errno));
}

static bool write_together(struct table *table, const char *text, size_t size)
{
    int64_t mine = (int64_t)size;
    return table_did(table, tutti_allgather(table->team, &mine, table->sizes, 1, TUTTI_I64)) &&
           begin_together(table) && table_agree(table, write_part(table, text, size)) &&
           table_agree(table, table->me != 0 || finish(table));
}

bool output_write(struct table *table)
{
    size_t size = 0;
    char *text = print_rows(table, &size);
    if (!text) table_fail(table, "rank %d is out of memory", table->me);
    bool ok = table_agree(table, text) && write_together(table, text, size);
    free(text);
    return ok;
}

void output_drop(struct table *table)
{
    if (table->began) unlink(table->part);
}
