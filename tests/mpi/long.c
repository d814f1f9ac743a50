/* SPDX-License-Identifier: BSD-3-Clause
 *
 * long [nonblocking]: moves one element of a derived type that has more than 2^31 - 1 bytes, by a
 * blocking or nonblocking bcast, so that it is packed at the root and unpacked at the other ranks.
 * To touch new memory takes long, so memory of more than a GiB, also that of the libraries, is
 * folded: it is one piece of PERIOD bytes that is mapped again and again.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define UNIT ((size_t)1 << 30)
enum { PERIOD = 1 << 20, REST = 4103, FOLDED = 8 };

/* ---- Folded memory ---- */

extern void *__libc_malloc(size_t bytes);
extern void __libc_free(void *memory);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char *at; /* the folded memory; NULL: the entry is unused */
    size_t bytes;
} folded[FOLDED];

static void *fold(size_t bytes)
{
    int fd = memfd_create("period", MFD_CLOEXEC), i = 0;
    bytes = (bytes + PERIOD - 1) / PERIOD * PERIOD;
    char *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fd < 0 || at == MAP_FAILED || ftruncate(fd, PERIOD) != 0) abort();
    for (size_t k = 0; k < bytes; k += PERIOD)
        if (mmap(at + k, PERIOD, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
            MAP_FAILED)
            abort();
    close(fd);
    pthread_mutex_lock(&lock);
    while (i < FOLDED && folded[i].at) i++;
    if (i == FOLDED) abort();
    folded[i].at = at;
    folded[i].bytes = bytes;
    pthread_mutex_unlock(&lock);
    return at;
}

/* Replaces malloc, also for the libraries, because the program exports it. */
void *malloc(size_t bytes)
{
    return bytes > UNIT ? fold(bytes) : __libc_malloc(bytes);
}

/* Replaces free. Folded memory begins at a page, so most pointers need no look at the list. */
void free(void *memory)
{
    size_t bytes = 0;
    if ((size_t)memory % 4096 == 0) {
        pthread_mutex_lock(&lock);
        for (int i = 0; i < FOLDED; i++) {
            if (!memory || folded[i].at != memory) continue;
            bytes = folded[i].bytes;
            folded[i].at = NULL;
        }
        pthread_mutex_unlock(&lock);
    }
    if (bytes > 0)
        munmap(memory, bytes);
    else
        __libc_free(memory);
}

/* ---- The test ---- */

/* Makes a type of more than 2^31 - 1 bytes as programs do: from two blocks of UNIT bytes and the
 * REST bytes after them. */
static MPI_Datatype long_type(void)
{
    int counts[2] = {1, 1};
    MPI_Aint at[2] = {0, 2 * (MPI_Aint)UNIT};
    MPI_Datatype types[2], type;
    MPI_Type_vector(2, UNIT, UNIT, MPI_BYTE, &types[0]);
    MPI_Type_contiguous(REST, MPI_BYTE, &types[1]);
    MPI_Type_create_struct(2, counts, at, types, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&types[0]);
    MPI_Type_free(&types[1]);
    return type;
}

int main(int argc, char **argv)
{
    int me, wrong = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Datatype type = long_type();
    char *data = malloc(2 * UNIT + REST);
    for (int i = 0; i < PERIOD; i++) data[i] = (char)(me == 0 ? i % 251 : -1);
    if (argc == 1)
        MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD);
    else
        MPI_Ibcast(data, 1, type, 0, MPI_COMM_WORLD, &request);
    if (argc > 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < PERIOD; i++) wrong += data[i] != (char)(i % 251);
    free(data);
    MPI_Type_free(&type);
    printf("wrong %d\n", wrong);
    MPI_Finalize();
    return 0;
}
