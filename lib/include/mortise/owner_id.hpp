// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OWNER_ID_HPP
#define MORTISE_OWNER_ID_HPP

#include <compare>
#include <cstdint>

namespace mortise {

/// The owner for whom a reentrant acquire is: a request, a job, a user's session; never a thread.
///
/// Make one with `draw`, and pass it in `lock_options::owner` wherever that owner acquires: an
/// owner that holds a lock gets it again at once, as another lease on the same grant, and the grant
/// is released with the last of them. Unique within the process.
///
/// An owner does not wait for itself at one client: its acquires that wait together are served
/// together. Two clients know nothing of each other's owners: across them an owner would wait for
/// itself.
///
/// @par Threads Any.
class owner_id {
public:
    /// Nobody: an acquire that is not reentrant.
    constexpr owner_id() noexcept = default;

    static owner_id draw() noexcept;

    constexpr explicit operator bool() const noexcept { return value_ != 0; }
    friend constexpr auto operator<=>(const owner_id&, const owner_id&) noexcept = default;

private:
    constexpr explicit owner_id(std::uint64_t value) noexcept : value_(value) {}

    std::uint64_t value_ = 0;
};

}  // namespace mortise

#endif
