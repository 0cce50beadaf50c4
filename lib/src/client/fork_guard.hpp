// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_FORK_GUARD_HPP
#define MORTISE_CLIENT_FORK_GUARD_HPP

namespace mortise::detail {

/// Remembers the process that it was made in.
///
/// A forked child has a copy of every client and lease, but shares the parent's connections and is
/// not the session's process: it must not release, renew or believe anything. One relaxed load to
/// ask.
class fork_guard {
public:
    fork_guard() noexcept;

    /// Whether this is a forked child of the process that made the object.
    bool forked() const noexcept;

private:
    unsigned generation_;
};

}  // namespace mortise::detail

#endif
