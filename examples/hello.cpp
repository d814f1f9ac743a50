/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tutti from C++: an owner for the client, statuses as exceptions, containers as buffers. Every
 * rank contributes a word, and all ranks receive the whole sentence.
 *
 *     tutti run -n 4 hello-cpp
 */
#include <iostream>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <tutti/tutti.h>

namespace {

void check(tutti_status status)
{
    if (status != TUTTI_OK) throw std::runtime_error(tutti_error());
}

struct finalize {
    void operator()(tutti_client *client) const
    {
        tutti_finalize(client);
    }
};

using client_ptr = std::unique_ptr<tutti_client, finalize>;

client_ptr join()
{
    tutti_client *client;
    check(tutti_init(&client));
    return client_ptr(client);
}

/* Concatenates the texts of all ranks: first gathers their sizes, then the texts. */
std::string concatenate(tutti_team *team, const std::string &mine)
{
    const auto p = static_cast<std::size_t>(tutti_size(team));
    const auto size = static_cast<int64_t>(mine.size());
    std::vector<int64_t> sizes(p), displs(p, 0);
    check(tutti_allgather(team, &size, sizes.data(), 1, TUTTI_I64));
    std::partial_sum(sizes.begin(), sizes.end() - 1, displs.begin() + 1);

    std::string all(static_cast<std::size_t>(displs.back() + sizes.back()), ' ');
    check(tutti_allgatherv(team, mine.data(), all.data(), sizes.data(), displs.data(), TUTTI_U8));
    return all;
}

} // namespace

int main()
{
    try {
        static const std::string words[] = {"all ", "together ", "and ", "in ", "time "};
        const client_ptr client = join();
        tutti_team *world = tutti_world(client.get());
        const int me = tutti_rank(world);

        std::string heard = concatenate(world, words[me % 5]);
        heard.pop_back();
        std::cout << "rank " + std::to_string(me) + " hears: " + heard + "\n";
        return 0;
    } catch (const std::exception &error) {
        std::cerr << "hello-cpp: " << error.what() << "\n";
        return 1;
    }
}
