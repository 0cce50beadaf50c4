// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_LINK_SCRIPTED_LINK_HPP
#define MORTISE_TESTS_UNIT_LINK_SCRIPTED_LINK_HPP

#include "mortise/coro/event.hpp"
#include "mortise/coro/sleep.hpp"
#include "store/link/session_link.hpp"
#include "support/co_world.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {

/// A link whose connections do as the test says, and that notes what is asked of each: its number,
/// the request, and for an opening the generation of the session.
class scripted_link final : public store_detail::session_link {
public:
    using texts = std::vector<std::string>;

    using session_link::session_link;

    error_code to_open;   ///< The result of the next openings.
    error_code to_prove;  ///< The result of the next proofs.
    random_id server{1, 1};
    bool silent_at_open = false;  ///< Openings wait for `answer`, or for the end of the connection.
    bool silent_at_prove = false;  ///< The same for proofs.
    /// What waits is not ended by the end of its connection, and has the result of a good one.
    bool ignores_close = false;
    /// How long each opening and each proof take, whatever becomes of the connection.
    clock::duration pace{};

    texts take() { return std::exchange(notes_, {}); }
    /// Answers what waits on that connection, counted from 1.
    void answer(std::size_t number) { wires_.at(number - 1)->answered.set(); }
    std::size_t wires() const noexcept { return wires_.size(); }
    std::size_t open_wires() const noexcept {
        std::size_t count = 0;
        for (const auto& each : wires_)
            count += each->closed ? 0u : 1u;
        return count;
    }

    using session_link::connection;
    using session_link::connection_closed;
    using session_link::end_session;
    using session_link::is_current;
    using session_link::remember;
    using session_link::replace_connection;
    using session_link::set_incarnation;
    using session_link::settle;
    using session_link::tell;
    using session_link::tell_now;

private:
    struct wire {
        explicit wire(const asio::any_io_executor& strand) : answered(strand) {}

        coro::event answered;
        bool closed = false;
    };

    asio::awaitable<error_code> open_connection() override {
        const auto mine = std::make_shared<wire>(strand());
        wires_.push_back(mine);
        note("open " + std::to_string(session().generation));
        auto waiting = wait(mine, silent_at_open);
        co_await std::move(waiting);
        if (mine->closed && !ignores_close)
            co_return error_code(errc::store_unavailable);
        co_return to_open;
    }

    asio::awaitable<result<resumed>> prove() override {
        const auto mine = wires_.back();
        EXPECT_FALSE(mine->closed) << "there is nothing to prove it with";
        note("prove");
        auto waiting = wait(mine, silent_at_prove);
        co_await std::move(waiting);
        if (mine->closed && !ignores_close)
            co_return error_code(errc::store_unavailable);
        if (to_prove)
            co_return to_prove;
        resumed reply;
        reply.sent = now();
        reply.incarnation = server;
        co_return reply;
    }

    void close_connection() noexcept override {
        if (wires_.empty() || std::exchange(wires_.back()->closed, true))
            return;
        note("close");
        if (!ignores_close)
            wires_.back()->answered.set();
    }

    void opening_ended(bool in_use) override { note(in_use ? "in use" : "failed"); }
    void begin_session() override {
        notes_.push_back("session " + std::to_string(session().id.low));
    }

    asio::awaitable<void> wait(std::shared_ptr<wire> mine, bool silent) {
        if (pace != clock::duration::zero()) {
            const auto kept = time();
            auto taking = coro::sleep_for(*kept, pace);
            co_await std::move(taking);
        }
        if (!silent)
            co_return;
        auto waiting = mine->answered.async_wait();
        co_await std::move(waiting);
        mine->answered.reset();
    }

    void note(const std::string& text) {
        notes_.push_back(std::to_string(wires_.size()) + ' ' + text);
    }

    texts notes_;
    std::vector<std::shared_ptr<wire>> wires_;
};

/// The owner of a link: notes the events.
class link_owner final : public store_events {
public:
    std::vector<store_event> heard;

    std::vector<store_event::kind> take() {
        std::vector<store_event::kind> kinds;
        for (const auto& each : std::exchange(heard, {}))
            kinds.push_back(each.type);
        return kinds;
    }

private:
    void on_store_event(const store_event& event) noexcept override { heard.push_back(event); }
};

/// The session of that number, in that generation.
inline session_start session_of(std::uint64_t number, std::uint64_t generation = 1) {
    session_start start;
    start.id = {0, number};
    start.generation = generation;
    start.ttl = std::chrono::seconds(3);
    return start;
}

/// The result of an opening by the owner.
class opening_outcome {
public:
    bool ended = false;
    bool opened = false;
    error_code code;
};

inline asio::awaitable<void> open_at(
    std::shared_ptr<scripted_link> link,
    session_start start,
    std::shared_ptr<opening_outcome> outcome
) {
    auto opening = link->open(std::move(start));
    const auto reply = co_await std::move(opening);
    outcome->ended = true;
    outcome->opened = reply.has_value();
    if (!reply)
        outcome->code = reply.error();
}

/// A link with its owner in virtual time. The n-th pause before another attempt takes n seconds.
class link_world : public co_world {
public:
    link_world() {
        link->attach(
            executor(), owner, std::shared_ptr<coro::time_source>(std::shared_ptr<void>(), &time)
        );
    }

    /// Opens, and does everything that can be done without time passing.
    std::shared_ptr<opening_outcome> open(std::uint64_t number, std::uint64_t generation = 1) {
        auto opening = std::make_shared<opening_outcome>();
        start([link = link, first = session_of(number, generation), opening] {
            return open_at(link, first, opening);
        });
        pass(clock::duration::zero());
        return opening;
    }

    /// Ends the connection as the network would.
    void cut() {
        link->connection_closed();
        pass(clock::duration::zero());
    }

    link_owner owner;
    std::shared_ptr<scripted_link> link =
        std::make_shared<scripted_link>([](std::uint32_t attempt) {
            return std::chrono::seconds(attempt + 1);
        });
};

}  // namespace mortise::test

#endif
