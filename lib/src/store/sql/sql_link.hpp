// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQL_SQL_LINK_HPP
#define MORTISE_STORE_SQL_SQL_LINK_HPP

#include "mortise/token_domain.hpp"
#include "store/life/host_watch.hpp"
#include "store/link/lock_turns.hpp"
#include "store/link/session_link.hpp"
#include "store/sql/own_requests.hpp"
#include "store/sql/sql_gateway.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::store_detail {

/// The link to a SQL server: the session, the connection for it, and the turns of calls that
/// concern one lock.
///
/// @par Threads The strand.
class sql_link final : public session_link {
public:
    sql_link(std::shared_ptr<sql_gateway> gateway, reconnect_pauses pauses);

    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override;

    sql_gateway& gateway() const noexcept { return *gateway_; }
    sql_actor actor() const noexcept { return {key_, session().generation}; }
    const token_domain& domain() const noexcept { return domain_; }
    own_requests& own() noexcept { return own_; }
    /// A number that no other write has.
    sql_stamp next_stamp() noexcept { return ++stamp_; }

    /// Awaits a call for the session. An error that comes when the connection is another one says
    /// nothing, and one that tells of an unknown outcome gives the connection up.
    template <class R>
    asio::awaitable<result<R>> of_session(std::uint64_t used, asio::awaitable<result<R>> call);
    asio::awaitable<error_code> of_session(std::uint64_t used, asio::awaitable<error_code> call);

    /// The connection to name to `of_session`, read before the call is made; zero: there is none.
    std::uint64_t in_use() const noexcept { return connection(); }

    /// Waits until no earlier call concerns the lock: calls take effect in their order, though some
    /// are several messages.
    asio::awaitable<lock_turn> turn(std::string name) {
        return turns_->take(strand(), std::move(name));
    }
    /// The same for a call of the session: it must not be carried out for another one, which would
    /// have what nobody asked it for.
    /// @par Errors `outcome_unknown`: another session has begun meanwhile.
    asio::awaitable<result<lock_turn>> session_turn(std::string name);

    const asio::any_io_executor& executor() const noexcept { return strand(); }
    asio::awaitable<bool> settled() { return settle(); }
    void ended() noexcept;
    /// As `session_link::detach`.
    void leave() noexcept;

    /// From now on `silence` is told of other sessions on this host whose process has ended.
    void watch_host(life_watch::silence_function silence) {
        host_.emplace(strand(), std::move(silence));
    }
    void look_at_host(const std::vector<host_neighbour>& nearest) {
        if (host_)
            host_->look(nearest);
    }

private:
    asio::awaitable<error_code> open_connection() override;
    asio::awaitable<result<resumed>> prove() override;
    void close_connection() noexcept override { gateway_->close(); }
    void begin_session() override;

    void hear(const sql_push& push);
    error_code judge(std::uint64_t used, const error_code& failed);

    std::shared_ptr<sql_gateway> gateway_;
    core::session_key key_ = 0;
    token_domain domain_;
    sql_stamp stamp_;
    own_requests own_;
    std::optional<host_watch> host_;
    const std::shared_ptr<lock_turns> turns_ = std::make_shared<lock_turns>();
};

/// The entries of a session for the client.
session_view view_of(const sql_entries& found, const token_domain& domain);

template <class R>
asio::awaitable<result<R>>
sql_link::of_session(std::uint64_t used, asio::awaitable<result<R>> call) {
    const auto kept = shared_from_this();
    if (used == 0)
        co_return error_code(errc::store_unavailable);
    auto reply = co_await std::move(call);
    if (!reply)
        co_return judge(used, reply.error());
    co_return reply;
}

}  // namespace mortise::store_detail

#endif
