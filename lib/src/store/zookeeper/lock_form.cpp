// SPDX-License-Identifier: BSL-1.0
#include "store/zookeeper/lock_form.hpp"

#include "mortise/coro/detail/with_code.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace mortise::store_detail {

std::unique_ptr<path_room> lock_form::take_room(const std::string& lock_path, std::size_t more) {
    constexpr std::size_t of_the_length = 4;
    const auto bytes = lock_path.size() + more + of_the_length;
    const auto most = link_->config().paths_max;
    if (*path_bytes_ + bytes <= most)
        return std::make_unique<path_room>(path_bytes_, bytes);
    link_->note(
        errc::store_full,
        "this client has nodes with paths of " + std::to_string(*path_bytes_) +
            " bytes, and paths_max is " + std::to_string(most) +
            ": servers that write down the end of its session might not start again "
            "(docs/stores/zookeeper.md). Use shorter names, or several clients"
    );
    return nullptr;
}

asio::awaitable<released_and_asked> lock_form::release_and_request(grant held, lock_request wish) {
    const auto kept = shared_from_this();
    const auto before = ends();
    released_and_asked both;
    auto releasing = release(std::move(held));
    both.released = co_await std::move(releasing);
    if (before != ends()) {
        both.asked = errc::outcome_unknown;
        co_return both;
    }
    auto asking = request(std::move(wish));
    both.asked = co_await std::move(asking);
    co_return both;
}

asio::awaitable<error_code> lock_form::end() {
    const auto kept = shared_from_this();
    end_calls();
    const auto all = leave_all();
    constexpr std::size_t at_once = 64;
    for (std::size_t from = 0; from < all.size(); from += at_once) {
        std::vector<std::shared_ptr<withdrawal>> under_way;
        for (auto i = from; i < std::min(all.size(), from + at_once); ++i) {
            under_way.push_back(std::make_shared<withdrawal>(link_->executor()));
            asio::co_spawn(
                link_->executor(),
                run_withdrawal(kept, all[i].first, all[i].second, under_way.back()),
                asio::detached
            );
        }
        for (const auto& each : under_way) {
            auto waiting = each->done.async_wait(coro::detail::with_code);
            co_await std::move(waiting);
            if (each->failed)
                co_return each->failed;
        }
    }
    co_return error_code();
}

asio::awaitable<void> lock_form::run_withdrawal(
    [[maybe_unused]] std::shared_ptr<lock_form> self,
    std::string name,
    request_id id,
    std::shared_ptr<withdrawal> one
) {
    auto withdrawing = withdraw(std::move(name), id);
    one->failed = co_await std::move(withdrawing);
    one->done.set();
}

}  // namespace mortise::store_detail
