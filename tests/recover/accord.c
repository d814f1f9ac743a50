/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Model checking of the agreement protocol of recover/accord.h. For 2, 3 and 4 members the test
 * explores every order of messages, deaths and detections of deaths; for more members it walks
 * randomly. It checks that all members that end hold the same result, that no living member waits
 * for ever, and that the result is right. Then it runs models that break an assumption or a rule of
 * the protocol, and checks that each one is detected.
 */
#include "accord-world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 4096, DEPTH = 200 };

/* ---- The set of the states seen so far; it holds a fingerprint of 128 bits of each ---- */

struct print {
    uint64_t a, b;
};
struct seen {
    struct print *all;
    size_t n, room;
};

static struct print fingerprint(const void *memory, size_t bytes)
{
    const uint64_t *word = memory;
    struct print f = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu};
    for (size_t i = 0; i < bytes / 8; i++) {
        f.a = (f.a ^ word[i]) * 0xff51afd7ed558ccdu;
        f.a ^= f.a >> 32;
        f.b = (f.b + word[i]) * 0xc4ceb9fe1a85ec53u;
        f.b ^= f.b >> 29;
    }
    if (f.a == 0) f.a = 1;
    return f;
}

static bool insert(struct print *all, size_t room, struct print f)
{
    size_t i = f.b & (room - 1);
    for (; all[i].a; i = (i + 1) & (room - 1))
        if (all[i].a == f.a && all[i].b == f.b) return false;
    all[i] = f;
    return true;
}

static void grow(struct seen *seen)
{
    size_t room = seen->room ? 2 * seen->room : 1 << 16;
    struct print *all = calloc(room, sizeof *all);
    if (!all) abort();
    for (size_t i = 0; i < seen->room; i++)
        if (seen->all[i].a) insert(all, room, seen->all[i]);
    free(seen->all);
    seen->all = all;
    seen->room = room;
}

static bool is_new(struct seen *seen, const struct world *w, size_t bytes)
{
    if (2 * seen->n >= seen->room) grow(seen);
    bool added = insert(seen->all, seen->room, fingerprint(w, bytes));
    seen->n += added;
    return added;
}

/* ---- Exhaustive search ---- */

struct accord_search {
    struct seen seen;
    enum mutant mutant;
    size_t bytes;
    char *stack; /* one state (struct world) for each depth */
    const char *wrong;
    long ends;
};

static struct world *level(struct accord_search *s, int depth)
{
    return (struct world *)(s->stack + (size_t)depth * s->bytes);
}

static void look_at_end(struct accord_search *s, struct world *w, int living)
{
    if (living > 0) return;
    s->ends++;
    s->wrong = world_check_end(w);
}

static void explore(struct accord_search *s, int depth)
{
    struct event events[256];
    int living, n = world_events(level(s, depth), s->mutant, events, &living);
    if (depth + 1 == DEPTH) abort();
    look_at_end(s, level(s, depth), living);
    for (int i = 0; i < n && !s->wrong; i++) {
        struct world *next = level(s, depth + 1);
        memcpy(next, level(s, depth), s->bytes);
        s->wrong = world_do(next, s->mutant, events[i]);
        if (!s->wrong && is_new(&s->seen, next, s->bytes)) explore(s, depth + 1);
    }
}

/* Searches all states. With `late`, members also begin at different times, which takes too long for
 * four members. (To the other members a late begin looks like late messages or an early death,
 * which the search covers in any case.) */
static const char *search(int p, int deaths, bool late, enum mutant mutant)
{
    struct accord_search s = {.mutant = mutant, .bytes = world_bytes(p, tt_accord_words(p, 0))};
    s.stack = calloc(DEPTH, s.bytes);
    if (!s.stack) abort();
    world_init(level(&s, 0), p, false, deaths);
    for (int m = 0; m < p && !late && !s.wrong; m++)
        s.wrong = world_do(level(&s, 0), mutant, (struct event){BEGIN, m, 0, 0});
    if (!s.wrong) explore(&s, 0);
    printf("%s%d members, at most %d of them die%s: %zu states, %ld ends: %s\n",
           mutant == SOUND ? "" : "not sound: ", p, deaths, late ? ", begun at any time" : "",
           s.seen.n, s.ends, s.wrong ? s.wrong : "as it should be");
    free(s.stack);
    free(s.seen.all);
    return s.wrong;
}

/* ---- Random walks ---- */

/* Makes random events happen until only deaths can happen. In one of eight steps a death is as
 * likely as any other single event; in the other steps no member dies. */
static const char *walk(struct world *w, struct tt_random *random, struct event *events)
{
    for (;;) {
        int living, n = world_events(w, SOUND, events, &living);
        if (living == 0) return world_check_end(w);
        uint64_t i = tt_random_below(random, (uint64_t)(tt_random_below(random, 8) ? living : n));
        const char *wrong = world_do(w, SOUND, events[i]);
        if (wrong) return wrong;
    }
}

static void walk_many(int p, int walks, uint64_t seed)
{
    struct tt_random random;
    struct world *w = malloc(world_bytes(p, tt_accord_words(p, 1)));
    struct event *events = calloc(EVENTS, sizeof *events);
    if (!w || !events) abort();
    for (int i = 0; i < walks; i++) {
        tt_random_seed(&random, seed + (uint64_t)i);
        world_init(w, p, i % 2, (int)tt_random_below(&random, (uint64_t)p + 1));
        const char *wrong = walk(w, &random, events);
        if (!wrong) continue;
        fprintf(stderr, "%d members, seed %llu: %s\n", p, (unsigned long long)seed + (uint64_t)i,
                wrong);
        exit(1);
    }
    printf("%d members: %d walks\n", p, walks);
    free(w);
    free(events);
}

static void must(const char *wrong)
{
    if (wrong) exit(1);
}

static void must_not(const char *wrong)
{
    if (!wrong) exit(1);
}

int main(void)
{
    must(search(1, 1, true, SOUND));
    must(search(2, 2, true, SOUND));
    must(search(3, 3, true, SOUND));
    must(search(4, 4, false, SOUND));
    must(search(5, 1, false, SOUND));
    for (enum mutant m = SOUND + 1; m < MUTANTS; m++) must_not(search(3, 2, true, m));
    for (int p = 2; p <= 12; p++) walk_many(p, 2000, 1);
    walk_many(33, 100, 1);
    return 0;
}
