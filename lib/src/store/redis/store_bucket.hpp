// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_STORE_BUCKET_HPP
#define MORTISE_STORE_REDIS_STORE_BUCKET_HPP

#include "store/redis/bucket_set.hpp"

#include <atomic>
#include <memory>
#include <utility>

namespace mortise::store_detail {

/// A bucket and its store. Events get its number.
///
/// @par Threads As `bucket_set`.
class bucket_set::bucket final : private store_events {
public:
    bucket(proof_number mine, std::unique_ptr<queue_store_port> own)
        : number(mine), store(std::move(own)) {}

    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) {
        events_ = &events;
        store->attach(std::move(strand), *this, std::move(time));
    }

    const proof_number number;
    const std::unique_ptr<queue_store_port> store;
    std::atomic<bool> begun = false;  ///< It may have a session.

private:
    void on_store_event(const store_event& event) noexcept override {
        store_event numbered = event;
        numbered.number = number;
        events_->on_store_event(numbered);
    }

    store_events* events_ = nullptr;
};

}  // namespace mortise::store_detail

#endif
