/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types and operations of MPI: which types and operations of Tutti they correspond to, and how
 * elements become bytes.
 *
 * Data that are only moved are bytes for Tutti. Elements of a predefined type without gaps are
 * moved where they lie, and so are elements of a type that consists of several of these in a row.
 * The host (the program's MPI) packs all other elements, since the layout of a type may differ from
 * rank to rank. A reduction uses Tutti's type and operation where both are predefined. The host
 * calls operations of the program (PMPI_Reduce_local), on elements that are opaque for Tutti.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/type.h"

/* ---- Predefined types ---- */

/* Groups of types, as bits: the operations that MPI defines for a type depend on its groups. */
enum {
    NUMBER = 1, /* integers: arithmetic operations are defined for these */
    LOGIC = 2,  /* logical operations are defined for these */
    REAL = 4,   /* floating point */
    COMPLEX = 8,
    BITS = 16, /* bitwise operations are defined for these */
    PAIR = 32, /* pairs of a value and an index: MAXLOC and MINLOC are defined for these */
    C_INTEGER = NUMBER | LOGIC | BITS,
    INTEGER = NUMBER | BITS
};

/* clang-format off */
/* The predefined types: F(NAME, its groups, Tutti's type). The groups are those of MPI 3.1, table
 * 3.2 and section 5.9.2. Tutti reduces a type only if its size in the host is the size of Tutti's
 * type. */
#define TYPES(F) \
    F(CHAR, 0, I8) F(CHARACTER, 0, U8) F(WCHAR, 0, I32) F(PACKED, 0, U8) F(BYTE, BITS, U8) \
    F(SIGNED_CHAR, C_INTEGER, SIGNED_CHAR) F(UNSIGNED_CHAR, C_INTEGER, UNSIGNED_CHAR) \
    F(SHORT, C_INTEGER, SHORT) F(UNSIGNED_SHORT, C_INTEGER, UNSIGNED_SHORT) \
    F(INT, C_INTEGER, INT) F(UNSIGNED, C_INTEGER, UNSIGNED) F(LONG, C_INTEGER, LONG) \
    F(UNSIGNED_LONG, C_INTEGER, UNSIGNED_LONG) F(LONG_LONG_INT, C_INTEGER, LONG_LONG) \
    F(UNSIGNED_LONG_LONG, C_INTEGER, UNSIGNED_LONG_LONG) F(INT8_T, C_INTEGER, I8) \
    F(INT16_T, C_INTEGER, I16) F(INT32_T, C_INTEGER, I32) F(INT64_T, C_INTEGER, I64) \
    F(UINT8_T, C_INTEGER, U8) F(UINT16_T, C_INTEGER, U16) F(UINT32_T, C_INTEGER, U32) \
    F(UINT64_T, C_INTEGER, U64) F(FLOAT, REAL, F32) F(DOUBLE, REAL, F64) \
    F(LONG_DOUBLE, REAL, LONG_DOUBLE) F(C_BOOL, LOGIC, BOOL) F(CXX_BOOL, LOGIC, BOOL) \
    F(C_FLOAT_COMPLEX, COMPLEX, C64) F(C_DOUBLE_COMPLEX, COMPLEX, C128) \
    F(C_LONG_DOUBLE_COMPLEX, COMPLEX, LONG_DOUBLE_COMPLEX) F(CXX_FLOAT_COMPLEX, COMPLEX, C64) \
    F(CXX_DOUBLE_COMPLEX, COMPLEX, C128) \
    F(CXX_LONG_DOUBLE_COMPLEX, COMPLEX, LONG_DOUBLE_COMPLEX) F(AINT, INTEGER, I64) \
    F(OFFSET, INTEGER, I64) F(COUNT, INTEGER, I64) F(INTEGER, INTEGER, INTEGER) \
    F(LOGICAL, LOGIC, LOGICAL) F(REAL, REAL, REAL) F(DOUBLE_PRECISION, REAL, F64) \
    F(COMPLEX, COMPLEX, COMPLEX) F(DOUBLE_COMPLEX, COMPLEX, C128) F(FLOAT_INT, PAIR, FLOAT_INT) \
    F(DOUBLE_INT, PAIR, DOUBLE_INT) F(LONG_INT, PAIR, LONG_INT) F(SHORT_INT, PAIR, SHORT_INT) \
    F(2INT, PAIR, 2INT) F(LONG_DOUBLE_INT, PAIR, LONG_DOUBLE_INT) F(2INTEGER, PAIR, 2INTEGER) \
    F(2REAL, PAIR, 2REAL) F(2DOUBLE_PRECISION, PAIR, 2DOUBLE_PRECISION)
/* Types that a host need not have, whose names contain their number of bytes (for complex types, of
 * both parts). */
#define SIZED(F) \
    F(INTEGER1, INTEGER, I8) F(INTEGER2, INTEGER, I16) F(INTEGER4, INTEGER, I32) \
    F(INTEGER8, INTEGER, I64) F(REAL4, REAL, F32) F(REAL8, REAL, F64) F(COMPLEX8, COMPLEX, C64) \
    F(COMPLEX16, COMPLEX, C128)

/* The predefined operations: F(NAME, the groups of types for which it is defined). */
#define OPERATIONS(F) \
    F(MAX, NUMBER | REAL) F(MIN, NUMBER | REAL) F(SUM, NUMBER | REAL | COMPLEX) \
    F(PROD, NUMBER | REAL | COMPLEX) F(LAND, LOGIC) F(LOR, LOGIC) F(LXOR, LOGIC) F(BAND, BITS) \
    F(BOR, BITS) F(BXOR, BITS) F(MAXLOC, PAIR) F(MINLOC, PAIR)

/* The sizes of Tutti's basic types, in bytes. */
static const unsigned char sizes[TUTTI_TYPES] = {
#define SIZE(NAME, TEXT, BYTES) [TUTTI_##NAME] = (BYTES),
    TUTTI_TYPE_LIST(SIZE)
};
/* clang-format on */

enum { MOST_TYPES = 96, MOST_OPERATIONS = 16 };

static struct {
    struct tt_mpi_layout type[MOST_TYPES];
    int types;
    struct {
        tutti_op op;
        unsigned groups;
    } op[MOST_OPERATIONS];
    int ops;
    struct tt_mpi_map of_type, of_op;
    tutti_op commuting, ordered; /* operations of Tutti that call one of the program: for those
                                  * that commute, and for the others */
} known;

/* Adds a type to the table of known types. A type that has another size in the host than in Tutti
 * gets no group, so it is moved, but not reduced. False: there is no memory. */
static bool add_type(MPI_Datatype type, unsigned group, tutti_type reduced)
{
    MPI_Count size = 0, lower = 0, extent = 0;
    if (!type || type == tt_handle.no_type || known.types == MOST_TYPES) return true;
    if (tt_mpi_map_find(&known.of_type, TT_MPI_KEY(type))) return true;
    tt_host.Type_size_x(type, &size);
    tt_host.Type_get_extent_x(type, &lower, &extent);
    if (size <= 0 || lower != 0) return true;
    struct tt_mpi_layout *t = &known.type[known.types];
    *t = (struct tt_mpi_layout){.type = type, .size = size, .extent = extent, .relative = true};
    t->bytes = size == extent;
    t->group = extent == sizes[reduced] ? group : 0;
    t->reduced = reduced;
    return tt_mpi_map_set(&known.of_type, TT_MPI_KEY(type), known.types++);
}

static bool add_operation(MPI_Op host_op, tutti_op op, unsigned groups)
{
    known.op[known.ops].op = op;
    known.op[known.ops].groups = groups;
    return tt_mpi_map_set(&known.of_op, TT_MPI_KEY(host_op), known.ops++);
}

static tutti_op_fn reduce_by_host;

bool tt_mpi_read_types(void)
{
    bool ok = true;
#define ADD_TYPE(NAME, GROUP, TYPE) ok = ok && add_type(MPI_##NAME, GROUP, TUTTI_##TYPE);
    TYPES(ADD_TYPE)
    SIZED(ADD_TYPE)
#define ADD_OPERATION(NAME, GROUPS) ok = ok && add_operation(MPI_##NAME, TUTTI_##NAME, GROUPS);
    OPERATIONS(ADD_OPERATION)
    return ok && tt_mpi_tutti.op_create(reduce_by_host, 1, NULL, &known.commuting) == TUTTI_OK &&
           tt_mpi_tutti.op_create(reduce_by_host, 0, NULL, &known.ordered) == TUTTI_OK;
}

/* ---- Layout ---- */

/* How a type was made, as MPI_Type_get_envelope says. MPICH refuses this function for a type that
 * was made with a count of type MPI_Count, and then calls the error handler of MPI_COMM_WORLD. The
 * functions that MPI 4 added accept all types. */
struct making {
#if MPI_VERSION >= 4
    MPI_Count integers, addresses, counts, types;
#else
    int integers, addresses, types;
#endif
    int combiner;
};

static bool find_making(MPI_Datatype type, struct making *m)
{
#if MPI_VERSION >= 4
    return tt_host.Type_get_envelope_c(type, &m->integers, &m->addresses, &m->counts, &m->types,
                                       &m->combiner) == MPI_SUCCESS;
#else
    return tt_host.Type_get_envelope(type, &m->integers, &m->addresses, &m->types, &m->combiner) ==
           MPI_SUCCESS;
#endif
}

bool tt_mpi_is_predefined(MPI_Datatype type)
{
    struct making m;
    return find_making(type, &m) && m.combiner == MPI_COMBINER_NAMED;
}

/* If `type` was made by MPI_Type_contiguous or MPI_Type_dup, sets *inner to the type from which it
 * was made, and returns true. Otherwise returns false. It does not matter whether the count was an
 * int or an MPI_Count. */
static bool find_inner(MPI_Datatype type, MPI_Datatype *inner)
{
    struct making m;
    int integer;
    MPI_Aint address;
    if (!find_making(type, &m) ||
        (m.combiner != MPI_COMBINER_CONTIGUOUS && m.combiner != MPI_COMBINER_DUP))
        return false;
#if MPI_VERSION >= 4
    MPI_Count count;
    return tt_host.Type_get_contents_c(type, m.integers, m.addresses, m.counts, m.types, &integer,
                                       &address, &count, inner) == MPI_SUCCESS;
#else
    return tt_host.Type_get_contents(type, m.integers, m.addresses, m.types, &integer, &address,
                                     inner) == MPI_SUCCESS;
#endif
}

/* Returns whether the handle of a type, which MPI_Type_get_contents returned, has to be freed. */
static bool is_freed(MPI_Datatype type)
{
    struct making m;
    return !tt_mpi_map_find(&known.of_type, TT_MPI_KEY(type)) && find_making(type, &m) &&
           m.combiner != MPI_COMBINER_NAMED && m.combiner != MPI_COMBINER_F90_REAL &&
           m.combiner != MPI_COMBINER_F90_COMPLEX && m.combiner != MPI_COMBINER_F90_INTEGER;
}

/* Returns whether a type consists of elements of a predefined type, one after the other and without
 * gaps: made by MPI_Type_contiguous or MPI_Type_dup, perhaps from another such type. */
static bool is_row(MPI_Datatype type)
{
    const int64_t *at = tt_mpi_map_find(&known.of_type, TT_MPI_KEY(type));
    MPI_Datatype inner;
    if (at) return known.type[*at].bytes;
    if (!find_inner(type, &inner)) return false;
    bool row = is_row(inner);
    if (is_freed(inner)) tt_host.Type_free(&inner);
    return row;
}

/* Returns whether the program has committed a derived type. If not, the host refuses the call, also
 * on the ranks that could do the call without packing. No function of MPI says whether a type is
 * committed, but both hosts refuse to pack even zero elements of a type that is not. */
static bool is_committed(MPI_Datatype type)
{
    char none[1] = {0};
    int at = 0;
    return tt_handle.own == tt_handle.no_comm ||
           tt_host.Pack(none, 0, type, none, sizeof none, &at, tt_handle.own) == MPI_SUCCESS;
}

/* Returns the layout of a type: from the table, or else `own`, which is filled in. NULL: the handle
 * is not one of a type. */
static const struct tt_mpi_layout *find_layout(MPI_Datatype type, struct tt_mpi_layout *own)
{
    const int64_t *at = tt_mpi_map_find(&known.of_type, TT_MPI_KEY(type));
    MPI_Count size = 0, lower = 0, extent = 0;
    if (at) return &known.type[*at];
    if (!type || type == tt_handle.no_type) return NULL;
    int depth = tt_mpi_surface();
    bool is_type = tt_host.Type_size_x(type, &size) == MPI_SUCCESS &&
                   tt_host.Type_get_extent_x(type, &lower, &extent) == MPI_SUCCESS;
    tt_depth = depth;
    if (!is_type) return NULL;
    *own = (struct tt_mpi_layout){.type = type, .size = size, .extent = extent};
    own->bytes = own->relative = size == extent && is_row(type);
    return size >= 0 ? own : NULL;
}

int64_t tt_mpi_predefined_size(uint64_t key)
{
    const int64_t *at = tt_mpi_map_find(&known.of_type, key);
    return at ? known.type[*at].size : 0;
}

bool tt_mpi_layout_of(MPI_Datatype type, struct tt_mpi_layout *layout)
{
    const struct tt_mpi_layout *found = find_layout(type, layout);
    if (found && found == layout && !is_committed(type)) return false;
    if (found && found != layout) *layout = *found;
    return found;
}

bool tt_mpi_side_of(struct tt_mpi_call *call, struct tt_mpi_side *side, const void *buffer,
                    int64_t count, MPI_Datatype type)
{
    struct tt_mpi_layout own;
    const struct tt_mpi_layout *layout = find_layout(type, &own);
    if (layout == &own && !is_committed(type)) layout = NULL;
    if (layout) return tt_mpi_side_with(call, side, buffer, count, layout);
    call->choice = TT_MPI_LEFT_WRONG;
    return false;
}

/* ---- Packing ---- */

/* Returns how many of `count` elements to pack in one call of the host, whose functions pack at
 * most 2^31 - 1 bytes. */
static int64_t part_of(const struct tt_mpi_layout *layout, int64_t count)
{
    const int64_t most = INT64_C(1) << 30;
    int64_t part = layout->size > 0 ? most / layout->size : most;
    if (part < 1) part = 1;
    return count < part ? count : part;
}

/* Makes a type of `size` bytes, which may be more than 2^31 - 1. Returns the host's code. */
static int make_bytes(int64_t size, MPI_Datatype *type)
{
    const int64_t unit = INT64_C(1) << 30;
    int counts[2] = {(int)(size / unit), (int)(size % unit)};
    MPI_Aint at[2] = {0, (MPI_Aint)(size - size % unit)};
    MPI_Datatype types[2] = {tt_handle.no_type, tt_handle.byte};
    int code = tt_host.Type_contiguous((int)unit, tt_handle.byte, &types[0]);
    if (code != MPI_SUCCESS) return code;
    code = tt_host.Type_create_struct(2, counts, at, types, type);
    if (code == MPI_SUCCESS) code = tt_host.Type_commit(type);
    tt_host.Type_free(&types[0]);
    return code;
}

/* Packs or unpacks elements that the host's functions MPI_Pack and MPI_Unpack cannot: an element of
 * more bytes than they can count, and elements at MPI_BOTTOM, which MPICH refuses there. A gather
 * on MPI_COMM_SELF, whose pieces are these elements and the same number of bytes, makes the host
 * copy them. With a single rank, both hosts do a gather without messages and without a state that
 * other calls share, so other threads may be in collectives of MPI_COMM_SELF meanwhile. Returns the
 * host's code. */
static int convert_by_gather(const struct tt_mpi_layout *layout, char *elements, int n, char *bytes,
                             bool packs)
{
    MPI_Datatype type;
    int code = make_bytes(n * layout->size, &type);
    if (code != MPI_SUCCESS) return code;
    code = packs ? tt_host.Gather(elements, n, layout->type, bytes, 1, type, 0, tt_handle.self)
                 : tt_host.Gather(bytes, 1, type, elements, n, layout->type, 0, tt_handle.self);
    tt_host.Type_free(&type);
    return code;
}

/* Packs elements into bytes without gaps (`packs`), or unpacks bytes into elements. False:
 * call->code is the error. */
static bool convert(struct tt_mpi_call *call, const struct tt_mpi_layout *layout, char *elements,
                    int64_t count, char *bytes, bool packs)
{
    while (count > 0 && layout->size > 0) {
        int n = (int)part_of(layout, count), position = 0;
        int64_t part = n * layout->size;
        if (part > INT32_MAX || !elements)
            call->code = convert_by_gather(layout, elements, n, bytes, packs);
        else if (packs)
            call->code =
                tt_host.Pack(elements, n, layout->type, bytes, (int)part, &position, call->comm);
        else
            call->code =
                tt_host.Unpack(bytes, (int)part, &position, elements, n, layout->type, call->comm);
        if (call->code != MPI_SUCCESS) return false;
        elements += n * layout->extent;
        bytes += part;
        count -= n;
    }
    return true;
}

static bool copy(const struct tt_mpi_layout *layout, const void *from, int64_t count, void *to)
{
    if (count * layout->size > 0) memcpy(to, from, (size_t)(count * layout->size));
    return true;
}

bool tt_mpi_pack(struct tt_mpi_call *call, const struct tt_mpi_layout *layout, const void *from,
                 int64_t count, void *to)
{
    return layout->bytes ? copy(layout, from, count, to)
                         : convert(call, layout, (char *)(uintptr_t)from, count, to, true);
}

bool tt_mpi_unpack(struct tt_mpi_call *call, const struct tt_mpi_layout *layout, const void *from,
                   int64_t count, void *to)
{
    return layout->bytes ? copy(layout, from, count, to)
                         : convert(call, layout, to, count, (char *)(uintptr_t)from, false);
}

/* ---- Reductions ---- */

/* The largest element, in bytes, for which Tutti does a reduction by an operation of the program.
 */
enum { MOST_BYTES = 65536 };

/* Sets *commutes to whether an operation of the program commutes. False: the handle is not one of
 * an operation. MPICH's MPI_Op_commutative accepts such handles, but both hosts refuse to reduce
 * even zero elements by them. */
static bool find_commutes(MPI_Op op, MPI_Datatype type, int *commutes)
{
    char none[2] = {0};
    int depth = tt_mpi_surface();
    bool is_operation = tt_host.Reduce_local(none, none + 1, 0, type, op) == MPI_SUCCESS &&
                        tt_host.Op_commutative(op, commutes) == MPI_SUCCESS;
    tt_depth = depth;
    return is_operation;
}

bool tt_mpi_reduction_of(struct tt_mpi_call *call, struct tt_mpi_reduction *r, MPI_Datatype type,
                         MPI_Op op)
{
    *r = (struct tt_mpi_reduction){.host_op = op};
    const int64_t *at = tt_mpi_map_find(&known.of_op, TT_MPI_KEY(op));
    call->choice = TT_MPI_LEFT_WRONG;
    if (!tt_mpi_layout_of(type, &r->layout) || op == tt_handle.no_op) return false;
    call->choice = TT_MPI_LEFT_OPERATION;
    r->user = !at && !tt_mpi_map_find(&tt_handle.operation, TT_MPI_KEY(op));
    if (!r->user) {
        if (!at || !(known.op[*at].groups & r->layout.group)) return false;
        r->op = known.op[*at].op;
        r->type = r->layout.reduced;
    } else {
        if (r->layout.size < 1 || r->layout.size > MOST_BYTES) return false;
        call->choice = TT_MPI_LEFT_WRONG;
        if (!find_commutes(op, type, &r->commutes)) return false;
        r->packed = !r->layout.bytes;
    }
    call->choice = TT_MPI_TAKEN;
    return true;
}

/* The number of sizes for which the types of opaque_type are kept. */
enum { MOST_KEPT = 1024 };

/* Sets *type to a type of Tutti whose elements have this number of bytes and no other meaning. Most
 * programs use few sizes, so the types of the first sizes are kept for later calls. Types of
 * further sizes are made for one call each, because Tutti has a limited number of types: *own says
 * that the caller frees the type. */
static tutti_status opaque_type(int64_t bytes, tutti_type *type, bool *own)
{
    static struct tt_mpi_map of_size;
    static int kept;
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    switch (bytes) {
    case 1: *type = TUTTI_U8; return TUTTI_OK;
    case 2: *type = TUTTI_U16; return TUTTI_OK;
    case 4: *type = TUTTI_U32; return TUTTI_OK;
    case 8: *type = TUTTI_U64; return TUTTI_OK;
    case 16: *type = TUTTI_U128; return TUTTI_OK;
    default: break;
    }
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
    }
    tutti_status status = TUTTI_OK;
    const int64_t *at = tt_mpi_map_find(&of_size, (uint64_t)bytes);
    if (at) {
        *type = (tutti_type)*at;
    } else {
        const tutti_field field = {.count = bytes, .type = TUTTI_U8};
        status = tt_mpi_tutti.type_struct(1, &field, bytes, type);
        *own = status == TUTTI_OK &&
               (kept == MOST_KEPT || !tt_mpi_map_set(&of_size, (uint64_t)bytes, *type));
        kept += status == TUTTI_OK && !*own;
    }
    atomic_flag_clear_explicit(&busy, memory_order_release);
    return status;
}

bool tt_mpi_reduction_bind(struct tt_mpi_call *call, struct tt_mpi_reduction *r)
{
    if (!r->user) return true;
    call->status = opaque_type(r->layout.size, &r->type, &r->own_type);
    if (call->status != TUTTI_OK) return false;
    call->status = tt_mpi_tutti.op_bind(r->commutes ? known.commuting : known.ordered, r, &r->op);
    if (call->status != TUTTI_OK && r->own_type) tt_mpi_tutti.type_free(r->type);
    return call->status == TUTTI_OK;
}

void tt_mpi_reduction_release(struct tt_mpi_reduction *r)
{
    if (r->user) tt_mpi_tutti.op_free(r->op);
    if (r->own_type) tt_mpi_tutti.type_free(r->type);
}

/* Computes out = left op right for n elements without gaps, by the host, which stores the result in
 * its second operand. The program's function gets the operands where they lie. They are aligned as
 * in the host's memory (tutti_op_fn), so the function may load them as any C type. */
static void reduce_bytes(const struct tt_mpi_reduction *r, const void *left, const void *right,
                         void *out, int n)
{
    size_t bytes = (size_t)n * (size_t)r->layout.size;
    void *kept = NULL;
    if (out == left && out != right) { /* `left` would be overwritten before it is read */
        kept = malloc(bytes);
        if (!kept) abort();
        memcpy(kept, left, bytes);
        left = kept;
    }
    if (out != right) memcpy(out, right, bytes);
    tt_host.Reduce_local(left, out, n, r->layout.type, r->host_op);
    free(kept);
}

/* Computes out = left op right for n elements with gaps: unpacks them into memory with the layout
 * of their type, and packs the result. All of `left` and `right` is read before `out` is written.
 */
static bool reduce_some(const struct tt_mpi_reduction *r, const char *left, const char *right,
                        char *out, int n)
{
    struct tt_mpi_call call = {.comm = tt_handle.world};
    MPI_Count lower = 0, span = 0;
    tt_host.Type_get_true_extent_x(r->layout.type, &lower, &span);
    int64_t reach = r->layout.extent * (n - 1); /* bytes from the first element to the last */
    int64_t first = lower + (reach < 0 ? reach : 0), bytes = span + (reach < 0 ? -reach : reach);
    /* `shift` is a multiple of 16, so that values are aligned as in the program's buffers. */
    int64_t shift = ((first < 0 ? -first : 0) + 15) & ~INT64_C(15);
    int64_t end = (shift + (first > 0 ? first : 0) + bytes + 31) & ~INT64_C(15);
    char *memory = malloc(2 * (size_t)end);
    if (!memory) return false;
    char *a = memory + shift, *b = memory + end + shift;
    bool ok = tt_mpi_unpack(&call, &r->layout, left, n, a) &&
              tt_mpi_unpack(&call, &r->layout, right, n, b) &&
              tt_host.Reduce_local(a, b, n, r->layout.type, r->host_op) == MPI_SUCCESS &&
              tt_mpi_pack(&call, &r->layout, b, n, out);
    free(memory);
    return ok;
}

static void reduce_packed(const struct tt_mpi_reduction *r, const char *left, const char *right,
                          char *out, int n)
{
    int64_t step = r->layout.extent < 0 ? -r->layout.extent : r->layout.extent;
    int64_t part = step > 0 ? (1 << 20) / step + 1 : n, bytes = r->layout.size;
    for (int64_t i = 0; i < n; i += part) {
        int64_t some = n - i < part ? n - i : part;
        if (reduce_some(r, left + i * bytes, right + i * bytes, out + i * bytes, (int)some))
            continue;
        tt_mpi_say("cannot call an operation of the program: no memory");
        abort();
    }
}

static void reduce_by_host(const void *left, const void *right, void *out, size_t n,
                           tutti_type type, void *arg)
{
    const struct tt_mpi_reduction *r = arg;
    (void)type;
    tt_depth += TT_MPI_IN_OPERATION;
    if (r->packed)
        reduce_packed(r, left, right, out, (int)n);
    else
        reduce_bytes(r, left, right, out, (int)n);
    tt_depth -= TT_MPI_IN_OPERATION;
}
