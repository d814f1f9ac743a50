/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The machine model: what the steps of a plan cost on this machine, as `tutti calibrate` measured
 * it. The model is plain data in whole picoseconds, so that all ranks compute the same predictions
 * from it, whatever their processors and compilers.
 *
 * The model is kept in a text file for each kind of machine (tt_machine_path). The file is in the
 * user's cache folder, and may be deleted, because the model can be measured again.
 */
#ifndef TT_MACHINE_H
#define TT_MACHINE_H

#include "base/cache-file.h"

/* If the cost of reading another process' memory (read_cost of struct tt_map) is at least this
 * number, reading counts as very dear. */
enum { TT_VERY_DEAR = 5 };

/* Where the data of a step lie: in the cache of this processor, in no cache, or in the cache of
 * another processor, which has just written them (source) or read them (destination). */
enum tt_data_place { TT_DATA_CACHED, TT_DATA_MEMORY, TT_DATA_OTHER, TT_DATA_PLACES };

/* The numbers of the model: X(name, "what takes this time"). */
#define TT_MACHINE_NUMBERS(X)                                                                      \
    X(call, "a call, besides its steps")                                                           \
    X(step, "a step, besides what it moves")                                                       \
    X(line, "a signal, from its store until another processor sees it")                            \
    X(take, "reading a signal that another processor gave before")                                 \
    X(message, "one end of a message, besides its bytes")                                          \
    X(turn_2, "a rank's turn in a round of signals of 2 ranks on a processor")                     \
    X(turn_4, "a rank's turn in a round of signals of 4 ranks on a processor")                     \
    X(turn_8, "a rank's turn in a round of signals of 8 ranks on a processor")

/* The tables of the model, which have a time for each number of bytes: X(name, "what takes this
 * time"). First come the copies, in the order of the places (tt_data_place) of their sources and,
 * for each source, of their destinations; next the copies by stores that bypass the caches, in the
 * order of their sources. */
#define TT_MACHINE_TABLES(X)                                                                       \
    X(copy_cached_cached, "a copy within the cache")                                               \
    X(copy_cached_memory, "a copy from the cache to memory")                                       \
    X(copy_cached_other, "a copy from the cache to what another processor has read")               \
    X(copy_memory_cached, "a copy from memory into the cache")                                     \
    X(copy_memory_memory, "a copy within memory")                                                  \
    X(copy_memory_other, "a copy from memory to what another processor has read")                  \
    X(copy_other_cached, "a copy of what another processor has written into the cache")            \
    X(copy_other_memory, "a copy of what another processor has written to memory")                 \
    X(copy_other_other, "a copy of what one processor has written to what one has read")           \
    X(stream_cached, "a copy past the caches, from the cache to what another processor has read")  \
    X(stream_memory, "a copy past the caches, from memory to what another processor has read")     \
    X(stream_other, "a copy past the caches, of what one processor has written to what one read")  \
    X(add_cached, "a further operand of a reduction, from the cache")                              \
    X(add_memory, "a further operand of a reduction, from memory")                                 \
    X(add_other, "a further operand of a reduction, that another processor has written")           \
    X(read_memory_cached, "reading a process by the system, from memory into the cache")           \
    X(read_memory_memory, "reading a process by the system, within memory")                        \
    X(read_other_cached, "reading what a process has just written, into the cache")                \
    X(read_other_memory, "reading what a process has just written, to memory")                     \
    X(write_memory_memory, "writing to a process by the system, within memory")                    \
    X(copy_shared, "copies on all processors at once: per mille of the time of one")               \
    X(read_shared, "reads by the system on all processors at once: per mille of one")

/* The tables of the network, which have a time for each number of bytes of a message between two
 * nodes: X(name, "what takes this time"). All of them were measured with messages of plans (steps
 * send and recv), between two ranks that did nothing else. */
#define TT_MACHINE_WIRES(X)                                                                        \
    X(wire_time, "a message to another node, from the begin of its send until it is received")     \
    X(wire_send, "the sender's processor time for a message to another node")                      \
    X(wire_receive, "the receiver's processor time for a message from another node")               \
    X(wire_gap, "a message in a long stream of messages from one node to another")

enum tt_machine_number {
#define TT_MACHINE_ENUM(name, text) TT_MACHINE_##name,
    TT_MACHINE_NUMBERS(TT_MACHINE_ENUM) TT_MACHINE_NUMBERS_N
};
enum tt_machine_table { TT_MACHINE_TABLES(TT_MACHINE_ENUM) TT_MACHINE_TABLES_N };
enum tt_machine_wire { TT_MACHINE_WIRES(TT_MACHINE_ENUM) TT_MACHINE_WIRES_N };
#undef TT_MACHINE_ENUM

enum { TT_MACHINE_POINTS = 9, TT_MACHINE_PATH = TT_FILE_PATH, TT_MACHINE_WHY = TT_FILE_WHY };
/* The numbers of bytes for which the tables have times. */
extern const int64_t tt_machine_bytes[TT_MACHINE_POINTS];

/* The network of a model says what messages between two nodes cost. All entries are 0 if that is
 * not known. */
struct tt_machine_network {
    /* the processor time of looking once whether a message of another node has come */
    int64_t look;
    int64_t wire[TT_MACHINE_WIRES_N][TT_MACHINE_POINTS];
};

/* Invariants (tt_machine_valid): all entries of `number` and `table` are from 1 to TT_MACHINE_MOST.
 * Entries of the tables copy_shared and read_shared are not picoseconds, but thousandths of the
 * time that one processor takes alone, and at most a million. All entries of `network` are from 1
 * to TT_MACHINE_MOST, or all of them are 0. */
#define TT_MACHINE_MOST INT64_C(1000000000000) /* a second, in picoseconds */
struct tt_machine {
    int64_t number[TT_MACHINE_NUMBERS_N];
    int64_t table[TT_MACHINE_TABLES_N][TT_MACHINE_POINTS];
    struct tt_machine_network network;
};
bool tt_machine_valid(const struct tt_machine *machine);
/* Returns whether the model says what messages between nodes cost. */
static inline bool tt_machine_has_network(const struct tt_machine *machine)
{
    return machine->network.look > 0;
}
/* Returns whether a machine can have this model: no entry is less than the fastest machine needs,
 * and no processor becomes a thousand times slower because the others are busy. If a measured model
 * does not have this property, its measurement was disturbed. If the function returns false, `why`
 * says which entry is wrong. */
bool tt_machine_credible(const struct tt_machine *machine, char why[TT_MACHINE_WHY]);
/* Returns whether the measured times of the network can be in a model: no message is faster than
 * the fastest network, or takes longer than TT_MACHINE_MOST. Else `why` says which entry is
 * wrong. */
bool tt_machine_network_credible(const struct tt_machine *machine, char why[TT_MACHINE_WHY]);

/* A machine's link to other machines. Both numbers are 0 or more; 0: not known. */
struct tt_machine_link {
    int32_t mbit;     /* the speed, in Mbit/s */
    int32_t start_ns; /* about how long a message of few bytes takes, with its sender's and its
                       * receiver's work: the start-up time */
};

/* How a job uses the model. Rank 0 decides this, by its file and its TUTTI_CHOICE, and all other
 * ranks get the model and the decision of rank 0 when they meet. So all ranks choose the same
 * algorithms, whatever files and settings each of them has. */
enum tt_machine_use {
    /* there is no model; the fixed tables of choose/table.c choose the algorithms */
    TT_MACHINE_UNKNOWN,
    TT_MACHINE_TABLE, /* there is a model, but the fixed tables choose */
    /* there is a model; another algorithm than that of the tables is chosen where the times that
     * the model predicts differ clearly */
    TT_MACHINE_ESTIMATE,
    TT_MACHINE_USES
};
struct tt_machine_in_force {
    uint32_t use;      /* enum tt_machine_use */
    uint32_t measures; /* 1: the first calls measure algorithms (choose/measure.h); else 0 */
    struct tt_machine_link link;
    struct tt_machine model; /* valid unless `use` is TT_MACHINE_UNKNOWN */
};

/* Returns the time, in picoseconds, of a step that moves `bytes` >= 0 bytes. Between two sizes of
 * the table the time is interpolated on a straight line. Below the first size it is the time of the
 * first size (0 for no bytes), and beyond the last size it is in proportion to the bytes. A time of
 * TT_MACHINE_LONGEST means so long or longer. */
#define TT_MACHINE_LONGEST (100 * TT_MACHINE_MOST)
int64_t tt_machine_time(const struct tt_machine *machine, enum tt_machine_table table,
                        int64_t bytes);
/* Returns the time, in picoseconds, that a table of the network gives for a message of `bytes` >= 0
 * bytes. Times between the sizes of the table, and beyond the last one, are computed as in
 * tt_machine_time. A message without bytes takes the time of the first size. */
int64_t tt_machine_wire(const struct tt_machine *machine, enum tt_machine_wire table,
                        int64_t bytes);
/* Returns whether plain stores of 64 KiB to memory that another processor has read take more than
 * `times` times as long as stores that bypass the caches. Predictions for ranks on several
 * processors call this function with two values of `times`. If it returns true for TT_STORES_SLOW,
 * they assume that ranks fill windows by stores that bypass the caches. If it returns true for 1,
 * and each rank has a processor, they assume that ranks fill byte rings by such stores. */
bool tt_machine_streams(const struct tt_machine *machine, int times);
/* Return the name of a number or a table, such as "line" or "copy_memory_other", and a text that
 * says what takes this time. The texts are static. */
const char *tt_machine_number_name(enum tt_machine_number number);
const char *tt_machine_number_text(enum tt_machine_number number);
const char *tt_machine_table_name(enum tt_machine_table table);
const char *tt_machine_table_text(enum tt_machine_table table);
const char *tt_machine_wire_name(enum tt_machine_wire table);

/* ---- The file (machine-file.c) ---- */

/* Writes the path of this machine's file: tt_file_path for the setting TUTTI_MACHINE. */
bool tt_machine_path(char path[TT_MACHINE_PATH], char why[TT_MACHINE_WHY]);
/* Reads the file. Returns false, with the reason in `why`, if there is no such file, or if it does
 * not fit: it was measured by another version of Tutti, for another kind of processor or another
 * number of processors, it is damaged, or no machine can have this model. Reads regular files only,
 * so it does not block. */
bool tt_machine_read(const char *path, struct tt_machine *machine, char why[TT_MACHINE_WHY]);
/* Writes the file, and makes its folder if it does not exist. A reader sees either the old file or
 * the whole new one, even if several processes write at once. Errors: SYSTEM. */
tutti_status tt_machine_write(const char *path, const struct tt_machine *machine);
/* Writes a file without a model, whose age says when a job has begun to measure one. Errors:
 * SYSTEM. */
tutti_status tt_machine_begin(const char *path);
/* Fills in what this process would use as rank 0 of a job. The link is that of the model's network,
 * if there is one; but if TUTTI_LINK_MBIT is set, the speed is that of the setting. If there is no
 * model, `why` has the reason. Warns if TUTTI_CHOICE demands the estimate without a model, and if
 * TUTTI_MACHINE names a file that cannot be used. `measure` measures a new model
 * (choose/calibrate.h); NULL: no model is measured. It is called if no model was found, because
 * there is no file or the file in the cache folder does not fit. It is not called if TUTTI_MACHINE
 * names a file that exists. `demanded`: TUTTI_CHOICE is `estimate` or `measure`. With `auto`,
 * `measure` is called only for a file in the cache folder, and only if no job has begun to measure
 * in the last ten minutes. */
typedef bool tt_machine_measure(const char *path, bool demanded, struct tt_machine *machine,
                                char why[TT_MACHINE_WHY]);
void tt_machine_decide(struct tt_machine_in_force *machine, tt_machine_measure *measure,
                       char why[TT_MACHINE_WHY]);
/* Returns this machine's fastest link to other machines, as the kernel describes it in the folder
 * `root` (/sys/class). The start-up time is known only with RDMA. Reads files of the kernel, and
 * does not block. */
struct tt_machine_link tt_link_read(const char *root);
/* Returns whether this machine has an active RDMA port that UCX may use; `root` is as above. Reads
 * files of the kernel, and does not block. */
bool tt_link_has_rdma(const char *root);
/* Writes a text such as "100000 Mbit/s, and a short message takes 2.0 us", and returns it. The
 * speed must be known. */
enum { TT_LINK_TEXT = 96 };
char *tt_link_print(const struct tt_machine_link *link, char text[TT_LINK_TEXT]);
/* Finds the path of this machine's file, and reads the file. If it returns false, `why` has the
 * reason, and `path` may be empty. */
bool tt_machine_find(struct tt_machine *machine, char path[TT_MACHINE_PATH],
                     char why[TT_MACHINE_WHY]);

#endif
