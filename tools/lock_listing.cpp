// SPDX-License-Identifier: BSL-1.0
#include "lock_listing.hpp"

#include "duration_text.hpp"
#include "json.hpp"
#include "printable.hpp"
#include "text_table.hpp"

#include <chrono>
#include <cstdint>
#include <ostream>
#include <utility>

namespace mortise::tool {
namespace {

std::string mode_text(const lock_mode& mode) {
    switch (mode.what()) {
    case lock_mode::kind::exclusive:
        return "exclusive";
    case lock_mode::kind::shared:
        return "shared";
    case lock_mode::kind::permits:
        break;
    }
    return "permits(" + std::to_string(mode.capacity()) + ")";
}

void add_line(text_table& table, const lock_view& lock, const party_view& party, bool holds) {
    table.add(
        {printable(lock.name),
         holds ? "held" : "waits",
         printable(party.label),
         std::to_string(party.pid),
         printable(party.host),
         mode_text(party.mode),
         holds ? std::to_string(party.token.value) : "",
         duration_text(party.age),
         holds ? std::to_string(lock.waiter_count) : ""}
    );
}

json::object json_of(const party_view& party, bool holds) {
    json::object fields;
    set_bytes(fields, "label", party.label);
    fields["pid"] = party.pid;
    set_bytes(fields, "host", party.host);
    fields["session"] = party.session.text();
    fields["mode"] = mode_text(party.mode);
    if (holds) {
        fields["token"] = std::to_string(party.token.value);
        fields["token_domain"] = party.token.domain.name();
    }
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(party.age);
    fields[holds ? "held_ms" : "waited_ms"] = std::int64_t{age.count()};
    return fields;
}

json::object json_of(const lock_view& lock) {
    json::object fields;
    set_bytes(fields, "name", lock.name);
    json::array holders;
    for (const party_view& party : lock.holders)
        holders.push_back(json_of(party, true));
    fields["holders"] = std::move(holders);
    fields["waiter_count"] = lock.waiter_count;
    json::array waiters;
    for (const party_view& party : lock.waiters)
        waiters.push_back(json_of(party, false));
    fields["waiters"] = std::move(waiters);
    return fields;
}

}  // namespace

void write_table(std::ostream& out, const std::vector<lock_view>& locks, bool waiters) {
    if (locks.empty()) {
        out << "No lock is held.\n";
        return;
    }
    text_table table({"LOCK", "STATE", "BY", "PID", "HOST", "MODE", "TOKEN", "FOR", "WAITERS"});
    for (const std::size_t numbers : {3u, 6u, 7u, 8u})
        table.align_right(numbers);
    for (const lock_view& lock : locks) {
        for (const party_view& party : lock.holders)
            add_line(table, lock, party, true);
        if (waiters || lock.holders.empty())
            for (const party_view& party : lock.waiters)
                add_line(table, lock, party, false);
    }
    table.write(out);
}

void write_json(std::ostream& out, const std::string& store, const std::vector<lock_view>& locks) {
    json::array listed;
    for (const lock_view& lock : locks)
        listed.push_back(json_of(lock));
    json::object fields;
    set_bytes(fields, "store", store);
    fields["locks"] = std::move(listed);
    out << json::serialize(fields) << '\n';
}

}  // namespace mortise::tool
