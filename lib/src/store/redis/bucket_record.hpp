// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_BUCKET_RECORD_HPP
#define MORTISE_STORE_REDIS_BUCKET_RECORD_HPP

#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/time_source.hpp"
#include "store/redis/redis_wire.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace mortise::store_detail {

namespace asio = boost::asio;

/// What the record of a store that is spread over buckets says.
struct recorded_store {
    recorded_store() = default;

    bool found = false;
    std::string domain;     ///< Of all buckets.
    redis_failure failure;  ///< Why this client cannot use the store.
};

/// The answer of the script "bucket_record". @param count how many buckets this client has.
recorded_store parse_record(const redis_value& reply, unsigned count);

/// The record of a store that is spread over buckets: how many there are, and the domain of their
/// tokens. Clients with different numbers would look for a lock in different buckets, and two of
/// them could hold it.
///
/// @par Threads   The strand.
/// @par Lifetimes The caller keeps it during a call.
class bucket_record {
public:
    /// @param wires lead to the node that has the slot of the record.
    bucket_record(std::string key, unsigned count, std::string domain, redis_wire_factory wires);

    void attach(asio::any_io_executor strand, std::shared_ptr<coro::time_source> time);

    /// Reads the record, or writes it if there is none and `create`.
    asio::awaitable<recorded_store> read(bool create, std::chrono::milliseconds limit);

private:
    const std::string key_;
    const unsigned count_;
    const std::string domain_;
    const redis_wire_factory wires_;
    asio::any_io_executor strand_;
    std::shared_ptr<coro::time_source> time_;
    deaf_wire_events deaf_;
};

}  // namespace mortise::store_detail

#endif
