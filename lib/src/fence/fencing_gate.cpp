// SPDX-License-Identifier: BSL-1.0
#include "mortise/fencing_gate.hpp"

#include "core/planted_bug.hpp"

namespace mortise {

error_code fencing_gate::admit(const fencing_token& held) noexcept {
    // A token without a domain comes from no store; admitted first, it would open the gate to all
    // domains. Nor does a value above all tokens; admitted, it would close the gate for ever.
    constexpr auto value_end = fencing_token::base_end << fencing_token::sequence_bits;
    if (!held || held.value >= value_end || held.domain.empty())
        return errc::no_token;
    const std::lock_guard guard(mutex_);
    if (!highest_.domain.empty() && highest_.domain != held.domain)
        return errc::foreign_domain;
    if (held.value < highest_.value && !MORTISE_PLANTED(gate_stands_open))
        return errc::stale_token;
    highest_ = held;
    return {};
}

fencing_token fencing_gate::highest() const noexcept {
    const std::lock_guard guard(mutex_);
    return highest_;
}

}  // namespace mortise
