// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_CONTROL_CONTROL_ANSWERS_HPP
#define MORTISE_TXN_HTTP_SRC_CONTROL_CONTROL_ANSWERS_HPP

#include "control/settle_desk.hpp"
#include "mortise/txn/coordinator.hpp"
#include "server/token_check.hpp"
#include "wire/http_message.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace mortise::txn::http {

/// Makes the answers of a control server. Used on one strand only.
class control_answers {
public:
    control_answers(
        coordinator& of,
        token_check callers,
        std::chrono::milliseconds settle_max,
        std::shared_ptr<coro::time_source> time
    );

    asio::awaitable<response> answer(const request& what);

private:
    asio::awaitable<response> list(std::string_view query);
    asio::awaitable<response> show(gid which);
    asio::awaitable<response> say_outcome(gid which);
    asio::awaitable<response> settle(gid which, std::string_view query);
    asio::awaitable<response> intervene(gid which, intervention::kind how, const std::string& body);

    coordinator& of_;
    const token_check callers_;
    const std::chrono::milliseconds settle_max_;
    const std::shared_ptr<coro::time_source> time_;
    settle_desk desk_;
};

}  // namespace mortise::txn::http

#endif
