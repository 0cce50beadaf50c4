// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_ZOOKEEPER_ZOOKEEPER_LINK_HPP
#define MORTISE_STORE_ZOOKEEPER_ZOOKEEPER_LINK_HPP

#include "base/name_lookup.hpp"
#include "mortise/coro/detail/wait_list.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/store/zookeeper.hpp"
#include "store/link/answer_watch.hpp"
#include "store/link/session_link.hpp"
#include "store/zookeeper/ensemble_access.hpp"
#include "store/zookeeper/session_proof.hpp"
#include "zookeeper/zk_session.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::store_detail {

using zookeeper_detail::zk_answer;
using zookeeper_detail::zk_event;
using zookeeper_detail::zk_session;
using zookeeper_detail::zk_state;
using zookeeper_detail::zk_step;

/// Operations that are done as one.
using zk_change = std::vector<zk_step>;

inline zk_step erasure_of(std::string path, std::int32_t version = zk_step::any_version) {
    zk_step step;
    step.type = zk_step::kind::erase;
    step.path = std::move(path);
    step.version = version;
    return step;
}
inline zk_step writing_of(std::string path, std::string data, std::int32_t version) {
    zk_step step;
    step.type = zk_step::kind::set;
    step.path = std::move(path);
    step.data = std::move(data);
    step.version = version;
    return step;
}

/// The answer to an operation that is under way: several are sent before the first is awaited.
///
/// @par Threads The strand.
class zk_reply : public std::enable_shared_from_this<zk_reply> {
public:
    explicit zk_reply(asio::any_io_executor strand) : strand_(std::move(strand)) {}

    /// Who awaits it goes on from inside of this call, so that the next operation is sent before
    /// the client is asked again what it waits for.
    void come(zk_answer answer);

    /// Awaits the answer. Once.
    asio::awaitable<zk_answer> take();

private:
    static void wait(coro::detail::completion<void(error_code)> done, zk_reply* self);

    const asio::any_io_executor strand_;
    coro::detail::wait_list<> waiting_;
    bool come_ = false;
    zk_answer answer_;
};

using zk_reply_ptr = std::shared_ptr<zk_reply>;

/// The link to an ensemble: one session of ZooKeeper for each session of the client, whose
/// connections the C client replaces by itself. A node that ends with it stands for the session;
/// heartbeats write it.
///
/// The C client pings, so that its session may outlive its user: the link ends the session after a
/// TTL without a heartbeat.
///
/// @par Threads The strand.
class zookeeper_link final : public session_link {
public:
    zookeeper_link(zookeeper_store_config config, ensemble_access servers);
    ~zookeeper_link() override { close_parting(); }
    /// Closes what still clears up after sessions that were lost.
    void close_parting() noexcept;

    /// What the link tells the locks of its session. Called outside of all calls.
    struct listener {
        std::function<void(const zk_event&)> seen;
        std::function<void()> reconnected;  ///< Answers, and watches, may have been lost.
        /// The session is over: it has nothing any more. Returns what deletes the nodes it had.
        std::function<std::vector<zk_change>()> ended;
    };
    void listen(listener to) { to_ = std::move(to); }

    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override;

    asio::awaitable<result<resumed>> resume(session_start start);
    /// Connects without a session of a client, to look at the store, and makes none: without one
    /// `has_store` says so. `detach` ends that.
    asio::awaitable<error_code> visit();
    /// Whether the store was found or made.
    bool has_store() const noexcept { return !domain_.empty(); }
    /// Proves that the session lives, by a write.
    asio::awaitable<result<heartbeat>> beat();
    /// Ends the session, which has nothing any more but the node that stands for it.
    asio::awaitable<error_code> leave();

    const zookeeper_store_config& config() const noexcept { return config_; }
    const ensemble_access& servers() const noexcept { return servers_; }
    const token_domain& domain() const noexcept { return domain_; }
    const session_id& own_id() const noexcept { return session().id; }
    /// Names the folder of all locks, the node of a lock, and one in its queue.
    std::string locks_path() const { return config_.root + "/locks"; }
    std::string lock_path(std::string_view lock) const;
    std::string sessions_path() const { return config_.root + "/sessions"; }
    std::string breaks_path() const { return config_.root + "/breaks"; }

    // Operations, which are sent in the order of the calls; one that cannot be sent ends with
    // `zk_code::invalid_state`.
    using kind = zookeeper_detail::node_kind;
    zk_reply_ptr create(const std::string& path, const std::string& data, kind type);
    zk_reply_ptr erase(const std::string& path);
    zk_reply_ptr set(const std::string& path, const std::string& data);
    zk_reply_ptr get(const std::string& path, bool watch = false);
    zk_reply_ptr list(const std::string& path, bool watch = false);
    zk_reply_ptr change(zk_change steps);

    /// Writes the node of the session, as heartbeats do.
    zk_reply_ptr write_session() { return set(session_path(), session_text()); }

    /// What a failure of an operation means to the client.
    error_code meaning_of(const error_code& failed);
    error_code note(const error_code& why, std::string text) {
        return remember(why, std::move(text));
    }

    const asio::any_io_executor& executor() const noexcept { return strand(); }
    const std::shared_ptr<coro::time_source>& clock_source() const noexcept { return time(); }
    /// Sets an alarm for a time after now.
    void set_alarm(alarm& one, clock::duration after, std::function<void()> then) {
        one.set(*time(), strand(), now() + after, std::move(then));
    }
    void tell_owner(const store_event& event) { tell(event); }
    void tell_look_again() { tell(store_event::kind::look_again); }
    void tell_changed() { tell(store_event::kind::changed); }
    asio::awaitable<bool> settled() { return settle(); }
    bool usable() const noexcept { return usable_; }
    /// The time of day at the servers, as far as the last heartbeat tells; zero: unknown.
    std::chrono::milliseconds server_time() const;
    std::int64_t zookeeper_session() const noexcept { return handle_ ? handle_->session() : 0; }
    std::chrono::milliseconds timeout() const noexcept { return timeout_; }
    std::string server() const { return handle_ ? handle_->server() : std::string(); }

private:
    asio::awaitable<error_code> open_connection() override;
    asio::awaitable<result<resumed>> prove() override;
    void close_connection() noexcept override;
    void begin_session() override;

    asio::awaitable<result<std::string>> addresses(clock::time_point until);
    asio::awaitable<error_code> make_root();
    /// Reads what the node of the store says. @return `zk_code::no_node` if there is none.
    asio::awaitable<error_code> read_store();
    asio::awaitable<error_code> find_or_make_store();
    std::string session_path() const { return sessions_path() + '/' + session().id.text(); }
    std::string session_text() const;

    template <class Send>
    zk_reply_ptr ask(Send send);
    void changed(zk_state now);
    void connected_again();
    void watch_reconnection();
    void expect_beat(clock::time_point sent, clock::time_point base);
    void over();
    void clear_up(std::vector<zk_change> changes);

    const zookeeper_store_config config_;
    const ensemble_access servers_;
    listener to_;
    std::shared_ptr<zk_session> handle_;
    std::vector<std::shared_ptr<zk_session>> parting_;  ///< Whose nodes are being deleted.
    std::optional<coro::event> decided_;                ///< Whether the connection came about.
    answer_watch answers_;
    session_proof proof_;
    alarm touch_alarm_;  ///< For a read that the next heartbeat can carry.
    alarm beat_alarm_;   ///< For the end of a session without heartbeats.
    alarm open_alarm_;
    alarm reconnection_alarm_;  ///< For a server that does not answer the opening.
    bool usable_ = false;       ///< The connection may be used for calls.
    bool over_ = false;         ///< The session of this link has ended.
    clock::time_point believed_until_;
    std::shared_ptr<detail::name_lookup> looking_;  ///< Of the opening, for names.
    std::size_t openings_ = 0;
    std::uint64_t closings_ = 0;  ///< How often the connection was closed.
    std::uint64_t generation_ = 0;
    std::chrono::milliseconds timeout_{0};  ///< Of the session at the servers.
    token_domain domain_;
    random_id store_;
    std::int64_t beaten_at_ = 0;  ///< The time of day at the servers of the last heartbeat.
    clock::time_point beaten_here_;
};

}  // namespace mortise::store_detail

#endif
