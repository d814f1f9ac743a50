/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The file of the machine model. A line is a name and its value, or # and a comment:
 *
 *     tutti 0.9.0
 *     processor Intel(R) Xeon(R) Processor
 *     processors 2
 *     bytes 8 64 512 ...
 *     line 118000
 *     copy_cached_cached 3100 4200 ...
 *
 * Each name of the model stands in the file exactly once. The processors are those of the machine,
 * not those that this process may use, because ranks that are bound to different processors must
 * find the same file.
 */
#include "base/machine.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { FILE_MOST = 64 << 10, NAME_MOST = 128 };

static long processors(void)
{
    long n = sysconf(_SC_NPROCESSORS_CONF);
    return n > 0 ? n : 1;
}

/* Copies the words of a text with one blank between two of them. */
static void copy_words(char *to, size_t n, const char *from)
{
    size_t used = 0;
    for (; *from && used + 1 < n; from++) {
        bool blank = isspace((unsigned char)*from);
        if (blank && (used == 0 || to[used - 1] == ' ')) continue;
        to[used++] = blank ? ' ' : *from;
    }
    while (used > 0 && to[used - 1] == ' ') used--;
    to[used] = '\0';
}

/* Finds the value of a line "NAME : VALUE" of /proc/cpuinfo. */
static bool find_cpuinfo(FILE *file, const char *name, char *value, size_t n)
{
    char line[512];
    rewind(file);
    while (fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (!colon || strncmp(line, name, strlen(name)) != 0) continue;
        copy_words(value, n, colon + 1);
        return value[0] != '\0';
    }
    return false;
}

void tt_machine_processor(char *name, size_t n)
{
    struct utsname host;
    char maker[32], part[32];
    FILE *file = fopen("/proc/cpuinfo", "re");
    bool found = file && find_cpuinfo(file, "model name", name, n);
    if (!found && uname(&host) == 0) {
        snprintf(name, n, "%s", host.machine);
        if (file && find_cpuinfo(file, "CPU implementer", maker, sizeof maker) &&
            find_cpuinfo(file, "CPU part", part, sizeof part))
            snprintf(name, n, "%s %s %s", host.machine, maker, part);
    }
    if (file) fclose(file);
}

/* ---- The path ---- */

static void no_reason(char why[TT_MACHINE_WHY])
{
    why[0] = '\0';
}

/* Writes the name as a part of a file name: lower case, with '-' for all but letters and digits. */
static void print_slug(char *to, size_t n, const char *name)
{
    size_t used = 0;
    for (; *name && used + 1 < n; name++) {
        bool plain = isalnum((unsigned char)*name);
        if (!plain && (used == 0 || to[used - 1] == '-')) continue;
        to[used++] = plain ? (char)tolower((unsigned char)*name) : '-';
    }
    while (used > 0 && to[used - 1] == '-') used--;
    to[used] = '\0';
}

/* The folder of the user's cache by the XDG specification, which ignores relative paths. */
static bool find_folder(char folder[TT_MACHINE_PATH])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = -1;
    if (cache && cache[0] == '/')
        n = snprintf(folder, TT_MACHINE_PATH, "%s/tutti", cache);
    else if (home && home[0] == '/')
        n = snprintf(folder, TT_MACHINE_PATH, "%s/.cache/tutti", home);
    return n >= 0 && n < TT_MACHINE_PATH - 2 * NAME_MOST;
}

bool tt_machine_path(char path[TT_MACHINE_PATH], char why[TT_MACHINE_WHY])
{
    char name[NAME_MOST] = "", slug[NAME_MOST];
    const char *given = tt_setting("TUTTI_MACHINE");
    no_reason(why);
    path[0] = '\0';
    if (given && strlen(given) < TT_MACHINE_PATH) {
        snprintf(path, TT_MACHINE_PATH, "%s", given);
        return true;
    }
    if (!find_folder(path)) {
        path[0] = '\0';
        snprintf(why, TT_MACHINE_WHY,
                 "none of TUTTI_MACHINE, XDG_CACHE_HOME and HOME has a path for it");
        return false;
    }
    tt_machine_processor(name, sizeof name);
    print_slug(slug, sizeof slug, name);
    size_t used = strlen(path);
    snprintf(path + used, TT_MACHINE_PATH - used, "/%s-%ld.machine", slug, processors());
    return true;
}

/* ---- Reading ---- */

__attribute__((format(printf, 2, 3))) static bool refuse(char why[TT_MACHINE_WHY],
                                                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, TT_MACHINE_WHY, format, args);
    va_end(args);
    return false;
}

/* Reads the whole file into a text that the caller frees; NULL: `why` has the reason. */
static char *read_text(const char *path, char why[TT_MACHINE_WHY])
{
    struct stat is;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool good = fd >= 0 && fstat(fd, &is) == 0;
    char *text = NULL;
    if (!good)
        (void)refuse(why, "%.300s: %s", path, strerror(errno));
    else if (!S_ISREG(is.st_mode) || is.st_size > FILE_MOST)
        (void)refuse(why, "%.300s is not a file of at most %d bytes", path, FILE_MOST);
    else if (!(text = tt_calloc(1, (size_t)is.st_size + 1)))
        (void)refuse(why, "there is no memory for %.300s", path);
    else if (read(fd, text, (size_t)is.st_size) != is.st_size) {
        (void)refuse(why, "%.300s could not be read", path);
        tt_free(text);
        text = NULL;
    }
    if (fd >= 0) close(fd);
    return text;
}

/* This is what a file says about the machine that it was measured on, and which entries it had. */
struct content {
    struct tt_machine *machine;
    char version[NAME_MOST], processor[NAME_MOST];
    int64_t processors;
    bool has_number[TT_MACHINE_NUMBERS_N], has_table[TT_MACHINE_TABLES_N];
};

/* Reads n whole numbers and nothing else. */
static bool read_numbers(const char *text, int64_t *to, int n)
{
    for (int i = 0; i < n; i++) {
        char *end;
        if (!isdigit((unsigned char)text[strspn(text, " ")])) return false;
        errno = 0;
        to[i] = strtoll(text, &end, 10);
        if (errno || end == text) return false;
        text = end;
    }
    return *text == '\0';
}

static bool read_entry(struct content *c, const char *name, const char *value)
{
    int64_t bytes[TT_MACHINE_POINTS];
    if (strcmp(name, "tutti") == 0 || strcmp(name, "processor") == 0) {
        copy_words(name[0] == 't' ? c->version : c->processor, NAME_MOST, value);
        return true;
    }
    if (strcmp(name, "processors") == 0) return read_numbers(value, &c->processors, 1);
    if (strcmp(name, "bytes") == 0)
        return read_numbers(value, bytes, TT_MACHINE_POINTS) &&
               memcmp(bytes, tt_machine_bytes, sizeof bytes) == 0;
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++) {
        if (strcmp(name, tt_machine_number_name((enum tt_machine_number)i)) != 0) continue;
        bool again = c->has_number[i];
        c->has_number[i] = true;
        return !again && read_numbers(value, &c->machine->number[i], 1);
    }
    for (int i = 0; i < TT_MACHINE_TABLES_N; i++) {
        if (strcmp(name, tt_machine_table_name((enum tt_machine_table)i)) != 0) continue;
        bool again = c->has_table[i];
        c->has_table[i] = true;
        return !again && read_numbers(value, c->machine->table[i], TT_MACHINE_POINTS);
    }
    return false;
}

/* Reads the lines, and changes the text. Returns the number of the first line that is wrong; 0:
 * none is. */
static int read_lines(struct content *c, char *text)
{
    char *rest = text, *line;
    for (int n = 1; (line = strsep(&rest, "\n")) != NULL; n++) {
        if (*line == '#' || *line == '\0') continue;
        char *value = strchr(line, ' ');
        if (!value) return n;
        *value = '\0';
        if (!read_entry(c, line, value + 1)) return n;
    }
    return 0;
}

static bool is_whole(const struct content *c)
{
    bool whole = true;
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++) whole = whole && c->has_number[i];
    for (int i = 0; i < TT_MACHINE_TABLES_N; i++) whole = whole && c->has_table[i];
    return whole && tt_machine_valid(c->machine);
}

/* The version comes first, because another version may have other entries. */
static bool fits(const struct content *c, const char *path, int wrong, char why[TT_MACHINE_WHY])
{
    char here[NAME_MOST] = "";
    tt_machine_processor(here, sizeof here);
    if (c->version[0] && strcmp(c->version, tutti_version()) != 0)
        return refuse(why, "%.200s was measured by Tutti %.60s, and this is %s", path, c->version,
                      tutti_version());
    if (wrong) return refuse(why, "%.200s: line %d is wrong", path, wrong);
    if (strcmp(c->processor, here) != 0)
        return refuse(why, "%.160s was measured on '%.100s', and this is '%.100s'", path,
                      c->processor, here);
    if (c->processors != processors())
        return refuse(why, "%.200s was measured with %" PRId64 " processors, and here are %ld",
                      path, c->processors, processors());
    return c->version[0] && is_whole(c) ? true : refuse(why, "%.200s is not complete", path);
}

bool tt_machine_read(const char *path, struct tt_machine *machine, char why[TT_MACHINE_WHY])
{
    struct tt_machine found = {0};
    struct content c = {.machine = &found};
    no_reason(why);
    char *text = read_text(path, why);
    if (!text) return false;
    bool good = fits(&c, path, read_lines(&c, text), why);
    tt_free(text);
    if (good) *machine = found;
    return good;
}

bool tt_machine_find(struct tt_machine *machine, char path[TT_MACHINE_PATH],
                     char why[TT_MACHINE_WHY])
{
    return tt_machine_path(path, why) && tt_machine_read(path, machine, why);
}

/* Whether TUTTI_CHOICE asks for the estimate. */
static bool wants_estimate(void)
{
    const char *text = tt_setting("TUTTI_CHOICE");
    if (text && strcmp(text, "estimate") != 0 && strcmp(text, "table") != 0)
        tt_warn("TUTTI_CHOICE=%s is neither table nor estimate: using table", text);
    return text && strcmp(text, "estimate") == 0;
}

void tt_machine_decide(struct tt_machine_in_force *machine, char why[TT_MACHINE_WHY])
{
    char path[TT_MACHINE_PATH];
    *machine = (struct tt_machine_in_force){.use = TT_MACHINE_UNKNOWN};
    bool wanted = wants_estimate(), found = tt_machine_find(&machine->model, path, why);
    if (found) machine->use = wanted ? TT_MACHINE_ESTIMATE : TT_MACHINE_TABLE;
    if (!found && (wanted || tt_setting("TUTTI_MACHINE")))
        tt_warn("there is no model of this machine, so the table chooses: %s", why);
}

/* ---- Writing ---- */

static void print_row(FILE *out, const char *name, const int64_t *value, int n)
{
    fprintf(out, "%s", name);
    for (int i = 0; i < n; i++) fprintf(out, " %" PRId64, value[i]);
    fprintf(out, "\n");
}

static void print_model(FILE *out, const struct tt_machine *m)
{
    char processor[NAME_MOST] = "";
    tt_machine_processor(processor, sizeof processor);
    fprintf(out, "# What the steps of a plan cost on this machine, measured by `tutti calibrate`.\n"
                 "# Times are in picoseconds; tables have a time for each number of bytes.\n");
    fprintf(out, "tutti %s\nprocessor %s\nprocessors %ld\n", tutti_version(), processor,
            processors());
    print_row(out, "bytes", tt_machine_bytes, TT_MACHINE_POINTS);
    for (int i = 0; i < TT_MACHINE_NUMBERS_N; i++)
        print_row(out, tt_machine_number_name((enum tt_machine_number)i), &m->number[i], 1);
    for (int i = 0; i < TT_MACHINE_TABLES_N; i++)
        print_row(out, tt_machine_table_name((enum tt_machine_table)i), m->table[i],
                  TT_MACHINE_POINTS);
}

/* Makes the folders above the file that do not exist. Only their owner can read them, as the XDG
 * specification asks. */
static void make_folders(const char *path)
{
    char folder[TT_MACHINE_PATH];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *at = folder + 1; (at = strchr(at, '/')) != NULL; *at++ = '/') {
        *at = '\0';
        (void)mkdir(folder, 0700); /* it mostly exists; if it cannot be made, writing fails below */
    }
}

static tutti_status write_into(int fd, const char *path, const struct tt_machine *machine)
{
    FILE *out = fdopen(fd, "w");
    if (!out) {
        close(fd);
        return tt_fail_errno(TUTTI_ERR_SYSTEM, "%.300s", path);
    }
    print_model(out, machine);
    bool good = fflush(out) == 0 && !ferror(out) && fsync(fd) == 0;
    if (fclose(out) == 0 && good) return TUTTI_OK;
    return tt_fail_errno(TUTTI_ERR_SYSTEM, "%.300s", path);
}

tutti_status tt_machine_write(const char *path, const struct tt_machine *machine)
{
    char temporary[TT_MACHINE_PATH + 16];
    tt_assert(tt_machine_valid(machine));
    make_folders(path);
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) return tt_fail_errno(TUTTI_ERR_SYSTEM, "%.300s cannot be written", path);
    tutti_status status = write_into(fd, path, machine);
    if (status == TUTTI_OK && rename(temporary, path) == 0) return TUTTI_OK;
    if (status == TUTTI_OK) status = tt_fail_errno(TUTTI_ERR_SYSTEM, "%.300s", path);
    (void)unlink(temporary);
    return status;
}
