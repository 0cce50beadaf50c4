// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_SQLITE_STATE_USER_HPP
#define MORTISE_TESTS_UNIT_SQLITE_STATE_USER_HPP

#include "mortise/coro/virtual_time.hpp"
#include "store/sqlite/lock_operations.hpp"
#include "store/sqlite/sqlite_state.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace mortise::test {

/// A clock that stands still unless it is told to pass.
class still_clock {
public:
    std::shared_ptr<coro::time_source> source() const { return time_; }
    clock::time_point now() const { return time_->now(); }
    void pass(clock::duration span) { time_->run_for(context_, span); }

private:
    asio::io_context context_;
    std::shared_ptr<coro::virtual_time> time_ =
        std::make_shared<coro::virtual_time>(context_.get_executor());
};

/// The blocking half of a store with a session, without threads: one line for each call.
class state_user {
public:
    static constexpr std::chrono::milliseconds ttl{1'000};

    state_user(const sqlite_store_config& config, const still_clock& time)
        : state(config, time.source()), time_(time) {}

    /// A new session.
    error_code open();
    error_code beat();

    /// Asks for the lock by a new request. @return its answer.
    answer ask(const std::string& name, bool queue = true);
    answer ask_for(
        const std::string& name,
        lock_mode mode,
        std::chrono::milliseconds hold_max = std::chrono::milliseconds::max(),
        bool queue = true
    );
    error_code asked() const { return asked_; }
    request_id last_id() const { return last_id_; }
    bool release(const std::string& name, const fencing_token& token, request_id id = 1);

    store_detail::outcome<token_range> draw(const grant& held);
    store_detail::outcome<store_detail::nothing> withdraw(const std::string& name, request_id id);

    /// By itself, in a transaction of its own.
    void perform(store_detail::lock_operation& operation);

    bool break_(const std::string& name, const fencing_token& token, const std::string& why);

    /// Returns the notices of the calls since the last time: "granted 1 look_again" and so on.
    std::string take_notices();

    store_detail::sqlite_state state;
    store_detail::opened_session opened;

private:
    void keep(const std::vector<store_detail::notice>& notices);

    const still_clock& time_;
    request_id last_id_ = 0;
    error_code asked_;
    std::string notices_;
};

}  // namespace mortise::test

#endif
