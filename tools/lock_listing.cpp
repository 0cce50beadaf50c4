// SPDX-License-Identifier: BSL-1.0
#include "lock_listing.hpp"

#include "duration_text.hpp"
#include "party_text.hpp"
#include "printable.hpp"
#include "text_table.hpp"
#include "view_json.hpp"

#include <ostream>
#include <utility>

namespace mortise::tool {
namespace {

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
        listed.push_back(lock_json(lock));
    json::object fields;
    set_bytes(fields, "store", store);
    fields["locks"] = std::move(listed);
    out << json::serialize(fields) << '\n';
}

}  // namespace mortise::tool
