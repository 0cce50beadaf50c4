// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_LINK_LOCK_TURNS_HPP
#define MORTISE_STORE_LINK_LOCK_TURNS_HPP

#include "mortise/coro/mutex.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <map>
#include <memory>
#include <string>

namespace mortise::store_detail {

namespace asio = boost::asio;

class lock_turns;

/// The turn of one call at one lock: others of this client wait until it ends.
class lock_turn {
public:
    lock_turn(
        std::shared_ptr<lock_turns> all,
        std::string name,
        std::shared_ptr<coro::mutex> mutex,
        coro::mutex_guard guard
    );
    ~lock_turn();
    lock_turn(lock_turn&&) noexcept = default;
    lock_turn& operator=(lock_turn&&) = delete;
    lock_turn(const lock_turn&) = delete;
    lock_turn& operator=(const lock_turn&) = delete;

private:
    std::shared_ptr<lock_turns> all_;
    std::string name_;
    std::shared_ptr<coro::mutex> mutex_;
    coro::mutex_guard guard_;
};

/// The turns of calls that concern one lock: they take effect in their order, though some are
/// several messages.
///
/// @par Threads The strand.
class lock_turns : public std::enable_shared_from_this<lock_turns> {
public:
    /// Waits until no earlier call concerns the lock.
    asio::awaitable<lock_turn> take(asio::any_io_executor strand, std::string name);

private:
    friend class lock_turn;

    /// Of the locks with a call under way.
    std::map<std::string, std::shared_ptr<coro::mutex>> under_way_;
};

}  // namespace mortise::store_detail

#endif
