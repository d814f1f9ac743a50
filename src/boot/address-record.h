/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The messages that ranks on different hosts exchange at the start, as bytes. The functions that
 * read them are pure. They refuse everything that the functions here did not write, because it
 * comes from another host.
 */
#ifndef TT_ADDRESS_RECORD_H
#define TT_ADDRESS_RECORD_H

#include "base/base.h"
#include "job/segment.h"
#include "fabric/wire.h"

enum {
    TT_RECORD_ADDRESSES = 16,
    TT_ADDRESS_RECORD_BYTES = 18 + 16 * TT_RECORD_ADDRESSES + TT_WIRE_ADDRESS, /* at most */
    TT_ADDRESS_RECORDS =
        /* The most address records that a rank has at a time. A client's place in the job becomes
         * free a little before its address record is removed, so there are more records than
         * clients. */
    2 * TT_CLIENTS,
    TT_ADDRESS_RECORDS_BYTES = TT_ADDRESS_RECORDS * (8 + TT_ADDRESS_RECORD_BYTES),
    TT_TERMS_BYTES = 296 + 16 * (TT_RECORD_ADDRESSES + TT_WARNINGS) + 8 * TT_MUST_MATCH_SETTINGS +
                     (int)sizeof(struct tt_machine) + (int)sizeof(struct tt_wisdom), /* at most */
    TT_NOTICE_BYTES = 42 + TT_FINDING_TEXT,                                          /* at most */
    TT_TERMS_WHY = 160
};

/* A rank's address record: where it can be reached. */
struct tt_address_record {
    uint16_t port;    /* a port at which others watch this rank until it leaves the client */
    uint16_t process; /* a port at which others watch its process until that ends; 0: none */
    uint8_t addresses;
    uint8_t address[TT_RECORD_ADDRESSES][16]; /* of its host: IPv6, or IPv4 as ::ffff:a.b.c.d */
    uint16_t wire_bytes;
    uint8_t wire[TT_WIRE_ADDRESS]; /* the address of the message layer */
};

/* The terms: what the ranks of a node agreed on. Each node compares the terms of the others with
 * its own. */
struct tt_terms {
    char version[24];
    /* a tutti_status: the error because of which the node's ranks cannot go on, or OK */
    int32_t status;
    int32_t cores;    /* processors that its ranks may use together */
    int32_t online;   /* processors of its kernel */
    int32_t accesses; /* TT_READS, TT_WRITES: what its ranks can do with each other's memory */
    int32_t read_cost;
    int64_t stamp; /* of the job's page there */
    /* identifies the running kernel: hosts with one kernel share processors; 0: not known */
    uint64_t kernel;
    int32_t ranks;     /* the number of ranks there */
    uint64_t token;    /* of the node's inbox (notice.h) */
    uint16_t inbox;    /* the port of the inbox; 0: there is none */
    uint8_t addresses; /* the host addresses of the inbox */
    uint8_t address[TT_RECORD_ADDRESSES][16];
    int64_t must_match[TT_MUST_MATCH_SETTINGS];
    struct tt_machine_in_force machine; /* that of the job, from node 0; from others: unknown */
    struct tt_wisdom wisdom;            /* the same; from others: none */
    struct tt_warnings warnings;        /* that its ranks have */
    char why[TT_TERMS_WHY];             /* the text for `status` */
};

/* A notice about a rank to other nodes (notice.h). */
struct tt_notice {
    uint32_t client;
    int32_t from;        /* the rank that sends it */
    int32_t about;       /* the rank that failed for that client or left it */
    bool left;           /* `about` left in order; then it is also `from` */
    bool asks;           /* it is no notice, but asks for a part of the roll call (question.h) */
    int32_t cause, code; /* enum tt_cause, and the code as in struct tt_rank_status */
    uint64_t team;       /* the team on which `about` got an error, as in struct tt_failure */
    /* the text of that error; "": there is none */
    char why[TT_FINDING_TEXT];
};

/* Returns the number of bytes written. `to` has room for TT_ADDRESS_RECORD_BYTES or
 * TT_TERMS_BYTES. */
size_t tt_address_record_write(const struct tt_address_record *record, uint8_t *to);
size_t tt_terms_write(const struct tt_terms *terms, uint8_t *to);
/* Read an address record, or terms. They return false and set nothing unless the n bytes are
 * exactly one of these. */
bool tt_address_record_read(struct tt_address_record *record, const uint8_t *bytes, size_t n);
bool tt_terms_read(struct tt_terms *terms, const uint8_t *bytes, size_t n);

/* Writes a notice, with the token of the inbox that it is for, and returns its length. Reading
 * returns false and sets nothing if the notice is not valid or not for the inbox with this
 * token. */
size_t tt_notice_write(const struct tt_notice *notice, uint64_t token, uint8_t to[TT_NOTICE_BYTES]);
bool tt_notice_read(struct tt_notice *notice, uint64_t token, const uint8_t *bytes, size_t n);

/* Appends an address record to a list of these, at its end `to`. In the list, the number of the
 * client and the length come before each address record. Returns the number of bytes written. */
size_t tt_address_records_add(uint8_t *to, int client, const uint8_t *record, size_t bytes);
enum { TT_ANY_CLIENT = -1 };
/* Finds the address record of a client, or of any one, in a list of n bytes. Returns false if it is
 * not there, or the bytes are no such list. */
bool tt_address_records_find(const uint8_t *list, size_t n, int client, const uint8_t **record,
                             size_t *bytes);

#endif
