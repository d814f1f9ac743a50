/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The arena of a job's shared memory: no two ranks get the same bytes, an allocation fails only if
 * there is no memory left, and the file behind it is only as long as the part that is backed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/arena.h"

enum { MIB = 1 << 20, RANKS = 4 };

struct arena_job {
    struct tt_segment segment;
    struct tt_seat seat[RANKS];
    struct tt_arena arena[RANKS];
};

static void open_job(struct arena_job *j, bool threads)
{
    assert_int_equal(tt_segment_create(&j->segment, RANKS, threads), TUTTI_OK);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(tt_seat_take(&j->seat[r], &j->segment, r, 0), TUTTI_OK);
        assert_int_equal(tt_arena_init(&j->arena[r], &j->seat[r]), TUTTI_OK);
    }
}

static void close_job(struct arena_job *j)
{
    for (int r = 0; r < RANKS; r++) tt_arena_release(&j->arena[r]);
    tt_segment_close(&j->segment);
}

static int64_t file_bytes(const struct arena_job *j)
{
    struct stat st;
    assert_int_equal(fstat(j->segment.fd, &st), 0);
    return st.st_size;
}

/* ---- A system that gives up getting memory if a signal arrives ---- */

static int interruptions; /* how many of the next calls of posix_fallocate fail with EINTR */

int __real_posix_fallocate(int fd, off_t begin, off_t bytes);
int __wrap_posix_fallocate(int fd, off_t begin, off_t bytes);

/* Does what the function does on Linux before 6.10 while the thread has a signal to handle, and
 * checks that the caller has blocked the signals of the thread. */
int __wrap_posix_fallocate(int fd, off_t begin, off_t bytes)
{
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    assert_true(sigismember(&blocked, SIGALRM));
    return interruptions-- > 0 ? EINTR : __real_posix_fallocate(fd, begin, bytes);
}

static void test_interrupted(void **state)
{
    struct arena_job j;
    int64_t at;
    sigset_t blocked;
    (void)state;
    interruptions = 2; /* the first calls get the memory of the job page */
    open_job(&j, false);
    interruptions = 2;
    assert_int_equal(tt_arena_alloc(&j.arena[1], 40 * MIB, &at), TUTTI_OK);
    assert_true(interruptions < 0);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    assert_false(sigismember(&blocked, SIGALRM));
    close_job(&j);
}

/* ---- The length of the file ---- */

static void test_file(void **state)
{
    struct arena_job j;
    int64_t first, second;
    (void)state;
    open_job(&j, false);
    assert_true(j.segment.bytes <=
                tt_max(tt_memory_ever(), RANKS * (INT64_C(64) << 20)) + 2 * TT_GRAIN);
    assert_true(file_bytes(&j) < TT_GRAIN);
    assert_int_equal(tt_arena_alloc(&j.arena[1], 3 * MIB, &first), TUTTI_OK);
    assert_int_equal(file_bytes(&j), first + 3 * MIB);
    assert_int_equal(tt_arena_alloc(&j.arena[2], 1, &second), TUTTI_OK);
    assert_int_equal(file_bytes(&j), second + 4096);
    assert_true(tt_segment_holds(&j.segment, second, 4096));
    assert_false(tt_segment_holds(&j.segment, second, 4097));
    assert_false(tt_segment_holds(&j.segment, -1, 1));
    assert_false(tt_segment_holds(&j.segment, 0, INT64_MAX));
    close_job(&j);
}

/* Checks that a process with a limit on its file size gets an error and is not ended by a
 * signal. */
static void test_file_limit(void **state)
{
    struct arena_job j;
    int64_t offset;
    int how;
    (void)state;
    open_job(&j, false);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {8 * MIB, 8 * MIB};
        setrlimit(RLIMIT_FSIZE, &limit);
        bool fits = tt_arena_alloc(&j.arena[0], MIB, &offset) == TUTTI_OK;
        bool refused = tt_arena_alloc(&j.arena[0], 16 * MIB - 1, &offset) == TUTTI_ERR_MEMORY;
        bool named = strstr(tutti_error(), "cannot get 16777215 bytes") != NULL;
        _exit(fits && refused && named && strstr(tutti_error(), "File too large") ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    close_job(&j);
}

/* Gives the number of the memory's descriptor to a file of the program, as happens if the program
 * closes all descriptors and opens files of its own. The library must not write, extend or empty
 * this file, nor close it. */
static void test_foreign_file(void **state)
{
    struct arena_job j;
    struct stat st;
    int64_t kept, refused;
    int own = memfd_create("own", MFD_CLOEXEC);
    (void)state;
    assert_int_equal(ftruncate(own, 8 * MIB), 0);
    assert_int_equal(fallocate(own, 0, 0, 8 * MIB), 0);
    open_job(&j, false);
    int fd = j.segment.fd;
    assert_int_equal(tt_arena_alloc(&j.arena[0], MIB, &kept), TUTTI_OK);
    assert_int_equal(dup3(own, fd, O_CLOEXEC), fd);
    assert_int_equal(tt_arena_alloc(&j.arena[0], 8 * MIB, &refused), TUTTI_ERR_MEMORY);
    assert_non_null(strstr(tutti_error(), "Bad file descriptor"));
    tt_arena_free(&j.arena[0], kept);
    close_job(&j);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 8 * MIB);
    assert_int_equal(st.st_blocks, 8 * MIB / 512);
    close(fd);
    close(own);
}

/* ---- Allocations ---- */

/* Lets each rank repeatedly make its buffer larger, alternating with the other ranks. */
static void test_growing(void **state)
{
    struct arena_job j;
    int64_t at[RANKS] = {0}, largest;
    (void)state;
    open_job(&j, true);
    largest = j.segment.bytes / 6 / RANKS;
    for (int64_t n = MIB; n < largest; n += largest / 40)
        for (int r = 0; r < RANKS; r++) {
            if (at[r]) assert_true(tt_arena_free(&j.arena[r], at[r]));
            assert_int_equal(tt_arena_alloc(&j.arena[r], n, &at[r]), TUTTI_OK);
            j.segment.base[at[r]] = (char)(1 + r);
            j.segment.base[at[r] + n - 1] = (char)(1 + r);
        }
    for (int r = 0; r < RANKS; r++) assert_int_equal(j.segment.base[at[r]], 1 + r);
    close_job(&j);
}

/* Checks that one rank may allocate nearly all memory. After that, an allocation of more than what
 * is left fails, and when the first allocation has been freed, one of the same size succeeds again.
 * */
static void test_all(void **state)
{
    struct arena_job j;
    int64_t most, first, second;
    (void)state;
    open_job(&j, true);
    most = j.segment.bytes - tt_segment_end(&j.segment) - TT_GRAIN;
    assert_int_equal(tt_arena_alloc(&j.arena[0], most, &first), TUTTI_OK);
    assert_int_equal(tt_arena_alloc(&j.arena[1], 2 * TT_GRAIN, &second), TUTTI_ERR_LIMIT);
    assert_int_equal(tt_arena_alloc(&j.arena[1], TT_GRAIN, &second), TUTTI_OK);
    assert_int_equal(tt_arena_alloc(&j.arena[0], 1, &second), TUTTI_ERR_LIMIT);
    assert_int_equal(tt_arena_alloc(&j.arena[0], INT64_MAX, &second), TUTTI_ERR_LIMIT);
    assert_true(tt_arena_free(&j.arena[0], first));
    assert_int_equal(tt_arena_alloc(&j.arena[0], most, &second), TUTTI_OK);
    assert_int_equal(first, second);
    close_job(&j);
}

/* ---- Pages that are kept ---- */

/* Returns the bytes of memory that the job's file takes. */
static int64_t backed(const struct arena_job *j)
{
    struct stat st;
    assert_int_equal(fstat(j->segment.fd, &st), 0);
    return (int64_t)st.st_blocks * 512;
}

static int64_t taken(struct arena_job *j, int rank, int64_t bytes)
{
    int64_t offset;
    assert_int_equal(tt_arena_take(&j->arena[rank], bytes, &offset), TUTTI_OK);
    return offset;
}

/* Checks that tt_arena_put keeps the pages of a piece for this rank: tt_arena_take returns such
 * pages with their old contents, and the file of the memory neither grows nor shrinks. Memory from
 * tt_arena_alloc is always 0, and tt_arena_free returns pages to the kernel. */
static void test_kept(void **state)
{
    enum { HALF = 256 << 10, ONE = 2 * HALF }; /* a grant has room for four pieces of ONE bytes */
    struct arena_job j;
    int64_t offset;
    (void)state;
    open_job(&j, false);
    int64_t first = taken(&j, 0, ONE), second = taken(&j, 0, ONE), file = backed(&j);
    memset(j.segment.base + first, 7, 2 * ONE);
    for (int i = 0; i < 10; i++) {
        assert_true(tt_arena_put(&j.arena[0], first));
        assert_true(tt_arena_put(&j.arena[0], second));
        assert_false(tt_arena_put(&j.arena[0], first));
        assert_int_equal(backed(&j), file);
        second = taken(&j, 0, HALF);
        first = taken(&j, 0, ONE + HALF);
        assert_int_equal(backed(&j), file);
        assert_int_equal(j.segment.base[first], 7);
    }
    assert_true(tt_arena_put(&j.arena[0], first));
    assert_int_equal(tt_arena_alloc(&j.arena[0], ONE, &offset), TUTTI_OK);
    assert_int_equal(backed(&j), file + ONE);
    for (int i = 0; i < ONE; i += 4096) assert_int_equal(j.segment.base[offset + i], 0);
    assert_true(tt_arena_free(&j.arena[0], offset));
    assert_true(tt_arena_free(&j.arena[0], second));
    assert_int_equal(backed(&j), file - HALF);
    close_job(&j);
}

/* Checks that the memory that a rank keeps of the pieces that it puts back stays below the limit
 * (tt_arena_keeps), whatever their sizes and their order. An allocation gets the kept memory if
 * there is no other memory. */
static void test_keeps_little(void **state)
{
    enum { PIECES = 40 };
    struct arena_job j;
    int64_t at[PIECES], file, most;
    (void)state;
    open_job(&j, false);
    file = backed(&j);
    most = tt_arena_keeps(&j.arena[0]);
    for (int64_t bytes = 4096; bytes <= 2 * most; bytes *= 2) {
        for (int i = 0; i < PIECES; i++) at[i] = taken(&j, 1, bytes);
        for (int i = 0; i < PIECES; i++) assert_true(tt_arena_put(&j.arena[1], at[i * 7 % PIECES]));
        assert_true(backed(&j) - file <= most);
    }
    assert_int_equal(backed(&j), file);
    close_job(&j);
    open_job(&j, true);
    at[0] = taken(&j, 0, most);
    at[1] = j.segment.bytes - tt_segment_end(&j.segment);
    assert_int_equal(tt_arena_alloc(&j.arena[0], at[1], &at[2]), TUTTI_OK);
    assert_int_equal(tt_arena_alloc(&j.arena[0], most, &at[2]), TUTTI_ERR_LIMIT);
    assert_true(tt_arena_put(&j.arena[0], at[0]));
    assert_int_equal(tt_arena_alloc(&j.arena[0], most, &at[2]), TUTTI_OK);
    assert_int_equal(at[2], at[0]);
    close_job(&j);
}

/* Backs `bytes` bytes of the segment at `offset` with pages, and writes them. Returns by how many
 * bytes the memory of the file grows. */
static int64_t grown(struct arena_job *j, int64_t offset, int64_t bytes)
{
    int64_t before = backed(j);
    assert_int_equal(tt_arena_back(&j->arena[0], offset, bytes), TUTTI_OK);
    memset(j->segment.base + offset, 7, (size_t)bytes);
    return backed(j) - before;
}

/* Checks that a reserved piece takes no memory until its pages are backed, and that each page is
 * backed once. A rank that puts the piece back keeps only the backed pages, and gets them again
 * when it reserves a piece. An allocation gets all of its pages backed. */
static void test_reserved(void **state)
{
    enum { KIB = 1024, ALL = 1024 * KIB };
    struct arena_job j;
    int64_t first, second;
    (void)state;
    open_job(&j, false);
    int64_t file = backed(&j);
    assert_int_equal(tt_arena_reserve(&j.arena[0], ALL, &first), TUTTI_OK);
    assert_int_equal(backed(&j), file);
    assert_int_equal(grown(&j, first + 256 * KIB, 16 * KIB), 16 * KIB);
    assert_int_equal(grown(&j, first + 260 * KIB, 8 * KIB), 0);
    assert_int_equal(grown(&j, first + 252 * KIB, 64 * KIB), 48 * KIB);
    assert_int_equal(grown(&j, first, 4 * KIB), 4 * KIB);
    assert_int_equal(backed(&j), file + 68 * KIB);
    assert_true(tt_arena_put(&j.arena[0], first));
    assert_int_equal(backed(&j), file + 68 * KIB);
    assert_int_equal(tt_arena_reserve(&j.arena[0], ALL, &second), TUTTI_OK);
    assert_int_equal(second, first);
    assert_int_equal(grown(&j, first, 8 * KIB), 4 * KIB);
    assert_true(tt_arena_put(&j.arena[0], first));
    assert_int_equal(taken(&j, 0, 512 * KIB), first);
    assert_int_equal(backed(&j), file + 512 * KIB);
    assert_true(tt_arena_free(&j.arena[0], first));
    assert_int_equal(backed(&j), file);
    assert_int_equal(tt_arena_alloc(&j.arena[0], 2 * ALL, &first), TUTTI_OK);
    assert_int_equal(backed(&j), file + 2 * ALL);
    for (int i = 0; i < 2 * ALL; i += 4096) assert_int_equal(j.segment.base[first + i], 0);
    close_job(&j);
}

/* Checks that, if reserved pages cannot be backed, the caller gets an error, and the pages that
 * were backed stay. */
static void test_reserved_limit(void **state)
{
    struct arena_job j;
    int64_t offset;
    int how;
    (void)state;
    open_job(&j, false);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {4 * MIB, 4 * MIB};
        setrlimit(RLIMIT_FSIZE, &limit);
        bool fits = tt_arena_reserve(&j.arena[0], 16 * MIB, &offset) == TUTTI_OK &&
                    tt_arena_back(&j.arena[0], offset, 4096) == TUTTI_OK;
        bool refused = tt_arena_back(&j.arena[0], offset + 8 * MIB, 4096) == TUTTI_ERR_MEMORY &&
                       strstr(tutti_error(), "File too large");
        j.segment.base[offset] = 1;
        bool frees = tt_arena_free(&j.arena[0], offset) && backed(&j) < MIB;
        _exit(fits && refused && frees ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    close_job(&j);
}

struct arena_taker {
    struct arena_job *job;
    int rank;
    int64_t at[64];
};

static void *take(void *arg)
{
    struct arena_taker *t = arg;
    for (int i = 0; i < 64; i++) {
        if (tt_arena_alloc(&t->job->arena[t->rank], (1 + i) << 15, &t->at[i]) != TUTTI_OK) abort();
        memset(t->job->segment.base + t->at[i], 1 + t->rank, (size_t)(1 + i) << 15);
    }
    return NULL;
}

/* Checks that ranks that allocate at the same time never get the same bytes. */
static void test_at_once(void **state)
{
    struct arena_job j;
    pthread_t thread[RANKS];
    struct arena_taker taker[RANKS];
    (void)state;
    open_job(&j, true);
    for (int r = 0; r < RANKS; r++) {
        taker[r] = (struct arena_taker){.job = &j, .rank = r};
        assert_int_equal(pthread_create(&thread[r], NULL, take, &taker[r]), 0);
    }
    for (int r = 0; r < RANKS; r++) pthread_join(thread[r], NULL);
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < 64; i++)
            for (int at = 0; at < (1 + i) << 15; at += 4096)
                assert_int_equal(j.segment.base[taker[r].at[i] + at], 1 + r);
    close_job(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_file_limit),
        cmocka_unit_test(test_growing),
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_keeps_little),
        cmocka_unit_test(test_reserved),
        cmocka_unit_test(test_reserved_limit),
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_foreign_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
