// SPDX-License-Identifier: BSD-3-Clause
//
// The public header has the same meaning in a C++ program.
#include <iostream>
#include <tutti/tutti.h>

int main()
{
    tutti_client *client = nullptr;
    if (tutti_init(&client) != TUTTI_OK || tutti_size(tutti_world(client)) != 1) return 1;
    std::cout << tutti_version() << '\n';
    return tutti_finalize(client) == TUTTI_OK ? 0 : 1;
}
