// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDLOCK_NODE_LINK_HPP
#define MORTISE_STORE_REDLOCK_NODE_LINK_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/store_types.hpp"
#include "store/redis/redis_link.hpp"
#include "store/redlock/node_answers.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::store_detail {

/// The keys of a node, in the order in which its scripts expect them (redlock_common.lua).
///
/// @par Threads Any: nothing changes.
class node_keys {
public:
    using list = std::vector<std::string>;

    explicit node_keys(const std::string& prefix) : begin_('{' + prefix + '}') {}

    /// The record of the node, its sessions with their deadlines and counts of messages, the
    /// counters.
    list common() const { return {of("id"), of("s"), of("d"), of("g"), of("k")}; }
    /// The same with what people want to know of sessions.
    list with_facts() const {
        list keys = common();
        keys.push_back(of("n"));
        return keys;
    }
    /// For what a session does with a lock.
    list at_lock(std::string_view session, std::string_view lock) const {
        list keys = common();
        keys.push_back(index(session));
        add_lock(keys, lock);
        return keys;
    }
    void add_lock(list& to, std::string_view lock) const {
        to.push_back(vote(lock));
        to.push_back(begin_ + "q:" + std::string(lock));
    }
    std::string vote(std::string_view lock) const { return begin_ + "l:" + std::string(lock); }
    std::string index(std::string_view session) const {
        return begin_ + "e:" + std::string(session);
    }
    std::string inbox(std::string_view session) const {
        return begin_ + "i:" + std::string(session);
    }
    std::string of(std::string_view kind) const { return begin_ + std::string(kind); }

private:
    const std::string begin_;
};

/// What the link to a node tells its client.
class node_events {
public:
    /// The node has a new session, or goes on with it on a new connection.
    virtual void node_opened(std::size_t node, bool is_new, clock::time_point sent) = 0;
    /// The connection is gone.
    virtual void node_dropped(std::size_t node) noexcept = 0;
    /// The node does not have the session any longer.
    virtual void node_lost(std::size_t node) = 0;
    virtual void node_told(std::size_t node, const node_message& message) = 0;
    /// The node may have lost the session.
    virtual void node_unsure(std::size_t node) = 0;

protected:
    ~node_events() = default;
};

/// How a client of Redlock uses each of its nodes.
struct node_settings {
    node_settings() = default;

    std::size_t nodes = 0;  ///< How many there are.
    bool assume_new = false;
};

/// The link to one node of Redlock. The session there has a name of its own, and is not the
/// client's: one that is gone is followed by another.
///
/// @par Threads The strand.
class node_link final : public redis_link, private store_events {
public:
    node_link(
        std::size_t index, node_settings settings, link_settings link, redis_wire_factory wires
    );

    /// @param owner of `events`; they are told while it lives.
    void bind(
        asio::any_io_executor strand,
        std::shared_ptr<coro::time_source> time,
        node_events& events,
        std::weak_ptr<void> owner
    );

    /// Begins a session, unless there is one or one is being begun. @param start of the client; it
    /// says what people want to know, and the TTL.
    asio::awaitable<error_code> begin(session_start start);
    /// Ends the session and closes the connection.
    void end_here() noexcept;
    /// The node has said that the session is gone.
    void note_gone();
    /// Another address in the list leads to the same server. @return what is wrong.
    error_code refuse_repeated();

    bool connected() const noexcept { return redis_link::connected(); }
    /// Whether a session can be begun now.
    bool is_idle() const noexcept { return !beginning_ && !has_session_; }
    /// Waits until no connection is being opened.
    asio::awaitable<bool> settled() { return settle(); }

    /// A call for the session; its arguments begin with the session and its generation.
    asio::awaitable<result<redis_value>>
    act_for_session(redis_script script, node_keys::list keys, std::vector<std::string> more);

    const node_keys& keys() const noexcept { return keys_; }
    using redis_link::session_name;
    std::string generation() const { return std::to_string(session().generation); }

    const node_state& state() const noexcept { return state_; }
    void note_state(node_state state);
    /// Notes that it votes from now on.
    void note_restored() noexcept { state_.knows_counters = true; }
    /// How much of its quarantine is left.
    clock::duration closed_for() const noexcept;
    bool votes() const noexcept;

    void note_time(std::uint64_t time) noexcept;
    /// The clock of the node as far as it is known, in microseconds; 0 if it is not.
    std::uint64_t estimated_time() const noexcept;

    /// Notes the number of messages so far. @return whether some were lost.
    bool note_news(std::uint64_t news) noexcept;
    std::uint64_t news() const noexcept { return news_; }

private:
    asio::awaitable<redis_failure> prepare(wire_ptr wire) override;
    asio::awaitable<result<resumed>> prove() override;
    void opening_ended(bool in_use) override;
    void came_back(const random_id&) override {}
    void on_message(const std::string& text) override;
    void dropped() noexcept override;
    std::string tracked() const override { return keys_.of("id"); }
    std::vector<redis_script> used_scripts() const override {
        return redis_scripts::range(redis_script::redlock_open, redis_script::redlock_break);
    }
    void on_store_event(const store_event& event) noexcept override;

    const std::size_t index_;
    const node_settings node_;
    const node_keys keys_;
    node_events* told_ = nullptr;
    std::weak_ptr<void> owner_;
    session_start client_;  ///< The session of the client, for people.
    bool beginning_ = false;
    std::uint64_t beginnings_ = 0;  ///< Counts them: a later one supersedes.
    bool has_session_ = false;
    bool is_new_ = false;       ///< The session was begun by the newest opening.
    bool had_session_ = false;  ///< There was one ever: the node is not new.
    clock::time_point proof_sent_;
    node_state state_;
    clock::time_point state_at_;
    std::uint64_t time_ = 0;
    clock::time_point time_at_;
    std::uint64_t news_ = 0;
};

}  // namespace mortise::store_detail

#endif
