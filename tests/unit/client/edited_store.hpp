// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_CLIENT_EDITED_STORE_HPP
#define MORTISE_TESTS_UNIT_CLIENT_EDITED_STORE_HPP

#include "mortise/coro/time_source.hpp"
#include "mortise/store.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace mortise::test {

/// The messages of a store to its client, which a test may change.
struct edited_line {
    edited_line() = default;

    bool remote = false;  ///< It says that it is at a server.
    bool hold_events = false;
    bool hold_looks = false;    ///< The question is asked, and does not reach the store yet.
    bool hold_answers = false;  ///< Requests reach the store, and their answers do not come yet.
    /// While true: requests that are sent while this is set get no answer, and then an error.
    std::shared_ptr<bool> hold_requests;
    bool hold_withdrawals = false;     ///< They are sent, and do not reach the store yet.
    bool hold_releases = false;        ///< They are sent, and do not reach the store yet.
    bool lose_releases = false;        ///< The store gets them, and its answer is an error.
    bool hold_extensions = false;      ///< They are sent, and do not reach the store yet.
    error_code fail_extensions;        ///< Why they do not reach the store.
    unsigned extensions = 0;           ///< How often the store was asked for one.
    bool lose_extensions = false;      ///< Those sent meanwhile get an error as their answer.
    bool release_and_request = false;  ///< The store does both in one step.
    unsigned both = 0;                 ///< How often it was asked for that.
    unsigned in_order = 0;             ///< How often it was asked for several locks.
    bool lose_in_order = false;        ///< The store gets that, and its answer is an error.
    std::function<void(store_traits&)> edit_traits;
    /// Before the session begins. @return why the store refuses it.
    std::function<error_code()> refuse_session;
    /// The number of the proof that keeps all grants. If it is not that of the session which asks,
    /// this proof comes and goes as the next members say, and the session is another.
    proof_number number_grant = 0;
    std::optional<proof_number> hold_resume;  ///< Its session does not begin yet.
    std::optional<proof_number> fail_beats;   ///< Its heartbeats fail.
    error_code refuse_proof;                  ///< Why `number_grant` gets no session.
    bool free_grants = false;  ///< At the next request, what was granted is free again.
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
        traits.counts = line_->number_grant == 0;
        traits.release_and_request = line_->release_and_request;
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

    proof_number number_of(std::string_view name) const noexcept override {
        return inner_->number_of(name);
    }

    asio::awaitable<result<resumed>> resume(session_start start) override {
        const auto line = line_;
        if (const auto refused = line->refuse_session ? line->refuse_session() : error_code())
            co_return refused;
        const auto time = time_;
        while (line->hold_resume == start.number)
            co_await time->async_wait_until(time->now() + std::chrono::milliseconds(1));
        if (start.number != 0)
            co_return resume_proof();
        auto reply = co_await inner_->resume(std::move(start));
        if (reply)
            session_ = *reply;
        co_return reply;
    }
    asio::awaitable<error_code> end() override { return inner_->end(); }
    asio::awaitable<result<answer>> request(lock_request request) override {
        const auto line = line_;
        const auto hold = line->hold_requests;
        const auto time = time_;
        if (std::exchange(line_->free_grants, false)) {
            const auto seen = co_await inner_->look(0);
            for (const session_entry& entry : seen->entries) {
                grant held;
                held.id = entry.id;
                held.name = entry.name;
                held.token = entry.token;
                co_await inner_->release(held);
            }
        }
        auto reply = co_await inner_->request(std::move(request));
        if (reply)
            reply->number = line_->number_grant;
        while (hold && *hold)
            co_await time->async_wait_until(time->now() + std::chrono::milliseconds(1));
        if (hold)
            co_return error_code(errc::outcome_unknown);
        while (line->hold_answers)
            co_await time->async_wait_until(time->now() + std::chrono::milliseconds(1));
        co_return reply;
    }
    asio::awaitable<result<answers_in_order>> request_in_order(std::vector<lock_request> requests
    ) override {
        const auto line = line_;
        const auto time = time_;
        ++line->in_order;
        auto reply = co_await inner_->request_in_order(std::move(requests));
        while (line->hold_answers)
            co_await time->async_wait_until(time->now() + std::chrono::milliseconds(1));
        if (std::exchange(line->lose_in_order, false))
            co_return error_code(errc::outcome_unknown);
        co_return reply;
    }
    asio::awaitable<error_code> withdraw(std::string name, request_id id) override {
        const auto line = line_;
        const auto time = time_;
        while (line->hold_withdrawals)
            co_await time->async_wait_until(time->now() + std::chrono::milliseconds(1));
        co_return co_await inner_->withdraw(std::move(name), id);
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

    asio::awaitable<result<heartbeat>> beat(proof_number number) override {
        if (line_->fail_beats == number)
            co_return error_code(errc::store_unavailable);
        auto reply = co_await inner_->beat(0);
        if (reply && line_->edit_beat)
            line_->edit_beat(*reply);
        co_return reply;
    }

    asio::awaitable<result<session_view>> look(proof_number number) override {
        const auto line = line_;
        const auto time = time_;
        while (line->hold_looks)
            co_await time->async_wait_until(time->now() + std::chrono::milliseconds(1));
        auto reply = co_await inner_->look(0);
        if (reply)
            number_entries(*reply, number);
        if (reply && line->edit_look)
            line->edit_look(*reply);
        co_return reply;
    }

    asio::awaitable<released_and_asked>
    release_and_request(grant held, lock_request request) override {
        const auto line = line_;
        const auto time = time_;
        ++line->both;
        while (line->hold_releases)
            co_await time->async_wait_until(time->now() + std::chrono::milliseconds(1));
        auto both = co_await inner_->release_and_request(std::move(held), std::move(request));
        if (line->lose_releases)
            co_return released_and_asked(errc::outcome_unknown);
        co_return both;
    }
    asio::awaitable<result<token_range>> draw(grant held) override {
        return inner_->draw(std::move(held));
    }
    asio::awaitable<result<std::chrono::milliseconds>>
    extend(grant held, std::chrono::milliseconds hold_max) override {
        const auto line = line_;
        const auto time = time_;
        const bool lose = line->lose_extensions;
        ++line->extensions;
        while (line->hold_extensions)
            co_await time->async_wait_until(time->now() + std::chrono::milliseconds(1));
        if (line->fail_extensions)
            co_return line->fail_extensions;
        auto reply = co_await inner_->extend(std::move(held), hold_max);
        while (line->hold_answers)
            co_await time->async_wait_until(time->now() + std::chrono::milliseconds(1));
        if (lose)
            co_return error_code(errc::outcome_unknown);
        co_return reply;
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
        store_event numbered = event;
        if (numbered.type == store_event::kind::granted)
            numbered.number = line_->number_grant;
        if (line_->hold_events)
            line_->held.push_back(numbered);
        else
            line_->events->on_store_event(numbered);
    }

    /// Begins the session of the proof that keeps the grants.
    result<resumed> resume_proof() const {
        if (line_->refuse_proof)
            return line_->refuse_proof;
        resumed reply = session_;
        reply.sent = time_->now();
        reply.view.entries.clear();
        return reply;
    }

    /// Leaves what concerns the session of that number.
    void number_entries(session_view& view, proof_number number) const {
        for (session_entry& entry : view.entries)
            entry.number = line_->number_grant;
        if (number != 0)
            std::erase_if(view.entries, [](const session_entry& each) { return !each.granted; });
    }

    const std::unique_ptr<store> inner_;
    const std::shared_ptr<edited_line> line_;
    std::shared_ptr<coro::time_source> time_;
    resumed session_;
};

}  // namespace mortise::test

#endif
