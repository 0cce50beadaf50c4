// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/transaction_view.hpp"

namespace mortise::txn {

const char* to_string(branch_view::state state) noexcept {
    switch (state) {
    case branch_view::state::open:
        return "open";
    case branch_view::state::stuck:
        return "stuck";
    case branch_view::state::confirmed:
        return "confirmed";
    case branch_view::state::cancelled:
        return "cancelled";
    case branch_view::state::skipped:
        return "skipped";
    }
    return "?";
}

}  // namespace mortise::txn
