// SPDX-License-Identifier: BSL-1.0
#include "lock_report.hpp"

#include "duration_text.hpp"
#include "party_text.hpp"
#include "printable.hpp"
#include "text_table.hpp"
#include "time_text.hpp"
#include "view_json.hpp"

#include <chrono>
#include <ostream>
#include <utility>

namespace mortise::tool {
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
