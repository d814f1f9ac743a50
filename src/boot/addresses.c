/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What others need to know of this machine: the addresses by which it may be reached, IPv4 written
 * as IPv6 (::ffff:a.b.c.d), and the kernel, for hosts that are containers of one machine share its
 * processors.
 */
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "boot/machines.h"

static bool write_address(const struct sockaddr *from, uint8_t to[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (from && from->sa_family == AF_INET) {
        memcpy(to, mapped, sizeof mapped);
        memcpy(to + sizeof mapped, &((const struct sockaddr_in *)from)->sin_addr, 4);
        return true;
    }
    if (!from || from->sa_family != AF_INET6) return false;
    const struct in6_addr *address = &((const struct sockaddr_in6 *)from)->sin6_addr;
    memcpy(to, address, 16);
    return !IN6_IS_ADDR_LINKLOCAL(address); /* one of these means nothing without an interface */
}

static int collect(const struct ifaddrs *all, bool loopback, uint8_t (*address)[16])
{
    int n = 0;
    for (const struct ifaddrs *i = all; i && n < TT_CARD_ADDRESSES; i = i->ifa_next) {
        bool fits = (i->ifa_flags & IFF_UP) && !(i->ifa_flags & IFF_LOOPBACK) == !loopback;
        if (fits && write_address(i->ifa_addr, address[n])) n++;
    }
    return n;
}

int tt_machines_addresses(uint8_t address[TT_CARD_ADDRESSES][16])
{
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0) return 0;
    int n = collect(all, false, address);
    if (n == 0) n = collect(all, true, address);
    freeifaddrs(all);
    return n;
}

/* The first 64 bits of the random number that it was given when it started. */
uint64_t tt_machines_kernel(void)
{
    unsigned high, middle, low;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file) return 0;
    int got = fscanf(file, "%8x-%4x-%4x", &high, &middle, &low);
    fclose(file);
    return got == 3 ? (uint64_t)high << 32 | (uint64_t)middle << 16 | low : 0;
}

int tt_machines_cores(int told)
{
    return (int)tt_max(1, tt_min(told, sysconf(_SC_NPROCESSORS_ONLN)));
}
