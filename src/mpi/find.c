/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the host: the MPI library whose functions the program would call without Tutti. Nothing
 * here runs before the first call of an exported function, because a preloaded library is also
 * loaded into launchers and shells.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/shim.h"

enum { HOSTS = 4 };

/* An MPI library that is loaded in this process: an object that defines PMPI_Init. */
struct mpi_object {
    void *handle; /* the handle that dlopen returned */
    void *init;   /* the address of its PMPI_Init */
    char path[512];
};

static struct {
    struct mpi_object host[HOSTS];
    int n;
    const struct mpi_object *chosen;
    char copy[512]; /* the path of a copy of this library; "": there is none */
} found;

/* ---- The objects of this process ---- */

static bool contains(const struct dl_phdr_info *info, const void *address)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = (uintptr_t)(info->dlpi_addr + part->p_vaddr);
        if (part->p_type == PT_LOAD && (uintptr_t)address - start < part->p_memsz) return true;
    }
    return false;
}

/* Returns the hash table of an object, which the dynamic linker reads first when it looks for a
 * symbol; NULL: the object has none. The entry in the dynamic section is the table's address with
 * some loaders, and its offset from dlpi_addr with others. So the function tries both, and returns
 * the one that lies in the object. */
static const uint32_t *hash_table_of(const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *entry = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    while (entry && entry->d_tag != DT_NULL && entry->d_tag != DT_GNU_HASH) entry++;
    if (!entry || entry->d_tag == DT_NULL) return NULL;
    const void *address = (const void *)entry->d_un.d_ptr;
    const void *moved = (const void *)(info->dlpi_addr + entry->d_un.d_ptr);
    if (contains(info, address)) return address;
    return contains(info, moved) ? moved : NULL;
}

/* Returns whether an object may define the symbol: false if the Bloom filter of its hash table
 * excludes it, which it does for most objects that do not define the symbol. This takes less than a
 * microsecond. To dlopen and dlclose an object that is loaded takes a tenth of a millisecond,
 * because the dynamic linker goes through all objects, and programs with a hundred libraries are
 * usual. */
static bool may_define(const struct dl_phdr_info *info, const char *symbol)
{
    enum { WORD = 8 * sizeof(ElfW(Addr)) };
    const uint32_t *table = hash_table_of(info);
    if (!table) return true;
    uint32_t hash = 5381, words = table[2], shift = table[3];
    for (const char *at = symbol; *at; at++) hash = hash * 33 + (unsigned char)*at;
    ElfW(Addr) word = ((const ElfW(Addr) *)(table + 4))[hash / WORD % words];
    return word >> hash % WORD & word >> (hash >> shift) % WORD & 1;
}

/* The paths of the objects that may be the host MPI, each ended by a NUL. They are collected first,
 * because dlopen must not be called while dl_iterate_phdr visits the objects. */
struct paths {
    char *text;
    size_t n;
};

static int add_path(struct dl_phdr_info *info, size_t size, void *input)
{
    struct paths *paths = input;
    size_t n = strlen(info->dlpi_name) + 1;
    (void)size;
    /* the program itself: if it contained an MPI, it would call that MPI, and not this library */
    if (n == 1) return 0;
    if (!may_define(info, "PMPI_Init")) return 0;
    char *text = realloc(paths->text, paths->n + n);
    if (!text) return 1;
    memcpy(text + paths->n, info->dlpi_name, n);
    paths->text = text;
    paths->n += n;
    return 0;
}

/* The object in which an address lies. */
struct code_place {
    const void *address;
    const char *path; /* the path of the object; "": it is the program */
    bool in_host;     /* whether this object is the host MPI */
};

static int look_for(struct dl_phdr_info *info, size_t size, void *input)
{
    struct code_place *place = input;
    (void)size;
    if (!contains(info, place->address)) return 0;
    place->path = info->dlpi_name;
    place->in_host = found.chosen && contains(info, found.chosen->init);
    return 1;
}

/* Returns the object in which an address lies. dladdr would also look for the function, among all
 * symbols of the object, which takes a tenth of a millisecond in a large library. */
static struct code_place place_of(const void *address)
{
    struct code_place place = {.address = address, .path = ""};
    dl_iterate_phdr(look_for, &place);
    return place;
}

const char *tt_mpi_own_path(void)
{
    return place_of((void *)tt_mpi_own_path).path;
}

/* Returns the address that an entry of the dynamic section holds; some loaders store an offset. */
static const void *address_of(const struct link_map *map, const ElfW(Dyn) * entry)
{
    uintptr_t at = entry->d_un.d_ptr;
    return (const void *)(at < map->l_addr ? at + map->l_addr : at);
}

/* Returns whether another object is a copy of libtutti_mpi.so, by the name that the linker has
 * given to it. The environment may preload the library of another build as well. The library that
 * comes first takes the calls, and the copies do nothing. */
static bool is_tutti(void *handle)
{
    struct link_map *map;
    const char *texts = NULL;
    size_t name = 0;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return false;
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_STRTAB) texts = address_of(map, entry);
        if (entry->d_tag == DT_SONAME) name = entry->d_un.d_val;
    }
    return name && strcmp(texts + name, "libtutti_mpi.so") == 0;
}

/* Adds the object at `path` to found.host if it defines PMPI_Init itself. dlsym also looks into the
 * objects that an object needs, so it may find one function through several objects. */
static void look_into(const char *path)
{
    void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    void *init = handle ? dlsym(handle, "PMPI_Init") : NULL;
    bool own = init && strcmp(place_of(init).path, path) == 0;
    bool here = own && strcmp(tt_mpi_own_path(), path) == 0;
    bool copy = own && !here && is_tutti(handle);
    if (copy) snprintf(found.copy, sizeof found.copy, "%s", path);
    if (own && !here && !copy && found.n < HOSTS) {
        struct mpi_object *host = &found.host[found.n++];
        host->handle = handle;
        host->init = init;
        snprintf(host->path, sizeof host->path, "%s", path);
    } else if (handle) {
        dlclose(handle);
    }
}

/* Returns the MPI whose functions the dynamic linker finds next after those of this library. If it
 * finds none, because each MPI was loaded by dlopen with its own scope, returns the first
 * MPI in found.host. */
static const struct mpi_object *next_host(void)
{
    void *next = dlsym(RTLD_NEXT, "PMPI_Init");
    for (int i = 0; i < found.n; i++)
        if (found.host[i].init == next) return &found.host[i];
    return &found.host[0];
}

bool tt_mpi_find_host(void)
{
    struct paths paths = {0};
    dl_iterate_phdr(add_path, &paths);
    for (size_t at = 0; at < paths.n; at += strlen(paths.text + at) + 1) look_into(paths.text + at);
    free(paths.text);
    if (found.n == 0) {
        tt_mpi_say("the program calls MPI, but no MPI library is loaded (a program that contains "
                   "MPICH must be linked with libtutti_mpi.a, not with libtutti_mpi.so)");
        abort();
    }
    found.chosen = next_host();
    if (found.n == 1) return true;
    tt_mpi_say("off: two MPI libraries in this process: %s, %s", found.host[0].path,
               found.host[1].path);
    return false;
}

void *tt_mpi_host_symbol(const char *name)
{
    return dlsym(found.chosen->handle, name);
}

void *tt_mpi_tool_symbol(const char *name)
{
    void *next = dlsym(RTLD_NEXT, name);
    if (!next || next == tt_mpi_host_symbol(name)) return NULL;
    const char *path = place_of(next).path;
    if (strcmp(path, found.copy) == 0) return NULL;
    for (int i = 0; i < found.n; i++)
        if (strcmp(path, found.host[i].path) == 0) return NULL;
    return next;
}

/* Returns the address of a variable of the host. If the program refers to a variable of a library
 * directly, the linker puts a copy of the variable into the program, and the library uses this copy
 * too, so the program is searched first. */
void *tt_mpi_host_variable(const char *name)
{
    void *first = dlsym(RTLD_DEFAULT, name);
    return first ? first : tt_mpi_host_symbol(name);
}

/* A word of the global offset table of an object, and whether it is read-only. */
struct table_word {
    uintptr_t address;
    bool sealed;
};

/* The dynamic linker makes the whole pages of an object's part PT_GNU_RELRO read-only. */
static int look_for_seal(struct dl_phdr_info *info, size_t size, void *input)
{
    struct table_word *word = input;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)size;
    if (!contains(info, (const void *)word->address)) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = (uintptr_t)(info->dlpi_addr + part->p_vaddr) & ~(page - 1);
        uintptr_t end = (uintptr_t)(info->dlpi_addr + part->p_vaddr + part->p_memsz) & ~(page - 1);
        if (part->p_type == PT_GNU_RELRO && word->address >= start && word->address < end)
            word->sealed = true;
    }
    return 1;
}

/* The host's code calls a function of another library by the address in a word of the host's global
 * offset table. The list of relocations (JMPREL) says which word that is. */
_Atomic(tt_mpi_function) *tt_mpi_host_import(const char *name, bool *sealed)
{
    struct link_map *map;
    const ElfW(Rela) *entry = NULL;
    const ElfW(Sym) *symbol = NULL;
    const char *texts = NULL;
    size_t n = 0;
    bool adds = false; /* whether the entries have the type Rela */
    if (dlinfo(found.chosen->handle, RTLD_DI_LINKMAP, &map) != 0) return NULL;
    for (const ElfW(Dyn) *at = map->l_ld; at->d_tag != DT_NULL; at++) {
        if (at->d_tag == DT_STRTAB) texts = address_of(map, at);
        if (at->d_tag == DT_SYMTAB) symbol = address_of(map, at);
        if (at->d_tag == DT_JMPREL) entry = address_of(map, at);
        if (at->d_tag == DT_PLTRELSZ) n = at->d_un.d_val / sizeof *entry;
        if (at->d_tag == DT_PLTREL) adds = at->d_un.d_val == DT_RELA;
    }
    if (!texts || !symbol || !entry || !adds) return NULL;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(texts + symbol[ELF64_R_SYM(entry[i].r_info)].st_name, name) != 0) continue;
        struct table_word word = {.address = (uintptr_t)map->l_addr + entry[i].r_offset};
        dl_iterate_phdr(look_for_seal, &word);
        *sealed = word.sealed;
        return (_Atomic(tt_mpi_function) *)word.address;
    }
    return NULL;
}

const char *tt_mpi_host_path(void)
{
    return found.chosen->path;
}

/* ---- Who calls ---- */

/* Returns whether an object is a component of the host, by its name. Components are loaded while
 * the program runs. The host's Fortran layer is no component: its calls are the program's. */
static bool is_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strncmp(slash ? slash + 1 : path, "mca_", 4) == 0;
}

bool tt_mpi_in_host(const void *address)
{
    /* A cache of answers for addresses: each entry is the address times two, plus one if the
     * address is in the host. */
    static _Atomic uintptr_t seen[256];
    uintptr_t key = (uintptr_t)address;
    _Atomic uintptr_t *answer = &seen[(key ^ key >> 8) & 255];
    uintptr_t known = atomic_load_explicit(answer, memory_order_relaxed);
    if (known >> 1 != key) {
        struct code_place caller = place_of(address);
        known = key << 1 | (caller.in_host || is_component(caller.path));
        atomic_store_explicit(answer, known, memory_order_relaxed);
    }
    return known & 1;
}
