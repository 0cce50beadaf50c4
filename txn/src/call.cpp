// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/call.hpp"

namespace mortise::txn {

std::string_view to_string(operation operation) noexcept {
    switch (operation) {
    case operation::try_:
        return "try";
    case operation::confirm:
        return "confirm";
    case operation::cancel:
        return "cancel";
    }
    return "?";
}

}  // namespace mortise::txn
