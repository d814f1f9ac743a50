/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A model of the members of an agreement and of the messages under way between them. Its events
 * are: any message arrives, in any order; a member dies, at any time; another member detects that
 * death. A message from a dead member may still arrive until the receiver detects the death. This
 * covers a member that dies after it has sent a broadcast to only some of the others.
 */
#ifndef TESTS_RUN_ACCORD_WORLD_H
#define TESTS_RUN_ACCORD_WORLD_H

#include "recover/accord.h"

enum { QUEUE = 6, WORDS_MOST = 80 };

/* Faults that the model can inject, to check that the test detects them. */
enum mutant {
    SOUND,
    NO_DETECTION,   /* nobody detects a death */
    FALSE_ALARMS,   /* living members are taken for dead */
    RELAYS_LOST,    /* RELAY messages are lost */
    HELD_TOO_EARLY, /* a leader that sends its proposal assumes at once that all others hold it */
    END_TOO_EARLY,  /* a leader ends, and sends END, when it should send DECIDE */
    FORGETS,        /* a member that loses its leader forgets the proposal that it holds */
    MUTANTS
};

struct packet {
    uint64_t kind; /* kind of the message + 1; 0: no message */
    uint64_t word[];
};

/* A state: flat memory of world_bytes(), so that equal bytes mean equal states. */
struct world {
    uint32_t p, words, deaths; /* deaths: the number of deaths that may still happen */
    uint32_t decided;          /* number of members that have ended */
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
/* Sets up a state in which no member has begun. own: besides the words that all members combine,
 * the accord has one word for each member, which only that member sets. deaths: the most members
 * that may die. */
void world_init(struct world *w, int p, bool own, int deaths);
struct tt_accord *world_member(struct world *w, int m);
/* Writes the events that can happen next to `events` and returns their number. Deaths come last;
 * *living is the number of events before them. */
int world_events(struct world *w, enum mutant mutant, struct event *events, int *living);
/* Carries out the event. Returns NULL, or a text that says which promise is broken. */
const char *world_do(struct world *w, enum mutant mutant, struct event event);
/* Checks a state in which nothing but deaths can happen any more. Returns NULL, or a text that says
 * what is wrong. */
const char *world_check_end(struct world *w);

#endif
