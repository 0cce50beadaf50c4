// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_PARTY_TEXT_HPP
#define MORTISE_TOOLS_PARTY_TEXT_HPP

#include "mortise/store_types.hpp"

#include <string>

namespace mortise::tool {

/// `exclusive`, `shared` or `permits(N)`.
std::string mode_text(const lock_mode& mode);

/// Describes a party on one line that is safe on a terminal: "run: sh, process 12 on host".
std::string party_text(const party_view& party);

/// Describes a holder's grant: "token 4711 (slot 2), run: sh, process 12 on host".
std::string grant_text(const party_view& holder);

}  // namespace mortise::tool

#endif
