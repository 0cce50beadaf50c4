// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REDIS_LINK_HPP
#define MORTISE_STORE_REDIS_REDIS_LINK_HPP

#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/store.hpp"
#include "store/link/session_link.hpp"
#include "store/redis/redis_calls.hpp"
#include "store/redis/redis_scripts.hpp"
#include "store/redis/redis_wire.hpp"
#include "store/redis/server_facts.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <atomic>
#include <memory>
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
    /// Of a store that is a part of another one: the domain of that, which is learnt later. It goes
    /// into a new part; one that is there keeps its own.
    std::shared_ptr<const std::string> common_domain;
    unsigned parts = 1;  ///< How many of them there are.
    accepted_risks accepted;
    bool assume_new = false;
    bool cluster = false;  ///< Its servers are nodes of a cluster.
    std::chrono::milliseconds longest_ttl{5'000};
    unsigned min_replicas = 0;
    std::chrono::milliseconds connect_max{5'000};
    /// The name of the server in messages.
    std::string name;
    /// Connections for `WAIT`, which blocks them; empty: as the others.
    redis_wire_factory confirming_wires;
};

/// The link to a Redis server: its connection is a wire, with what the server is, the scripts, and
/// the pushes of the server. The forms of the store, `queue_link` and `single_key_link`, say what a
/// session is at the server.
///
/// A server that owes answers and gives none for a while loses the connection: the outcome of the
/// commands under way is unknown, and the session goes on with the next connection.
///
/// @par Threads The strand.
class redis_link : public session_link, private redis_wire_events {
public:
    redis_link(link_settings settings, redis_wire_factory wires);

    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override;

    const token_domain& domain() const noexcept { return domain_; }
    const std::string& name() const noexcept { return settings_.name; }
    const std::string& prefix() const noexcept { return settings_.prefix; }
    /// What the tokens of the server are worth. Any thread.
    token_strength strength() const noexcept { return strength_; }

    /// Runs a script on the present connection, for the session.
    asio::awaitable<result<redis_value>> act(script_call wanted) {
        return evaluate(wire(), std::move(wanted));
    }
    /// Runs a script that needs no session; on a passing connection if there is none.
    asio::awaitable<result<redis_value>> ask(script_call wanted);
    /// Sends a command as it is; on a passing connection if there is none.
    asio::awaitable<result<redis_value>> send(redis_command command);
    /// Asks what the server is by now; `flush_is_heard` is that of the newest connection.
    asio::awaitable<result<server_facts>> ask_facts();

protected:
    using wire_ptr = std::shared_ptr<redis_wire>;

    /// Does what the form needs on a connection that was just opened, before anything else.
    virtual asio::awaitable<redis_failure> prepare(wire_ptr wire);
    virtual void on_message(const std::string& text) = 0;
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
    /// The session's name at the server.
    const std::string& session_name() const noexcept { return name_; }
    /// The connection with which the session goes on; null if there is none.
    wire_ptr wire() const noexcept { return connected() ? calls_.wire() : nullptr; }
    /// The connection that is being opened, or the present one.
    const wire_ptr& newest_wire() const noexcept { return calls_.wire(); }
    void set_domain(const token_domain& domain) noexcept { domain_ = domain; }
    /// How long a command may be without an answer.
    clock::duration patience() const noexcept { return calls_.answers().patience(); }

    asio::awaitable<result<redis_value>> evaluate(wire_ptr wire, script_call wanted);
    asio::awaitable<result<redis_value>> command(wire_ptr wire, redis_command command) {
        return calls_.command(std::move(wire), std::move(command));
    }
    error_code remember(const redis_failure& why);
    /// Drops the connection. The session goes on with another, which may lead to another server.
    void leave_server(const redis_failure& why);
    /// Remembers a refusal, and leaves a server that is no longer the primary, that no longer has
    /// the slot of the store or serves nobody, or that has refused writes for a TTL because it has
    /// too few replicas: it may have been cut off.
    /// @return the meaning of the refusal.
    error_code refused(const wire_ptr& wire, const redis_value& reply);
    /// The server has carried out a write of the session.
    void write_accepted() noexcept { refusing_since_.reset(); }
    void opening_ended(bool in_use) override;

private:
    asio::awaitable<error_code> open_connection() override;
    void close_connection() noexcept override;
    void on_push(redis_value push) noexcept override;
    void on_closed(redis_failure why) noexcept override;

    asio::awaitable<redis_failure> connect();
    void limit_opening(const wire_ptr& wire);
    void give_up(redis_failure why, clock::duration patience) noexcept;
    asio::awaitable<redis_failure> learn_facts();
    asio::awaitable<result<wire_ptr>> reach(alarm& by);
    void leave(const wire_ptr& wire);
    void lacks_replicas(const redis_failure& why);

    const link_settings settings_;
    const redis_scripts& scripts_;
    const redis_wire_factory wires_;

    std::string name_;  ///< The session's name at the server.
    token_domain domain_;
    server_facts facts_;

    redis_calls calls_{scripts_};
    deaf_wire_events deaf_;
    /// Since when the server refuses writes because it has too few replicas.
    std::optional<clock::time_point> refusing_since_;
    alarm opening_alarm_;
    std::atomic<token_strength> strength_ = token_strength::durable_if_configured;
};

}  // namespace mortise::store_detail

#endif
