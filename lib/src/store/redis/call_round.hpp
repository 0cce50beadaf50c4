// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_CALL_ROUND_HPP
#define MORTISE_STORE_REDIS_CALL_ROUND_HPP

#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/error.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace mortise::store_detail {

namespace asio = boost::asio;

/// Calls that are made at once, and their answers in the order of the calls.
///
/// @par Threads The strand.
template <class T>
class call_round {
public:
    using answer = result<T>;

    /// Makes the calls and waits for all of their answers.
    static asio::awaitable<std::vector<answer>>
    run(asio::any_io_executor strand, std::vector<asio::awaitable<answer>> calls) {
        const auto round = std::make_shared<call_round>(strand, calls.size());
        for (std::size_t at = 0; at < calls.size(); ++at) {
            auto waiting = take(round, at, std::move(calls[at]));
            asio::co_spawn(strand, std::move(waiting), asio::detached);
        }
        if (round->left_ != 0) {
            auto waiting = round->over_.async_wait(coro::detail::with_code);
            co_await std::move(waiting);
        }
        co_return std::move(round->answers_);
    }

    call_round(const asio::any_io_executor& strand, std::size_t count)
        : over_(strand), answers_(count, answer(error_code(errc::outcome_unknown))), left_(count) {}

private:
    static asio::awaitable<void>
    take(std::shared_ptr<call_round> round, std::size_t at, asio::awaitable<answer> call) {
        auto reply = co_await std::move(call);
        round->answers_[at] = std::move(reply);
        if (--round->left_ == 0)
            round->over_.set();
    }

    coro::event over_;
    std::vector<answer> answers_;
    std::size_t left_;
};

}  // namespace mortise::store_detail

#endif
