/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Simulates the messages of a problem's plans in SimGrid, which shares with Tutti's simulator only
 * the plans and the routes:
 *
 *     simgrid-peer PROBLEM ALGORITHM [--model simple|links] [--ports one|all]
 *                        [--contention shared|queued [--ties SEED]]
 *                        [--ts Nps] [--tw Nps] [--tr Nps] [--gamma Nps] [--hop Nps]
 *
 * It prints when the last rank has ended, in microseconds, and how often a message had to wait (0
 * unless queued). The options are those of `tutti sim`, except --contention: with `shared`,
 * SimGrid's own model, the messages on a link share its bandwidth; with `queued`, SimGrid provides
 * only actors and their clock, and each link and port serves one message after the other.
 *
 * With --ties each queued message is late by a random time of up to a picosecond, so that messages
 * that would arrive together arrive in another order.
 *
 * Parts of the simulation:
 *
 *     a rank's program   an actor that does the rank's acts in order
 *     its output port    an actor that carries one message after the other; with --ports all, an
 *                        actor for each message
 *     a message          is put into the mailbox of its two ranks. The program is the mailbox's
 *                        permanent receiver, so the message starts at once. The message of a put or
 *                        get is sent from host to host
 *     a route            the sender's own link (latency t_s), the links of the network (latency of
 *                        a hop each), the receiver's own link; t_w for each byte on all of them.
 *                        The ranks' own links hold any number of messages with --ports all
 *
 * A second of SimGrid stands for a microsecond: SimGrid's precision is absolute, and messages take
 * about a microsecond.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <getopt.h>
#include <map>
#include <random>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>
#include <xbt/log.h>

#include "plan.h"

namespace sg = simgrid::s4u;

struct model {
    bool links, all_ports, queued;
    double ts, tw, tr, gamma, hop; /* microseconds for a message, byte or hop */
};

struct message {
    std::string mailbox; /* empty for a put or get, which has no receiver */
    int from, to;
    uint64_t bytes;
    const peer_act *act;         /* the act that sends the message */
    sg::SemaphorePtr left, came; /* released when the message has left, and when it has arrived */
};

/* The object that ends when a started send, put, get or receive is complete. A WAIT with the number
 * of this start waits for the object. The members are null again after the wait. */
struct start {
    sg::SemaphorePtr done; /* set if the start is a send, put or get */
    sg::CommPtr came;      /* set if the start is a receive */
    void *content;         /* the message that the receive received */
};

struct rank {
    sg::Host *host;
    sg::ActorPtr program;
    peer_acts acts;
    std::vector<start> starts;
    std::map<int, uint32_t> flag; /* the highest value that each peer has signalled so far */
    std::deque<message> port;
    sg::SemaphorePtr in_port; /* number of messages in `port` */
    sg::SemaphorePtr in_free; /* with --contention queued: one message at a time holds it */
    sg::Link *out, *in;
};

static model cost = {false, false, false, 1, 1e-3, 0, 0, 0};
static const peer_problem *problem;
static std::vector<rank> ranks;
static std::map<int64_t, sg::SemaphorePtr> link_free;
static double last_end;
static long waits;    /* with --contention queued: how often messages waited for links and
                       * receivers' ports */
static bool modelled; /* whether --model was given */
static bool shuffled; /* whether --ties was given */
static std::mt19937_64 ties;

static void pause(double time)
{
    if (time > 0) sg::this_actor::sleep_for(time);
}

/* Returns the links of the network from one rank to another. */
static std::vector<int64_t> route(int from, int to)
{
    std::vector<int64_t> link(peer_route(problem, from, to, nullptr, 0));
    peer_route(problem, from, to, link.data(), (int)link.size());
    return link;
}

/* ---- The program of a rank ---- */

static void transfer(const message &m, uint64_t bytes)
{
    if (m.mailbox.empty()) {
        if (bytes) sg::Comm::sendto(ranks[m.from].host, ranks[m.to].host, bytes);
    } else {
        sg::Mailbox *mailbox = sg::Mailbox::by_name(m.mailbox);
        mailbox->set_receiver(ranks[m.to].program);
        mailbox->put(const_cast<peer_act *>(m.act), bytes);
    }
    m.came->release();
}

/* Waits for a resource that one message can hold at a time, and then holds it for `span`. */
static void take(const sg::SemaphorePtr &free, double span)
{
    double asked = sg::Engine::get_clock();
    free->acquire();
    if (sg::Engine::get_clock() > asked) waits++;
    sg::Actor::create("holder", sg::this_actor::get_host(), [free, span] {
        sg::this_actor::sleep_for(span);
        free->release();
    });
}

/* Moves a message at the receiver's host, with --contention queued: the head of the message moves
 * along the route, and when the tail has arrived, an empty transfer delivers the message. */
static void fly(const message &m)
{
    double stream = cost.tw * (double)m.bytes, span = cost.links ? stream : cost.ts + stream;
    if (shuffled) pause(std::uniform_real_distribution(1e-8, 1e-6)(ties));
    if (cost.links) {
        sg::this_actor::sleep_for(cost.ts);
        for (int64_t n : route(m.from, m.to)) {
            take(link_free.try_emplace(n, sg::Semaphore::create(1)).first->second, span);
            pause(cost.hop);
        }
    }
    if (!cost.all_ports) take(ranks[m.to].in_free, span);
    sg::this_actor::sleep_for(span);
    transfer(m, 0);
}

static void carry(const message &m)
{
    if (cost.queued) {
        sg::Actor::create("message", ranks[m.to].host, [m] { fly(m); });
        sg::this_actor::sleep_for(cost.ts + cost.tw * (double)m.bytes);
    } else {
        transfer(m, m.bytes);
    }
    m.left->release();
}

static void port(int me)
{
    for (rank &self = ranks[me];;) {
        self.in_port->acquire();
        message m = self.port.front();
        self.port.pop_front();
        carry(m);
    }
}

static message post(const std::string &mailbox, int from, int to, const peer_act &act,
                    int64_t bytes)
{
    message m = {mailbox,
                 from,
                 to,
                 (uint64_t)bytes,
                 &act,
                 sg::Semaphore::create(0),
                 sg::Semaphore::create(0)};
    if (cost.all_ports) {
        sg::Actor::create("message", ranks[from].host, [m] { carry(m); });
    } else {
        ranks[from].port.push_back(m);
        ranks[from].in_port->release();
    }
    return m;
}

static std::string mailbox(const char *word, int from, int to)
{
    return word + std::to_string(from) + ">" + std::to_string(to);
}

static void wait(start &s)
{
    if (s.done) s.done->acquire();
    if (s.came) s.came->wait();
    s.done = nullptr;
    s.came = nullptr;
}

static void await(int me, const peer_act &act)
{
    uint32_t &flag = ranks[me].flag[act.peer];
    sg::Mailbox *signals = sg::Mailbox::by_name(mailbox("flag ", act.peer, me));
    while (flag < act.value) flag = std::max(flag, signals->get<peer_act>()->value);
}

static void begin(int me, const peer_act &act, start &s)
{
    int peer = act.peer;
    if (act.kind == PEER_SEND)
        s.done = post(mailbox("data ", me, peer), me, peer, act, act.bytes).left;
    else if (act.kind == PEER_PUT)
        s.done = post("", me, peer, act, act.bytes).came;
    else if (act.kind == PEER_GET)
        s.done = post("", peer, me, act, act.bytes).came;
    else
        s.came = sg::Mailbox::by_name(mailbox("data ", peer, me))->get_async<void>(&s.content);
}

static void act_out(int me, const peer_act &act)
{
    constexpr int64_t signal_bytes = 8;
    switch (act.kind) {
    case PEER_SEND:
    case PEER_RECV:
    case PEER_PUT:
    case PEER_GET: begin(me, act, ranks[me].starts[act.start]); break;
    case PEER_WAIT: wait(ranks[me].starts[act.start]); break;
    case PEER_SIGNAL: post(mailbox("flag ", me, act.peer), me, act.peer, act, signal_bytes); break;
    case PEER_AWAIT: await(me, act); break;
    case PEER_COPY: pause(cost.tr * (double)act.bytes); break;
    case PEER_REDUCE: pause(cost.gamma * (double)act.bytes); break;
    }
}

static void program(int me)
{
    for (size_t i = 0; i < ranks[me].acts.n; i++) act_out(me, ranks[me].acts.act[i]);
    last_end = std::max(last_end, sg::Engine::get_clock());
}

/* ---- The platform ---- */

static sg::Link *make_link(sg::NetZone *zone, const std::string &name, double latency, bool shared)
{
    using policy = sg::Link::SharingPolicy;
    sg::Link *link = zone->create_link(name, 1 / cost.tw)->set_latency(latency);
    return link->set_sharing_policy(shared ? policy::SHARED : policy::FATPIPE)->seal();
}

static sg::Link *net_link(sg::NetZone *zone, int64_t number)
{
    std::string name = "link " + std::to_string(number);
    sg::Link *link = sg::Link::by_name_or_null(name);
    return link ? link : make_link(zone, name, cost.hop, true);
}

static void make_route(sg::NetZone *zone, int from, int to)
{
    std::vector<sg::LinkInRoute> links = {sg::LinkInRoute(ranks[from].out)};
    if (cost.links)
        for (int64_t n : route(from, to)) links.emplace_back(net_link(zone, n));
    links.emplace_back(ranks[to].in);
    zone->add_route(ranks[from].host->get_netpoint(), ranks[to].host->get_netpoint(), nullptr,
                    nullptr, links, false);
}

static void make_platform()
{
    sg::NetZone *zone = sg::create_full_zone("network");
    int p = (int)ranks.size();
    for (int r = 0; r < p; r++) {
        std::string name = std::to_string(r);
        ranks[r].host = zone->create_host(name, 1e9)->seal();
        ranks[r].out = make_link(zone, "out " + name, cost.ts, !cost.all_ports);
        ranks[r].in = make_link(zone, "in " + name, 0, !cost.all_ports);
    }
    for (int from = 0; from < p; from++)
        for (int to = 0; to < p; to++)
            if (from != to) make_route(zone, from, to);
    zone->seal();
}

static bool make_ranks()
{
    ranks.resize(peer_ranks(problem));
    for (size_t r = 0; r < ranks.size(); r++) {
        if (!peer_acts_of(problem, (int)r, &ranks[r].acts)) return false;
        ranks[r].starts.resize(ranks[r].acts.starts);
        ranks[r].in_port = sg::Semaphore::create(0);
        ranks[r].in_free = sg::Semaphore::create(1);
    }
    return true;
}

static void make_actors()
{
    for (size_t r = 0; r < ranks.size(); r++) {
        int me = (int)r;
        ranks[r].program = sg::Actor::create("program", ranks[r].host, [me] { program(me); });
        sg::Actor::create("port", ranks[r].host, [me] { port(me); })->daemonize();
    }
}

/* Chooses SimGrid's plain model, without correction factors from measurements, TCP windows and
 * acknowledgements. */
static void configure()
{
    xbt_log_control_set("xbt_cfg.thresh:warning"); /* otherwise SimGrid would print each setting */
    for (const char *setting :
         {"network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0",
          "network/weight-S:0", "network/latency-factor:1", "network/bandwidth-factor:1",
          "surf/precision:1e-9", "maxmin/precision:1e-9", "contexts/stack-size:256"})
        sg::Engine::set_config(setting);
}

static int simulate(const sg::Engine &engine)
{
    if (!make_ranks()) return EXIT_FAILURE;
    make_platform();
    make_actors();
    engine.run();
    printf("%.9f %ld\n", last_end, waits);
    return EXIT_SUCCESS;
}

/* ---- The command line ---- */

static int usage(const char *what)
{
    fprintf(stderr, "simgrid-peer: %s\n", what);
    return 2;
}

static bool choose(const char *value, const char *no, const char *yes, bool &chosen)
{
    chosen = strcmp(value, yes) == 0;
    return chosen || strcmp(value, no) == 0;
}

static bool parse_option(const std::string &name, const char *value)
{
    const std::map<std::string, double *> times = {{"ts", &cost.ts},
                                                   {"tw", &cost.tw},
                                                   {"tr", &cost.tr},
                                                   {"gamma", &cost.gamma},
                                                   {"hop", &cost.hop}};
    char *end;
    if (name == "model") return modelled = choose(value, "simple", "links", cost.links);
    if (name == "ports") return choose(value, "one", "all", cost.all_ports);
    if (name == "contention") return choose(value, "shared", "queued", cost.queued);
    if (name == "ties") {
        shuffled = true;
        ties.seed(strtoull(value, &end, 10));
        return end != value && *end == '\0';
    }
    double &time = *times.at(name);
    time = 1e-6 * (double)strtoll(value, &end, 10);
    return end != value && strcmp(end, "ps") == 0 && time >= 0;
}

static bool parse(int argc, char **argv)
{
    static const option options[] = {{"model", 1, nullptr, 0},      {"ports", 1, nullptr, 0},
                                     {"contention", 1, nullptr, 0}, {"ties", 1, nullptr, 0},
                                     {"ts", 1, nullptr, 0},         {"tw", 1, nullptr, 0},
                                     {"tr", 1, nullptr, 0},         {"gamma", 1, nullptr, 0},
                                     {"hop", 1, nullptr, 0},        {nullptr, 0, nullptr, 0}};
    int which = 0, found;
    while ((found = getopt_long(argc, argv, "", options, &which)) == 0)
        if (!parse_option(options[which].name, optarg)) return false;
    return found == -1 && argc - optind == 2 && cost.tw > 0 && cost.ts > 0;
}

int main(int argc, char **argv)
{
    sg::Engine engine(&argc, argv);
    configure();
    if (!parse(argc, argv))
        return usage("want PROBLEM ALGORITHM [--model simple|links] [--ports one|all] "
                     "[--contention shared|queued [--ties SEED]] [--ts --tw --tr --gamma --hop "
                     "Nps], t_s and t_w above 0");
    peer_problem *opened = peer_problem_open(argv[optind], argv[optind + 1]);
    problem = opened;
    if (!problem) return 2;
    if (!modelled) cost.links = peer_has_network(problem);
    int code = 2;
    if (cost.links && !peer_has_network(problem))
        usage("--model links wants a network, as in @torus:4x4");
    else
        code = simulate(engine);
    for (rank &r : ranks) free(r.acts.act);
    peer_problem_close(opened);
    return code;
}
