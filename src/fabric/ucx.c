/* SPDX-License-Identifier: BSD-3-Clause
 *
 * UCX as a network: this file loads the library, creates the context of UCX, registers memory, and
 * checks the sockets of UCX's workers for peers that no longer answer.
 */
#include "fabric/ucx.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/machine.h"
#include "base/signals.h"

pthread_mutex_t tt_ucx_environment = PTHREAD_MUTEX_INITIALIZER;

/* The TCP_USER_TIMEOUT that this file sets for each socket of UCX, in milliseconds: 24 days. */
enum { NEVER_MS = 0x7fffff00 };

static int64_t peer_timeout_ms(void);

/* ---- Loading ---- */

/* Loads UCX when it is first needed, so a program whose ranks share memory does not need UCX, nor
 * does a build of Tutti for such programs. UCX stays loaded, since it has its own threads and exit
 * handlers. */

#define STILL "; jobs on one machine work without UCX"

struct tt_ucx_api tt_ucx;

static struct {
    pthread_once_t once;
    char why[400]; /* empty: UCX is loaded */
    char version[200];
} load = {.once = PTHREAD_ONCE_INIT};

__attribute__((format(printf, 1, 2))) static bool no(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(load.why, sizeof load.why, format, args);
    va_end(args);
    return false;
}

/* Loads UCX. UCX installs handlers for crash signals when it is loaded, but these signals belong to
 * the program, so this function restores the program's handlers, unless UCX_HANDLE_ERRORS or
 * UCX_ERROR_SIGNALS is set. */
static void *load_quietly(const char *name, const char **why)
{
    static const int crashes[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE};
    enum { CRASHES = sizeof crashes / sizeof *crashes };
    struct sigaction actions[CRASHES];
    bool wanted = getenv("UCX_HANDLE_ERRORS") || getenv("UCX_ERROR_SIGNALS");
    for (int i = 0; i < CRASHES; i++) sigaction(crashes[i], NULL, &actions[i]);
    void *library = tt_library_load(name, RTLD_NOW | RTLD_LOCAL, why);
    for (int i = 0; i < CRASHES && !wanted; i++) sigaction(crashes[i], &actions[i], NULL);
    return library;
}

/* Turns off UCX's log unless UCX_LOG_LEVEL is set. Tutti itself reports that a peer is gone, with
 * its rank, and UCX's log lines would only confuse. */
static void be_silent(void *library)
{
    ucs_status_t (*set)(const char *, const char *);
    *(void **)&set = dlsym(library, "ucs_global_opts_set_value");
    if (set && !getenv("UCX_LOG_LEVEL")) set("LOG_LEVEL", "fatal");
}

static bool version_is_known(void *library, const char *name)
{
    unsigned major, minor, release;
    void (*get)(unsigned *, unsigned *, unsigned *);
    *(void **)&get = dlsym(library, "ucp_get_version");
    if (!get) return no("%s is not UCX's UCP: it has no ucp_get_version" STILL, name);
    get(&major, &minor, &release);
    if (major != TT_UCX_MAJOR || minor < TT_UCX_MINOR)
        return no("%s is UCX %u.%u.%u, and %d.%d or a later one of %d is needed" STILL, name, major,
                  minor, release, TT_UCX_MAJOR, TT_UCX_MINOR, TT_UCX_MAJOR);
    snprintf(load.version, sizeof load.version, "%u.%u.%u (%s)", major, minor, release, name);
    return true;
}

static bool resolve(void *library, const char *name)
{
    struct {
        const char *name;
        void *place;
    } symbols[] = {
#define SYMBOL(function) {#function, &tt_ucx.function},
        TT_UCX_LIST(SYMBOL)
#undef SYMBOL
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol) return no("%s has no %s" STILL, name, symbols[i].name);
        memcpy(symbols[i].place, &symbol, sizeof symbol);
    }
    return true;
}

static void load_once(void)
{
    const char *name = tt_setting("TUTTI_UCX");
    if (!name) name = "libucp.so.0";
    const char *why = NULL;
    void *library = load_quietly(name, &why);
    if (!library) {
        no("UCX cannot be loaded (%s): install it (Debian: libucx0), or say where libucp.so.0 is "
           "by TUTTI_UCX" STILL,
           why);
        return;
    }
    if (version_is_known(library, name) && resolve(library, name)) be_silent(library);
}

/* Loads the library at the first call, by any thread; later calls return the status of the first.
 * Errors: UNSUPPORTED, with the reason. */
static tutti_status ucx_load(void)
{
    pthread_once(&load.once, load_once);
    return load.why[0] ? tt_fail(TUTTI_ERR_UNSUPPORTED, "%s", load.why) : TUTTI_OK;
}

tutti_status tt_wire_ucx_version(const char **version)
{
    TT_TRY(ucx_load());
    *version = load.version;
    return TUTTI_OK;
}

static tutti_status kind_of(ucs_status_t status)
{
    switch (status) {
    case UCS_ERR_NO_MEMORY: return TUTTI_ERR_MEMORY;
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_NOT_CONNECTED:
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_REJECTED:
    case UCS_ERR_TIMED_OUT:
    case UCS_ERR_CANCELED: return TUTTI_ERR_PEER;
    default: return TUTTI_ERR_SYSTEM;
    }
}

tutti_status tt_ucx_fail(ucs_status_t status, const char *doing)
{
    return tt_fail(kind_of(status), "%s: UCX says: %s", doing, tt_ucx.ucs_status_string(status));
}

/* ---- Sockets ---- */

/* How soon a peer behind TCP is given up. UCX leaves this decision to the kernel. UCX can make TCP
 * probe a silent peer (UCX_TCP_KEEP...), but only at one end of a connection, and TCP sends probes
 * only while no data are in flight. UCX's own keepalive messages are mostly in flight, and TCP
 * retransmits them for a quarter of an hour (seen with UCX 1.13). The option TCP_USER_TIMEOUT would
 * end the retransmissions sooner, but it would also cut off a live peer that does not read from the
 * connection for the time of this option.
 *
 * So the sockets of a port's worker are checked from time to time. A socket is stuck if it has
 * retransmitted data, or has probed its peer or its peer's window, and has had no answer since the
 * last check. A socket that is stuck for half of TUTTI_PEER_TIMEOUT is shut down; UCX then notices
 * that the peer is gone. A live peer that does not read has a kernel that answers.
 *
 * The kernel knows which sockets belong to a worker: the worker has an epoll set, which contains
 * the sets of its interfaces, and those contain the sockets, by number and inode
 * (/proc/self/fdinfo). A thread of UCX may remove and close a socket while this file is read, and
 * the program may get the same number for another file. So the inode is compared before anything is
 * done, and only a socket that was stuck at every check for seconds is shut down. */

/* ---- Finding the sockets ---- */

typedef void socket_fn(int fd, uint64_t inode, void *arg);

enum {
    NESTED = 3,  /* depth of nested epoll sets, at most */
    RESERVE = 32 /* descriptors left for the program, and for peers that connect to this process */
};

static void read_set(int set, int depth, socket_fn *fn, void *arg);

static void look_into(int fd, uint64_t inode, int depth, socket_fn *fn, void *arg)
{
    struct stat is;
    if (fstat(fd, &is) != 0 || is.st_ino != inode) return;
    if (S_ISSOCK(is.st_mode))
        fn(fd, inode, arg);
    else if (depth < NESTED)
        read_set(fd, depth + 1, fn, arg); /* for a file that is no epoll set, read_set finds
                                           * nothing */
}

static void read_set(int set, int depth, socket_fn *fn, void *arg)
{
    char line[200];
    snprintf(line, sizeof line, "/proc/self/fdinfo/%d", set);
    FILE *file = fopen(line, "re");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        int fd;
        unsigned long long inode;
        if (sscanf(line, "tfd: %d events: %*s data: %*s pos:%*s ino:%llx", &fd, &inode) == 2)
            look_into(fd, inode, depth, fn, arg);
    }
    fclose(file);
}

/* Calls fn for all sockets in an epoll set and in the epoll sets within it. */
static void each_socket(int set, socket_fn *fn, void *arg)
{
    read_set(set, 1, fn, arg);
}

/* ---- Socket options ---- */

static bool has(int fd, int level, int option, int value)
{
    int is = -1;
    socklen_t bytes = sizeof is;
    return getsockopt(fd, level, option, &is, &bytes) == 0 && is == value;
}

static void set(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value, sizeof value);
}

/* Sets a socket's options, unless they are set already, so that TCP soon probes a silent peer, and
 * never ends a connection by itself. (UCX sets other values when it connects.) */
static void ask_soon(int fd)
{
    int seconds = (int)tt_max(peer_timeout_ms() / 8000, 1);
    if (has(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds) && has(fd, SOL_SOCKET, SO_KEEPALIVE, 1)) return;
    set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, NEVER_MS);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

/* ---- Stuck sockets ---- */

static bool is_stuck(int fd, int64_t since_last_ms)
{
    struct tcp_info info;
    socklen_t bytes = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return false;
    bool repeated = info.tcpi_unacked > 0 && info.tcpi_retransmits > 0;
    bool probed = info.tcpi_probes > 0;
    return (repeated || probed) && info.tcpi_last_ack_recv >= since_last_ms;
}

/* Finds the record of a socket; NULL: there is none. The kernel lists sockets in the same order
 * each time, so the record after the one found last is mostly the right one. */
static struct tt_ucx_stuck *find_stuck(struct tt_ucx_watch *watch, uint64_t inode)
{
    for (size_t i = 0; i < watch->n; i++) {
        size_t at = (watch->next + i) % watch->n;
        if (watch->stuck[at].inode != inode) continue;
        watch->next = at + 1;
        return &watch->stuck[at];
    }
    return NULL;
}

/* Adds a record for a stuck socket. NULL: no memory; the next check finds the socket again. */
static struct tt_ucx_stuck *add_stuck(struct tt_ucx_watch *watch, uint64_t inode, int64_t now_ms)
{
    if (watch->n == watch->room) {
        size_t room = watch->room ? 2 * watch->room : 16;
        struct tt_ucx_stuck *more = tt_realloc(watch->stuck, room * sizeof *more);
        if (!more) return NULL;
        watch->stuck = more;
        watch->room = room;
    }
    watch->stuck[watch->n] = (struct tt_ucx_stuck){.inode = inode, .since_ms = now_ms};
    return &watch->stuck[watch->n++];
}

static void drop_those_not_seen(struct tt_ucx_watch *watch, int64_t now_ms)
{
    size_t n = 0;
    for (size_t i = 0; i < watch->n; i++) {
        if (watch->stuck[i].seen_ms == now_ms) watch->stuck[n++] = watch->stuck[i];
    }
    watch->n = n;
    watch->next = 0;
}

/* ---- Free descriptors ---- */

/* Returns how many descriptors are left. The kernel gives the lowest free number, so a number near
 * the limit shows that few are left. */
static int64_t left(int64_t *limit)
{
    struct rlimit is;
    if (getrlimit(RLIMIT_NOFILE, &is) != 0) return INT64_MAX;
    *limit = is.rlim_cur < INT64_MAX ? (int64_t)is.rlim_cur : INT64_MAX;
    int fd = eventfd(0, EFD_CLOEXEC);
    if (fd < 0) return errno == EMFILE || errno == ENFILE ? 0 : INT64_MAX;
    close(fd);
    return *limit - fd;
}

tutti_status tt_ucx_room(const char *doing)
{
    int64_t limit = 0;
    if (left(&limit) > RESERVE) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_LIMIT,
                   "%s: too few of the %lld file descriptors that this process may have are left: "
                   "raise `ulimit -n`, or use fewer contexts",
                   doing, (long long)limit);
}

/* Warns once if almost no descriptor is left. Peers that connect to this process use up its
 * descriptors. Once UCX has found no descriptor for a connection, it accepts no connection any
 * more. */
static void warn_if_few_are_left(void)
{
    static atomic_bool logged;
    int64_t limit = 0;
    if (left(&limit) > RESERVE / 2 || atomic_exchange(&logged, true)) return;
    tt_warn(
        "this process uses almost all of the %lld file descriptors that it may have; without a "
        "free one, other processes cannot connect to it, and take it for dead: raise `ulimit -n`",
        (long long)limit);
}

/* ---- Checking ---- */

struct look {
    struct tt_ucx_watch *watch;
    int64_t now_ms;
};

static void look_at(int fd, uint64_t inode, void *arg)
{
    const struct look *look = arg;
    struct tt_ucx_watch *watch = look->watch;
    if (!has(fd, SOL_SOCKET, SO_PROTOCOL, IPPROTO_TCP)) return;
    ask_soon(fd);
    if (!is_stuck(fd, look->now_ms - watch->last_ms)) return;
    struct tt_ucx_stuck *stuck = find_stuck(watch, inode);
    if (!stuck) stuck = add_stuck(watch, inode, look->now_ms);
    if (!stuck) return;
    stuck->seen_ms = look->now_ms;
    if (look->now_ms - stuck->since_ms >= peer_timeout_ms() / 2) shutdown(fd, SHUT_RDWR);
}

static int64_t coarse_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* Shuts down connections whose peer has not answered for too long. Reads the clock at each call,
 * and checks the sockets eight times in TUTTI_PEER_TIMEOUT. */
void tt_ucx_watch(struct tt_port *port)
{
    struct look look = {.watch = &port->watch, .now_ms = coarse_ms()};
    if (look.now_ms < port->watch.next_ms) return;
    warn_if_few_are_left();
    each_socket(port->descriptor, look_at, &look);
    drop_those_not_seen(&port->watch, look.now_ms);
    port->watch.last_ms = look.now_ms;
    port->watch.next_ms = look.now_ms + peer_timeout_ms() / 8;
}

/* ---- The network ---- */

/* The context of UCX, and memory registered with it. UCX chooses the transports, unless the user
 * does so by the variables UCX_... . This file sets only the following, unless the user has: how
 * soon a silent peer is given up; that a packet is sent and arrives in one piece (UCX would
 * otherwise join the pieces in its own memory first); that UCX copies what it sends over TCP
 * (copies_over_tcp); that the send queues between containers of one host are short; and that UCX
 * does not use shared memory. */

/* ---- Settings of UCX ---- */

enum { ROOM_FOR_HEADS = 4 << 10 }; /* bytes for the headers of a packet: Tutti's and UCX's */

/* Returns how long a peer may be silent, in milliseconds. The user sets this by
 * TUTTI_PEER_TIMEOUT. */
static int64_t peer_timeout_ms(void)
{
    return tt_setting_int("TUTTI_PEER_TIMEOUT") * 1000;
}

/* Sets variables in the environment, where UCX reads the settings of its transports whenever it
 * creates a worker; ucp_config_modify refuses them as unknown (1.13). UCX sends eight keepalive
 * messages within TUTTI_PEER_TIMEOUT. */
static void settle_all(void)
{
    char interval[32], segment[32];
    snprintf(interval, sizeof interval, "%lldms", (long long)peer_timeout_ms() / 8);
    setenv("UCX_KEEPALIVE_INTERVAL", interval, 0);
    setenv("UCX_TCP_CONN_NB", "y", 0); /* otherwise opening a link would wait for the peer */
    snprintf(segment, sizeof segment, "%d", TT_WIRE_DATA + ROOM_FOR_HEADS);
    setenv("UCX_TCP_RX_SEG_SIZE", segment, 0);
    /* UCX refuses to send longer pieces than it can receive */
    setenv("UCX_TCP_TX_SEG_SIZE", getenv("UCX_TCP_RX_SEG_SIZE"), 0);
}

/* ---- The context ---- */

static tutti_status create(struct tt_wire *wire, ucp_config_t *config)
{
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES |
                                         UCP_PARAM_FIELD_MT_WORKERS_SHARED | UCP_PARAM_FIELD_NAME,
                           .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP |
                                       (wire->reaches ? UCP_FEATURE_RMA : 0),
                           .mt_workers_shared = 1,
                           .name = "tutti"};
    sigset_t before;
    tt_signals_block(&before); /* UCX may start a thread */
    ucs_status_t status =
        tt_ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &wire->context);
    tt_signals_restore(&before);
    if (status == UCS_OK) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_UNSUPPORTED,
                   "UCX does not start (%s): look at UCX_TLS and UCX_NET_DEVICES if they are set, "
                   "and at what UCX_LOG_LEVEL=info shows; jobs on one machine work without UCX",
                   tt_ucx.ucs_status_string(status));
}

/* Returns whether the user wants UCX to use shared memory. If the user does not, this file turns it
 * off, since UCX would only open shared memory and not use it: Tutti asks UCX to report the death
 * of a peer, and UCX then moves data through shared memory only if the user's settings ask for it.
 * The user's group may open UCX's segments; users who ask for shared memory accept this. */
static bool wants_ucx_memory(void)
{
    return getenv("UCX_TLS") || getenv("UCX_POSIX_ERROR_HANDLING") ||
           getenv("UCX_SYSV_ERROR_HANDLING");
}

/* Makes UCX copy what it sends, unless the user has set the threshold, where UCX has no faster
 * network than TCP. UCX (1.13) otherwise gives the kernel the caller's memory. If the kernel takes
 * only a part of it, and the peer dies before the kernel takes the rest, UCX completes the send
 * twice, and then stops the process at an assertion (uct_iface.h; the function uct_tcp_ep_sendv).
 * UCX completes a send that it has copied at once, so it has nothing to complete later. With the
 * copy, collectives between two hosts are as fast as without it, and a stream of messages of 1 MiB
 * is about 0.93 times as fast (bench/results/2026-12-01-intel-xeon.md). */
static void copies_over_tcp(ucp_config_t *config)
{
    if (!getenv("UCX_ZCOPY_THRESH") && !tt_link_has_rdma("/sys/class"))
        (void)tt_ucx.ucp_config_modify(config, "ZCOPY_THRESH", "inf");
}

static tutti_status configure(struct tt_wire *wire)
{
    ucp_config_t *config;
    ucs_status_t status = tt_ucx.ucp_config_read(NULL, NULL, &config);
    if (status != UCS_OK)
        return tt_fail(TUTTI_ERR_UNSUPPORTED, "UCX refuses the variables UCX_... (%s)",
                       tt_ucx.ucs_status_string(status));
    if (!wants_ucx_memory()) (void)tt_ucx.ucp_config_modify(config, "TLS", "^posix,sysv");
    copies_over_tcp(config);
    tutti_status created = create(wire, config);
    tt_ucx.ucp_config_release(config);
    return created;
}

/* Returns the delay in TUTTI_FAULT. The rest of that setting is for fault.c, which also reports
 * what is wrong with it. */
static int64_t delay_wanted(void)
{
    const char *text = tt_setting("TUTTI_FAULT");
    for (const char *at = text; at && *at; at += *at == ',') {
        size_t n = strcspn(at, ",");
        int64_t us;
        if (n > 6 && strncmp(at, "delay=", 6) == 0 && tt_parse_size(at + 6, at + n, &us)) return us;
        at += n;
    }
    return 0;
}

static tutti_status ucx_open(bool reach, struct tt_wire **wire)
{
    static pthread_once_t settled = PTHREAD_ONCE_INIT;
    TT_TRY(ucx_load());
    TT_TRY(tt_ucx_room("starting UCX")); /* UCX ends the process if it finds no descriptor */
    pthread_once(&settled, settle_all);
    struct tt_wire *opened = tt_calloc(1, sizeof *opened);
    if (!opened) return tt_fail(TUTTI_ERR_MEMORY, "no memory for the network");
    opened->reaches = reach;
    opened->delay_us = delay_wanted();
    pthread_mutex_lock(&tt_ucx_environment);
    tutti_status status = configure(opened);
    pthread_mutex_unlock(&tt_ucx_environment);
    if (status == TUTTI_OK)
        *wire = opened;
    else
        tt_free(opened);
    return status;
}

static void ucx_close(struct tt_wire *wire)
{
    if (atomic_load(&wire->left)) return;
    tt_ucx.ucp_cleanup(wire->context);
    tt_free(wire);
}

/* Sets a limit for TCP's send buffers, unless the user has set one. Between containers of one host,
 * sending copies data into a queue of the receiver. The kernel would let megabytes lie there, which
 * are out of the caches when they are read; and if a sender moves to another processor, its packets
 * overtake each other and are sent again. With this limit (which the kernel doubles) an alltoall of
 * 1 MiB among 8 ranks on 2 processors takes 0.6 of the time that it takes without the limit
 * (bench/results/2026-11-22-amd-epyc.md). */
static bool ucx_set_one_kernel(struct tt_wire *wire)
{
    (void)wire;
    pthread_mutex_lock(&tt_ucx_environment);
    bool changes = !getenv("UCX_TCP_SNDBUF");
    if (changes) setenv("UCX_TCP_SNDBUF", "128k", 0);
    pthread_mutex_unlock(&tt_ucx_environment);
    return changes;
}

/* ---- Registered memory ---- */

tutti_status tt_ucx_no_reach(void)
{
    return tt_fail(TUTTI_ERR_UNSUPPORTED, "the network was opened for packets only");
}

static tutti_status ucx_map(struct tt_wire *wire, void *memory, size_t bytes,
                            struct tt_wire_region **region)
{
    if (!wire->reaches) return tt_ucx_no_reach();
    struct tt_wire_region *mapped = tt_calloc(1, sizeof *mapped);
    if (!mapped) return tt_fail(TUTTI_ERR_MEMORY, "no memory for a region");
    ucp_mem_map_params_t params = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                                                 UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                   .address = memory,
                                   .length = bytes};
    ucs_status_t status = tt_ucx.ucp_mem_map(wire->context, &params, &mapped->memory);
    if (status != UCS_OK) {
        tt_free(mapped);
        return tt_ucx_fail(status, "registering memory (is `ulimit -l` large enough?)");
    }
    mapped->wire = wire;
    *region = mapped;
    return TUTTI_OK;
}

static void ucx_unmap(struct tt_wire_region *region)
{
    tt_ucx.ucp_mem_unmap(region->wire->context, region->memory);
    tt_free(region);
}

static tutti_status ucx_pack(struct tt_wire_region *region, void *key, size_t *bytes)
{
    void *packed;
    size_t n;
    ucs_status_t status = tt_ucx.ucp_rkey_pack(region->wire->context, region->memory, &packed, &n);
    if (status != UCS_OK) return tt_ucx_fail(status, "packing the key of registered memory");
    tutti_status framed = tt_ucx_frame("the key of registered memory (fewer UCX_NET_DEVICES make "
                                       "it smaller)",
                                       packed, n, key, TT_WIRE_KEY, bytes);
    tt_ucx.ucp_rkey_buffer_release(packed);
    return framed;
}

/* ---- Framing bytes that UCX packed ---- */

struct frame {
    uint32_t bytes, sum;
};

/* Returns the checksum of n bytes (FNV-1a). It detects damage, not malice; only processes of the
 * job send each other such bytes. */
static uint32_t sum_of(const void *from, size_t n)
{
    uint32_t sum = 0x811c9dc5u;
    for (size_t i = 0; i < n; i++) sum = (sum ^ ((const unsigned char *)from)[i]) * 0x01000193u;
    return sum;
}

/* UCX reads bytes that it packed without knowing how many there are. So their length and a checksum
 * are stored before them. */
tutti_status tt_ucx_frame(const char *what, const void *from, size_t n, void *to, size_t most,
                          size_t *bytes)
{
    struct frame frame = {.bytes = (uint32_t)n, .sum = sum_of(from, n)};
    if (n + sizeof frame > most)
        return tt_fail(TUTTI_ERR_LIMIT, "%s takes %zu bytes, and there is room for %zu", what, n,
                       most - sizeof frame);
    memcpy(to, &frame, sizeof frame);
    memcpy((char *)to + sizeof frame, from, n);
    *bytes = sizeof frame + n;
    return TUTTI_OK;
}

const void *tt_ucx_unframe(const char *what, const void *from, size_t n, size_t least)
{
    struct frame frame;
    if (n >= sizeof frame + least) {
        const char *inside = (const char *)from + sizeof frame;
        memcpy(&frame, from, sizeof frame);
        if (frame.bytes == n - sizeof frame && frame.sum == sum_of(inside, frame.bytes))
            return inside;
    }
    (void)tt_fail(TUTTI_ERR_ARG, "%s that came from another process is damaged (%zu bytes)", what,
                  n);
    return NULL;
}

const struct tt_wire_ops tt_wire_ucx = {.name = "ucx",
                                        .open = ucx_open,
                                        .close = ucx_close,
                                        .set_one_kernel = ucx_set_one_kernel,
                                        .port_open = tt_ucx_port_open,
                                        .port_drain = tt_ucx_port_drain,
                                        .port_close = tt_ucx_port_close,
                                        .port_address = tt_ucx_port_address,
                                        .port_advance = tt_ucx_port_advance,
                                        .port_has_sent = tt_ucx_port_has_sent,
                                        .port_descriptor = tt_ucx_port_descriptor,
                                        .port_arm = tt_ucx_port_arm,
                                        .link_open = tt_ucx_link_open,
                                        .link_close = tt_ucx_link_close,
                                        .link_fail = tt_ucx_link_fail,
                                        .link_is_idle = tt_ucx_link_is_idle,
                                        .send = tt_ucx_send,
                                        .map = ucx_map,
                                        .unmap = ucx_unmap,
                                        .pack = ucx_pack,
                                        .key_open = tt_ucx_key_open,
                                        .key_close = tt_ucx_key_close,
                                        .get = tt_ucx_get,
                                        .put = tt_ucx_put};
