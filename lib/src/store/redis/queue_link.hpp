// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_QUEUE_LINK_HPP
#define MORTISE_STORE_REDIS_QUEUE_LINK_HPP

#include "mortise/coro/event.hpp"
#include "mortise/store_types.hpp"
#include "store/link/lock_turns.hpp"
#include "store/redis/redis_link.hpp"
#include "store/redis/replica_quorum.hpp"
#include "store/redis/store_keys.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::store_detail {

/// A session that the server keeps, by scripts, with an inbox of its own. Each connection raises
/// its generation, so that the server refuses what still arrives from an earlier connection.
///
/// @par Threads The strand.
class queue_link final : public redis_link {
public:
    queue_link(link_settings settings, redis_wire_factory wires);

    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override;

    /// Notes what the server told of the session; later confirmations ask for it.
    void note_state(std::string run, std::uint64_t deadline);

    const store_keys& keys() const noexcept { return keys_; }
    using redis_link::session_name;
    using redis_link::strand;
    /// The generation of the session, and `more`: the first argument of most scripts.
    std::string argument(std::string_view more) const;

    /// Whether a write at the server counts only after `confirm`.
    bool asks_replicas() const noexcept { return quorum_ != nullptr; }
    written_grants
    one_grant(request_id id, const fencing_token& token, const std::string& name) const;
    /// Remembers the lock of a request that waits, and that it does so no longer.
    void note_request(request_id id, const std::string& name);
    void forget_request(request_id id) noexcept { requests_.erase(id); }

    /// What a session does with one lock.
    struct lock_call {
        lock_call(redis_script brief, redis_script all, std::string lock, std::string words)
            : first(brief), rules(all), name(std::move(lock)), text(std::move(words)) {}

        redis_script first;  ///< The short way,
        redis_script rules;  ///< and the script if something is out of the ordinary.
        std::string name;
        std::string text;      ///< Follows the generation.
        std::string released;  ///< The grant that is released first; empty: none.
    };
    asio::awaitable<result<redis_value>> act_at(lock_call call);
    /// Makes requests for these locks by the rules, in their order, until one is not granted.
    /// @param texts for each lock what asks for it.
    asio::awaitable<result<redis_value>>
    act_in_order(std::vector<std::string> locks, std::vector<std::string> texts);
    /// Notes that the short ways are likely not to apply to a lock.
    void note_crowd(const std::string& name);

    /// Waits until no earlier call concerns the lock.
    /// @par Errors `outcome_unknown`: another session has begun meanwhile.
    asio::awaitable<result<lock_turn>> session_turn(std::string name);
    /// The same of several locks.
    asio::awaitable<result<std::vector<lock_turn>>> session_turns(std::vector<std::string> names);

    /// Reads all that the server has for the session, in portions, once it has granted what is due.
    /// @par Errors `session_lost`; what is wrong with the connection.
    asio::awaitable<result<session_view>> read_view();

    /// Waits until the replicas that the settings ask for have all that the session has written,
    /// with `grants` among it; returns at once if the settings ask for none.
    ///
    /// After a TTL without enough replicas, or if the address leads to another server by now, the
    /// connection is replaced: the server may be one that was cut off.
    /// @par Errors `not_enough_replicas`; `outcome_unknown`; what is wrong with the connection.
    asio::awaitable<error_code> confirm(written_grants grants);
    /// The same for what was read. A grant in it may be released by now: if the run of the server
    /// is known, the same run has all that was read there.
    asio::awaitable<error_code> confirm(const session_view& view);

    /// The longest TTL that other clients may have.
    std::chrono::milliseconds longest_ttl() const noexcept { return settings().longest_ttl; }

    /// Marks the session as dead, once the calls at locks that are under way are answered.
    /// @return its name at the server
    asio::awaitable<result<std::string>> end();
    /// Notes that nothing is left of the session of that name.
    void ended(const std::string& name);

private:
    asio::awaitable<redis_failure> prepare(wire_ptr wire) override;
    asio::awaitable<result<resumed>> prove() override;
    void on_message(const std::string& text) override;
    void dropped() noexcept override;
    std::string tracked() const override { return keys_.of("id"); }
    std::vector<redis_script> used_scripts() const override {
        return redis_scripts::range(redis_script::resume, redis_script::retire);
    }

    std::vector<std::string> resume_arguments(bool looked) const;
    asio::awaitable<result<redis_value>> resume_session();
    asio::awaitable<error_code> take_over();
    asio::awaitable<result<session_view>> view_on(wire_ptr wire);
    std::vector<std::string> arguments_of(const lock_call& call) const;
    asio::awaitable<result<redis_value>> act_in_steps(lock_call call);
    void acted();
    error_code judge(const quorum_answer& answer, const written_grants& asked);
    void hear(const store_event& event);
    asio::awaitable<void> tell_confirmed(std::shared_ptr<session_link> self, store_event event);

    const store_keys keys_;
    const std::shared_ptr<lock_turns> turns_ = std::make_shared<lock_turns>();
    /// The locks of requests that wait, if replicas are asked for: a push tells no name.
    std::map<request_id, std::string> requests_;
    /// Locks for which the short ways did not apply, some of them: likely not to apply again.
    std::set<std::string> crowded_;
    std::size_t acting_ = 0;                   ///< Calls at locks that are under way.
    std::shared_ptr<coro::event> acted_last_;  ///< For an end that waits for them.
    std::shared_ptr<replica_quorum> quorum_;   ///< Null if no replicas are asked for.
    std::string run_ = "-";                    ///< Of the server; a dash if it does not tell.
    std::uint64_t deadline_ = 0;               ///< The newest that the server told, by its clock.
    std::optional<clock::time_point> too_few_since_;
    bool seen_ = false;  ///< This client had a session at that store.
};

/// Asks for a portion of the index of a session. @param generation empty if another session asks.
script_call survey_of(
    const store_keys& keys,
    std::string_view session,
    std::string cursor,
    std::string generation = std::string()
);

/// Parses a message in the inbox of a session: the letter of its kind; of a grant its id, base,
/// slot and whether others wait; the change number. Nothing if no store sends such a message.
///
/// @param domain that of the store; the domain of the grant's token is made from it.
std::optional<store_event> parse_push(std::string_view message, const token_domain& domain);

}  // namespace mortise::store_detail

#endif
