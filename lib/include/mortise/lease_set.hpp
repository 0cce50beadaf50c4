// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_LEASE_SET_HPP
#define MORTISE_LEASE_SET_HPP

#include "mortise/coro/detail/initiate.hpp"
#include "mortise/error.hpp"
#include "mortise/lease.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise {

class lease_set;

namespace detail {

void start_release_all(
    coro::detail::completion<void(error_code)> handler, std::vector<lease> leases
);
void start_wait_any_lost(
    coro::detail::completion<void(error_code)> handler,
    std::vector<std::shared_ptr<held_grant>> grants
);

}  // namespace detail

/// The leases of several locks that were acquired together, in the order of their names' bytes.
///
/// Destroying it hands the release of each to the client, as `~lease` does.
///
/// @par Threads As `lease`.
class [[nodiscard]] lease_set {
public:
    lease_set() noexcept = default;
    explicit lease_set(std::vector<lease> leases) noexcept : leases_(std::move(leases)) {}

    bool empty() const noexcept { return leases_.empty(); }
    std::size_t size() const noexcept { return leases_.size(); }
    const lease& operator[](std::size_t index) const noexcept { return leases_[index]; }
    auto begin() const noexcept { return leases_.begin(); }
    auto end() const noexcept { return leases_.end(); }

    /// The lease of that lock; throws `std::out_of_range` if it is not among them.
    const lease& at(std::string_view name) const;

    /// No error while all are held; else the code of the first that is not.
    error_code check() const noexcept;
    bool held() const noexcept { return !empty() && !check(); }

    /// Until when all are sure to be held, if no further heartbeat succeeds.
    clock::time_point valid_until() const noexcept;

    /// Takes the lease of that lock out of the set; throws `std::out_of_range` if it is not among
    /// them.
    lease take(std::string_view name);

    /// Releases the lock of that name and keeps the others; throws as `take`, from inside this
    /// call.
    ///
    /// @par Completion   `void(error_code)`.
    /// @par Errors       as `lease::async_release`.
    /// @par Cancellation ignored.
    /// @par Threads      as `lease::async_release`.
    /// @par Lifetimes    The lease leaves the set in this call, whenever the operation begins.
    /// @par Cost         as `lease::async_release`.
    template <class Token = asio::deferred_t>
    auto async_release_one(std::string_view name, Token&& token = Token{}) {
        return take(name).async_release(std::forward<Token>(token));
    }

    /// Releases all and waits until the store has acknowledged each.
    ///
    /// @par Completion   `void(error_code)`: the first code of those that could not be released.
    ///                   Afterwards the set is empty.
    /// @par Errors       as `lease::async_release`.
    /// @par Cancellation ignored.
    /// @par Threads      as `lease::async_release`.
    /// @par Lifetimes    The leases leave the set in this call, whenever the operation begins.
    /// @par Cost         As the single releases, which are under way at the same time.
    template <class Token = asio::deferred_t>
    auto async_release(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code)>(
            executor(), std::forward<Token>(token), &detail::start_release_all, std::move(leases_)
        );
    }

    /// Waits until one of them is about to be lost, or is lost.
    ///
    /// @par Completion   `void(error_code)`: as `lease::async_wait_lost`.
    /// @par Cancellation terminal, partial, total; nothing but the waiting ends.
    /// @par Threads      as `lease::async_wait_lost`.
    /// @par Cost         None at the store.
    template <class Token = asio::deferred_t>
    auto async_wait_lost(Token&& token = Token{}) const {
        return coro::detail::async_start<void(error_code)>(
            executor(), std::forward<Token>(token), &detail::start_wait_any_lost, grants()
        );
    }

private:
    std::size_t place_of(std::string_view name) const;
    asio::any_io_executor executor() const noexcept;
    std::vector<std::shared_ptr<detail::held_grant>> grants() const;

    std::vector<lease> leases_;
};

}  // namespace mortise

#endif
