// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_push.hpp"

#include "store/redis/words.hpp"

namespace mortise::store_detail {

std::optional<store_event> parse_push(std::string_view message, const token_domain& domain) {
    words said(message);
    const auto kind = said.next();
    store_event event;
    std::uint64_t base = 0;
    if (kind == "g" || kind == "t") {
        event.what = kind == "g" ? store_event::kind::granted : store_event::kind::contended;
        event.id = said.number();
        base = said.base();
        event.slot = said.number<std::uint32_t>();
        event.contended = kind == "t" || said.flag();
    } else if (kind == "a") {
        event.what = store_event::kind::look_again;
    } else if (kind == "c") {
        event.what = store_event::kind::changed;
    } else {
        return std::nullopt;
    }
    if (said.failed() || !said.at_end() || event.slot > lock_mode::capacity_max)
        return std::nullopt;
    if (base != 0)  // A slot beyond the limit would not fit into a domain.
        event.token = {base << fencing_token::sequence_bits, domain.of_slot(event.slot)};
    return event;
}

}  // namespace mortise::store_detail
