// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/outcome.hpp"

namespace mortise::txn {

const char* to_string(standing what) noexcept {
    switch (what) {
    case standing::never_existed:
        return "never existed";
    case standing::open:
        return "open";
    case standing::confirmed:
        return "confirmed";
    case standing::cancelled:
        return "cancelled";
    case standing::forgotten:
        return "forgotten";
    }
    return "?";
}

}  // namespace mortise::txn
