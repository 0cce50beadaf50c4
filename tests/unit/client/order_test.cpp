// SPDX-License-Identifier: BSL-1.0
// In which order the waiters of several clients are served: a client has one place in the queue of
// the store, however many of its coroutines wait.
#include "client_world.hpp"

#include <gmock/gmock.h>

#include <deque>
#include <vector>

namespace mortise::test {
namespace {
namespace order {

using testing::ElementsAreArray;

constexpr int clients = 4;
constexpr int waiters = 4;

enum class arrival { client_by_client, in_turns };

struct wish {
    int number;
    std::vector<int>& served;

    void operator()(error_code code, lease held) {
        EXPECT_FALSE(code) << code.message();
        served.push_back(number);
        held = lease();  // At once: no turn is over by its time.
    }
};

// @return the numbers of those who came, in the order in which they got the lock.
std::vector<int> served(arrival how, bool local_handoff) {
    client_world world;
    client_config config = world.config();
    config.local_handoff = local_handoff;
    std::deque<lock_client> locks;
    for (int i = 0; i < clients; ++i)
        locks.emplace_back(world.context.get_executor(), world.server.make_store(), config);
    lock_client last = world.client();
    lease held = world.acquire(last, "door");
    std::vector<int> order;
    for (int number = 0; number < clients * waiters; ++number) {
        const int client = how == arrival::in_turns ? number % clients : number / waiters;
        locks[static_cast<std::size_t>(client)].async_acquire(
            "door", lock_options(), wish{number, order}
        );
        world.pass(std::chrono::milliseconds(1));
    }
    held = lease();
    EXPECT_TRUE(world.run_until([&] { return order.size() == clients * waiters; }));
    for (auto& each : locks)
        world.stop(each);
    world.stop(last);
    return order;
}

const std::vector<int> by_arrival{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
const std::vector<int> by_fours{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};

TEST(Order, OfClientsThatComeInTurnsIsThatOfArrivalWithoutLocalHandOff) {
    EXPECT_THAT(served(arrival::in_turns, false), ElementsAreArray(by_arrival));
}

TEST(Order, OfClientsThatComeInTurnsLetsAClientServeItsOwnFirst) {
    EXPECT_THAT(served(arrival::in_turns, true), ElementsAreArray(by_fours));
}

TEST(Order, OfClientsThatComeOneAfterTheOtherIsThatOfArrivalWithLocalHandOff) {
    EXPECT_THAT(served(arrival::client_by_client, true), ElementsAreArray(by_arrival));
}

TEST(Order, OfClientsThatComeOneAfterTheOtherTakesTurnsWithoutLocalHandOff) {
    EXPECT_THAT(served(arrival::client_by_client, false), ElementsAreArray(by_fours));
}

}  // namespace order
}  // namespace
}  // namespace mortise::test
