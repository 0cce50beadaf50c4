// SPDX-License-Identifier: BSL-1.0
#include "mortise/kafka/transaction_outcome.hpp"

namespace mortise::kafka {

const char* to_string(transaction_outcome::kind kind) noexcept {
    switch (kind) {
    case transaction_outcome::kind::committed:
        return "committed";
    case transaction_outcome::kind::refused:
        return "refused";
    case transaction_outcome::kind::again:
        return "again";
    case transaction_outcome::kind::lost:
        return "lost";
    }
    return "unknown";
}

}  // namespace mortise::kafka
