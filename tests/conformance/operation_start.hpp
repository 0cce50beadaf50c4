// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_OPERATION_START_HPP
#define MORTISE_TESTS_CONFORMANCE_OPERATION_START_HPP

#include "conformance/swept_operation.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <gtest/gtest.h>

#include <exception>
#include <utility>

namespace mortise::test {

/// A completion handler that can be cancelled, keeps its results and passes the code on.
inline auto
into(operation_scene& at, asio::cancellation_slot slot, swept_operation::done_function done) {
    return asio::bind_cancellation_slot(
        slot,
        [&at, done = std::move(done)](error_code code, auto... got) {
            (at.keep(std::move(got)), ...);
            done(code);
        }
    );
}

inline asio::awaitable<void> with_every_type(asio::awaitable<void> task) {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    co_await std::move(task);
}

/// The same for a coroutine that lets every type of cancellation through.
inline void
run(asio::awaitable<void> task,
    operation_scene& at,
    asio::cancellation_slot slot,
    swept_operation::done_function done) {
    asio::co_spawn(
        at.harness().executor(),
        with_every_type(std::move(task)),
        asio::bind_cancellation_slot(
            slot,
            [done = std::move(done)](std::exception_ptr failure) {
                try {
                    if (failure)
                        std::rethrow_exception(failure);
                    done({});
                } catch (const boost::system::system_error& known) {
                    done(known.code());
                }
            }
        )
    );
}

}  // namespace mortise::test

#endif
