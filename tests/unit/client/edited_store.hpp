// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_CLIENT_EDITED_STORE_HPP
#define MORTISE_TESTS_UNIT_CLIENT_EDITED_STORE_HPP

#include "mortise/coro/time_source.hpp"
#include "mortise/store.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace mortise::test {

/// The messages of a store to its client, which a test may change.
struct edited_line {
    edited_line() = default;

    bool remote = false;  ///< It says that it is at a server.
    bool hold_events = false;
    bool hold_looks = false;  ///< The question is asked, and does not reach the store yet.
    /// While true: requests that are sent while this is set get no answer, and then an error.
    std::shared_ptr<bool> hold_requests;
    bool hold_releases = false;  ///< They are sent, and do not reach the store yet.
    bool lose_releases = false;  ///< The store gets them, and its answer is an error.
    std::function<void(store_traits&)> edit_traits;
    /// Before the session begins. @return why the store refuses it.
    std::function<error_code()> refuse_session;
    std::function<void(heartbeat&)> edit_beat;
    std::function<void(session_view&)> edit_look;
    std::vector<store_event> held;
    store_events* events = nullptr;

    /// Delivers what was held.
    void let_events_go() {
        hold_events = false;
        for (const auto& event : std::exchange(held, {}))
            events->on_store_event(event);
    }
};

/// A store whose words are held back or changed on the way.
class edited_store final : public store, private store_events {
public:
    edited_store(std::unique_ptr<store> inner, std::shared_ptr<edited_line> line)
        : inner_(std::move(inner)), line_(std::move(line)) {}

    store_traits traits() const noexcept override {
        auto traits = inner_->traits();
        traits.remote = traits.remote || line_->remote;
        if (line_->edit_traits)
            line_->edit_traits(traits);
        return traits;
    }

    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override {
        line_->events = &events;
        time_ = time;
        inner_->attach(std::move(strand), *this, std::move(time));
    }

    void detach() noexcept override { inner_->detach(); }

    asio::awaitable<result<resumed>> resume(session_start start) override {
        const auto line = line_;
        if (const auto refused = line->refuse_session ? line->refuse_session() : error_code())
            co_return refused;
        auto reply = co_await inner_->resume(std::move(start));
        co_return reply;
    }
    asio::awaitable<error_code> end() override { return inner_->end(); }
    asio::awaitable<result<answer>> request(lock_request request) override {
        const auto hold = line_->hold_requests;
        const auto time = time_;
        auto reply = co_await inner_->request(std::move(request));
        while (hold && *hold)
            co_await time->async_wait_until(time->now() + std::chrono::milliseconds(1));
        if (hold)
            co_return error_code(errc::outcome_unknown);
        co_return reply;
    }
    asio::awaitable<error_code> withdraw(std::string name, request_id id) override {
        return inner_->withdraw(std::move(name), id);
    }
    asio::awaitable<result<bool>> release(grant held) override {
        const auto line = line_;
        const auto time = time_;
        while (line->hold_releases)
            co_await time->async_wait_until(time->now() + std::chrono::milliseconds(1));
        auto reply = co_await inner_->release(std::move(held));
        if (line->lose_releases)
            co_return error_code(errc::outcome_unknown);
        co_return reply;
    }

    asio::awaitable<result<heartbeat>> beat() override {
        auto reply = co_await inner_->beat();
        if (reply && line_->edit_beat)
            line_->edit_beat(*reply);
        co_return reply;
    }

    asio::awaitable<result<session_view>> look() override {
        const auto line = line_;
        const auto time = time_;
        while (line->hold_looks)
            co_await time->async_wait_until(time->now() + std::chrono::milliseconds(1));
        auto reply = co_await inner_->look();
        if (reply && line->edit_look)
            line->edit_look(*reply);
        co_return reply;
    }

    asio::awaitable<result<token_range>> draw(grant held) override {
        return inner_->draw(std::move(held));
    }
    asio::awaitable<result<std::vector<lock_view>>>
    list(std::string after, std::size_t limit, std::size_t queue_max) override {
        return inner_->list(std::move(after), limit, queue_max);
    }
    asio::awaitable<result<std::optional<lock_view>>>
    inspect(std::string name, std::size_t queue_max) override {
        return inner_->inspect(std::move(name), queue_max);
    }
    asio::awaitable<result<bool>> break_(break_order order) override {
        return inner_->break_(std::move(order));
    }
    asio::awaitable<result<std::vector<break_record>>>
    breaks(std::string name, std::size_t limit) override {
        return inner_->breaks(std::move(name), limit);
    }
    asio::awaitable<error_code> watch() override { return inner_->watch(); }
    asio::awaitable<result<std::vector<store_finding>>> examine() override {
        return inner_->examine();
    }

private:
    void on_store_event(const store_event& event) noexcept override {
        if (line_->hold_events)
            line_->held.push_back(event);
        else
            line_->events->on_store_event(event);
    }

    const std::unique_ptr<store> inner_;
    const std::shared_ptr<edited_line> line_;
    std::shared_ptr<coro::time_source> time_;
};

}  // namespace mortise::test

#endif
