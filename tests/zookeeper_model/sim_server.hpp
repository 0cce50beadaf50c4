// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_ZOOKEEPER_MODEL_SIM_SERVER_HPP
#define MORTISE_TESTS_ZOOKEEPER_MODEL_SIM_SERVER_HPP

#include "mortise/sim/process.hpp"
#include "zookeeper_model/client_end.hpp"
#include "zookeeper_model/session_tracker.hpp"
#include "zookeeper_model/sim_connection.hpp"
#include "zookeeper_model/watch_table.hpp"
#include "zookeeper_model/znode_tree.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace mortise::zookeeper_model {

class sim_ensemble;

/// One server of a `sim_ensemble`. What it has written down survives all its faults.
///
/// @par Threads The world's; functions that take messages run in its process.
class sim_server {
public:
    sim_server(sim_ensemble& in, std::size_t index, sim::process& host);
    sim_server(const sim_server&) = delete;
    sim_server& operator=(const sim_server&) = delete;

    /// Its machine: to pause it, to set its clock, to cut it off, or to fail its power.
    sim::process& host() noexcept { return host_; }
    const znode_tree& tree() const noexcept { return tree_; }
    std::size_t index() const noexcept { return index_; }
    /// The epoch that it leads, or else the last one whose leader it has followed.
    std::uint64_t epoch() const noexcept { return role_ == role::leading ? led_epoch_ : epoch_; }
    zxid last_logged() const noexcept {
        return pending_.empty() ? tree_.last() : pending_.back().number;
    }
    bool leads() const noexcept { return runs_ && role_ == role::leading; }
    bool looks() const noexcept { return runs_ && role_ == role::looking; }
    bool serves() const noexcept { return runs_ && serving_; }
    /// It gets on: its machine has power and its process is not stopped.
    bool awake() const noexcept { return runs_ && host_.alive() && !host_.paused(); }

    /// The server process dies, its machine says so to all; or starts again.
    void crash();
    void start();
    /// What it has written down is lost, while it is down.
    void forget();
    /// Ends the connections of its clients, as an administrator can.
    void drop_clients();
    /// Steps the time of day.
    void shift_clock(std::chrono::milliseconds by) noexcept { offset_ += by; }
    /// Ends a session, whoever has it. Only the leader does.
    void end_session(session_number id);

    // What the ensemble has decided.
    void lead(std::uint64_t epoch);
    void follow(sim_server& leader);

    // What clients say.
    void take_greeting(
        const connection_ptr& by, const std::weak_ptr<client_end>& client, const greeting& words
    );
    void take_request(const connection_ptr& by, zk_request request);
    void take_ping(const connection_ptr& by);
    void take_watches(const connection_ptr& by, const watch_table& watches, zxid seen);

private:
    enum class role : std::uint8_t { looking, following, leading };
    /// A request whose answer was not sent.
    struct unanswered_request {
        zk_request request;
        std::optional<zk_answer> answer;
    };
    struct client_state {
        connection_ptr link;
        std::weak_ptr<client_end> client;
        session_number session = 0;
        std::chrono::milliseconds timeout{0};
        bool open = false;  ///< The session has been confirmed.
        watch_table watches;
        std::deque<unanswered_request> queue;
    };
    struct follower_state {
        connection_ptr link;
        std::optional<zxid> acked;  ///< None: it has not taken over what the leader has.
        clock::time_point heard;
        bool serving = false;
    };

    asio::awaitable<void> main(sim::process& self);
    void boot();
    void tick();
    clock::time_point now() const noexcept { return host_.local_now(); }
    std::int64_t time_of_day() const;

    // Clients: sim_server_clients.cpp.
    client_state* client_of(const connection_ptr& by);
    void drop_client(std::uint64_t id);
    void touch(session_number id);
    void confirm(std::uint64_t id, bool valid);
    void answer(client_state& to, zk_answer reply);
    void show(client_state& to, const zk_event& event);
    void flush(client_state& of);
    void finish(const transaction& done, const zk_answer& reply);

    // The ensemble: sim_server_quorum.cpp.
    void seek_leader();
    clock::duration patience() const;
    void watch_followers();
    void end_old_sessions();
    void establish();
    void submit(transaction one);
    void admit(std::size_t from, transaction one);
    void propose(transaction one);
    void advance();
    void commit(const transaction& one);
    template <class Say>
    void tell_followers(Say say);
    template <class Say>
    void tell_leader(Say say);
    void send_serving(follower_state& to, std::size_t index);

    // What the others of the ensemble say.
    void take_follower(std::size_t from, const connection_ptr& by);
    void take_state(
        const connection_ptr& by,
        std::uint64_t epoch,
        const std::shared_ptr<const znode_tree>& tree,
        const std::deque<transaction>& pending
    );
    void take_proposal(const connection_ptr& by, const transaction& one);
    void take_commit(const connection_ptr& by, zxid number);
    void take_serving(const connection_ptr& by);
    void take_leader_ping(const connection_ptr& by);
    follower_state* follower_of(std::size_t from, const connection_ptr& by);
    void take_ack(std::size_t from, const connection_ptr& by, zxid number);
    void take_touches(
        std::size_t from, const connection_ptr& by, const std::set<session_number>& touched
    );

    sim_ensemble& ensemble_;
    const std::size_t index_;
    sim::process& host_;

    // Written down.
    znode_tree tree_;
    std::deque<transaction> pending_;  ///< Not known to be done.
    std::uint64_t epoch_ = 0;

    bool runs_ = true;
    role role_ = role::looking;
    bool serving_ = false;
    std::chrono::milliseconds offset_{0};
    std::map<std::uint64_t, client_state> clients_;

    sim_server* leader_ = nullptr;
    connection_ptr to_leader_;
    clock::time_point heard_leader_;
    std::set<session_number> touched_;

    std::map<std::size_t, follower_state> followers_;
    clock::time_point leads_since_;
    clock::time_point containers_looked_at_;
    std::uint64_t led_epoch_ = 0;
    std::uint64_t proposed_ = 0;
    session_tracker sessions_;
};

}  // namespace mortise::zookeeper_model

#endif
