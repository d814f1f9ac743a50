/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Text files about this machine in the user's cache folder: the machine model, the wisdom, and
 * rankings of algorithms. These files may be deleted, because their contents can be measured or
 * computed again.
 *
 * Several processes may read and write a file at the same time: a reader sees either the whole old
 * file or the whole new one. If the folder cannot be written, an attempt to write returns an error
 * and leaves the file as it was.
 */
#ifndef TT_CACHE_FILE_H
#define TT_CACHE_FILE_H

#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/base.h"

enum {
    TT_FILE_PATH = 4096,
    TT_FILE_BESIDE = TT_FILE_PATH + 16,
    TT_FILE_WHY = 512,
    TT_MACHINE_NAME = 128
};

/* Writes the absolute path of a file that the user names. A relative path begins in the folder in
 * which this process was when it first needed the path of a file: the program may change its folder
 * before the library writes the file. Returns the length of the path, which is cut if it is
 * TT_FILE_PATH or more. */
int tt_file_given(const char *given, char path[TT_FILE_PATH]);
/* Writes the absolute path of a file about this machine: the value of the setting, if it is set; or
 * $XDG_CACHE_HOME/tutti/SLUG.ENDING, with the slug of tt_machine_slug; or
 * ~/.cache/tutti/SLUG.ENDING. Machines of one kind that share a home folder share the file. Returns
 * false, with the reason in `why`, if neither the setting nor the environment gives a path. */
bool tt_file_path(const char *setting, const char *ending, char path[TT_FILE_PATH],
                  char why[TT_FILE_WHY]);
/* Writes the name of this machine's kind of processor, as the kernel reports it. */
void tt_machine_processor(char *name, size_t n);
/* Writes the kind and the number of the processors as one word, such as
 * "intel-r-xeon-r-processor-2". */
void tt_machine_slug(char slug[TT_MACHINE_NAME]);
/* Returns how many processors the machine has, whichever of them this process may use: ranks that
 * are bound to different processors must find the same file. */
long tt_machine_processors(void);

/* Reads a regular file of at most `most` bytes, and returns its text, which the caller frees with
 * tt_free. Does not block. After an error, returns NULL with the reason in `why`, and *missing says
 * whether the file does not exist. */
char *tt_file_read(const char *path, int64_t most, bool *missing, char why[TT_FILE_WHY]);
/* Replaces the file by what `print` writes, and makes its folder if it does not exist. Errors:
 * SYSTEM. */
tutti_status tt_file_replace(const char *path, void (*print)(FILE *out, const void *arg),
                             const void *arg);
/* A change of a file of lines: some old lines stay, and new lines are added. */
struct tt_file_change {
    /* the most bytes of the file: a longer old file is an error. The old lines that stay have at
     * most half as many bytes. */
    int64_t most_bytes;
    int most_lines;   /* only the last `most_lines` lines of the old file may stay */
    const char *head; /* the first lines of the new file; "": there are none */
    /* Returns whether a line of the old file stays. `line` is not empty and has no newline. The
     * function may record the contents of the line in `arg`. */
    bool (*stays)(const char *line, void *arg);
    /* prints the new lines, which the file has after the old lines that stay */
    void (*add)(FILE *out, void *arg);
    void *arg;
};
/* Changes a file of lines, and makes it and its folder if they do not exist. The folder is locked
 * while the file is read and replaced, so lines that other processes add at the same time are not
 * lost. If there are too many lines, the oldest lines are removed. Errors: SYSTEM; the file is
 * unchanged then. */
tutti_status tt_file_merge(const char *path, const struct tt_file_change *change);
/* Finds out whether tt_file_replace could write the file. Makes the folder of the file if it does
 * not exist, and leaves the file as it is. A program that measures for long before it writes calls
 * this function first. Errors: SYSTEM. */
tutti_status tt_file_try(const char *path);
/* Makes a new file in the folder of the file `path`, under a name that no other process uses, and
 * writes this name to `temporary`. The name is short, because the name of `path` may be as long as
 * a name can be. If `like` is not NULL, gives the new file the mode of `like` and, if the system
 * allows it, its owner and its group; *alike says whether the new file has got all three. Returns a
 * descriptor; or -1 with errno, and then there is no new file. */
int tt_file_beside(const char *path, const struct stat *like, char temporary[TT_FILE_BESIDE],
                   bool *alike);
/* Copies the words of a text with one blank between two of them. */
void tt_copy_words(char *to, size_t n, const char *from);
/* Writes the reason of a failure into `why`, and returns false. */
__attribute__((format(printf, 2, 3))) bool tt_file_refuse(char why[TT_FILE_WHY], const char *format,
                                                          ...);

#endif
