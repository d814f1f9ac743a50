/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names by which processes of one host find each other.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "mpi/local-names.h"

enum { PUBLISHED = 4 };

static struct {
    int socket[PUBLISHED], n;
} published;

/* Returns the length of the address; 0: the name is too long. An abstract name begins with a byte
 * 0. */
static socklen_t address_of(const char *name, struct sockaddr_un *address)
{
    size_t n = strlen(name);
    if (n > TT_MPI_LOCAL_NAME) return 0;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path + 1, name, n);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

static int open_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

bool tt_mpi_local_publish(const char *name)
{
    struct sockaddr_un address;
    socklen_t length = address_of(name, &address);
    if (!length || published.n == PUBLISHED) return false;
    int s = open_socket();
    if (s < 0) return false;
    if (bind(s, (struct sockaddr *)&address, length) != 0 || listen(s, SOMAXCONN) != 0) {
        close(s);
        return false;
    }
    published.socket[published.n++] = s;
    return true;
}

/* Returns whether the process at the other end of a connection belongs to this user. */
static bool is_own(int s)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

/* A process listens on the socket of a name that it publishes, but never accepts a connection. If
 * more processes have connected than the system lets wait, connect fails with EAGAIN: some process
 * listens, but the system does not say of which user. */
bool tt_mpi_local_find(const char *name)
{
    struct sockaddr_un address;
    socklen_t length = address_of(name, &address);
    int s = length ? open_socket() : -1;
    if (s < 0) return false;
    bool connects = connect(s, (struct sockaddr *)&address, length) == 0;
    bool found = connects ? is_own(s) : errno == EAGAIN;
    close(s);
    return found;
}

void tt_mpi_local_withdraw(void)
{
    while (published.n > 0) close(published.socket[--published.n]);
}
