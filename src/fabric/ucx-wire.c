/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The context of UCX, and memory registered with it. The transports are UCX's choice and, by its
 * variables UCX_..., the user's. What is set here, unless the user has set it, is how soon a peer
 * that answers no more is given up, that a packet comes in one piece (pieces would be put together
 * in memory of UCX's first), that little lies in queues between containers of one machine, and that
 * no memory is shared.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/ucx.h"

/* ---- Settings of UCX ---- */

pthread_mutex_t tt_ucx_environment = PTHREAD_MUTEX_INITIALIZER;

enum { ROOM_FOR_HEADS = 4 << 10 }; /* ours and UCX's, of a packet */

int64_t tt_ucx_patience_ms(void)
{
    return tt_setting_int("TUTTI_PEER_TIMEOUT", 10, 2, 3600) * 1000;
}

/* In the environment, where UCX looks for the settings of its transports whenever it creates a
 * worker: those that are given to ucp_config_modify it takes for unknown (1.13). UCX lets peers
 * hear of it eight times within our patience. */
static void settle_all(void)
{
    char interval[32], segment[32];
    snprintf(interval, sizeof interval, "%lldms", (long long)tt_ucx_patience_ms() / 8);
    setenv("UCX_KEEPALIVE_INTERVAL", interval, 0);
    setenv("UCX_TCP_CONN_NB", "y", 0); /* or opening a link would wait for the peer */
    snprintf(segment, sizeof segment, "%d", TT_WIRE_DATA + ROOM_FOR_HEADS);
    setenv("UCX_TCP_RX_SEG_SIZE", segment, 0);
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
    ucs_status_t status =
        tt_ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &wire->context);
    if (status == UCS_OK) return TUTTI_OK;
    return tt_fail(TUTTI_ERR_UNSUPPORTED,
                   "UCX does not start (%s): look at UCX_TLS and UCX_NET_DEVICES if they are set, "
                   "and at what UCX_LOG_LEVEL=info shows; jobs on one machine work without UCX",
                   tt_ucx.ucs_status_string(status));
}

/* UCX would open its shared memory, and then not use it: it offers no way over it to whoever wants
 * to be told of peers' deaths, unless that is asked for. Its segments are open to the user's group;
 * who asks for them has them so. */
static bool wants_ucx_memory(void)
{
    return getenv("UCX_TLS") || getenv("UCX_POSIX_ERROR_HANDLING") ||
           getenv("UCX_SYSV_ERROR_HANDLING");
}

static tutti_status configure(struct tt_wire *wire)
{
    ucp_config_t *config;
    ucs_status_t status = tt_ucx.ucp_config_read(NULL, NULL, &config);
    if (status != UCS_OK)
        return tt_fail(TUTTI_ERR_UNSUPPORTED, "UCX refuses the variables UCX_... (%s)",
                       tt_ucx.ucs_status_string(status));
    if (!wants_ucx_memory()) (void)tt_ucx.ucp_config_modify(config, "TLS", "^posix,sysv");
    tutti_status created = create(wire, config);
    tt_ucx.ucp_config_release(config);
    return created;
}

/* The rest of TUTTI_FAULT is for the other fabric, which tells what is wrong with it. */
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

tutti_status tt_ucx_open(bool reach, struct tt_wire **wire)
{
    static pthread_once_t settled = PTHREAD_ONCE_INIT;
    TT_TRY(tt_ucx_load());
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

void tt_ucx_close(struct tt_wire *wire)
{
    if (atomic_load(&wire->left)) return;
    tt_ucx.ucp_cleanup(wire->context);
    tt_free(wire);
}

/* Between containers of one machine to send is to copy into a queue of the receiver's. The kernel
 * would let megabytes lie there, which are out of the caches when they are read; and packets of a
 * sender that moves to another processor overtake each other, and are sent again. With so much at
 * most (of which the kernel makes twice as many) an alltoall of 1 MiB among 8 ranks on 2 processors
 * takes 0.6 of the time (docs/figures.md). */
bool tt_ucx_near(struct tt_wire *wire)
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

tutti_status tt_ucx_map(struct tt_wire *wire, void *memory, size_t bytes,
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

void tt_ucx_unmap(struct tt_wire_region *region)
{
    tt_ucx.ucp_mem_unmap(region->wire->context, region->memory);
    tt_free(region);
}

tutti_status tt_ucx_pack(struct tt_wire_region *region, void *key, size_t *bytes)
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

/* ---- Bytes that UCX packed, on their way ---- */

struct frame {
    uint32_t bytes, sum;
};

/* FNV-1a: for damage, not against malice; only processes of the job send such bytes to each
 * other. */
static uint32_t sum_of(const void *from, size_t n)
{
    uint32_t sum = 0x811c9dc5u;
    for (size_t i = 0; i < n; i++) sum = (sum ^ ((const unsigned char *)from)[i]) * 0x01000193u;
    return sum;
}

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
                                        .open = tt_ucx_open,
                                        .close = tt_ucx_close,
                                        .near = tt_ucx_near,
                                        .port_open = tt_ucx_port_open,
                                        .port_drain = tt_ucx_port_drain,
                                        .port_close = tt_ucx_port_close,
                                        .port_address = tt_ucx_port_address,
                                        .port_advance = tt_ucx_port_advance,
                                        .port_descriptor = tt_ucx_port_descriptor,
                                        .port_arm = tt_ucx_port_arm,
                                        .link_open = tt_ucx_link_open,
                                        .link_close = tt_ucx_link_close,
                                        .link_fail = tt_ucx_link_fail,
                                        .link_is_idle = tt_ucx_link_is_idle,
                                        .send = tt_ucx_send,
                                        .map = tt_ucx_map,
                                        .unmap = tt_ucx_unmap,
                                        .pack = tt_ucx_pack,
                                        .key_open = tt_ucx_key_open,
                                        .key_close = tt_ucx_key_close,
                                        .get = tt_ucx_get,
                                        .put = tt_ucx_put};
