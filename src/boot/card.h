/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What ranks on different machines tell each other at the start, as bytes. Reading is pure, and
 * refuses whatever was not written so: it comes from another machine.
 */
#ifndef TT_CARD_H
#define TT_CARD_H

#include "base/base.h"
#include "fabric/segment.h"
#include "fabric/wire.h"

enum {
    TT_CARD_ADDRESSES = 16,
    TT_CARD_BYTES = 18 + 16 * TT_CARD_ADDRESSES + TT_WIRE_ADDRESS, /* at most */
    TT_CARDS =
        2 * TT_CLIENTS, /* of a rank; a place in the job is free a little before its card is */
    TT_CARDS_BYTES = TT_CARDS * (8 + TT_CARD_BYTES),
    TT_TERMS_BYTES = 287 + 16 * TT_CARD_ADDRESSES + 8 * TT_ALIKES,
    TT_NOTICE_BYTES = 42 + TT_FINDING_TEXT, /* at most */
    TT_TERMS_WHY = 160
};

/* A rank's business card: where it can be reached. */
struct tt_card {
    uint16_t port;    /* that it listens on, to be watched, until it leaves the client ... */
    uint16_t process; /* ... and until its process ends; 0: on none */
    uint8_t addresses;
    uint8_t address[TT_CARD_ADDRESSES][16]; /* of its machine: IPv6, or IPv4 as ::ffff:a.b.c.d */
    uint16_t wire_bytes;
    uint8_t wire[TT_WIRE_ADDRESS]; /* the message layer's */
};

/* The terms that a machine's ranks agreed on; each machine compares them with its own. */
struct tt_terms {
    char version[24];
    int32_t status; /* a tutti_status: why they cannot go on */
    int32_t cores;  /* that they may use together */
    int32_t direct; /* they can read each other's memory */
    int32_t read_cost;
    int64_t stamp; /* of the job's page there */
    uint64_t
        kernel;    /* that it runs, this time: hosts of one kernel share processors; 0: not known */
    int32_t ranks; /* there */
    uint64_t token;    /* of the node's inbox (notice.h), ... */
    uint16_t inbox;    /* ... its port, 0: there is none ... */
    uint8_t addresses; /* ... and where */
    uint8_t address[TT_CARD_ADDRESSES][16];
    int64_t alike[TT_ALIKES];
    char why[TT_TERMS_WHY]; /* of status, in words */
};

/* A notice about a rank to other nodes (notice.h). */
struct tt_notice {
    uint32_t client;
    int32_t from;              /* the rank that says so */
    int32_t about;             /* a rank that failed for that client, or ... */
    bool left;                 /* ... left it in order, and is `from` */
    int32_t cause, code;       /* enum tt_cause, and as in struct tt_fate */
    uint64_t team;             /* which does not work any more, and ... */
    char why[TT_FINDING_TEXT]; /* ... why, if a rank of the client found that out; else "" */
};

/* Bytes written; `to` holds TT_CARD_BYTES or TT_TERMS_BYTES. */
size_t tt_card_write(const struct tt_card *card, uint8_t *to);
size_t tt_terms_write(const struct tt_terms *terms, uint8_t *to);
/* False, with nothing set, unless all n bytes are one such card, or such terms. */
bool tt_card_read(struct tt_card *card, const uint8_t *bytes, size_t n);
bool tt_terms_read(struct tt_terms *terms, const uint8_t *bytes, size_t n);

/* A notice, with the token of the inbox that it is for; returns its length. False, with nothing
 * set: it is not for this inbox, or is nonsense. */
size_t tt_notice_write(const struct tt_notice *notice, uint64_t token, uint8_t to[TT_NOTICE_BYTES]);
bool tt_notice_read(struct tt_notice *notice, uint64_t token, const uint8_t *bytes, size_t n);

/* A list of cards: each stands behind the number of its client and its length. Adds one behind the
 * list that ends at `to`; returns the bytes written. */
size_t tt_cards_add(uint8_t *to, int client, const uint8_t *card, size_t bytes);
/* Finds the card of a client in a list of n bytes. False: it is not there, or they are no such
 * list. */
bool tt_cards_find(const uint8_t *list, size_t n, int client, const uint8_t **card, size_t *bytes);

#endif
