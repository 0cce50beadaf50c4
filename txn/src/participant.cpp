// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/participant.hpp"

namespace mortise::txn {

asio::awaitable<result<std::vector<prepared_branch>>> participant::list_prepared(std::uint64_t) {
    co_return std::vector<prepared_branch>();
}

const char* to_string(prepared_standing value) noexcept {
    switch (value) {
    case prepared_standing::under_way:
        return "under way";
    case prepared_standing::confirmed:
        return "confirmed";
    case prepared_standing::cancelled:
        return "cancelled";
    case prepared_standing::unknown:
        break;
    }
    return "unknown";
}

}  // namespace mortise::txn
