// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_CONTROL_CONTROL_ANSWERS_HPP
#define MORTISE_TXN_HTTP_SRC_CONTROL_CONTROL_ANSWERS_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/txn/coordinator.hpp"
#include "mortise/txn/outcome.hpp"
#include "wire/http_message.hpp"
#include "wire/login.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace mortise::coro {
class time_source;
}

namespace mortise::txn::http {

/// Waits for the ends of transactions, up to a time limit. However often clients ask, the number of
/// questions that wait at the coordinator is limited.
///
/// @par Threads   One strand, that of the coroutines that ask.
class settle_desk {
public:
    explicit settle_desk(coordinator& at) : at_(at) {}

    /// Returns how the transaction stands when it is settled, or when the time is up.
    asio::awaitable<result<standing>>
    settle(gid gid, coro::time_source& time, clock::duration limit);

    /// Returns how the transaction stands now.
    asio::awaitable<result<standing>> ask(gid gid);

private:
    struct wait;

    coordinator& at_;
    std::map<gid, std::shared_ptr<wait>> waiting_;
};

/// Makes the answers of a control server. Used on one strand only.
class control_answers {
public:
    control_answers(
        coordinator& of,
        token_check callers,
        std::chrono::milliseconds settle_max,
        std::shared_ptr<coro::time_source> time
    );

    asio::awaitable<response> answer(const request& message);

private:
    asio::awaitable<response> list(std::string_view query);
    asio::awaitable<response> show(gid gid);
    asio::awaitable<response> say_outcome(gid gid);
    asio::awaitable<response> settle(gid gid, std::string_view query);
    asio::awaitable<response> intervene(gid gid, intervention::kind how, const std::string& body);

    coordinator& of_;
    const token_check callers_;
    const std::chrono::milliseconds settle_max_;
    const std::shared_ptr<coro::time_source> time_;
    settle_desk desk_;
};

}  // namespace mortise::txn::http

#endif
