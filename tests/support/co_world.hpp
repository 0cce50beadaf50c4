// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_CO_WORLD_HPP
#define MORTISE_TESTS_SUPPORT_CO_WORLD_HPP

#include "mortise/coro/virtual_time.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/system_error.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

namespace mortise::test {

/// A stock `io_context` and a time that passes only when everything else has come to rest.
class co_world {
public:
    co_world() = default;
    co_world(const co_world&) = delete;
    co_world& operator=(const co_world&) = delete;

    asio::any_io_executor executor() { return context.get_executor(); }

    /// The outcome of a coroutine that was started.
    class outcome {
    public:
        bool ended = false;
        std::exception_ptr failure;

        /// The code of the `system_error` that it ended with; no error if it returned.
        error_code code() const;
    };

    /// A completion handler for `co_spawn` that keeps the outcome.
    static auto record(std::shared_ptr<outcome> result) {
        return [result = std::move(result)](std::exception_ptr failure) {
            result->ended = true;
            result->failure = std::move(failure);
        };
    }

    /// Starts the coroutine that `body()` returns; the body lives as long as the coroutine.
    template <class Body>
    std::shared_ptr<outcome> start(Body body) {
        auto result = std::make_shared<outcome>();
        asio::co_spawn(context, keep(std::move(body)), record(result));
        return result;
    }

    /// The same, and runs until all is at rest, in virtual time. Throws what escapes from the
    /// coroutine, and `std::logic_error` if it never ends.
    template <class Body>
    void run(Body body) {
        const auto result = start(std::move(body));
        settle();
        if (!result->ended)
            throw std::logic_error("the coroutine waits for something that never happens");
        if (result->failure)
            std::rethrow_exception(result->failure);
    }

    /// Runs handlers while `wanted()` holds, which is asked before each of them.
    void step_while(const std::function<bool()>& wanted) { time.run_while(context, wanted); }
    std::size_t settle() { return time.run_until_idle(context); }
    std::size_t pass(clock::duration span) { return time.run_for(context, span); }

    asio::io_context context;
    coro::virtual_time time{context.get_executor()};

private:
    template <class Body>
    static asio::awaitable<void> keep(Body body) {
        co_await body();
    }
};

inline error_code co_world::outcome::code() const {
    if (!failure)
        return {};
    try {
        std::rethrow_exception(failure);
    } catch (const boost::system::system_error& e) {
        return e.code();
    }
}

}  // namespace mortise::test

#endif
