// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_TXN_COORDINATOR_SITE_HPP
#define MORTISE_TESTS_UNIT_TXN_COORDINATOR_SITE_HPP

#include "mortise/lock_client.hpp"
#include "mortise/store.hpp"
#include "mortise/txn/coordinator.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace mortise::test {

/// A coordinator with a context, a thread and a lock client of its own. It can be stopped in its
/// tracks and continued, as a process.
class coordinator_site {
public:
    static constexpr std::chrono::milliseconds ttl{1'000};

    coordinator_site(
        std::unique_ptr<store> locks,
        txn::coordinator_config how,
        std::chrono::milliseconds lock_ttl = ttl
    ) {
        client_config patience;
        patience.ttl = lock_ttl;
        how.locks = std::make_shared<lock_client>(context_, std::move(locks), patience);
        locks_ = how.locks;
        tcc_.emplace(context_, std::move(how));
        resume();
    }
    ~coordinator_site() {
        resume();
        tcc_.reset();
        locks_.reset();
        work_.reset();
        thread_.join();
    }
    coordinator_site(const coordinator_site&) = delete;
    coordinator_site& operator=(const coordinator_site&) = delete;

    void pause() {
        if (!thread_.joinable())
            return;
        io_.stop();
        thread_.join();
    }
    void resume() {
        if (thread_.joinable())
            return;
        io_.restart();
        thread_ = std::thread([this] { io_.run(); });
    }

    txn::coordinator& operator*() { return *tcc_; }
    txn::coordinator* operator->() { return &*tcc_; }
    std::uint64_t partitions() const { return tcc_->stats().partitions; }

private:
    asio::io_context io_{1};
    asio::any_io_executor context_ = io_.get_executor();
    std::optional<asio::executor_work_guard<asio::any_io_executor>> work_{context_};
    std::shared_ptr<lock_client> locks_;
    std::optional<txn::coordinator> tcc_;
    std::thread thread_;
};

}  // namespace mortise::test

#endif
