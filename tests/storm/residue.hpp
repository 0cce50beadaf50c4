// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_RESIDUE_HPP
#define MORTISE_TESTS_STORM_RESIDUE_HPP

#include <filesystem>
#include <string>

namespace mortise::storm {

/// Describes what sessions left in a store that nobody uses any longer, and the faults that the
/// store finds in itself: in its tables, in the mapped file, and in the folder with the sockets.
/// Empty if there is nothing.
std::string residue_in(const std::filesystem::path& database);

}  // namespace mortise::storm

#endif
