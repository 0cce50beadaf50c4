// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDLOCK_NODE_GROUP_HPP
#define MORTISE_STORE_REDLOCK_NODE_GROUP_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/store_types.hpp"
#include "store/redlock/granting_sets.hpp"
#include "store/redlock/node_link.hpp"
#include "store/redlock/node_round.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// What a group of nodes tells the requests of its client.
class node_watcher {
public:
    /// All that the client has at the node may have changed.
    virtual void look_at(std::size_t node) = 0;
    /// As `node_events`.
    virtual void node_forgot(std::size_t node) = 0;
    virtual void node_told(std::size_t node, const node_message& message) = 0;
    /// The node has acknowledged a heartbeat.
    virtual void node_proved(std::size_t node) = 0;
    /// The node gives votes again.
    virtual void node_votes(std::size_t node) = 0;

protected:
    ~node_watcher() = default;
};

/// The nodes of a store, with the client's session at each of them: opens and proves the sessions,
/// has the dead expelled, and brings counters to a node that has forgotten its own.
///
/// @par Threads The strand.
class node_group final : public std::enable_shared_from_this<node_group>, private node_events {
public:
    using link_ptr = std::shared_ptr<node_link>;
    using reply_taker = std::function<void(const result<redis_value>& reply)>;
    using round_ptr = std::shared_ptr<node_round>;

    explicit node_group(std::vector<link_ptr> nodes);

    void attach(
        asio::any_io_executor strand,
        std::shared_ptr<coro::time_source> time,
        node_watcher& requests,
        std::weak_ptr<void> owner
    );
    void detach() noexcept;

    std::size_t size() const noexcept { return nodes_.size(); }
    std::size_t majority() const noexcept { return sets_.majority(); }
    node_link& node(std::size_t index) { return *nodes_[index]; }
    granting_sets& sets() noexcept { return sets_; }
    const granting_sets& sets() const noexcept { return sets_; }
    clock::time_point now() const noexcept { return time_->now(); }
    const asio::any_io_executor& strand() const noexcept { return strand_; }

    /// Begins sessions at all nodes, instead of those that there are.
    /// @par Errors `store_unavailable`: at too few of them. Or what is wrong with the settings.
    asio::awaitable<error_code> begin(session_start start);
    /// Ends the sessions at all nodes that can be reached, and frees all that they have.
    /// @par Errors `store_unavailable`: too few of them could be reached.
    asio::awaitable<error_code> end();

    /// Sends a heartbeat to all nodes, or joins those that have just been sent. Waits until they
    /// have proved the set of that number, and for no other node.
    /// @return when they were sent.
    asio::awaitable<clock::time_point> beat(proof_number number);
    /// Whether fewer than a majority of nodes have a session of this client, or none but fewer have
    /// proved it for a TTL.
    bool is_lost() const;

    round_ptr make_round() const { return std::make_shared<node_round>(strand_, time_); }
    /// Whether the node can be called for the session.
    bool reaches(std::size_t index) const {
        return sets_.lives(index) && nodes_[index]->connected();
    }
    std::size_t reached() const;
    /// Calls a script for the session, as a part of that round. `take` gets the reply if the
    /// session of the call is still the present one of the node; else `session_lost`.
    void
    call(const round_ptr& round, std::size_t index, script_call wanted, const reply_taker& take);
    /// The node has said that the session is gone. While it is being ended, that is no news.
    void note_gone(std::size_t index) {
        if (ending_ == 0)
            nodes_[index]->note_gone();
    }

    /// The largest of the nodes' clocks as far as they are known, in microseconds.
    std::uint64_t latest_time() const;
    /// The one in the middle, which a minority of clocks that are wrong does not move.
    std::uint64_t median_time() const;
    /// How long fewer than a majority of nodes give votes.
    clock::duration quarantine() const;
    /// The time until another session, or the quarantine of a node, is over.
    std::optional<clock::duration> next_deadline() const;
    token_strength strength() const noexcept;
    std::string explain() const;

private:
    void node_opened(std::size_t index, bool is_new, clock::time_point sent) override;
    void node_dropped(std::size_t) noexcept override {}
    void node_lost(std::size_t index) override;
    void node_told(std::size_t index, const node_message& message) override;
    void node_unsure(std::size_t index) override;

    std::vector<std::uint64_t> times() const;
    std::weak_ptr<void> owner() { return owner_; }
    void begin_missing(const round_ptr& round);
    asio::awaitable<void>
    begin_at(std::shared_ptr<node_group> self, std::size_t index, round_ptr round);
    asio::awaitable<void> call_one(
        std::shared_ptr<node_group> self,
        round_ptr round,
        std::size_t index,
        script_call wanted,
        reply_taker take
    );
    round_ptr beats();
    void forget_unreachable();
    void beat_at(const round_ptr& round, std::size_t index);
    void take_beat(std::size_t index, clock::time_point sent, const result<redis_value>& reply);
    bool is_repeated(std::size_t index) const;
    void tend(std::size_t index);
    asio::awaitable<void>
    expel(std::shared_ptr<node_group> self, std::size_t index, std::vector<std::string> sessions);
    asio::awaitable<error_code> bury(std::size_t index, std::string session);
    asio::awaitable<void> end_at(
        std::shared_ptr<node_group> self,
        std::size_t index,
        round_ptr round,
        std::shared_ptr<std::size_t> ended
    );
    asio::awaitable<void>
    restore(std::shared_ptr<node_group> self, std::size_t index, std::string start);

    const std::vector<link_ptr> nodes_;
    granting_sets sets_;
    asio::any_io_executor strand_;
    std::shared_ptr<coro::time_source> time_;
    node_watcher* requests_ = nullptr;
    std::weak_ptr<void> owner_;
    session_start start_;
    round_ptr beating_;                ///< The newest heartbeats.
    std::set<std::size_t> repeated_;   ///< Nodes that are servers which are listed twice.
    std::set<std::size_t> expelling_;  ///< Nodes at which dead sessions are being expelled.
    std::set<std::size_t> restoring_;  ///< Nodes that counters are being brought to.
    std::uint64_t begins_ = 0;
    unsigned ending_ = 0;  ///< Ends that are under way.
    error_code wrong_;     ///< What is wrong with the settings, by a node's word.
};

}  // namespace mortise::store_detail

#endif
