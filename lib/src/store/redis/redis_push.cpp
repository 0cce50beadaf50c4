// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_push.hpp"

#include "store/redis/words.hpp"

namespace mortise::store_detail {

std::optional<store_event> parse_push(std::string_view message, const token_domain& domain) {
    words reader(message);
    const auto kind = reader.next();
    store_event event;
    std::uint64_t base = 0;
    if (kind == "g" || kind == "t") {
        event.what = kind == "g" ? store_event::kind::granted : store_event::kind::contended;
        event.id = reader.number();
        base = reader.base();
        event.slot = reader.number<std::uint32_t>();
        event.contended = kind == "t" || reader.flag();
    } else if (kind == "a") {
        event.what = store_event::kind::look_again;
    } else if (kind == "c") {
        event.what = store_event::kind::changed;
    } else {
        return std::nullopt;
    }
    if (reader.failed() || !reader.at_end() || event.slot > lock_mode::capacity_max)
        return std::nullopt;
    if (base != 0)  // A slot beyond the limit would not fit into a domain.
        event.token = {base << fencing_token::sequence_bits, domain.of_slot(event.slot)};
    return event;
}

}  // namespace mortise::store_detail
