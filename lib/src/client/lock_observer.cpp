// SPDX-License-Identifier: BSL-1.0
#include "mortise/lock_observer.hpp"

namespace mortise {

const char* to_string(lock_event::kind kind) noexcept {
    switch (kind) {
    case lock_event::kind::waiting:
        return "waiting";
    case lock_event::kind::acquired:
        return "acquired";
    case lock_event::kind::refused:
        return "refused";
    case lock_event::kind::contended:
        return "contended";
    case lock_event::kind::warned:
        return "warned";
    case lock_event::kind::lost:
        return "lost";
    case lock_event::kind::released:
        return "released";
    case lock_event::kind::release_failed:
        return "release_failed";
    case lock_event::kind::session_opened:
        return "session_opened";
    case lock_event::kind::session_lost:
        return "session_lost";
    case lock_event::kind::heartbeat:
        return "heartbeat";
    case lock_event::kind::heartbeat_failed:
        break;
    }
    return "heartbeat_failed";
}

}  // namespace mortise
