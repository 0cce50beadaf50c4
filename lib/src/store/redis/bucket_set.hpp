// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_BUCKET_SET_HPP
#define MORTISE_STORE_REDIS_BUCKET_SET_HPP

#include "mortise/coro/detail/fork_guard.hpp"
#include "mortise/store.hpp"
#include "store/redis/bucket_record.hpp"
#include "store/redis/change_watch.hpp"
#include "store/redis/cluster_wire.hpp"
#include "store/redis/lock_buckets.hpp"
#include "store/redis/node_connections.hpp"
#include "store/redis/redis_stores.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::store_detail {

/// One store whose locks are spread over the nodes of a Redis Cluster. Each bucket is a store of
/// the queue form in a slot of its own, with a session of its own: its number is that of its proof.
/// So an outage of one node concerns the buckets that lie there, and no others. The members are
/// those of `store`.
///
/// @par Threads   The strand; `number_of`, `traits` and `explain`: any.
/// @par Lifetimes Owned by a `shared_ptr`, which its coroutines keep.
class bucket_set final : public std::enable_shared_from_this<bucket_set> {
public:
    bucket_set(const redis_store_config& config, link_settings settings, wire_settings node);
    ~bucket_set();

    store_traits traits() const noexcept;
    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    );
    void detach() noexcept;
    proof_number number_of(std::string_view name) const noexcept { return buckets_.of(name); }

    asio::awaitable<result<resumed>> resume(session_start start);
    asio::awaitable<error_code> end();
    asio::awaitable<result<heartbeat>> beat(proof_number number);
    asio::awaitable<result<session_view>> look(proof_number number);

    asio::awaitable<result<answer>> request(lock_request request);
    asio::awaitable<released_and_asked> release_and_request(grant held, lock_request request);
    asio::awaitable<error_code> withdraw(std::string name, request_id id);
    asio::awaitable<result<bool>> release(grant held);
    asio::awaitable<result<token_range>> draw(grant held);
    asio::awaitable<result<std::chrono::milliseconds>>
    extend(grant held, std::chrono::milliseconds hold_max);

    asio::awaitable<result<std::vector<lock_view>>>
    list(std::string after, std::size_t limit, std::size_t queue_max);
    asio::awaitable<result<std::optional<lock_view>>>
    inspect(std::string name, std::size_t queue_max);
    asio::awaitable<result<bool>> break_(break_order order);
    asio::awaitable<result<std::vector<break_record>>> breaks(std::string name, std::size_t limit);
    asio::awaitable<error_code> watch();
    asio::awaitable<result<std::vector<store_finding>>> examine();
    std::string explain() const;

private:
    class bucket;

    bucket& at(proof_number number) const { return *all_.at(number); }
    bucket& of(std::string_view name) const { return at(number_of(name)); }
    redis_wire_factory wires_to(const std::string& key, bool confirming) const;
    /// Reads the record of the store unless it is known.
    asio::awaitable<error_code> know(bool create);
    asio::awaitable<result<bool>> end_of(std::shared_ptr<bucket_set> self, bucket& at);
    /// Notes for `explain` which bucket has failed.
    error_code noted(const bucket& where, const error_code& why) noexcept;

    const lock_buckets buckets_;
    const std::chrono::milliseconds connect_max_;
    cluster_settings cluster_;
    /// Connections for `WAIT`, which blocks them; null if no replicas are asked for.
    std::shared_ptr<node_connections> confirming_;
    const std::shared_ptr<std::string> domain_ = std::make_shared<std::string>();
    std::vector<std::unique_ptr<bucket>> all_;
    bucket_record record_;
    bool known_ = false;      ///< The record was read.
    std::uint64_t ends_ = 0;  ///< How often all sessions were ended.

    asio::any_io_executor strand_;
    store_events* events_ = nullptr;  ///< Null before `attach` and after `detach`.
    std::shared_ptr<coro::time_source> time_;
    std::shared_ptr<change_watch> watch_;
    const coro::detail::fork_guard process_;

    std::atomic<proof_number> failed_ = 0;  ///< The bucket that failed last.
    mutable std::mutex failure_mutex_;
    std::string failure_;  ///< What is wrong with the record; empty if nothing is.
};

}  // namespace mortise::store_detail

#endif
