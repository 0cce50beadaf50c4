// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REDIS_LINK_HPP
#define MORTISE_STORE_REDIS_REDIS_LINK_HPP

#include "mortise/coro/backoff.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/fork_guard.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/store.hpp"
#include "store/redis/redis_calls.hpp"
#include "store/redis/redis_scripts.hpp"
#include "store/redis/redis_wire.hpp"
#include "store/redis/server_facts.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::store_detail {

/// What a link must know of the store that it leads to.
struct link_settings {
    link_settings() = default;

    std::string prefix;
    std::string domain;  ///< The one wanted; empty: that of the store, or one made from its id.
    accepted_risks accepted;
    bool assume_new = false;
    std::chrono::milliseconds longest_ttl{5'000};
    unsigned min_replicas = 0;
    std::chrono::milliseconds connect_max{5'000};
    /// The name of the server in messages.
    std::string name;
};

/// The client's end of the way to a Redis server: one session, one connection after the other for
/// it, the scripts, and the pushes of the server. The forms of the store, `queue_link` and
/// `single_key_link`, say what a session is at the server.
///
/// A server that owes answers and gives none for a while loses the connection: the outcome of the
/// commands under way is unknown, and the session goes on with the next connection.
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
    /// What the tokens of the server are worth. Any thread.
    token_strength strength() const noexcept { return strength_; }

    /// Opens the first connection of a session, or the next one of the same.
    asio::awaitable<result<resumed>> open(session_start start);

    /// Runs a script for the session on the present connection. Its argument is the session's name,
    /// its generation and `more`.
    asio::awaitable<result<redis_value>> act(redis_script script, std::string more);
    /// Runs a script whose arguments name no session; on a passing connection if there is none.
    asio::awaitable<result<redis_value>>
    ask(redis_script script, std::vector<std::string> arguments);
    /// Sends a command as it is; on a passing connection if there is none.
    asio::awaitable<result<redis_value>> send(redis_command command);
    /// Asks what the server is by now; `flush_is_heard` is that of the newest connection.
    asio::awaitable<result<server_facts>> ask_facts();

    /// The newest failure, for people. Any thread.
    std::string explain() const;

protected:
    using wire_ptr = std::shared_ptr<redis_wire>;

    /// Does what the form needs on a connection that was just opened, before anything else.
    virtual asio::awaitable<redis_failure> prepare(wire_ptr wire);
    /// Makes the session known at the server, or proves it again.
    virtual asio::awaitable<result<resumed>> prove() = 0;
    /// Called when the session goes on with another connection; `before` is the incarnation until
    /// then.
    virtual void came_back(const random_id& before) = 0;
    virtual void on_message(const std::string& text) = 0;
    /// Called when another session begins than the one that this link had.
    virtual void begin_session() {}
    /// Called when the connection is gone.
    virtual void dropped() noexcept {}
    /// The beginning of the keys whose changes the server must tell.
    virtual std::string tracked() const = 0;
    /// Whether the keys of the form have a time to live.
    virtual bool keys_expire() const noexcept { return false; }
    /// The scripts that the form runs at the server.
    virtual std::vector<redis_script> used_scripts() const = 0;

    const link_settings& settings() const noexcept { return settings_; }
    const redis_scripts& scripts() const noexcept { return scripts_; }
    const redis_wire_factory& wires() const noexcept { return wires_; }
    const asio::any_io_executor& strand() const noexcept { return strand_; }
    const std::shared_ptr<coro::time_source>& time() const noexcept { return time_; }
    const session_start& session() const noexcept { return session_; }
    /// The session's name at the server.
    const std::string& session_name() const noexcept { return name_; }
    /// The connection with which the session goes on; null if there is none.
    wire_ptr wire() const noexcept { return connected_ ? calls_.wire() : nullptr; }
    /// The connection that is being opened, or the present one.
    const wire_ptr& newest_wire() const noexcept { return calls_.wire(); }
    bool attached() const noexcept { return events_ != nullptr; }
    bool watching() const noexcept { return watching_; }
    void watch_next(bool on) noexcept { watching_ = on; }
    const random_id& incarnation() const noexcept { return incarnation_; }
    void know(const random_id& incarnation, const token_domain& domain);
    /// How long a command may be without an answer.
    clock::duration patience() const noexcept { return calls_.answers().patience(); }

    asio::awaitable<result<redis_value>>
    evaluate(wire_ptr wire, redis_script script, std::vector<std::string> arguments);
    asio::awaitable<result<redis_value>> command(wire_ptr wire, redis_command command) {
        return calls_.command(std::move(wire), std::move(command));
    }
    /// Waits until no connection is being opened. @return whether there is one then.
    asio::awaitable<bool> settle();
    /// Ends the session and drops its connection.
    void end_session();
    void tell(store_event::kind kind);
    void tell(const store_event& event);
    void tell_now(const store_event& event);
    error_code remember(redis_failure why);
    /// Drops the connection. The session goes on with another, which may lead to another server.
    void leave_server(redis_failure why);
    /// Remembers a refusal, and leaves a server that is no longer the primary, or that has refused
    /// writes for a TTL because it has too few replicas: it may have been cut off.
    /// @return the meaning of the refusal.
    error_code refused(const wire_ptr& wire, const redis_value& reply);
    /// The server has carried out a write of the session.
    void write_accepted() noexcept { refusing_since_.reset(); }

private:
    void on_push(redis_value push) noexcept override;
    void on_closed(redis_failure why) noexcept override;

    asio::awaitable<redis_failure> connect();
    asio::awaitable<redis_failure> learn_facts();
    asio::awaitable<result<resumed>> resume_session();
    asio::awaitable<result<resumed>> try_to_resume();
    std::string argument(const std::string& more) const;
    asio::awaitable<result<wire_ptr>> reach(alarm& by);
    void leave(const wire_ptr& wire);
    asio::awaitable<void> reconnect(std::shared_ptr<redis_link> self);
    void reconnect_later();
    void drop_wire() noexcept;
    void lacks_replicas(redis_failure why);

    const link_settings settings_;
    const redis_scripts scripts_;
    const redis_wire_factory wires_;
    asio::any_io_executor strand_;
    store_events* events_ = nullptr;
    std::shared_ptr<coro::time_source> time_;
    coro::backoff backoff_;

    session_start session_;
    std::string name_;  ///< The session's name at the server.
    random_id incarnation_;
    token_domain domain_;
    server_facts facts_;

    redis_calls calls_{scripts_};
    deaf_wire_events deaf_;
    bool connected_ = false;              ///< The session goes on with the present connection.
    bool opening_ = false;                ///< Who opens it judges what happens to it.
    std::optional<coro::event> settled_;  ///< Set while no connection is being opened.
    bool has_session_ = false;
    bool watching_ = false;
    /// Since when the server refuses writes because it has too few replicas.
    std::optional<clock::time_point> refusing_since_;
    alarm opening_alarm_;
    alarm reconnect_alarm_;
    const coro::detail::fork_guard process_;
    std::atomic<token_strength> strength_ = token_strength::durable_if_configured;
    mutable std::mutex failure_mutex_;
    std::string failure_;
};

}  // namespace mortise::store_detail

#endif
