// SPDX-License-Identifier: BSL-1.0
#include "view_json.hpp"

#include "party_text.hpp"
#include "time_text.hpp"

#include <chrono>
#include <cstdint>
#include <utility>

namespace mortise::tool {

using std::chrono::milliseconds;

json::object party_json(const party_view& party, bool holds) {
    json::object fields;
    set_bytes(fields, "label", party.label);
    fields["pid"] = party.pid;
    set_bytes(fields, "host", party.host);
    fields["session"] = party.session.text();
    fields["mode"] = mode_text(party.mode);
    if (holds) {
        fields["token"] = std::to_string(party.token.value);
        fields["token_domain"] = party.token.domain.name();
        if (party.slot != 0)
            fields["slot"] = party.slot;
    }
    if (party.hold_max != milliseconds::max())
        fields["hold_max_ms"] = std::int64_t{party.hold_max.count()};
    const auto age = std::chrono::duration_cast<milliseconds>(party.age);
    fields[holds ? "held_ms" : "waited_ms"] = std::int64_t{age.count()};
    return fields;
}

json::array holders_json(const std::vector<party_view>& holders) {
    json::array listed;
    for (const party_view& party : holders)
        listed.push_back(party_json(party, true));
    return listed;
}

json::object lock_json(const lock_view& lock) {
    json::object fields;
    set_bytes(fields, "name", lock.name);
    fields["holders"] = holders_json(lock.holders);
    fields["waiter_count"] = lock.waiter_count;
    json::array waiters;
    for (const party_view& party : lock.waiters)
        waiters.push_back(party_json(party, false));
    fields["waiters"] = std::move(waiters);
    return fields;
}

json::object break_json(const break_record& record) {
    json::object fields;
    fields["at"] = time_text(record.at);
    fields["token"] = std::to_string(record.token.value);
    fields["token_domain"] = record.token.domain.name();
    set_bytes(fields, "holder", record.holder);
    set_bytes(fields, "who", record.who);
    set_bytes(fields, "why", record.why);
    return fields;
}

}  // namespace mortise::tool
