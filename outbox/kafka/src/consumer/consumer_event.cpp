// SPDX-License-Identifier: BSL-1.0
#include "mortise/kafka/consumer_event.hpp"

#include "consumer/group_consumer.hpp"
#include "mortise/kafka/detail/consumer_stop.hpp"

#include <utility>

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

namespace detail {

void start_stop_consumer(
    coro::detail::completion<void(error_code)> handler, std::shared_ptr<group_consumer> core
) {
    core->stop(std::move(handler));
}

}  // namespace detail
}  // namespace mortise::kafka
