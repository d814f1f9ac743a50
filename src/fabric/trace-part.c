/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints a rank's entries as events of Chrome's trace format. The pid of an event is the rank. Its
 * tid, which selects a line of the picture, is 8 times the track of the call plus the lane. So the
 * spans of one line are nested, even if calls overlap in time.
 *
 * The bytes may come from a rank that was killed, or from anybody: every value is checked.
 */
#include "fabric/trace-part.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECENT = 64, LINES = TT_PART_TRACKS * TT_PART_LANES };

struct printing {
    const struct tt_part_head *head;
    const struct tt_part_entry *entry;
    int64_t n, last_ns;
    FILE *out;
    enum tt_part_end end;
    /* the last calls, each at index execution % RECENT: a step is printed with the names of its
     * call */
    const struct tt_part_entry *recent[RECENT];
    bool line[LINES]; /* lines that have an event */
};

/* The name consists of the first digits of the kernel's boot id, because each running kernel has
 * one clock, and of the number of the time namespace, because the clock has an offset of its own in
 * each time namespace. Linux before 5.6 has no time namespaces. */
void tt_part_clock(char *name, size_t n)
{
    enum { DIGITS = 18 };
    char boot[DIGITS + 1] = "";
    struct stat space = {0};
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, boot, DIGITS) : 0;
    if (fd >= 0) close(fd);
    (void)stat("/proc/self/ns/time", &space);
    name[0] = '\0';
    if (got == DIGITS) snprintf(name, n, "%s %llx", boot, (unsigned long long)space.st_ino);
}

bool tt_part_is_one(const void *bytes, size_t n)
{
    const struct tt_part_head *head = bytes;
    return n >= sizeof *head && memcmp(head->magic, TT_PART_MAGIC, sizeof TT_PART_MAGIC) == 0 &&
           head->rank >= 0 && head->rank < head->ranks && head->client >= 0 && head->node >= 0;
}

/* Prints a member of a JSON object, with the name `key` and the text as its value, of which it
 * takes at most `most` bytes. Characters that could end a JSON text become '?'. */
static void print_text(FILE *out, const char *key, const char *text, size_t most)
{
    fprintf(out, ",\"%s\":\"", key);
    for (size_t i = 0; i < most && text[i]; i++) {
        unsigned char c = (unsigned char)text[i];
        fputc(c >= ' ' && c < 127 && c != '"' && c != '\\' && c != '<' ? c : '?', out);
    }
    fputc('"', out);
}

static void print_us(FILE *out, const char *key, int64_t ns)
{
    fprintf(out, ",\"%s\":%lld.%03lld", key, (long long)(ns / 1000), (long long)(ns % 1000));
}

static bool is_time(int64_t ns)
{
    return ns >= 0 && ns < INT64_MAX / 16;
}

/* Stores begin and end of an event. An event that has not ended gets the time p->last_ns as its
 * end. False: the entry has impossible values. */
static bool times_of(const struct printing *p, const struct tt_part_entry *e, int64_t *begin,
                     int64_t *end)
{
    *begin = atomic_load_explicit(&e->time.begin_ns, memory_order_relaxed);
    *end = atomic_load_explicit(&e->time.end_ns, memory_order_relaxed);
    if (*end == 0) *end = tt_max(p->last_ns, *begin);
    return is_time(*begin) && is_time(*end) && *begin <= *end && e->lane < TT_PART_LANES &&
           e->track < TT_PART_TRACKS && e->bytes >= 0 && e->bytes < INT64_C(1) << 56 &&
           e->execution < INT64_MAX / 16 && e->peer >= -2 && e->peer < p->head->ranks;
}

static void print_span(const struct printing *p, const struct tt_part_entry *e, const char *name,
                       size_t most, const char *cat)
{
    int64_t begin, end;
    times_of(p, e, &begin, &end);
    fprintf(p->out, ",\n{\"ph\":\"X\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%d", cat, p->head->rank,
            e->track * TT_PART_LANES + e->lane);
    print_text(p->out, "name", name, most);
    print_us(p->out, "ts", begin);
    print_us(p->out, "dur", end - begin);
    fprintf(p->out, ",\"args\":{\"team\":%u,\"execution\":%llu,\"bytes\":%lld", e->team,
            (unsigned long long)e->execution, (long long)e->bytes);
}

static void print_names(const struct printing *p, const struct tt_part_entry *names, bool all)
{
    print_text(p->out, "call", names->names.coll, sizeof names->names.coll);
    print_text(p->out, "algorithm", names->names.algorithm, sizeof names->names.algorithm);
    if (!all) return;
    print_text(p->out, "type", names->names.type, sizeof names->names.type);
    print_text(p->out, "op", names->names.op, sizeof names->names.op);
}

static void print_call(struct printing *p, const struct tt_part_entry *e)
{
    int64_t begin, end, blocked = atomic_load_explicit(&e->blocked_ns, memory_order_relaxed);
    const struct tt_part_entry *names = e + 1;
    if (!times_of(p, e, &begin, &end)) return;
    p->recent[e->execution % RECENT] = e;
    print_span(p, e, names->names.coll, sizeof names->names.coll, "call");
    print_names(p, names, true);
    if (e->n >= 0) fprintf(p->out, ",\"n\":%lld", (long long)e->n);
    if (e->peer >= 0) fprintf(p->out, ",\"root\":%d", e->peer);
    if (blocked >= begin && blocked <= end) print_us(p->out, "blocked", blocked);
    if (e->blocks) fprintf(p->out, ",\"blocks\":1");
    if (!atomic_load_explicit(&e->time.end_ns, memory_order_relaxed))
        fprintf(p->out, ",\"open\":1");
    if (e->status) fprintf(p->out, ",\"status\":%u", e->status);
    fprintf(p->out, "}}");
}

static void print_step(struct printing *p, const struct tt_part_entry *e)
{
    int64_t begin, end;
    const struct tt_part_entry *call = p->recent[e->execution % RECENT];
    if (!times_of(p, e, &begin, &end)) return;
    print_span(p, e, e->name, sizeof e->name, "step");
    if (call && call->execution == e->execution && call->team == e->team)
        print_names(p, call + 1, false);
    fprintf(p->out, ",\"peer\":%d,\"value\":%u}}", e->peer, e->value);
}

static void print_team(const struct printing *p, const struct tt_part_entry *e)
{
    if (e->made.size < 1 || e->made.me < 0 || e->made.me >= e->made.size) return;
    fprintf(
        p->out,
        ",\n{\"name\":\"team\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"team\":%u,\"id\":\"%016llx\","
        "\"size\":%d,\"me\":%d}}",
        p->head->rank, e->made.number, (unsigned long long)e->made.id, e->made.size, e->made.me);
}

static void print_rank_status(const struct printing *p, const struct tt_part_entry *e)
{
    if (e->peer < 0 || e->peer >= p->head->ranks) return;
    fprintf(p->out, ",\n{\"name\":\"rank_status\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"of\":%d",
            p->head->rank, e->peer);
    print_text(p->out, "rank_status", e->text, sizeof e->text);
    fprintf(p->out, "}}");
}

/* Prints which rank of which run wrote the file, so that files of different runs can be
 * distinguished. */
static void print_head(const struct printing *p)
{
    const struct tt_part_head *h = p->head;
    fprintf(p->out, "[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"",
            h->rank);
    if (h->client > 0) fprintf(p->out, "client %d: ", h->client);
    fprintf(p->out, "rank %d\",\"run\":%lld,\"ranks\":%d,\"client\":%d,\"node\":%d,\"os_pid\":%d",
            h->rank, (long long)h->run, h->ranks, h->client, h->node, h->pid);
    print_text(p->out, "host", h->host, sizeof h->host);
    print_text(p->out, "clock", h->clock, sizeof h->clock);
    if (h->end[0] && p->end == TT_PART_LOST)
        print_text(p->out, "rank_status", h->end, sizeof h->end);
    if (h->wall_ns > 0) fprintf(p->out, ",\"wall_ns\":%lld", (long long)h->wall_ns);
    print_us(p->out, "last", p->last_ns);
    fprintf(p->out, ",\"ended\":%d,\"runs\":%d,\"lost_steps\":%lld,\"lost_calls\":%lld}}",
            p->end == TT_PART_ENDED, p->end == TT_PART_RUNS, (long long)atomic_load(&h->lost_steps),
            (long long)atomic_load(&h->lost_calls));
}

static void print_lines(const struct printing *p)
{
    char beside[32] = "";
    for (int i = 0; i < LINES; i++) {
        int track = i / TT_PART_LANES, lane = i % TT_PART_LANES;
        if (!p->line[i]) continue;
        if (track) snprintf(beside, sizeof beside, ", overlapping %d", track);
        fprintf(p->out,
                ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{"
                "\"name\":\"%s%d%s\"}}",
                p->head->rank, i, lane ? "lane " : "calls, lane ", lane, beside);
    }
}

static void print_entry(struct printing *p, int64_t i)
{
    const struct tt_part_entry *e = &p->entry[i];
    bool named = e->kind != TT_PART_CALL || (i + 1 < p->n && e[1].kind == TT_PART_NAMES);
    bool lies = e->kind <= TT_PART_CALL && e->lane < TT_PART_LANES && e->track < TT_PART_TRACKS;
    if (lies) p->line[e->track * TT_PART_LANES + e->lane] = true;
    switch (e->kind) {
    case TT_PART_STEP: print_step(p, e); break;
    case TT_PART_CALL:
        if (named) print_call(p, e);
        break;
    case TT_PART_TEAM: print_team(p, e); break;
    case TT_PART_RANK_STATUS: print_rank_status(p, e); break;
    default: break;
    }
}

static bool is_own_clock(const struct tt_part_head *head)
{
    char own[sizeof head->clock];
    tt_part_clock(own, sizeof own);
    return own[0] && strncmp(head->clock, own, sizeof own) == 0;
}

void tt_part_print(const void *bytes, size_t n, enum tt_part_end end, FILE *out)
{
    struct printing p = {.head = bytes, .out = out, .end = end};
    p.entry = (const struct tt_part_entry *)(p.head + 1);
    p.n = tt_min(atomic_load_explicit(&p.head->entries, memory_order_acquire),
                 (int64_t)((n - sizeof *p.head) / sizeof *p.entry));
    p.last_ns = atomic_load(&p.head->last_ns);
    if (!is_time(p.last_ns)) p.last_ns = 0;
    if (end == TT_PART_RUNS && is_own_clock(p.head)) p.last_ns = tt_max(p.last_ns, tt_clock_ns());
    print_head(&p);
    for (int64_t i = 0; i < p.n; i++) print_entry(&p, i);
    print_lines(&p);
    fprintf(out, "\n]\n");
}
