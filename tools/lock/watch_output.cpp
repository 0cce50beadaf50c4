// SPDX-License-Identifier: BSL-1.0
#include "lock/watch_output.hpp"

#include "common/failure.hpp"
#include "common/printable.hpp"
#include "common/time_text.hpp"
#include "lock/lock_report.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <ostream>
#include <sstream>
#include <utility>

namespace mortise::tool {
namespace {

bool holds(lock_change::kind kind) {
    return kind == lock_change::kind::acquired || kind == lock_change::kind::released;
}

std::string line_of(const lock_change& change, const std::string& at) {
    const std::string who = holds(change.type) ? grant_text(change.who) : party_text(change.who);
    return at + ' ' + to_string(change.type) + ' ' + printable(change.name) + ": " + who + ", " +
           mode_text(change.who.mode);
}

json::object json_of(const lock_change& change, const std::string& at) {
    json::object fields;
    fields["at"] = at;
    fields["change"] = to_string(change.type);
    set_bytes(fields, "name", change.name);
    for (const auto& field : party_json(change.who, holds(change.type)))
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

namespace {

using parties = std::vector<party_view>;
using alike = std::function<bool(const party_view&, const party_view&)>;
using change_kind = lock_change::kind;

bool same_grant(const party_view& a, const party_view& b) {
    return a.session == b.session && a.token == b.token;
}

bool same_request(const party_view& a, const party_view& b) {
    return a.session == b.session && a.mode == b.mode && a.hold_max == b.hold_max;
}

/// The parties of `all` without a partner in `others`. Each of `others` is the partner of at most
/// one.
parties without(const parties& all, parties others, const alike& same) {
    parties rest;
    for (const party_view& one : all) {
        const auto partner = std::find_if(others.begin(), others.end(), [&](const party_view& o) {
            return same(one, o);
        });
        if (partner == others.end())
            rest.push_back(one);
        else
            others.erase(partner);
    }
    return rest;
}

void compare(
    const lock_view& before,
    const lock_view& after,
    const std::string& name,
    std::vector<lock_change>& changes
) {
    const auto add = [&](change_kind kind, const parties& who) {
        for (const party_view& one : who)
            changes.push_back({kind, name, one});
    };
    const parties acquired = without(after.holders, before.holders, same_grant);
    const parties gone = without(before.waiters, after.waiters, same_request);
    add(change_kind::released, without(before.holders, after.holders, same_grant));
    add(change_kind::acquired, acquired);
    add(change_kind::left, without(gone, acquired, same_request));
    add(change_kind::waits, without(after.waiters, before.waiters, same_request));
}

}  // namespace

const char* to_string(change_kind kind) noexcept {
    switch (kind) {
    case change_kind::acquired:
        return "acquired";
    case change_kind::released:
        return "released";
    case change_kind::waits:
        return "waits";
    case change_kind::left:
        break;
    }
    return "left";
}

std::vector<lock_change>
changes_between(const std::vector<lock_view>& before, const std::vector<lock_view>& after) {
    static const lock_view nothing;
    std::vector<lock_change> changes;
    auto b = before.begin();
    auto a = after.begin();
    while (b != before.end() || a != after.end()) {
        const bool was = b != before.end() && (a == after.end() || b->name <= a->name);
        const bool is = a != after.end() && (b == before.end() || a->name <= b->name);
        const std::string& name = is ? a->name : b->name;
        compare(was ? *b : nothing, is ? *a : nothing, name, changes);
        b += was ? 1 : 0;
        a += is ? 1 : 0;
    }
    return changes;
}

}  // namespace mortise::tool
