// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REDIS_LINK_HPP
#define MORTISE_STORE_REDIS_REDIS_LINK_HPP

#include "mortise/coro/backoff.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/fork_guard.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/store.hpp"
#include "store/redis/command_lane.hpp"
#include "store/redis/deaf_wire_events.hpp"
#include "store/redis/known_scripts.hpp"
#include "store/redis/redis_scripts.hpp"
#include "store/redis/redis_wire.hpp"
#include "store/redis/server_facts.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mortise::store_detail {

using coro::detail::alarm;

/// What a link needs to know of the store that it leads to.
struct link_settings {
    link_settings() = default;

    std::string prefix;
    std::string domain;  ///< Wanted; empty: that of the store, or one made from its id.
    accepted_risks accepted;
    bool assume_new = false;
    std::chrono::milliseconds longest_ttl{5'000};
    unsigned min_replicas = 0;
    std::chrono::milliseconds connect_max{5'000};
    /// What the server is called in messages.
    std::string name;
};

/// The client's end of the way to a Redis server: one session, and for it one connection after the
/// other; the scripts; and what the server tells by itself. What a session is at the server is said
/// by the forms of the store: `queue_link`, `key_link`.
///
/// A server that owes answers and gives none for a while loses the connection: what was under way
/// on it is unknown, and the session goes on on the next one.
///
/// @par Threads The strand.
class redis_link : public std::enable_shared_from_this<redis_link>, private redis_wire_events {
public:
    redis_link(link_settings settings, redis_wire_factory wires);
    virtual ~redis_link() = default;
    redis_link(const redis_link&) = delete;
    redis_link& operator=(const redis_link&) = delete;

    virtual void
    attach(asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source>);
    void detach() noexcept;

    clock::time_point now() const noexcept { return time_->now(); }
    const token_domain& domain() const noexcept { return domain_; }
    const std::string& name() const noexcept { return settings_.name; }
    const std::string& prefix() const noexcept { return settings_.prefix; }
    /// What the tokens of that server are worth. Any thread.
    token_strength strength() const noexcept { return strength_; }

    /// Opens the first connection of a session, or the next one of the same.
    asio::awaitable<result<resumed>> open(session_start start);

    /// Runs a script on the present connection, for the session: its name, its generation and
    /// `more` are its argument.
    asio::awaitable<result<redis_value>> act(redis_script which, std::string more);
    /// The same with arguments that name no session; on a passing connection if there is none.
    asio::awaitable<result<redis_value>>
    ask(redis_script which, std::vector<std::string> arguments);
    /// Sends a command as it is; on a passing connection if there is none.
    asio::awaitable<result<redis_value>> send(redis_command command);
    /// Asks what the server is by now; whether flushes are heard is as on the newest connection.
    asio::awaitable<result<server_facts>> ask_facts();

    /// The newest failure, for people. Any thread.
    std::string explain() const;

protected:
    using wire_ptr = std::shared_ptr<redis_wire>;

    /// What the form does with a connection that was just opened, before all else.
    virtual asio::awaitable<redis_failure> prepare(wire_ptr wire);
    /// Makes the session known at the server, or proves it again.
    virtual asio::awaitable<result<resumed>> prove() = 0;
    /// The session goes on on another connection; `before` is what was known of the store.
    virtual void came_back(const random_id& before) = 0;
    virtual void on_message(const std::string& text) = 0;
    /// A session that is another one than before begins.
    virtual void begin_session() {}
    /// The connection is gone.
    virtual void dropped() noexcept {}
    /// What begins like this is watched for changes at the server.
    virtual std::string tracked() const = 0;
    /// Whether the keys of the form have a time to live.
    virtual bool keys_expire() const noexcept { return false; }
    /// What the form runs at the server.
    virtual std::vector<redis_script> used_scripts() const = 0;

    const link_settings& settings() const noexcept { return settings_; }
    const redis_scripts& scripts() const noexcept { return scripts_; }
    const redis_wire_factory& wires() const noexcept { return wires_; }
    const asio::any_io_executor& strand() const noexcept { return strand_; }
    const std::shared_ptr<coro::time_source>& time() const noexcept { return time_; }
    const session_start& session() const noexcept { return session_; }
    /// The session's at the server.
    const std::string& session_name() const noexcept { return name_; }
    /// That on which the session goes on; empty if there is none.
    wire_ptr wire() const noexcept { return connected_ ? wire_ : nullptr; }
    /// That which is being opened, or the same.
    const wire_ptr& newest_wire() const noexcept { return wire_; }
    bool attached() const noexcept { return events_ != nullptr; }
    bool watching() const noexcept { return watching_; }
    void watch_next(bool on) noexcept { watching_ = on; }
    const random_id& incarnation() const noexcept { return incarnation_; }
    void know(const random_id& incarnation, const token_domain& domain);
    /// How long a command may be without an answer.
    clock::duration patience() const;

    asio::awaitable<result<redis_value>>
    evaluate(wire_ptr wire, redis_script which, std::vector<std::string> arguments);
    asio::awaitable<result<redis_value>> command(wire_ptr wire, redis_command what);
    /// Until nobody opens a connection. @return whether there is one then.
    asio::awaitable<bool> settle();
    /// There is no session any more, nor a connection.
    void end_session();
    void tell(store_event::kind what);
    void tell(const store_event& event);
    void tell_now(const store_event& event);
    error_code remember(redis_failure why);
    /// The session goes on on another connection, which may lead to another server.
    void leave_server(redis_failure why);
    /// What a server says that does not do what it was asked to.
    error_code refused(const wire_ptr& wire, const redis_value& said);

private:
    void on_push(redis_value push) noexcept override;
    void on_closed(redis_failure why) noexcept override;

    asio::awaitable<redis_failure> connect();
    asio::awaitable<redis_failure> learn_facts();
    asio::awaitable<void> load_scripts();
    asio::awaitable<result<resumed>> resume_session();
    asio::awaitable<result<resumed>> try_to_resume();
    std::string argument(const std::string& more) const;
    asio::awaitable<result<redis_value>>
    evaluate_once(wire_ptr wire, redis_script which, std::vector<std::string> arguments);
    asio::awaitable<result<redis_value>> call(wire_ptr wire, redis_command what);
    void leave_lane();
    asio::awaitable<result<wire_ptr>> reach(alarm& by);
    void leave(const wire_ptr& wire);
    void close_if_late(alarm& by, const wire_ptr& wire);
    asio::awaitable<void> reconnect(std::shared_ptr<redis_link> self);
    void reconnect_later();
    void drop_wire() noexcept;
    void watch_answers();
    void watch_idle();
    asio::awaitable<void> ping(std::shared_ptr<redis_link> self);
    clock::time_point silent_since() const;
    void answer_is_late(clock::time_point due);

    const link_settings settings_;
    const redis_scripts scripts_;
    const redis_wire_factory wires_;
    asio::any_io_executor strand_;
    store_events* events_ = nullptr;
    std::shared_ptr<coro::time_source> time_;
    coro::backoff backoff_;

    session_start session_;
    std::string name_;  ///< The session's at the server.
    random_id incarnation_;
    token_domain domain_;
    server_facts facts_;

    wire_ptr wire_;
    deaf_wire_events deaf_;
    bool connected_ = false;              ///< The session goes on on the present connection.
    bool opening_ = false;                ///< Whoever opens it judges what happens to it.
    std::optional<coro::event> settled_;  ///< Set while nobody opens a connection.
    bool has_session_ = false;
    bool watching_ = false;
    std::optional<command_lane> lane_;  ///< Of the present connection, like `known_`.
    known_scripts known_{scripts_};
    std::deque<clock::time_point> under_way_;  ///< When the commands without an answer were sent.
    clock::time_point answered_;               ///< When the newest answer came.
    alarm opening_alarm_;
    alarm answers_alarm_;
    alarm idle_alarm_;
    alarm reconnect_alarm_;
    const coro::detail::fork_guard process_;
    std::atomic<token_strength> strength_ = token_strength::durable_if_configured;
    mutable std::mutex failure_mutex_;
    std::string failure_;
};

}  // namespace mortise::store_detail

#endif
