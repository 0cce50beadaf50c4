// SPDX-License-Identifier: BSL-1.0
#include "lock/lock_report.hpp"

#include "common/printable.hpp"
#include "common/text_table.hpp"
#include "common/time_text.hpp"

#include <chrono>
#include <cstdint>
#include <ostream>
#include <utility>

namespace mortise::tool {

std::string mode_text(const lock_mode& mode) {
    switch (mode.type()) {
    case lock_mode::kind::exclusive:
        return "exclusive";
    case lock_mode::kind::shared:
        return "shared";
    case lock_mode::kind::permits:
        break;
    }
    return "permits(" + std::to_string(mode.capacity()) + ")";
}

std::string party_text(const party_view& party) {
    std::string text = printable(party.label);
    if (!text.empty())
        text += ", ";
    return text + "process " + std::to_string(party.pid) + " on " + printable(party.host);
}

std::string grant_text(const party_view& holder) {
    std::string text = "token " + std::to_string(holder.token.value);
    if (holder.slot != 0)
        text += " (slot " + std::to_string(holder.slot) + ")";
    return text + ", " + party_text(holder);
}

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

namespace {

std::string limit_text(std::chrono::milliseconds hold_max) {
    return hold_max == std::chrono::milliseconds::max() ? "-" : duration_text(hold_max);
}

}  // namespace

std::uint64_t lock_report::waiters_not_shown() const noexcept {
    return view.waiter_count > view.waiters.size() ? view.waiter_count - view.waiters.size() : 0;
}

void lock_report::write(std::ostream& out) const {
    write_head(out);
    write_holders(out);
    write_waiters(out);
    write_breaks(out);
}

void lock_report::write_head(std::ostream& out) const {
    out << printable(view.name) << ": ";
    if (view.holders.empty()) {
        out << "nobody holds it";
    } else {
        out << mode_text(view.holders.front().mode) << ", held";
        if (view.holders.size() > 1)
            out << " by " << view.holders.size();
    }
    if (view.waiter_count == 0)
        out << ", nobody waits\n";
    else
        out << ", " << view.waiter_count << (view.waiter_count == 1 ? " waits\n" : " wait\n");
}

void lock_report::write_holders(std::ostream& out) const {
    if (view.holders.empty())
        return;
    text_table table({"HOLDER", "PID", "HOST", "TOKEN", "DOMAIN", "SLOT", "HELD FOR", "AT MOST FOR"}
    );
    for (const std::size_t numbers : {1u, 3u, 5u, 6u, 7u})
        table.align_right(numbers);
    for (const party_view& party : view.holders)
        table.add(
            {printable(party.label),
             std::to_string(party.pid),
             printable(party.host),
             std::to_string(party.token.value),
             std::string(party.token.domain.name()),
             party.slot == 0 ? "-" : std::to_string(party.slot),
             duration_text(party.age),
             limit_text(party.hold_max)}
        );
    out << '\n';
    table.write(out);
}

void lock_report::write_waiters(std::ostream& out) const {
    if (!view.waiters.empty()) {
        text_table table({"PLACE", "WAITER", "PID", "HOST", "MODE", "WAITS FOR"});
        for (const std::size_t numbers : {0u, 2u, 5u})
            table.align_right(numbers);
        std::size_t place = 0;
        for (const party_view& party : view.waiters)
            table.add(
                {std::to_string(++place),
                 printable(party.label),
                 std::to_string(party.pid),
                 printable(party.host),
                 mode_text(party.mode),
                 duration_text(party.age)}
            );
        out << '\n';
        table.write(out);
    }
    if (waiters_not_shown() != 0)
        out << "and " << waiters_not_shown() << " more\n";
}

void lock_report::write_breaks(std::ostream& out) const {
    if (breaks.empty())
        return;
    text_table table({"BROKEN AT", "TOKEN", "HELD BY", "BROKEN BY", "WHY"});
    table.align_right(1);
    for (const break_record& record : breaks)
        table.add(
            {time_text(record.at),
             std::to_string(record.token.value),
             sentence(record.holder),
             sentence(record.who),
             sentence(record.why)}
        );
    out << '\n';
    table.write(out);
}

void lock_report::write_json(std::ostream& out, const std::string& store) const {
    json::object fields;
    set_bytes(fields, "store", store);
    for (const auto& field : lock_json(view))
        fields[field.key()] = field.value();
    fields["waiters_not_shown"] = waiters_not_shown();
    json::array records;
    for (const break_record& record : breaks)
        records.push_back(break_json(record));
    fields["breaks"] = std::move(records);
    out << json::serialize(fields) << '\n';
}

}  // namespace mortise::tool
