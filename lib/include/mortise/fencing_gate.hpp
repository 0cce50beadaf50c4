// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_FENCING_GATE_HPP
#define MORTISE_FENCING_GATE_HPP

#include "mortise/error.hpp"
#include "mortise/fencing_token.hpp"

#include <mutex>

namespace mortise {

/// The check on the resource's side, for a resource that lives in memory: lets in tokens that never
/// go down, of one domain.
///
/// @par Threads Any thread.
/// @par Cost    One uncontended mutex.
class fencing_gate {
public:
    /// Accepts tokens of the domain of the first one that comes.
    fencing_gate() = default;

    /// Accepts tokens of `domain` only.
    explicit fencing_gate(const token_domain& domain) noexcept : highest_{0, domain} {}

    /// Lets `held` in if no higher token was let in before.
    /// @return nothing, or `errc::stale_token`, `errc::foreign_domain`, `errc::no_token`.
    [[nodiscard]] error_code admit(const fencing_token& held) noexcept;

    /// The highest token so far; empty if there was none.
    fencing_token highest() const noexcept;

private:
    mutable std::mutex mutex_;
    fencing_token highest_;
};

}  // namespace mortise

#endif
