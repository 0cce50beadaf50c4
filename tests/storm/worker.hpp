// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_WORKER_HPP
#define MORTISE_TESTS_STORM_WORKER_HPP

#include "mortise/lock_client.hpp"
#include "storm/board.hpp"
#include "storm/resource_link.hpp"
#include "storm/worker_order.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <random>

namespace mortise::storm {

/// One process of the storm. Its coroutines want locks, now and then change their minds, and write
/// to what the locks protect.
class worker {
public:
    worker(const asio::any_io_executor& executor, const worker_order& order, const board& shared);

    /// Runs until the storm is calm and each coroutine has got every lock.
    asio::awaitable<void> run();

private:
    using dice = std::mt19937_64;

    /// The next step of one coroutine.
    struct wish {
        std::size_t lock = 0;
        lock_mode mode;
        bool a_try = false;
        std::chrono::milliseconds wait_max = std::chrono::milliseconds::max();
        std::chrono::milliseconds cancel_after = std::chrono::milliseconds::max();
        std::chrono::milliseconds hold{0};
    };
    /// Whether the wish was granted, and the lease if so.
    struct outcome {
        outcome() = default;
        error_code failed;
        lease held;
    };

    asio::awaitable<void> fight(int socket, std::uint64_t seed);
    asio::awaitable<void> leave_in_peace();
    asio::awaitable<void> want(wish request, resource_link* link);
    asio::awaitable<outcome> acquire(const wish& request);
    asio::awaitable<void>
    use(record& log, const lease& held, const wish& request, resource_link& link);
    asio::awaitable<void> rest(std::chrono::milliseconds time);
    static wish draw_wish(dice& drawn);
    void look(record& log, const lease& held);
    bool calm() const noexcept;

    asio::any_io_executor executor_;
    const worker_order& order_;
    const board& shared_;
    board::seat& seat_;
    lock_client locks_;
};

/// The main function of a worker process. @return its exit code.
int run_worker(const worker_order& order);

}  // namespace mortise::storm

#endif
