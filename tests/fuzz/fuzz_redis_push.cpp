// SPDX-License-Identifier: BSL-1.0
// A message in an inbox is one of ours, with numbers within their limits, or it is nothing.
#include "fuzz/some_redis_values.hpp"
#include "fuzz/target.hpp"
#include "store/redis/queue_link.hpp"

#include <optional>
#include <string>

namespace mortise::fuzz::redis_push_target {
namespace {

using kind = store_event::kind;

void check_push(const std::string& message, const token_domain& domain) {
    const auto event = store_detail::parse_push(message, domain);
    if (!event)
        return;
    MORTISE_ASSERT(event->slot <= lock_mode::capacity_max);
    if (event->type == kind::look_again || event->type == kind::changed) {
        const bool names_grant = event->type == kind::look_again && message.size() > 2;
        MORTISE_ASSERT(
            names_grant || message.substr(1).find_first_not_of(' ') == std::string::npos
        );
        MORTISE_ASSERT(!event->token && (names_grant || event->id == 0));
        return;
    }
    MORTISE_ASSERT(event->type == kind::granted || event->type == kind::contended);
    MORTISE_ASSERT(event->token.base() != 0 && event->token.base() < fencing_token::base_end);
    MORTISE_ASSERT(event->token.domain.slot_in(domain) == event->slot);
    std::string again = event->type == kind::granted ? "g " : "t ";
    again += std::to_string(event->id) + ' ' + std::to_string(event->token.base()) + ' ' +
             std::to_string(event->slot);
    if (event->type == kind::granted)
        again += event->contended ? " 1" : " 0";
    again += ' ' + std::to_string(event->change);
    const auto same = store_detail::parse_push(again, domain);
    MORTISE_ASSERT(same && same->token == event->token && same->id == event->id);
}

}  // namespace

MORTISE_FUZZ_TARGET(redis_push) {
    const auto domain = *token_domain::parse(in.flag() ? "a-name-of-25-characters-x" : "shop");
    check_push(some_script_text(in), domain);
    check_push(in.rest(), domain);
}

}  // namespace mortise::fuzz::redis_push_target
