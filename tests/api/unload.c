/* SPDX-License-Identifier: BSD-3-Clause
 *
 * unload LIBRARY: loads libtutti.so, makes a client and unloads the library; then loads it again,
 * uses and finalizes the client, and unloads it. This is what a program does with a plug-in that
 * needs libtutti.so. Three rounds.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <tutti/tutti.h>

enum { ROUNDS = 3 };

static const char *name;

static void *load(void)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library) return library;
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
}

static void *find(void *library, const char *function)
{
    void *found = dlsym(library, function);
    if (found) return found;
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
}

static void must(void *library, tutti_status status, const char *what)
{
    __typeof__(tutti_error) *error;
    if (status == TUTTI_OK) return;
    *(void **)&error = find(library, "tutti_error");
    fprintf(stderr, "%s: %s\n", what, error());
    exit(1);
}

static tutti_client *make(void)
{
    __typeof__(tutti_init) *init;
    tutti_client *client;
    void *library = load();
    *(void **)&init = find(library, "tutti_init");
    must(library, init(&client), "init");
    (void)dlclose(library);
    return client;
}

static void use(tutti_client *client)
{
    __typeof__(tutti_world) *world;
    __typeof__(tutti_barrier) *barrier;
    __typeof__(tutti_finalize) *finalize;
    void *library = load();
    *(void **)&world = find(library, "tutti_world");
    *(void **)&barrier = find(library, "tutti_barrier");
    *(void **)&finalize = find(library, "tutti_finalize");
    must(library, barrier(world(client)), "barrier");
    must(library, finalize(client), "finalize");
    (void)dlclose(library);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    name = argv[1];
    for (int i = 0; i < ROUNDS; i++) use(make());
    return 0;
}
