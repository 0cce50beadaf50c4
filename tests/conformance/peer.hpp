// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_PEER_HPP
#define MORTISE_TESTS_CONFORMANCE_PEER_HPP

#include "conformance/store_harness.hpp"

#include <boost/asio/strand.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

namespace mortise::test {

/// One session at the store under test, without a client: the plain port. It sends no heartbeat by
/// itself, so that a test decides who lives.
class peer final : private store_events {
public:
    struct event {
        store_event::kind type;
        request_id id;
        fencing_token token;
        std::uint32_t slot;
        bool contended;
    };

    /// The parts of a request besides its name.
    struct manner {
        lock_mode mode;
        std::chrono::milliseconds hold_max = std::chrono::milliseconds::max();
        bool queue = true;
    };

    /// Its sessions live for the harness's TTL after their last heartbeat.
    explicit peer(store_harness& harness);
    /// As above, for a test in which no session dies, however slow the machine is.
    peer(store_harness& harness, std::chrono::milliseconds ttl);
    ~peer();

    /// Resumes with a new session.
    asio::awaitable<resumed> open();
    asio::awaitable<result<resumed>> resume(std::uint64_t generation);

    asio::awaitable<result<answer>> ask(std::string name, bool queue = true);
    asio::awaitable<result<answer>> ask_for(std::string name, manner how);
    asio::awaitable<result<answer>> ask_again(request_id id, std::string name, bool queue = true);

    /// Asks and expects a grant.
    asio::awaitable<grant> hold(std::string name);
    asio::awaitable<grant> hold_for(std::string name, manner how);

    asio::awaitable<result<bool>> break_(std::string name, fencing_token token);

    /// Whether an event of that kind and id has come, or comes within `limit`; removes the event.
    asio::awaitable<bool>
    hears(store_event::kind type, request_id id, clock::duration limit = std::chrono::seconds(5));
    fencing_token heard_token() const { return heard_.token; }
    /// The event that `hears` found last.
    const event& last_heard() const { return heard_; }

    /// Whether an event of that kind is there just now.
    bool has(store_event::kind type) const;

    /// All events that have come and were not taken yet.
    std::deque<event> take_events() { return std::exchange(events_, {}); }

    /// Whether a heartbeat of this session counts that many, where the store counts at all.
    bool has_counted(const heartbeat& beat, std::uint64_t grants, std::uint64_t requests) const {
        return !store_->traits().counts || (beat.grants == grants && beat.requests == requests);
    }

    store& port() { return *store_; }
    request_id last_id() const { return last_id_; }
    const session_id& id() const { return start_.id; }

    /// Lets go of the store as if the client's object had been destroyed without a farewell.
    void drop();

    /// A request with the next id.
    lock_request wish_for(std::string name, const manner& how);

private:
    void on_store_event(const store_event& notice) noexcept override;

    store_harness& harness_;
    std::unique_ptr<store> store_;
    session_start start_;
    request_id last_id_ = 0;
    std::deque<event> events_;
    event heard_{};
};

}  // namespace mortise::test

#endif
