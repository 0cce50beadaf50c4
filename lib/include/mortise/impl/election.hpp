// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_IMPL_ELECTION_HPP
#define MORTISE_IMPL_ELECTION_HPP

#include "mortise/coro/sleep.hpp"
#include "mortise/election.hpp"

#include <exception>
#include <functional>
#include <memory>

namespace mortise {
namespace detail {

/// Whether to stand again after this failure of an election, or of a term.
bool stands_again(const error_code& why) noexcept;

/// @throws error `bad_config` if the pauses break their limits.
coro::backoff_options pauses_of(const election_options& options);

/// The clock and the timers of a client.
std::shared_ptr<coro::time_source> time_of(const lock_client& client) noexcept;

/// The body of one term. Keeps the body's own exception, to tell it from a failure of the election.
template <class Body>
class term {
public:
    explicit term(Body& body) noexcept : body_(body) {}

    asio::awaitable<void> operator()(const lease& held) {
        began_ = true;
        failure_ = nullptr;
        try {
            co_await body_(held);
        } catch (...) {
            failure_ = std::current_exception();
            throw;
        }
    }

    bool began() const noexcept { return began_; }
    const std::exception_ptr& failure() const noexcept { return failure_; }

private:
    Body& body_;
    bool began_ = false;
    std::exception_ptr failure_;
};

template <class Body>
asio::awaitable<void>
run_election(lock_client& client, std::string name, coro::backoff_options bounds, Body body) {
    const auto time = time_of(client);
    coro::backoff pauses(bounds, random_id::draw().low);
    for (;;) {  // ends: by the body's return, by a failure that is final, or by cancellation
        term<Body> present(body);
        std::exception_ptr failure;
        error_code why;
        try {
            co_await with_lock(client, name, lock_options(), std::ref(present));
            co_return;
        } catch (const boost::system::system_error& wrong) {
            failure = std::current_exception();
            why = wrong.code();
        }
        // The body's own exception leaves with_lock unchanged: pass it on, whatever its code.
        if (failure == present.failure() || !stands_again(why))
            std::rethrow_exception(failure);
        if (present.began())
            pauses.reset();
        co_await coro::sleep_for(*time, pauses.next());
    }
}

}  // namespace detail

template <class Body>
    requires std::invocable<Body&, const lease&> asio::awaitable<void>
    lead(lock_client& client, std::string name, election_options options, Body&& body) {
        coro::detail::refuse_owning_temporary<Body, asio::awaitable<void>>();
        return detail::run_election<std::decay_t<Body>>(
            client, std::move(name), detail::pauses_of(options), std::forward<Body>(body)
        );
    }

}  // namespace mortise

#endif
