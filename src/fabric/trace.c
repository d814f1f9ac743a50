/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A wrapper that notes what a rank does and when: TUTTI_TRACE=DIR writes DIR/rank-R.json at the end (of client K > 0
 * DIR/client-K-rank-R.json), in Chrome's trace event format (an array of complete events; pid is the rank, tid the lane),
 * which Perfetto opens. The clock is the machine's, so the files of one machine fit together.
 */
#include "fabric/fabric.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EVENTS_MOST (1 << 20) /* of a rank; what comes later is counted, not kept */

struct event {
    struct tt_deed deed;
    int64_t end_ns;
};

struct trace {
    struct tt_fabric_ops ops;
    const struct tt_fabric_ops *below;
    const struct tt_job_page *job;
    char dir[PATH_MAX]; /* absolute: the program may go elsewhere */
    struct event *events;
    int64_t n, room, lost;
};

static bool grow(struct trace *trace)
{
    int64_t room = trace->room ? 2 * trace->room : 1024;
    if (trace->n < trace->room) return true;
    struct event *events =
        trace->n < EVENTS_MOST ? tt_realloc(trace->events, (size_t)room * sizeof *events) : NULL;
    if (!events) return false;
    trace->events = events;
    trace->room = room;
    return true;
}

static void trace_did(const struct tt_fabric_ops *self, struct tt_fabric *f,
                      const struct tt_deed *deed)
{
    struct trace *trace = (struct trace *)self;
    int64_t now = tt_clock_ns();
    (void)f;
    if (grow(trace))
        trace->events[trace->n++] = (struct event){*deed, now};
    else
        trace->lost++;
}

static tutti_status trace_read(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                               void *to, tt_address from, int64_t len)
{
    const struct tt_fabric_ops *below = ((const struct trace *)self)->below;
    struct tt_deed deed = {.name = "read", .begin_ns = tt_clock_ns(), .bytes = len, .peer = rank};
    tutti_status status = below->read(below, f, rank, to, from, len);
    trace_did(self, f, &deed);
    return status;
}

static tutti_status trace_write(const struct tt_fabric_ops *self, struct tt_fabric *f, int rank,
                                tt_address to, const void *from, int64_t len)
{
    const struct tt_fabric_ops *below = ((const struct trace *)self)->below;
    struct tt_deed deed = {.name = "write", .begin_ns = tt_clock_ns(), .bytes = len, .peer = rank};
    tutti_status status = below->write(below, f, rank, to, from, len);
    trace_did(self, f, &deed);
    return status;
}

static tutti_status trace_signalling(const struct tt_fabric_ops *self, struct tt_fabric *f)
{
    const struct tt_fabric_ops *below = ((const struct trace *)self)->below;
    return below->signalling ? below->signalling(below, f) : TUTTI_OK;
}

static void print_event(FILE *file, const struct event *e, int rank, bool last)
{
    const struct tt_deed *d = &e->deed;
    fprintf(
        file,
        "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"args\":{",
        d->name, rank, d->lane, (double)d->begin_ns / 1e3, (double)(e->end_ns - d->begin_ns) / 1e3);
    if (d->call) fprintf(file, "\"call\":\"%s\",\"algorithm\":\"%s\",", d->call, d->algorithm);
    fprintf(file, "\"bytes\":%lld,\"peer\":%d,\"value\":%u,\"execution\":%llu}}%s\n",
            (long long)d->bytes, d->peer, d->value, (unsigned long long)d->execution,
            last ? "" : ",");
}

/* Who writes, in which run: so that files of several runs are told apart. */
static void print_head(FILE *file, const struct trace *trace, int rank)
{
    fprintf(file,
            "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"rank %d\","
            "\"run\":%lld,\"ranks\":%d}}%s\n",
            rank, rank, (long long)trace->job->stamp, trace->job->size, trace->n ? "," : "");
}

static void name_file(const struct trace *trace, const struct tt_fabric *f, char *path, size_t n)
{
    if (f->client == 0)
        snprintf(path, n, "%s/rank-%d.json", trace->dir, f->me);
    else
        snprintf(path, n, "%s/client-%d-rank-%d.json", trace->dir, f->client, f->me);
}

/* What a job did is its user's affair: others do not read it unless they are let. */
static FILE *open_own(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (fd >= 0 && !file) close(fd);
    return file;
}

static void save(const struct trace *trace, const struct tt_fabric *f)
{
    char path[PATH_MAX + 64];
    int rank = f->me;
    name_file(trace, f, path, sizeof path);
    FILE *file = open_own(path);
    if (!file) {
        tt_warn("TUTTI_TRACE: cannot write %s: %s", path, strerror(errno));
        return;
    }
    fprintf(file, "[\n");
    print_head(file, trace, rank);
    for (int64_t i = 0; i < trace->n; i++)
        print_event(file, &trace->events[i], rank, i + 1 == trace->n);
    fprintf(file, "]\n");
    if (ferror(file) | fclose(file)) tt_warn("TUTTI_TRACE: %s is not complete", path);
    if (trace->lost) tt_warn("TUTTI_TRACE: %lld events were not kept", (long long)trace->lost);
}

static void trace_close(const struct tt_fabric_ops *self, struct tt_fabric *f)
{
    struct trace *trace = (struct trace *)self;
    save(trace, f);
    if (trace->below->close) trace->below->close(trace->below, f);
    tt_free(trace->events);
    tt_free(trace);
}

/* Made if it is not there; false: it cannot be written to, errno tells why. */
static bool find_folder(const char *dir, char absolute[PATH_MAX])
{
    if (mkdir(dir, 0700) != 0 && errno != EEXIST) return false;
    return realpath(dir, absolute) && access(absolute, W_OK | X_OK) == 0;
}

tutti_status tt_trace_wrap(struct tt_fabric *f)
{
    const char *dir = tt_setting("TUTTI_TRACE");
    if (!dir) return TUTTI_OK;
    struct trace *trace = tt_calloc(1, sizeof *trace);
    if (!trace) return tt_fail(TUTTI_ERR_MEMORY, "no memory for TUTTI_TRACE");
    if (!find_folder(dir, trace->dir)) {
        tt_warn("TUTTI_TRACE: cannot write to %s: %s", dir, strerror(errno));
        tt_free(trace);
        return TUTTI_OK;
    }
    trace->job = f->job;
    trace->below = f->ops;
    trace->ops = (struct tt_fabric_ops){.name = f->ops->name,
                                        .read = trace_read,
                                        .write = trace_write,
                                        .signalling = trace_signalling,
                                        .did = trace_did,
                                        .close = trace_close};
    f->ops = &trace->ops;
    return TUTTI_OK;
}
