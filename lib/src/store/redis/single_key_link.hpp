// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_SINGLE_KEY_LINK_HPP
#define MORTISE_STORE_REDIS_SINGLE_KEY_LINK_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/store.hpp"
#include "mortise/store_types.hpp"
#include "store/redis/redis_link.hpp"
#include "store/redis/single_key_entries.hpp"
#include "store/redis/single_key_lines.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// A session of which the server knows nothing: its client alone knows what it holds and waits for.
/// Each held lock is a key with a value of its own and a time to live. The client finds that a
/// grant is lost when it renews the key.
///
/// @par Threads The strand.
class single_key_link final : public redis_link, private line_session {
public:
    /// @param tokens the domain of the tokens; empty: there are none.
    single_key_link(link_settings settings, redis_wire_factory wires, const token_domain& tokens);

    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override;

    // The operations of the port.
    asio::awaitable<result<resumed>> resume(session_start start);
    asio::awaitable<result<answer>> request(lock_request request);
    asio::awaitable<error_code> withdraw(std::string name, request_id id);
    asio::awaitable<result<bool>> release(grant held);
    asio::awaitable<result<heartbeat>> beat();
    asio::awaitable<result<token_range>> draw(grant held);
    asio::awaitable<error_code> end();
    session_view view() const { return entries_.view(now()); }

    /// The domain of the tokens; empty: there are none.
    const token_domain& tokens() const noexcept { return tokens_; }
    std::string counter() const;
    /// Whether the lock `name` would have the key that counts tokens, perhaps for other clients
    /// only.
    bool is_counter(const std::string& name) const;
    /// The grant of this session that wrote `value` at the key of `name`; null if none did.
    const single_key_entry* own(const std::string& name, const std::string& value) const {
        return entries_.own(session().id, name, value);
    }
    const session_start& who() const noexcept { return session(); }
    bool connected() const noexcept override { return redis_link::connected(); }
    /// Remembers for `explain` what the form cannot do. @return `unsupported`.
    error_code cannot(std::string why) { return remember({errc::unsupported, std::move(why)}); }
    /// The meaning of an answer that is an error, which is remembered for `explain`.
    error_code refusal(const redis_value& reply) { return refused(wire(), reply); }

private:
    asio::awaitable<result<resumed>> prove() override;
    void came_back(const random_id& before) override;
    void on_message(const std::string&) override {}
    void begin_session() override;
    void dropped() noexcept override { lines_.pause(); }
    std::string tracked() const override { return prefix() + "mortise:-"; }
    bool keys_expire() const noexcept override { return true; }
    std::vector<redis_script> used_scripts() const override {
        return redis_scripts::range(redis_script::single_key_take, redis_script::single_key_view);
    }

    std::chrono::milliseconds ttl() const noexcept override { return session().ttl; }
    clock::duration answer_max() const noexcept override { return patience(); }
    asio::awaitable<result<single_key_attempt>> try_take(std::string name, request_id id) override;
    void tried(request_id id, const single_key_attempt& outcome) override;
    void deaf(const redis_failure& why) override { remember(why); }

    std::string key_of(const std::string& name) const { return prefix() + name; }
    std::string id_of(request_id id) const;
    asio::awaitable<result<single_key_attempt>> take(std::string name, request_id id, bool plainly);
    asio::awaitable<result<single_key_attempt>> take_by_script(std::string name, request_id id);
    asio::awaitable<result<answer>> first_attempt(lock_request request);
    asio::awaitable<result<bool>> free(std::string name, request_id id);
    asio::awaitable<error_code> renew(wire_ptr by);
    error_code judge_renewed(const std::vector<request_id>& ids, const redis_value& reply);
    asio::awaitable<error_code> free_all(std::vector<request_id> ids);
    answer join(request_id id, const std::string& name);

    const token_domain tokens_;
    single_key_entries entries_;
    single_key_lines lines_;
    std::uint64_t generation_ = 0;
};

}  // namespace mortise::store_detail

#endif
