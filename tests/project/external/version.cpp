// SPDX-License-Identifier: BSD-3-Clause
//
// The public header has the same meaning in a C++ program.
#include <iostream>
#include <tutti/tutti.h>

int main()
{
    tutti_client *client = nullptr;
    double sum = 1;
    if (tutti_init(&client) != TUTTI_OK || tutti_size(tutti_world(client)) != 1) return 1;
    if (tutti_allreduce(tutti_world(client), TUTTI_IN_PLACE, &sum, 1, TUTTI_F64, TUTTI_SUM) != TUTTI_OK) return 1;
    std::cout << tutti_version() << '\n';
    return tutti_finalize(client) == TUTTI_OK ? 0 : 1;
}
