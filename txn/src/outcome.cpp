// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/outcome.hpp"

#include "mortise/txn/error.hpp"

namespace mortise::txn {

const char* to_string(standing value) noexcept {
    switch (value) {
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

result<standing> standing_of(error_code failed, const outcome& outcome) {
    if (failed == errc::bad_gid)
        return standing::never_existed;
    if (failed == errc::not_open)
        return standing::forgotten;
    if (failed)
        return failed;
    return outcome.confirmed()   ? standing::confirmed
           : outcome.cancelled() ? standing::cancelled
                                 : standing::open;
}

}  // namespace mortise::txn
