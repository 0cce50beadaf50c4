// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/txn_observer.hpp"

namespace mortise::txn {

const char* to_string(txn_event::kind type) noexcept {
    using kind = txn_event::kind;
    switch (type) {
    case kind::begun:
        return "begun";
    case kind::taken_up:
        return "taken_up";
    case kind::decided:
        return "decided";
    case kind::ended:
        return "ended";
    case kind::let_go:
        return "let_go";
    case kind::stuck:
        return "stuck";
    case kind::ahead:
        return "ahead";
    case kind::participant_broken:
        return "participant_broken";
    case kind::participant_recovered:
        return "participant_recovered";
    case kind::partition_gained:
        return "partition_gained";
    case kind::partition_lost:
        return "partition_lost";
    case kind::prepared_long:
        return "prepared_long";
    case kind::list_failed:
        return "list_failed";
    case kind::orphan_ended:
        return "orphan_ended";
    case kind::orphan_left:
        return "orphan_left";
    case kind::log_opened:
        return "log_opened";
    case kind::log_failed:
        return "log_failed";
    }
    return "?";
}

}  // namespace mortise::txn
