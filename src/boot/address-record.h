/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Address records, terms and notices, the messages that ranks on different hosts exchange, as
 * bytes. The functions that read messages are pure. They refuse all bytes that the writing
 * functions of this file cannot have written, because a message comes from another host.
 */
#ifndef TT_ADDRESS_RECORD_H
#define TT_ADDRESS_RECORD_H

#include "base/base.h"
#include "job/segment.h"
#include "fabric/wire.h"

enum {
    TT_RECORD_ADDRESSES = 16,
    TT_ADDRESS_RECORD_BYTES = 26 + 16 * TT_RECORD_ADDRESSES + TT_WIRE_ADDRESS, /* at most */
    /* The most address records that a rank has at a time. A client's entry in the job page becomes
     * free a little before its address record is removed, so a rank may have more records than
     * clients. */
    TT_ADDRESS_RECORDS = 2 * TT_CLIENTS,
    TT_ADDRESS_RECORDS_BYTES = TT_ADDRESS_RECORDS * (8 + TT_ADDRESS_RECORD_BYTES),
    TT_TERMS_BYTES = 304 + 16 * (TT_RECORD_ADDRESSES + TT_WARNINGS) + 8 * TT_MUST_MATCH_SETTINGS +
                     (int)sizeof(struct tt_machine) + (int)sizeof(struct tt_wisdom), /* at most */
    TT_NOTICE_BYTES = 42 + TT_FINDING_TEXT,                                          /* at most */
    TT_TERMS_WHY = 160
};

/* A rank's address record: the addresses and ports at which other ranks reach it. */
struct tt_address_record {
    uint16_t port; /* the port at which other ranks watch this rank until it leaves the client */
    /* the port at which other ranks watch the rank's process until the process ends; 0: there is no
     * such port */
    uint16_t process;
    uint64_t network;  /* the network namespace of the rank (tt_host_network); 0: not known */
    uint8_t addresses; /* the number of addresses in address[] */
    /* the addresses of the rank's host: IPv6, or IPv4 as ::ffff:a.b.c.d */
    uint8_t address[TT_RECORD_ADDRESSES][16];
    uint16_t wire_bytes;
    /* the rank's network address (src/fabric), of wire_bytes bytes */
    uint8_t wire[TT_WIRE_ADDRESS];
};

/* The terms: what the ranks of a node have agreed on. Each node compares its own terms with those
 * of all other nodes. */
struct tt_terms {
    char version[TT_VERSION];
    /* a tutti_status: OK, or the error because of which the node's ranks cannot go on */
    int32_t status;
    int32_t cores;  /* processors that the node's ranks may use together */
    int32_t online; /* processors that the node's kernel has online */
    /* TT_READS and TT_WRITES, as bits: the ranks of the node can read, or write, each other's
     * memory */
    int32_t accesses;
    int32_t read_cost;
    int64_t stamp; /* when the node's job page was made (segment.h) */
    /* identifies the running kernel: containers with the same kernel share processors; 0: not
     * known */
    uint64_t kernel;
    int32_t ranks;     /* the number of ranks on the node */
    uint64_t token;    /* a random number; the node's inbox refuses notices without it */
    uint16_t inbox;    /* the port of the inbox; 0: there is none */
    uint8_t addresses; /* the number of addresses in address[], those of the node's host */
    uint8_t address[TT_RECORD_ADDRESSES][16];
    int64_t must_match[TT_MUST_MATCH_SETTINGS];
    /* the machine model of the job, if this is node 0; otherwise TT_MACHINE_UNKNOWN */
    struct tt_machine_in_force machine;
    struct tt_wisdom wisdom;     /* the wisdom of the job, if this is node 0; otherwise empty */
    struct tt_warnings warnings; /* the warnings of the node's ranks */
    char why[TT_TERMS_WHY];      /* the text of the error `status`; "": `status` is OK */
};

/* A notice about a rank to other nodes (notice.h). */
struct tt_notice {
    uint32_t client;
    int32_t from;  /* the rank that sends the notice */
    int32_t about; /* the rank that failed in that client or left it */
    bool left;     /* `about` left properly, and sends this notice itself */
    /* the record is no notice, but asks the node for its part of the roll call (question.h) */
    bool asks;
    /* enum tt_cause; the signal, exit code or other code of this cause (struct tt_rank_status) */
    int32_t cause, code;
    /* the team on which `about` got the error `code`; TT_NO_TEAM: it failed for another cause */
    uint64_t team;
    /* the text of the error that `about` got on the team `team`; "": there is none */
    char why[TT_FINDING_TEXT];
};

/* Write an address record or terms, and return the number of bytes written. `to` has room for
 * TT_ADDRESS_RECORD_BYTES or TT_TERMS_BYTES. */
size_t tt_address_record_write(const struct tt_address_record *record, uint8_t *to);
size_t tt_terms_write(const struct tt_terms *terms, uint8_t *to);
/* Read an address record, or terms. Return false and set nothing unless the n bytes are exactly one
 * address record, or exactly one node's terms. */
bool tt_address_record_read(struct tt_address_record *record, const uint8_t *bytes, size_t n);
bool tt_terms_read(struct tt_terms *terms, const uint8_t *bytes, size_t n);

/* tt_notice_write writes a notice with the token of the receiving inbox, and returns its length.
 * tt_notice_read returns false and sets nothing if the notice is not valid or not for the inbox
 * with this token. */
size_t tt_notice_write(const struct tt_notice *notice, uint64_t token, uint8_t to[TT_NOTICE_BYTES]);
bool tt_notice_read(struct tt_notice *notice, uint64_t token, const uint8_t *bytes, size_t n);

/* Appends an address record to a list of address records, which ends at `to`. The list has the
 * number of the client and the length before each address record. Returns the number of bytes
 * written. */
size_t tt_address_records_add(uint8_t *to, int client, const uint8_t *record, size_t bytes);
enum { TT_ANY_CLIENT = -1 };
/* Finds the address record of a client, or of any client (TT_ANY_CLIENT), in a list of n bytes. A
 * rank publishes a list only when it adds a client, and clients have rising numbers. So a list
 * whose highest number is lower than that of the client was published before the client was made.
 * Returns AGAIN for such a list. Errors: PEER (a newer list has no such record, because the rank
 * has left the client; or the bytes are no list of address records). */
tutti_status tt_address_records_find(const uint8_t *list, size_t n, int client,
                                     const uint8_t **record, size_t *bytes);

#endif
