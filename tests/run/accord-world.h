/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Members of an agreement, what is under way between them, and what may happen next: any message
 * arrives, in any order; a member dies, at any time; another one learns of it. What a dead member
 * sent may still arrive, until its death is known, so that a member which dies in the middle of
 * telling all is among what is tried.
 */
#ifndef TESTS_RUN_ACCORD_WORLD_H
#define TESTS_RUN_ACCORD_WORLD_H

#include "run/accord.h"

enum { QUEUE = 6, WORDS_MOST = 80 };

/* What the world does wrong, to see that it is noticed. */
enum mutant {
    SOUND,
    NO_DETECTION,   /* nobody learns of a death */
    FALSE_ALARMS,   /* living ones are taken for dead */
    RELAYS_LOST,    /* RELAY goes nowhere */
    HELD_TOO_EARLY, /* a leader hears that its proposal is held when it sends it */
    END_TOO_EARLY,  /* it says END where it should say DECIDE */
    FORGETS,        /* who loses its leader forgets what it holds */
    MUTANTS
};

struct packet {
    uint64_t kind; /* 1 + kind; 0: none */
    uint64_t word[];
};

/* Flat, of world_bytes(): equal bytes are equal states. */
struct world {
    uint32_t p, words, deaths; /* deaths: that may still be */
    uint32_t decided;          /* members that ended */
    uint8_t alive[64], begun[64];
    uint64_t decision[WORDS_MOST];
    uint64_t data[];
};

enum happening { DELIVER, DETECT, BEGIN, DIE };
struct event {
    enum happening what;
    int who, other, index;
};

size_t world_bytes(int p, int words);
/* Nobody has begun. own: each member adds a word of its own. */
void world_init(struct world *w, int p, bool own, int deaths);
struct tt_accord *world_member(struct world *w, int m);
/* What may happen, into events; how many. Deaths come last, *living is how many come before
 * them. */
int world_events(struct world *w, enum mutant mutant, struct event *events, int *living);
/* NULL, or what is wrong with it. */
const char *world_do(struct world *w, enum mutant mutant, struct event event);
/* Where nothing can happen any more (but deaths): NULL, or what is wrong. */
const char *world_check_end(struct world *w);

#endif
