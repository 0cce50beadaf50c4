// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/transaction.hpp"

#include <algorithm>
#include <utility>

namespace mortise::txn {

branch_number transaction::add(
    std::string participant, std::string payload, std::initializer_list<branch_number> after
) {
    auto& branch = branches_.emplace_back();
    branch.participant = std::move(participant);
    branch.payload = std::move(payload);
    branch.after.assign(after.begin(), after.end());
    return static_cast<branch_number>(branches_.size());
}

transaction& transaction::under(const lease& held) {
    leases_.push_back(held.view());
    return *this;
}

transaction& transaction::key(std::string unique) {
    key_ = std::move(unique);
    keyed_ = true;
    return *this;
}

transaction& transaction::deadline(std::chrono::milliseconds from_now) {
    deadline_ = from_now;
    return *this;
}

transaction& transaction::try_attempts(std::uint32_t most) {
    constexpr std::uint32_t limit = 1'000;
    try_attempts_ = std::min(most, limit);
    return *this;
}

transaction& transaction::traceparent(std::string value) {
    traceparent_ = std::move(value);
    return *this;
}

}  // namespace mortise::txn
