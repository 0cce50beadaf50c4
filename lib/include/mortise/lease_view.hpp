// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_LEASE_VIEW_HPP
#define MORTISE_LEASE_VIEW_HPP

#include "mortise/error.hpp"
#include "mortise/fencing_token.hpp"

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace mortise {

namespace detail {
class held_grant;
}

/// A view of a lease that other code owns: for parts of a program that need to know whether a lock
/// is held, and its token, but do not release it. Made by `lease::view`.
///
/// @par Threads   Any, unlike the lease itself.
/// @par Lifetimes It may outlive the lease, which is `released` then.
class lease_view {
public:
    lease_view() noexcept = default;
    explicit lease_view(std::shared_ptr<const detail::held_grant> grant) noexcept
        : grant_(std::move(grant)) {}

    std::string_view name() const noexcept;
    /// As `lease::token` and `lease::slot`.
    fencing_token token() const noexcept;
    std::uint32_t slot() const noexcept;

    /// As `lease::check`: no error while the lock is held.
    error_code check() const noexcept;

private:
    std::shared_ptr<const detail::held_grant> grant_;
};

}  // namespace mortise

#endif
