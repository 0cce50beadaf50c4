// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_DETAIL_FORK_GUARD_HPP
#define MORTISE_CORO_DETAIL_FORK_GUARD_HPP

namespace mortise::coro::detail {

/// Remembers the process that it was made in.
///
/// A forked child has a copy of every object, but none of its parent's threads, and everything
/// outside the process (connections, mapped files, locks at a store) is its parent's: the child
/// must not wait for a thread, nor release, renew or believe anything. The check costs one relaxed
/// load.
class fork_guard {
public:
    fork_guard() noexcept;

    /// Whether this is a forked child of the process that made the object.
    bool forked() const noexcept;

private:
    unsigned generation_;
};

}  // namespace mortise::coro::detail

#endif
