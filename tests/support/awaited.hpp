// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_AWAITED_HPP
#define MORTISE_TESTS_SUPPORT_AWAITED_HPP

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <utility>

namespace mortise::test {

/// Keeps the result of a coroutine.
template <class T>
boost::asio::awaitable<void> keep_result(boost::asio::awaitable<T> task, std::optional<T>& value) {
    value.emplace(co_await std::move(task));
}

/// Ignores the result of a coroutine, if it has one.
template <class T>
boost::asio::awaitable<void> ignore_result(boost::asio::awaitable<T> task) {
    static_cast<void>(co_await std::move(task));
}
inline boost::asio::awaitable<void> ignore_result(boost::asio::awaitable<void> task) {
    return task;
}

}  // namespace mortise::test

#endif
