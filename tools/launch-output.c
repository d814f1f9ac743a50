/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes the output of the ranks line by line, with the number of the rank before each line. A
 * thread of its own reads all pipes and writes whole lines. So a program that takes the output but
 * does not read it blocks this thread only.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "launch-guard.h"

/* LINE_MOST: when this many bytes have come from a pipe without a newline, they are written as a
 * line. PLENTY: the number of descriptors that are kept for other purposes than the pipes of the
 * ranks. */
enum { READ_SIZE = 1 << 16, LINE_MOST = 1 << 20, TAG_SIZE = 16, PLENTY = 32 };

/* One pipe from a rank. Invariant: text[0..used-1] has no newline (take_lines checks this). */
struct stream {
    int from; /* the end of the pipe for reading; -1 after the end of its data */
    int to, rank;
    char *text;
    size_t used, room;
};

struct tt_output {
    int n; /* the number of streams */
    int stop, stopped;
    pthread_t thread;
    bool started;
    /* a line was lost; lines that nobody reads any more do not count */
    atomic_bool lost;
    char *lines; /* the lines that will be written at once */
    size_t lines_used, lines_room;
    struct pollfd *ready; /* one entry for each stream, and then one for `stop` */
    struct stream stream[];
};

/* ---- Streams and pipes ---- */

static bool enough_descriptors(int ranks, const struct rlimit *files)
{
    struct rlimit wanted = *files;
    rlim_t needed = 2 * (rlim_t)ranks + PLENTY;
    if (files->rlim_cur >= needed) return true;
    wanted.rlim_cur = needed;
    if (needed <= files->rlim_max && setrlimit(RLIMIT_NOFILE, &wanted) == 0) return true;
    tt_launch_say("cannot tag the output of %d ranks: it takes %llu descriptors, %llu are allowed "
                  "(ulimit -n)",
                  ranks, (unsigned long long)needed, (unsigned long long)files->rlim_max);
    return false;
}

struct tt_output *tt_output_new(int ranks, const struct rlimit *files)
{
    if (!enough_descriptors(ranks, files)) return NULL;
    int n = 2 * ranks;
    struct tt_output *o = tt_calloc(1, sizeof *o + (size_t)n * sizeof o->stream[0]);
    struct pollfd *ready = tt_calloc((size_t)n + 1, sizeof *ready);
    if (!o || !ready) {
        tt_launch_say("cannot tag the output: no memory");
        tt_free(ready);
        tt_free(o);
        return NULL;
    }
    o->n = n;
    o->ready = ready;
    o->stop = eventfd(0, EFD_CLOEXEC);
    o->stopped = eventfd(0, EFD_CLOEXEC);
    for (int i = 0; i < n; i++)
        o->stream[i] = (struct stream){.from = -1, .to = STDOUT_FILENO + i % 2, .rank = i / 2};
    return o;
}

bool tt_output_pipes(struct tt_output *o, int rank, int out[2])
{
    for (int i = 0; i < 2; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) {
            tt_launch_say("cannot make a pipe for rank %d: %s", rank, strerror(errno));
            if (i > 0) close(out[0]);
            return false;
        }
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        o->stream[2 * rank + i].from = ends[0];
        out[i] = ends[1];
    }
    return true;
}

/* ---- Writing ---- */

/* Records that a line is lost. For the first one, also prints why. */
static void lose(struct tt_output *o, int error)
{
    if (!atomic_exchange(&o->lost, true))
        tt_launch_say("cannot write the output of the ranks: %s", strerror(error));
}

/* Writes all n bytes, even to a descriptor that some process has made non-blocking. Returns false
 * with errno set if a write fails. */
static bool write_all(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, text, n);
        if (written < 0 && errno == EAGAIN) {
            struct pollfd ready = {.fd = fd, .events = POLLOUT};
            poll(&ready, 1, -1);
        } else if (written < 0 && errno != EINTR) {
            return false;
        } else if (written > 0) {
            text += written;
            n -= (size_t)written;
        }
    }
    return true;
}

static bool reserve(char **text, size_t *room, size_t wanted)
{
    if (wanted <= *room) return true;
    size_t more = wanted + wanted / 2;
    char *grown = tt_realloc(*text, more);
    if (!grown) return false;
    *text = grown;
    *room = more;
    return true;
}

/* Closes the pipe. If the rank still writes, it gets SIGPIPE, as it would without a launcher if
 * nobody read its output. */
static void end_stream(struct stream *s)
{
    close(s->from);
    s->from = -1;
}

/* Appends "[rank] line\n" to o->lines. If there is no memory, the line is lost. */
static void add_line(struct tt_output *o, const struct stream *s, const char *text, size_t n)
{
    if (!reserve(&o->lines, &o->lines_room, o->lines_used + TAG_SIZE + n + 1)) {
        lose(o, ENOMEM);
        return;
    }
    char *to = o->lines + o->lines_used;
    size_t tag = (size_t)snprintf(to, TAG_SIZE, "[%d] ", s->rank);
    memcpy(to + tag, text, n);
    to[tag + n] = '\n';
    o->lines_used += tag + n + 1;
}

static void write_lines(struct tt_output *o, struct stream *s)
{
    if (o->lines_used > 0 && !write_all(s->to, o->lines, o->lines_used)) {
        if (errno != EPIPE) lose(o, errno);
        if (s->from >= 0) end_stream(s);
    }
    o->lines_used = 0;
}

/* Writes the whole lines in s->text and removes them from it. Only the last `fresh` bytes of the
 * text are new, so only they are searched for the ends of lines. */
static void take_lines(struct tt_output *o, struct stream *s, size_t fresh)
{
    size_t begin = 0, looked = s->used - fresh;
    for (const char *end; (end = memchr(s->text + looked, '\n', s->used - looked)) != NULL;) {
        add_line(o, s, s->text + begin, (size_t)(end - s->text) - begin);
        begin = looked = (size_t)(end - s->text) + 1;
    }
    if (s->used - begin >= LINE_MOST) {
        add_line(o, s, s->text + begin, s->used - begin);
        begin = s->used;
    }
    s->used -= begin;
    if (begin > 0) memmove(s->text, s->text + begin, s->used);
    tt_assert(s->used == 0 || !memchr(s->text, '\n', s->used));
    write_lines(o, s);
}

static void finish_stream(struct tt_output *o, struct stream *s)
{
    if (s->used > 0) add_line(o, s, s->text, s->used);
    s->used = 0;
    write_lines(o, s);
    if (s->from >= 0) end_stream(s);
}

/* ---- Reading ---- */

static void read_stream(struct tt_output *o, struct stream *s)
{
    if (!reserve(&s->text, &s->room, s->used + READ_SIZE)) {
        lose(o, ENOMEM);
        finish_stream(o, s);
        return;
    }
    ssize_t n = read(s->from, s->text + s->used, READ_SIZE);
    if (n > 0) {
        s->used += (size_t)n;
        take_lines(o, s, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        finish_stream(o, s);
    }
}

/* Waits until a pipe has data, and reads the data. If `stopping` is true, does not wait. Returns
 * false when the thread can end: all streams have ended, or the thread is stopping and no pipe has
 * data. */
static bool read_round(struct tt_output *o, bool stopping)
{
    int open = 0;
    for (int i = 0; i < o->n; i++) {
        o->ready[i] = (struct pollfd){.fd = o->stream[i].from, .events = POLLIN};
        open += o->stream[i].from >= 0;
    }
    o->ready[o->n] = (struct pollfd){.fd = stopping ? -1 : o->stop, .events = POLLIN};
    if (open == 0) return false;
    int ready = poll(o->ready, (nfds_t)o->n + 1, stopping ? 0 : -1);
    for (int i = 0; i < o->n && ready > 0; i++) {
        if (o->ready[i].revents) read_stream(o, &o->stream[i]);
    }
    return ready > 0 || !stopping;
}

static void *write_out(void *arg)
{
    struct tt_output *o = arg;
    bool stopping = false;
    while (read_round(o, stopping)) stopping = stopping || o->ready[o->n].revents != 0;
    for (int i = 0; i < o->n; i++) finish_stream(o, &o->stream[i]);
    eventfd_write(o->stopped, 1);
    return NULL;
}

bool tt_output_start(struct tt_output *o)
{
    o->started = pthread_create(&o->thread, NULL, write_out, o) == 0;
    if (!o->started) tt_launch_say("cannot tag the output: no thread can be started");
    return o->started;
}

/* Makes the thread end when it has written all data that are in the pipes. Returns a descriptor
 * that becomes readable when the thread has done so. Frees no memory, because the process is about
 * to end. */
int tt_output_stop(struct tt_output *o)
{
    if (!o->started) return -1;
    eventfd_write(o->stop, 1);
    return o->stopped;
}

bool tt_output_lost(const struct tt_output *o)
{
    return atomic_load(&o->lost);
}
