/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The addresses by which others may reach this machine, IPv4 written as IPv6 (::ffff:a.b.c.d).
 */
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

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
