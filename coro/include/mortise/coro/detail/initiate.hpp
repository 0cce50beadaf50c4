// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_DETAIL_INITIATE_HPP
#define MORTISE_CORO_DETAIL_INITIATE_HPP

#include "mortise/coro/detail/completion.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <utility>

namespace mortise::coro::detail {

/// The initiation of every `async_` function. It names its executor, without which
/// `asio::cancel_after` does not compile on any token chain.
template <class Signature, class Start>
class initiation {
public:
    using executor_type = asio::any_io_executor;

    initiation(executor_type executor, Start start)
        : executor_(std::move(executor)), start_(std::move(start)) {}

    executor_type get_executor() const noexcept { return executor_; }

    template <class Handler, class... Args>
    void operator()(Handler&& handler, Args&&... args) const {
        start_(
            completion<Signature>(std::forward<Handler>(handler), executor_),
            std::forward<Args>(args)...
        );
    }

private:
    executor_type executor_;
    Start start_;
};

/// Starts an operation of `Signature` for any completion token: calls
/// `start(completion<Signature>, args...)`, now or, with a deferred token, when it is awaited.
///
/// `start` is a function pointer or a lambda that captures nothing. Pass its data in `args`, which
/// are decay-copied into a deferred operation; never pass a view, whose text may be gone by then.
template <class Signature, class Token, class Start, class... Args>
auto async_start(asio::any_io_executor executor, Token&& token, Start start, Args&&... args) {
    return asio::async_initiate<Token, Signature>(
        initiation<Signature, Start>(std::move(executor), std::move(start)),
        token,
        std::forward<Args>(args)...
    );
}

}  // namespace mortise::coro::detail

#endif
