// SPDX-License-Identifier: BSL-1.0
#include "mortise/kafka/consumer_event.hpp"
#include "mortise/kafka/transaction_outcome.hpp"

namespace mortise::kafka {

std::string_view to_string(consumer_event::kind kind) noexcept {
    switch (kind) {
    case consumer_event::kind::assigned:
        return "assigned";
    case consumer_event::kind::revoked:
        return "revoked";
    case consumer_event::kind::refused:
        return "refused";
    case consumer_event::kind::skipped:
        return "skipped";
    case consumer_event::kind::failed:
        return "failed";
    case consumer_event::kind::ended:
        return "ended";
    case consumer_event::kind::noticed:
        return "noticed";
    case consumer_event::kind::dead_letter:
        return "dead letter";
    }
    return "?";
}

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
