// SPDX-License-Identifier: BSL-1.0
#include "party_text.hpp"

#include "printable.hpp"

namespace mortise::tool {

std::string mode_text(const lock_mode& mode) {
    switch (mode.what()) {
    case lock_mode::kind::exclusive:
        return "exclusive";
    case lock_mode::kind::shared:
        return "shared";
    case lock_mode::kind::permits:
        break;
    }
    return "permits(" + std::to_string(mode.capacity()) + ")";
}

std::string party_text(const party_view& party) {
    std::string text = printable(party.label);
    if (!text.empty())
        text += ", ";
    return text + "process " + std::to_string(party.pid) + " on " + printable(party.host);
}

std::string grant_text(const party_view& holder) {
    std::string text = "token " + std::to_string(holder.token.value);
    if (holder.slot != 0)
        text += " (slot " + std::to_string(holder.slot) + ")";
    return text + ", " + party_text(holder);
}

}  // namespace mortise::tool
