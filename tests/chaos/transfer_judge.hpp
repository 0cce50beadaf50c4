// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CHAOS_TRANSFER_JUDGE_HPP
#define MORTISE_TESTS_CHAOS_TRANSFER_JUDGE_HPP

#include <cstddef>
#include <filesystem>
#include <string>

namespace mortise::test {

/// The verdict on the databases of two banks and on what callers were told.
class transfer_verdict {
public:
    /// What is wrong; empty if nothing is.
    std::string wrong;
    std::size_t confirmed = 0;  ///< Transfers that took place.
    std::size_t outcomes = 0;   ///< Outcomes that callers heard.
};

/// Judges what `txn_actor` left in its folder. The sum of all money is unchanged and nothing is
/// reserved. Every transfer took place on both sides or on none, and as callers were told.
transfer_verdict judge_transfers(const std::filesystem::path& folder);

}  // namespace mortise::test

#endif
