// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_RESIDUE_HPP
#define MORTISE_TESTS_STORM_RESIDUE_HPP

#include <filesystem>
#include <string>

namespace mortise::storm {

/// What is left of sessions in a store that nobody uses any more, and what it finds wrong with
/// itself: in its tables, in the mapped file, in the folder with the sockets. Empty: nothing.
std::string residue_in(const std::filesystem::path& database);

}  // namespace mortise::storm

#endif
