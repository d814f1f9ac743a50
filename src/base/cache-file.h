/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Text files about this machine in the user's cache folder: the machine model, the wisdom, and
 * choices that were made before. Nothing is lost if they are deleted, because they can be measured
 * or computed again.
 *
 * Several processes, and several users who each have a folder of their own, may use a file at once:
 * a reader sees either the whole file from before or the whole new one. Where the folder cannot be
 * written, writing is an error that leaves the file as it was.
 */
#ifndef TT_CACHE_FILE_H
#define TT_CACHE_FILE_H

#include <stdarg.h>
#include <stdio.h>

#include "base/base.h"

enum { TT_FILE_PATH = 4096, TT_FILE_WHY = 512, TT_MACHINE_NAME = 128 };

/* Writes the path of a file about this machine: the setting of that name, or
 * $XDG_CACHE_HOME/tutti/PROCESSOR-N.ENDING, or the same under ~/.cache. Machines of one kind that
 * share a home folder share the file. Returns false, with the reason in `why`, if the environment
 * names no such folder. */
bool tt_file_path(const char *setting, const char *ending, char path[TT_FILE_PATH],
                  char why[TT_FILE_WHY]);
/* Writes the name of this machine's kind of processor, as the kernel reports it. */
void tt_machine_processor(char *name, size_t n);
/* Writes the kind and the number of the processors as a word: "intel-r-xeon-r-processor-2". */
void tt_machine_slug(char slug[TT_MACHINE_NAME]);
/* Returns how many processors the machine has, whichever of them this process may use: ranks that
 * are bound to different processors must find the same file. */
long tt_machine_processors(void);

/* Reads a regular file of at most `most` bytes into a text that the caller frees, and does not
 * block. NULL: `why` has the reason, and *missing says whether there is no such file. */
char *tt_file_read(const char *path, int64_t most, bool *missing, char why[TT_FILE_WHY]);
/* Replaces the file by what `print` writes, and makes its folder if it does not exist. Errors:
 * SYSTEM. */
tutti_status tt_file_replace(const char *path, void (*print)(FILE *out, const void *arg),
                             const void *arg);
/* How a file of lines changes. */
struct tt_file_change {
    int64_t most_bytes; /* a longer file is an error; the lines that stay take half of it */
    int most_lines;     /* of the file from before, the last so many lines may stay */
    const char *head;   /* the first lines of the new file; "": there are none */
    /* Whether a line of the file from before stays. It comes without its newline, and is never
     * empty. May remember in `arg` what the line says. */
    bool (*stays)(const char *line, void *arg);
    void (*add)(FILE *out, void *arg); /* prints the lines that are new, behind those that stay */
    void *arg;
};
/* Changes a file of lines, and makes it and its folder if they do not exist. The folder is locked
 * while the file is read and replaced, so the lines that other processes add meanwhile stay. If
 * there are too many lines, the oldest ones go. Errors: SYSTEM; the file is then as it was. */
tutti_status tt_file_merge(const char *path, const struct tt_file_change *change);
/* Finds out whether tt_file_replace could write the file, and leaves it as it is. Whoever measures
 * for long asks this first. Errors: SYSTEM. */
tutti_status tt_file_try(const char *path);
/* Copies the words of a text with one blank between two of them. */
void tt_copy_words(char *to, size_t n, const char *from);
/* Writes the reason, and returns false. */
__attribute__((format(printf, 2, 3))) bool tt_file_refuse(char why[TT_FILE_WHY], const char *format,
                                                          ...);

#endif
