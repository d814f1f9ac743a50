/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan/network-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tutti_status wrong(struct tt_reader_error *error, tutti_status status, const char *what)
{
    snprintf(error->text, sizeof error->text, "%s", what);
    return status;
}

static tutti_status read_whole(int fd, struct tt_network_file *file, struct tt_reader_error *error)
{
    struct stat is;
    if (fstat(fd, &is) != 0) return wrong(error, TUTTI_ERR_ARG, strerror(errno));
    if (!S_ISREG(is.st_mode)) return wrong(error, TUTTI_ERR_ARG, "not a file");
    if (is.st_size > TT_NETWORK_FILE_MOST)
        return wrong(error, TUTTI_ERR_ARG, "a network of more than 1 MiB");
    file->whole = tt_calloc((size_t)is.st_size + 1, 1);
    file->text = tt_calloc((size_t)is.st_size + 1, 1);
    if (!file->whole || !file->text) return wrong(error, TUTTI_ERR_MEMORY, "no memory for it");
    if (read(fd, file->whole, (size_t)is.st_size) != is.st_size)
        return wrong(error, TUTTI_ERR_ARG, "it cannot be read whole");
    if (strlen(file->whole) < (size_t)is.st_size)
        return wrong(error, TUTTI_ERR_ARG, "not a text: there is a 0 byte in it");
    return TUTTI_OK;
}

/* Returns the next character that is neither blank nor comment, or the end. */
static const char *next(const char *at)
{
    for (;;) {
        at += strspn(at, " \t\r\n");
        if (*at != '#') return at;
        at += strcspn(at, "\n");
    }
}

tutti_status tt_network_file_read(const char *path, struct tt_network_file *file,
                                  struct tt_reader_error *error)
{
    *file = (struct tt_network_file){NULL, NULL};
    /* O_NONBLOCK: a pipe is refused instead of waited for. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return wrong(error, TUTTI_ERR_ARG, strerror(errno));
    tutti_status status = read_whole(fd, file, error);
    close(fd);
    if (status != TUTTI_OK) {
        tt_network_file_free(file);
        return status;
    }
    char *to = file->text;
    for (const char *at = next(file->whole); *at; at = next(at + 1)) *to++ = *at;
    return TUTTI_OK;
}

void tt_network_file_place(const struct tt_network_file *file, size_t at, int *line, int *column)
{
    const char *place = next(file->whole), *begin = file->whole;
    for (; at > 0 && *place; at--) place = next(place + 1);
    *line = 1;
    for (const char *c = file->whole; c < place; c++) {
        if (*c != '\n') continue;
        ++*line;
        begin = c + 1;
    }
    *column = (int)(place - begin) + 1;
}

void tt_network_file_free(struct tt_network_file *file)
{
    tt_free(file->text);
    tt_free(file->whole);
    *file = (struct tt_network_file){NULL, NULL};
}
