// SPDX-License-Identifier: BSL-1.0
#include "watch_output.hpp"

#include "failure.hpp"
#include "lock_changes.hpp"
#include "lock_listing.hpp"
#include "party_text.hpp"
#include "printable.hpp"
#include "time_text.hpp"
#include "view_json.hpp"

#include <chrono>
#include <ostream>
#include <sstream>
#include <utility>

namespace mortise::tool {
namespace {

bool holds(lock_change::kind what) {
    return what == lock_change::kind::acquired || what == lock_change::kind::released;
}

std::string line_of(const lock_change& change, const std::string& at) {
    const std::string who = holds(change.what) ? grant_text(change.who) : party_text(change.who);
    return at + ' ' + to_string(change.what) + ' ' + printable(change.name) + ": " + who + ", " +
           mode_text(change.who.mode);
}

json::object json_of(const lock_change& change, const std::string& at) {
    json::object fields;
    fields["at"] = at;
    fields["change"] = to_string(change.what);
    set_bytes(fields, "name", change.name);
    for (const auto& field : party_json(change.who, holds(change.what)))
        fields[field.key()] = field.value();
    return fields;
}

}  // namespace

void watch_lines::show(std::vector<lock_view> locks) {
    const std::string at = time_text(std::chrono::system_clock::now());
    for (const lock_change& change : changes_between(before_, locks)) {
        if (as_json_)
            out_ << json::serialize(json_of(change, at)) << '\n';
        else
            out_ << line_of(change, at) << '\n';
    }
    before_ = std::move(locks);
    out_.flush();  // a reader waits for each line
    if (!out_)
        throw failure::of_errno("the changes cannot be written");
}

void watch_screen::show(std::vector<lock_view> locks) {
    locks_ = std::move(locks);
    age(clock::duration::zero());
}

void watch_screen::age(clock::duration since_look) {
    std::vector<lock_view> older = locks_;
    for (lock_view& lock : older) {
        for (party_view& party : lock.holders)
            party.age += since_look;
        for (party_view& party : lock.waiters)
            party.age += since_look;
    }
    std::ostringstream text;
    text << title_ << "\n\n";
    write_table(text, older, true);
    screen_.draw(text.str());
}

}  // namespace mortise::tool
