/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds, reads and replaces files about this machine (cache-file.h).
 */
#include "base/cache-file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/file-limit.h"

long tt_machine_processors(void)
{
    long n = sysconf(_SC_NPROCESSORS_CONF);
    return n > 0 ? n : 1;
}

void tt_copy_words(char *to, size_t n, const char *from)
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

/* Copies the value of the first line "NAME : VALUE" of /proc/cpuinfo. Returns false if it is
 * missing or empty. */
static bool find_cpuinfo(FILE *file, const char *name, char *value, size_t n)
{
    char line[512];
    rewind(file);
    while (fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (!colon || strncmp(line, name, strlen(name)) != 0) continue;
        tt_copy_words(value, n, colon + 1);
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

/* Writes the name as a part of a file name: in lower case, with '-' for characters other than
 * ASCII letters and digits. The result must not depend on the program's locale. */
static void print_slug(char *to, size_t n, const char *name)
{
    size_t used = 0;
    for (; *name && used + 1 < n; name++) {
        char lower = (char)(*name >= 'A' && *name <= 'Z' ? *name - 'A' + 'a' : *name);
        bool plain = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
        if (!plain && (used == 0 || to[used - 1] == '-')) continue;
        to[used++] = plain ? lower : '-';
    }
    while (used > 0 && to[used - 1] == '-') used--;
    to[used] = '\0';
}

void tt_machine_slug(char slug[TT_MACHINE_NAME])
{
    char name[TT_MACHINE_NAME] = "", part[TT_MACHINE_NAME - 24];
    tt_machine_processor(name, sizeof name);
    print_slug(part, sizeof part, name);
    snprintf(slug, TT_MACHINE_NAME, "%s-%ld", part, tt_machine_processors());
}

/* Writes the folder "tutti" of the user's cache by the XDG specification, which ignores relative
 * paths. Returns the length of its path, which is cut if it is TT_FILE_PATH or more; -1: the
 * environment names no cache. */
static int find_folder(char folder[TT_FILE_PATH])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/') return snprintf(folder, TT_FILE_PATH, "%s/tutti", cache);
    if (home && home[0] == '/') return snprintf(folder, TT_FILE_PATH, "%s/.cache/tutti", home);
    return -1;
}

/* Stores why there is no path of a file, and returns false. `folder`: the length of the cache
 * folder's path, or -1. */
static bool refuse_path(const char *setting, int folder, char why[TT_FILE_WHY])
{
    if (tt_setting(setting))
        return tt_file_refuse(why, "the path in %s is longer than %d bytes", setting,
                              TT_FILE_PATH - 1);
    if (folder < 0)
        return tt_file_refuse(why, "none of %s, XDG_CACHE_HOME and HOME has a path for it",
                              setting);
    return tt_file_refuse(why, "the path of the cache folder in %s has %d bytes, which is too long",
                          getenv("XDG_CACHE_HOME") ? "XDG_CACHE_HOME or HOME" : "HOME", folder);
}

static char first_folder[TT_FILE_PATH]; /* "": it is not known */

static void find_first_folder(void)
{
    if (!getcwd(first_folder, sizeof first_folder)) first_folder[0] = '\0';
}

int tt_file_given(const char *given, char path[TT_FILE_PATH])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_first_folder);
    bool relative = given[0] != '/' && first_folder[0];
    return snprintf(path, TT_FILE_PATH, "%s%s%s", relative ? first_folder : "", relative ? "/" : "",
                    given);
}

bool tt_file_path(const char *setting, const char *ending, char path[TT_FILE_PATH],
                  char why[TT_FILE_WHY])
{
    char slug[TT_MACHINE_NAME];
    const char *given = tt_setting(setting);
    why[0] = path[0] = '\0';
    if (given && tt_file_given(given, path) < TT_FILE_PATH) return true;
    int used = given ? -1 : find_folder(path);
    if (used < 0 || used >= TT_FILE_PATH - 2 * TT_MACHINE_NAME) {
        path[0] = '\0';
        return refuse_path(setting, used, why);
    }
    tt_machine_slug(slug);
    snprintf(path + used, TT_FILE_PATH - (size_t)used, "/%s.%s", slug, ending);
    return true;
}

/* ---- Reading ---- */

bool tt_file_refuse(char why[TT_FILE_WHY], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, TT_FILE_WHY, format, args);
    va_end(args);
    return false;
}

char *tt_file_read(const char *path, int64_t most, bool *missing, char why[TT_FILE_WHY])
{
    struct stat is;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool good = fd >= 0 && fstat(fd, &is) == 0;
    char *text = NULL;
    *missing = fd < 0 && errno == ENOENT;
    if (!good)
        (void)tt_file_refuse(why, "%.300s: %s", path, strerror(errno));
    else if (!S_ISREG(is.st_mode) || is.st_size > most)
        (void)tt_file_refuse(why, "%.300s is not a file of at most %lld bytes", path,
                             (long long)most);
    else if (!(text = tt_calloc(1, (size_t)is.st_size + 1)))
        (void)tt_file_refuse(why, "there is no memory for %.300s", path);
    else if (read(fd, text, (size_t)is.st_size) != is.st_size)
        good = tt_file_refuse(why, "%.300s could not be read", path);
    else if (memchr(text, '\0', (size_t)is.st_size))
        good = tt_file_refuse(why, "%.300s is no text: it has a byte 0", path);
    if (fd >= 0) close(fd);
    if (good) return text;
    tt_free(text);
    return NULL;
}

/* ---- Writing ---- */

/* Makes those folders in the path of the file that do not exist. Only their owner can read them, as
 * the XDG specification demands. */
static tutti_status make_folders(const char *path)
{
    char folder[TT_FILE_PATH];
    struct stat is;
    snprintf(folder, sizeof folder, "%s", path);
    for (char *at = folder + 1; (at = strchr(at, '/')) != NULL; *at++ = '/') {
        *at = '\0';
        if (stat(folder, &is) == 0 || mkdir(folder, 0700) == 0 || errno == EEXIST) continue;
        return tt_fail_errno(TUTTI_ERR_SYSTEM, "the folder %.300s cannot be made", folder);
    }
    return TUTTI_OK;
}

/* The file that is to be replaced. If the given path leads over symbolic links, this is the file at
 * their end, and the links stay. */
struct place_of_file {
    char path[TT_FILE_PATH];
    bool exists;
    struct stat is;
};

/* Finds the file to replace, and makes its folders. Refuses what is no regular file: a device, for
 * example, would be replaced by a file. */
static tutti_status find_target(const char *path, struct place_of_file *t)
{
    snprintf(t->path, sizeof t->path, "%s", path);
    t->exists = stat(path, &t->is) == 0;
    const char *why = NULL;
    if (!*path) return tt_fail(TUTTI_ERR_ARG, "the name of the file is empty");
    if (t->exists && S_ISDIR(t->is.st_mode))
        why = "a directory";
    else if (t->exists && !S_ISREG(t->is.st_mode))
        why = "no regular file";
    else if (!t->exists && errno == ENOENT && lstat(path, &t->is) == 0)
        why = "a symbolic link to nothing";
    else if (!t->exists && path[strlen(path) - 1] == '/')
        why = "the name of a folder";
    if (why) return tt_fail(TUTTI_ERR_SYSTEM, "%.300s cannot be written: it is %s", path, why);
    _Static_assert(TT_FILE_PATH >= PATH_MAX, "realpath stores a path");
    if (t->exists && !realpath(path, t->path))
        return tt_fail_errno(TUTTI_ERR_SYSTEM, "%.300s cannot be written", path);
    return make_folders(t->path);
}

static tutti_status write_into(int fd, const char *path, void (*print)(FILE *, const void *),
                               const void *arg)
{
    struct tt_file_limit limit;
    FILE *out = fdopen(fd, "w");
    if (!out) {
        close(fd);
        return tt_fail_errno(TUTTI_ERR_SYSTEM, "%.300s", path);
    }
    tt_file_limit_enter(&limit);
    print(out, arg);
    bool good = fflush(out) == 0 && !ferror(out) && fsync(fd) == 0;
    int error = errno;
    bool closed = fclose(out) == 0;
    if (!good) errno = error;
    tutti_status status =
        good && closed ? TUTTI_OK : tt_fail_errno(TUTTI_ERR_SYSTEM, "%.300s", path);
    tt_file_limit_leave(&limit);
    return status;
}

int tt_file_beside(const char *path, const struct stat *like, char temporary[TT_FILE_BESIDE],
                   bool *alike)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash + 1 - path) : 0;
    snprintf(temporary, TT_FILE_BESIDE, "%.*s.tutti-XXXXXX", folder, path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    *alike = fd >= 0;
    if (fd < 0 || !like) return fd;
    bool owned = fchown(fd, like->st_uid, like->st_gid) == 0;
    bool grouped = owned || fchown(fd, (uid_t)-1, like->st_gid) == 0;
    /* if the group could not be set, the new file's group gets no access */
    *alike = fchmod(fd, like->st_mode & (grouped ? 0777 : 0707)) == 0 && owned;
    return fd;
}

static tutti_status make_beside(const struct place_of_file *t, char temporary[TT_FILE_BESIDE],
                                int *fd)
{
    bool alike;
    *fd = tt_file_beside(t->path, t->exists ? &t->is : NULL, temporary, &alike);
    if (*fd >= 0) return TUTTI_OK;
    return tt_fail_errno(TUTTI_ERR_SYSTEM, "%.300s cannot be written", t->path);
}

tutti_status tt_file_try(const char *path)
{
    char temporary[TT_FILE_BESIDE];
    struct place_of_file target;
    int fd;
    TT_TRY(find_target(path, &target));
    TT_TRY(make_beside(&target, temporary, &fd));
    close(fd);
    (void)unlink(temporary);
    return TUTTI_OK;
}

static tutti_status replace(const struct place_of_file *target, void (*print)(FILE *, const void *),
                            const void *arg)
{
    char temporary[TT_FILE_BESIDE];
    int fd;
    TT_TRY(make_beside(target, temporary, &fd));
    tutti_status status = write_into(fd, target->path, print, arg);
    if (status == TUTTI_OK && rename(temporary, target->path) == 0) return TUTTI_OK;
    if (status == TUTTI_OK) status = tt_fail_errno(TUTTI_ERR_SYSTEM, "%.300s", target->path);
    (void)unlink(temporary);
    return status;
}

tutti_status tt_file_replace(const char *path, void (*print)(FILE *out, const void *arg),
                             const void *arg)
{
    struct place_of_file target;
    TT_TRY(find_target(path, &target));
    return replace(&target, print, arg);
}

/* Tries to lock the folder again and again for two seconds. */
static bool lock_folder(int fd)
{
    enum { TRIES = 200, PAUSE_NS = 10000000 };
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    for (int i = 0; i < TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
        if (errno != EWOULDBLOCK && errno != EINTR) return false;
        nanosleep(&pause, NULL);
    }
    return false;
}

/* Locks the folder of the file against other processes that call this function. Waits for at most
 * two seconds, so that a process that holds the lock for long does not block a job. */
static tutti_status lock_file(const char *path, int *lock)
{
    char folder[TT_FILE_PATH];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    snprintf(slash ? slash + (slash == folder) : folder, 2, "%s", slash ? "" : ".");
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock >= 0 && lock_folder(*lock)) return TUTTI_OK;
    tutti_status status = tt_fail_errno(TUTTI_ERR_SYSTEM, "%.300s cannot be locked", folder);
    if (*lock >= 0) close(*lock);
    return status;
}

/* ---- Files of lines ---- */

/* A change, and the text of the file before the change. */
struct merged {
    const struct tt_file_change *change;
    char *text; /* NULL: there was no file */
};

static int count_lines(const char *text)
{
    int lines = 0;
    for (; text && (text = strchr(text, '\n')); text++) lines++;
    return lines;
}

static void print_merged(FILE *out, const void *arg)
{
    const struct merged *m = arg;
    const struct tt_file_change *c = m->change;
    char *rest = m->text, *line;
    int64_t left = m->text ? (int64_t)strlen(m->text) : 0;
    fputs(c->head, out);
    for (int lines = count_lines(m->text); (line = strsep(&rest, "\n")); lines--) {
        bool late = lines <= c->most_lines && left <= c->most_bytes / 2;
        left -= (int64_t)strlen(line) + 1;
        if (*line && c->stays(line, c->arg) && late) fprintf(out, "%s\n", line);
    }
    c->add(out, c->arg);
}

static tutti_status merge_locked(const struct place_of_file *target, struct merged *m)
{
    char why[TT_FILE_WHY] = "";
    bool missing;
    m->text = tt_file_read(target->path, m->change->most_bytes, &missing, why);
    if (!m->text && !missing) return tt_fail(TUTTI_ERR_SYSTEM, "%s", why);
    tutti_status status = replace(target, print_merged, m);
    tt_free(m->text);
    return status;
}

tutti_status tt_file_merge(const char *path, const struct tt_file_change *change)
{
    int lock;
    struct merged m = {.change = change};
    struct place_of_file target;
    TT_TRY(find_target(path, &target));
    TT_TRY(lock_file(target.path, &lock));
    tutti_status status = merge_locked(&target, &m);
    close(lock); /* releases the lock */
    return status;
}
