// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_QUEUE_LINK_HPP
#define MORTISE_STORE_REDIS_QUEUE_LINK_HPP

#include "store/redis/redis_link.hpp"
#include "store/redis/replica_quorum.hpp"

#include <memory>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// A session that the server keeps, by scripts, with an inbox of its own. It has a higher
/// generation on each connection, so that whatever still comes from the one before is refused.
///
/// @par Threads The strand.
class queue_link final : public redis_link {
public:
    using redis_link::redis_link;

    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override;

    /// Waits until the replicas that the settings ask for have what the session wrote before; not
    /// at all if there are none.
    /// @par Errors `not_enough_replicas`, or what is wrong with the connection.
    asio::awaitable<error_code> confirm();

    /// Ends the session, which may take several steps.
    asio::awaitable<error_code> end();

    /// The session is to be told of the next change from now on.
    void begin_to_watch() noexcept { watch_next(true); }
    /// What the server says of that with a heartbeat: a push that got lost is found by this.
    void compare_watching(bool at_server);

private:
    asio::awaitable<redis_failure> prepare(wire_ptr wire) override;
    asio::awaitable<result<resumed>> prove() override;
    void came_back(const random_id& before) override;
    void on_message(const std::string& text) override;
    void dropped() noexcept override;
    std::string tracked() const override { return prefix() + "id"; }
    std::vector<redis_script> used_scripts() const override {
        return redis_scripts::range(redis_script::resume, redis_script::watch);
    }

    std::vector<std::string> resume_arguments() const;
    void hear(const store_event& event);
    asio::awaitable<void> tell_confirmed(std::shared_ptr<redis_link> self, store_event event);

    std::shared_ptr<replica_quorum> quorum_;  ///< If replicas are asked for.
};

}  // namespace mortise::store_detail

#endif
