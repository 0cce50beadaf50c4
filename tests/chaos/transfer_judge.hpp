// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CHAOS_TRANSFER_JUDGE_HPP
#define MORTISE_TESTS_CHAOS_TRANSFER_JUDGE_HPP

#include <cstddef>
#include <filesystem>
#include <string>

namespace mortise::test {

/// What the databases of two banks, and what callers were told, say at the end.
class transfer_verdict {
public:
    /// What is wrong; empty if nothing is.
    std::string wrong;
    std::size_t confirmed = 0;  ///< Transfers that took place.
    std::size_t told = 0;       ///< Outcomes that callers heard.
};

/// Looks at what `txn_actor` left in its folder: the sum of all money is what it was, nothing is
/// reserved, every transfer took place on both sides or on none, and as callers were told.
transfer_verdict judge_transfers(const std::filesystem::path& folder);

}  // namespace mortise::test

#endif
