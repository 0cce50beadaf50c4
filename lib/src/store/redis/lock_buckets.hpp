// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_LOCK_BUCKETS_HPP
#define MORTISE_STORE_REDIS_LOCK_BUCKETS_HPP

#include "mortise/store_types.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::store_detail {

/// The buckets of a store that is spread over a cluster: each has the locks of some names, in a
/// slot of its own. No I/O.
///
/// A bucket is the rest of the hash of a name (FNV-1a of 64 bits over its bytes, the upper half
/// added to the lower one) by the count. That is part of the format: it never changes.
class lock_buckets {
public:
    static constexpr unsigned count_max = 1'024;

    lock_buckets(std::string prefix, unsigned count) : prefix_(std::move(prefix)), count_(count) {}

    unsigned count() const noexcept { return count_; }
    /// The number of the bucket that has the lock of that name.
    proof_number of(std::string_view name) const noexcept;
    /// What stands between the braces of its keys: `PREFIX{NUMBER`. No prefix of a user has a
    /// brace.
    std::string tag(proof_number number) const { return prefix_ + '{' + std::to_string(number); }

private:
    const std::string prefix_;
    const unsigned count_;
};

}  // namespace mortise::store_detail

#endif
