/* SPDX-License-Identifier: BSD-3-Clause
 *
 *   sockets SECONDS BATCHES BYTES,...
 *
 * Measures what sockets allow for an alltoall between hosts. Each rank writes BYTES bytes to each
 * rank of another host and reads as many from it, all at the same time and without any protocol. A
 * rank that can neither read nor write sleeps in poll. Ranks of one host exchange nothing. Rank 0
 * prints one line of JSON for each size, the median of the batches.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure.h"
#include "port-tutti.h"

enum { MOST_RANKS = 256, MOST_SIZES = 64, MOST_BATCHES = 100, QUEUE = 128 << 10 };

static int me, p;

/* Another rank: its socket (-1: on the same host), and the bytes that are still to be written to
 * the socket and read from it. */
static struct sockets_peer {
    int socket;
    int64_t out, in;
} peers[MOST_RANKS];
static char *outputs, *inputs;

/* ---- Connections ---- */

static void must(int result, const char *what)
{
    if (result < 0) die("%s: %s", what, strerror(errno));
}

/* Returns an address of this host that other hosts can reach. */
static struct sockaddr_in own_address(void)
{
    struct ifaddrs *all, *i;
    struct sockaddr_in own = {.sin_family = AF_INET};
    must(getifaddrs(&all), "no addresses");
    for (i = all; i; i = i->ifa_next)
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && !(i->ifa_flags & IFF_LOOPBACK))
            own.sin_addr = ((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr;
    freeifaddrs(all);
    if (own.sin_addr.s_addr == 0) die("this host has no address");
    return own;
}

static int new_socket(void)
{
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), queue = QUEUE, on = 1;
    must(s, "no socket");
    setsockopt(s, SOL_SOCKET, SO_SNDBUF, &queue, sizeof queue);
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return s;
}

static int listen_at(struct sockaddr_in *own)
{
    int s = new_socket();
    socklen_t bytes = sizeof *own;
    must(bind(s, (struct sockaddr *)own, sizeof *own), "cannot bind");
    must(listen(s, MOST_RANKS), "cannot listen");
    must(getsockname(s, (struct sockaddr *)own, &bytes), "no name");
    return s;
}

static int connect_to(const double *address)
{
    int s = new_socket(), rank = me;
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = (in_port_t)address[1],
                             .sin_addr.s_addr = (in_addr_t)address[0]};
    must(connect(s, (struct sockaddr *)&to, sizeof to), "cannot connect");
    if (send(s, &rank, sizeof rank, MSG_NOSIGNAL) != sizeof rank) die("cannot send who connects");
    return s;
}

static void accept_one(int listening)
{
    int rank, s = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    must(s, "cannot accept");
    if (recv(s, &rank, sizeof rank, MSG_WAITALL) != sizeof rank || rank < 0 || rank >= me)
        die("nobody connected");
    peers[rank].socket = s;
}

/* Connects to the ranks on other hosts that are higher than this one, and accepts the connections
 * of those that are lower. */
static void connect_all(void)
{
    struct sockaddr_in own = own_address();
    int listening = listen_at(&own), expected = 0;
    double address[2] = {own.sin_addr.s_addr, own.sin_port}, all[2 * MOST_RANKS];
    port_allgather(address, all, 2);
    for (int r = 0; r < p; r++) {
        bool far = all[2 * r] != address[0];
        peers[r].socket = far && r > me ? connect_to(all + 2 * r) : -1;
        expected += far && r < me;
    }
    while (expected-- > 0) accept_one(listening);
    close(listening);
}

/* ---- The exchange ---- */

/* Returns the result of send or recv, in bytes; 0: nothing can be moved now. A closed connection is
 * an error, because every rank keeps its connections until the barrier at the end. */
static ssize_t moved(ssize_t n)
{
    if (n > 0) return n;
    if (n == 0 || (errno != EAGAIN && errno != EINTR))
        die("a connection failed: %s", n ? strerror(errno) : "closed");
    return 0;
}

/* Moves what can be moved without waiting. Returns whether anything was moved. */
static bool move(struct sockets_peer *peer, int64_t at, int64_t bytes)
{
    ssize_t out = 0, in = 0;
    if (peer->out > 0)
        out = moved(send(peer->socket, outputs + at + bytes - peer->out, (size_t)peer->out,
                         MSG_DONTWAIT | MSG_NOSIGNAL));
    if (peer->in > 0)
        in = moved(
            recv(peer->socket, inputs + at + bytes - peer->in, (size_t)peer->in, MSG_DONTWAIT));
    peer->out -= out;
    peer->in -= in;
    return out > 0 || in > 0;
}

/* Waits until something can be moved. Returns false if everything has been moved. */
static bool await(void)
{
    struct pollfd what[MOST_RANKS];
    nfds_t n = 0;
    for (int r = 0; r < p; r++) {
        const struct sockets_peer *peer = &peers[r];
        short events = (short)((peer->out > 0 ? POLLOUT : 0) | (peer->in > 0 ? POLLIN : 0));
        if (peer->socket >= 0 && events) what[n++] = (struct pollfd){peer->socket, events, 0};
    }
    if (n > 0) must(poll(what, n, -1), "poll");
    return n > 0;
}

static void exchange(int64_t bytes)
{
    bool some;
    for (int r = 0; r < p; r++) peers[r].out = peers[r].in = peers[r].socket >= 0 ? bytes : 0;
    do {
        some = false;
        for (int i = 1; i < p; i++) {
            int r = (me + i) % p;
            if (peers[r].socket >= 0) some |= move(&peers[r], r * bytes, bytes);
        }
    } while (some || await());
}

/* Returns the seconds that the slowest rank takes for this number of exchanges. */
static double batch_of(int64_t calls, int64_t bytes)
{
    port_barrier();
    double begin = seconds();
    for (int64_t i = 0; i < calls; i++) exchange(bytes);
    return port_max(seconds() - begin);
}

static void measure(int64_t bytes, double batch, int batches)
{
    double us[MOST_BATCHES];
    int64_t calls = 1;
    for (double took; (took = batch_of(calls, bytes)) < batch / 2 && calls < 1 << 20;) calls *= 2;
    for (int i = 0; i < batches; i++) us[i] = batch_of(calls, bytes) / (double)calls * 1e6;
    if (me == 0)
        printf("{\"limit\": \"sockets\", \"ranks\": %d, \"bytes\": %lld, \"us\": %.4f}\n", p,
               (long long)bytes, median(us, batches));
}

int main(int argc, char **argv)
{
    int64_t sizes[MOST_SIZES], most = 0;
    if (argc != 4) die("usage: sockets SECONDS BATCHES BYTES,...");
    double batch = atof(argv[1]);
    int batches = atoi(argv[2]), n = parse_list(argv[3], sizes, MOST_SIZES);
    if (batch <= 0 || batches < 1 || batches > MOST_BATCHES)
        die("more than 0 seconds, 1 to %d batches", MOST_BATCHES);
    port_init(&argc, &argv);
    me = port_rank();
    p = port_size();
    if (p > MOST_RANKS) die("at most %d ranks, not %d", MOST_RANKS, p);
    for (int i = 0; i < n; i++) most = sizes[i] > most ? sizes[i] : most;
    outputs = pages(p * most);
    inputs = pages(p * most);
    memset(outputs, 1, (size_t)(p * most));
    memset(inputs, 1, (size_t)(p * most));
    connect_all();
    for (int i = 0; i < n; i++) measure(sizes[i], batch, batches);
    port_barrier();
    for (int r = 0; r < p; r++)
        if (peers[r].socket >= 0) close(peers[r].socket);
    port_finish();
    return 0;
}
