// SPDX-License-Identifier: BSL-1.0
#include "common/printable.hpp"
#include "common/text_table.hpp"
#include "common/time_text.hpp"
#include "txn/txn_command.hpp"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <ostream>
#include <sstream>

namespace mortise::tool {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

std::string sentence(const std::string& text) {
    return printable(text, newlines::as_spaces);
}

std::string moment(std::int64_t ms) {
    return time_text(std::chrono::system_clock::time_point(milliseconds(ms)));
}

/// Writes milliseconds as `12.345 ms`.
std::string span_text(microseconds span) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(3) << static_cast<double>(span.count()) / 1'000
         << " ms";
    return text.str();
}

std::size_t count_of(const txn::transaction_view& what, bool txn::branch_view::*flag) {
    return static_cast<std::size_t>(std::count_if(
        what.branches.begin(), what.branches.end(), [&](const auto& each) { return each.*flag; }
    ));
}

std::string after_text(const std::vector<txn::branch_number>& after) {
    std::string text;
    for (const auto each : after) {
        text += text.empty() ? "" : ",";
        text += std::to_string(each);
    }
    return text.empty() ? "-" : text;
}

const char* verdict_text(txn::call_view::verdict what) {
    switch (what) {
    case txn::call_view::verdict::done:
        return "done";
    case txn::call_view::verdict::refused:
        return "refused";
    case txn::call_view::verdict::again:
        return "again";
    case txn::call_view::verdict::failed:
        return "failed";
    }
    return "?";
}

std::string why_text(const txn::transaction_view& what) {
    if (!what.why)
        return {};
    std::string text = what.why.message();
    if (!what.text.empty())
        text += " (" + what.text + ")";
    return sentence(text);
}

void write_head(std::ostream& out, const txn::transaction_view& what) {
    out << what.gid.text() << ": " << state_text(what) << '\n';
    if (const auto why = why_text(what); !why.empty())
        out << "why: " << why << '\n';
    if (!what.key.empty())
        out << "key: " << printable(what.key) << '\n';
    if (!what.traceparent.empty())
        out << "traceparent: " << printable(what.traceparent) << '\n';
    for (const auto& each : what.locks)
        out << "lock: " << printable(each.name) << ", token " << each.token.value << " of "
            << each.token.domain.name() << '\n';
}

void write_times(std::ostream& out, const txn::transaction_view& what) {
    text_table table({"WHEN", "AFTER", "WHAT", "EPOCH"});
    table.align_right(1);
    table.align_right(3);
    const auto add = [&](std::int64_t at, const char* event, std::uint64_t epoch) {
        if (at == 0)
            return;
        const auto after = std::to_string(at - what.begun_ms) + " ms";
        table.add({moment(at), after, event, epoch == 0 ? "" : std::to_string(epoch)});
    };
    add(what.begun_ms, "begun", what.begun_epoch);
    add(what.decided_ms,
        what.at == txn::standing::confirmed ? "decided to confirm" : "decided to cancel",
        what.decided_epoch);
    add(what.ended_ms, "ended", 0);
    out << '\n';
    table.write(out);
}

void write_branches(std::ostream& out, const txn::transaction_view& what) {
    text_table table({"BRANCH", "PARTICIPANT", "AFTER", "STATE", "PAYLOAD", "CALLS"});
    for (const std::size_t numbers : {0u, 4u, 5u})
        table.align_right(numbers);
    std::size_t number = 0;
    for (const auto& each : what.branches)
        table.add(
            {std::to_string(++number),
             printable(each.participant),
             after_text(each.after),
             to_string(each.at),
             std::to_string(each.payload_size),
             std::to_string(each.calls)}
        );
    out << '\n';
    table.write(out);
}

void write_calls(std::ostream& out, const txn::transaction_view& what) {
    text_table table({"BRANCH", "CALL", "ATTEMPT", "EPOCH", "AT", "TOOK", "CAME", "SAID"});
    for (const std::size_t numbers : {0u, 2u, 3u, 4u, 5u})
        table.align_right(numbers);
    std::size_t number = 0;
    bool any = false;
    for (const auto& branch : what.branches) {
        ++number;
        for (const auto& each : branch.newest) {
            any = true;
            table.add(
                {std::to_string(number),
                 std::string(txn::to_string(each.what)),
                 std::to_string(each.attempt),
                 std::to_string(each.epoch),
                 span_text(each.begun).insert(0, 1, '+'),
                 span_text(each.took),
                 verdict_text(each.came),
                 sentence(each.text)}
            );
        }
    }
    if (!any)
        return;
    out << '\n';
    table.write(out);
}

void write_actions(
    std::ostream& out, const char* head, const std::vector<txn::action_view>& actions
) {
    if (actions.empty())
        return;
    text_table table({head, "WHAT", "BRANCH", "WHO", "WHY"});
    table.align_right(2);
    for (const auto& each : actions)
        table.add(
            {moment(each.at_ms),
             sentence(each.what),
             each.branch == 0 ? "all" : std::to_string(each.branch),
             sentence(each.who),
             sentence(each.why)}
        );
    out << '\n';
    table.write(out);
}

void set_time(json::object& to, const char* key, std::int64_t ms) {
    if (ms != 0)
        to[key] = moment(ms);
}

json::object call_json(const txn::call_view& what) {
    json::object made;
    made["what"] = std::string(txn::to_string(what.what));
    made["attempt"] = what.attempt;
    made["epoch"] = std::to_string(what.epoch);
    made["begun_us"] = what.begun.count();
    made["took_us"] = what.took.count();
    made["came"] = verdict_text(what.came);
    if (!what.text.empty())
        set_bytes(made, "text", what.text);
    return made;
}

json::object branch_json(const txn::branch_view& what, std::size_t number) {
    json::object made;
    made["branch"] = number;
    set_bytes(made, "participant", what.participant);
    made["state"] = to_string(what.at);
    made["payload_size"] = what.payload_size;
    made["after"] = json::array(what.after.begin(), what.after.end());
    made["calls"] = what.calls;
    json::array newest;
    for (const auto& each : what.newest)
        newest.push_back(call_json(each));
    made["newest"] = std::move(newest);
    return made;
}

json::array actions_json(const std::vector<txn::action_view>& all) {
    json::array made;
    for (const auto& each : all) {
        json::object one;
        one["what"] = json_text(each.what);
        one["branch"] = each.branch;
        set_bytes(one, "who", each.who);
        set_bytes(one, "why", each.why);
        set_time(one, "at", each.at_ms);
        made.push_back(std::move(one));
    }
    return made;
}

json::array locks_json(const std::vector<txn::lock_token>& all) {
    json::array made;
    for (const auto& each : all) {
        json::object one;
        set_bytes(one, "name", each.name);
        one["token"] = std::to_string(each.token.value);
        one["token_domain"] = std::string(each.token.domain.name());
        made.push_back(std::move(one));
    }
    return made;
}

}  // namespace

std::string state_text(const txn::transaction_view& what) {
    if (!what.readable)
        return std::string(txn::to_string(what.at)) + ", its records are damaged";
    std::string text = txn::to_string(what.at);
    if (const auto skipped = count_of(what, &txn::branch_view::skipped))
        text += ", " + std::to_string(skipped) + " skipped";
    if (what.ended)
        return text + ", ended";
    if (const auto stuck = count_of(what, &txn::branch_view::stuck))
        text += ", " + std::to_string(stuck) + " stuck";
    return text;
}

void write_transactions(std::ostream& out, const std::vector<txn::transaction_view>& all) {
    text_table table({"TRANSACTION", "STATE", "BEGUN", "FINISHED", "KEY", "WHY"});
    table.align_right(3);
    for (const auto& each : all)
        table.add(
            {each.gid.text(),
             state_text(each),
             moment(each.begun_ms),
             std::to_string(count_of(each, &txn::branch_view::finished)) + " of " +
                 std::to_string(each.branches.size()),
             each.key.empty() ? "-" : printable(each.key),
             why_text(each)}
        );
    table.write(out);
}

void write_transaction(std::ostream& out, const txn::transaction_view& what) {
    write_head(out, what);
    write_times(out, what);
    write_branches(out, what);
    write_calls(out, what);
    write_actions(out, "DONE AT", what.actions);
    write_actions(out, "WAITS SINCE", what.wishes);
}

json::object transaction_json(const txn::transaction_view& what) {
    json::object made;
    made["gid"] = what.gid.text();
    made["state"] = txn::to_string(what.at);
    made["ended"] = what.ended;
    made["readable"] = what.readable;
    if (what.why)
        made["why"] = what.why.message();
    if (!what.text.empty())
        set_bytes(made, "text", what.text);
    if (!what.key.empty())
        set_bytes(made, "key", what.key);
    if (!what.traceparent.empty())
        set_bytes(made, "traceparent", what.traceparent);
    made["begun_epoch"] = std::to_string(what.begun_epoch);
    if (what.decided_ms != 0)
        made["decided_epoch"] = std::to_string(what.decided_epoch);
    set_time(made, "begun", what.begun_ms);
    set_time(made, "decided", what.decided_ms);
    set_time(made, "ended_at", what.ended_ms);
    made["locks"] = locks_json(what.locks);
    json::array branches;
    for (const auto& each : what.branches)
        branches.push_back(branch_json(each, branches.size() + 1));
    made["branches"] = std::move(branches);
    made["actions"] = actions_json(what.actions);
    made["wishes"] = actions_json(what.wishes);
    return made;
}

}  // namespace mortise::tool
