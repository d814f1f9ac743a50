/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls a fuzzed parser with the contents of each file named, in builds without libFuzzer.
 */
#include "fuzz.h"

static uint8_t *read_all(const char *name, size_t *size)
{
    FILE *file = fopen(name, "rb");
    uint8_t *data = NULL;
    size_t room = 0;
    *size = 0;
    if (!file) return NULL;
    do {
        room = 2 * room + 4096;
        data = realloc(data, room);
        if (!data) abort();
        *size += fread(data + *size, 1, room - *size, file);
    } while (*size == room);
    fclose(file);
    return data;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        size_t size;
        uint8_t *data = read_all(argv[i], &size);
        if (!data) {
            fprintf(stderr, "cannot read %s\n", argv[i]);
            return 1;
        }
        LLVMFuzzerTestOneInput(data, size);
        free(data);
    }
    printf("%d inputs\n", argc - 1);
    return argc > 1 ? 0 : 1;
}
