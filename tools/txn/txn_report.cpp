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

std::size_t count_of(const txn::transaction_view& transaction, bool txn::branch_view::*flag) {
    return static_cast<std::size_t>(std::count_if(
        transaction.branches.begin(),
        transaction.branches.end(),
        [&](const auto& each) { return each.*flag; }
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

const char* verdict_text(txn::call_view::verdict judgement) {
    switch (judgement) {
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

std::string why_text(const txn::transaction_view& transaction) {
    if (!transaction.why)
        return {};
    std::string text = transaction.why.message();
    if (!transaction.text.empty())
        text += " (" + transaction.text + ")";
    return sentence(text);
}

void write_head(std::ostream& out, const txn::transaction_view& transaction) {
    out << transaction.gid.text() << ": " << state_text(transaction) << '\n';
    if (const auto why = why_text(transaction); !why.empty())
        out << "why: " << why << '\n';
    if (!transaction.key.empty())
        out << "key: " << printable(transaction.key) << '\n';
    if (!transaction.traceparent.empty())
        out << "traceparent: " << printable(transaction.traceparent) << '\n';
    for (const auto& each : transaction.locks)
        out << "lock: " << printable(each.name) << ", token " << each.token.value << " of "
            << each.token.domain.name() << '\n';
}

void write_times(std::ostream& out, const txn::transaction_view& transaction) {
    text_table table({"WHEN", "AFTER", "WHAT", "EPOCH"});
    table.align_right(1);
    table.align_right(3);
    const auto add = [&](std::int64_t at, const char* event, std::uint64_t epoch) {
        if (at == 0)
            return;
        const auto after = std::to_string(at - transaction.begun_ms) + " ms";
        table.add({moment(at), after, event, epoch == 0 ? "" : std::to_string(epoch)});
    };
    add(transaction.begun_ms, "begun", transaction.begun_epoch);
    add(transaction.decided_ms,
        transaction.at == txn::standing::confirmed ? "decided to confirm" : "decided to cancel",
        transaction.decided_epoch);
    add(transaction.ended_ms, "ended", 0);
    out << '\n';
    table.write(out);
}

void write_branches(std::ostream& out, const txn::transaction_view& transaction) {
    text_table table({"BRANCH", "PARTICIPANT", "AFTER", "STATE", "PAYLOAD", "CALLS"});
    for (const std::size_t numbers : {0u, 4u, 5u})
        table.align_right(numbers);
    std::size_t number = 0;
    for (const auto& each : transaction.branches)
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

void write_calls(std::ostream& out, const txn::transaction_view& transaction) {
    text_table table({"BRANCH", "CALL", "ATTEMPT", "EPOCH", "AT", "TOOK", "CAME", "SAID"});
    for (const std::size_t numbers : {0u, 2u, 3u, 4u, 5u})
        table.align_right(numbers);
    std::size_t number = 0;
    bool any = false;
    for (const auto& branch : transaction.branches) {
        ++number;
        for (const auto& each : branch.newest) {
            any = true;
            table.add(
                {std::to_string(number),
                 std::string(txn::to_string(each.type)),
                 std::to_string(each.attempt),
                 std::to_string(each.epoch),
                 span_text(each.begun).insert(0, 1, '+'),
                 span_text(each.took),
                 verdict_text(each.result),
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
             sentence(each.type),
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

json::object call_json(const txn::call_view& call) {
    json::object fields;
    fields["what"] = std::string(txn::to_string(call.type));
    fields["attempt"] = call.attempt;
    fields["epoch"] = std::to_string(call.epoch);
    fields["begun_us"] = call.begun.count();
    fields["took_us"] = call.took.count();
    fields["came"] = verdict_text(call.result);
    if (!call.text.empty())
        set_bytes(fields, "text", call.text);
    return fields;
}

json::object branch_json(const txn::branch_view& branch, std::size_t number) {
    json::object fields;
    fields["branch"] = number;
    set_bytes(fields, "participant", branch.participant);
    fields["state"] = to_string(branch.at);
    fields["payload_size"] = branch.payload_size;
    fields["after"] = json::array(branch.after.begin(), branch.after.end());
    fields["calls"] = branch.calls;
    json::array newest;
    for (const auto& each : branch.newest)
        newest.push_back(call_json(each));
    fields["newest"] = std::move(newest);
    return fields;
}

json::array actions_json(const std::vector<txn::action_view>& all) {
    json::array items;
    for (const auto& each : all) {
        json::object one;
        one["what"] = json_text(each.type);
        one["branch"] = each.branch;
        set_bytes(one, "who", each.who);
        set_bytes(one, "why", each.why);
        set_time(one, "at", each.at_ms);
        items.push_back(std::move(one));
    }
    return items;
}

json::array locks_json(const std::vector<txn::lock_token>& all) {
    json::array items;
    for (const auto& each : all) {
        json::object one;
        set_bytes(one, "name", each.name);
        one["token"] = std::to_string(each.token.value);
        one["token_domain"] = std::string(each.token.domain.name());
        items.push_back(std::move(one));
    }
    return items;
}

}  // namespace

std::string state_text(const txn::transaction_view& transaction) {
    if (!transaction.readable)
        return std::string(txn::to_string(transaction.at)) + ", its records are damaged";
    std::string text = txn::to_string(transaction.at);
    if (const auto skipped = count_of(transaction, &txn::branch_view::skipped))
        text += ", " + std::to_string(skipped) + " skipped";
    if (transaction.ended)
        return text + ", ended";
    if (const auto stuck = count_of(transaction, &txn::branch_view::stuck))
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

void write_transaction(std::ostream& out, const txn::transaction_view& transaction) {
    write_head(out, transaction);
    write_times(out, transaction);
    write_branches(out, transaction);
    write_calls(out, transaction);
    write_actions(out, "DONE AT", transaction.actions);
    write_actions(out, "WAITS SINCE", transaction.operator_orders);
}

json::object transaction_json(const txn::transaction_view& transaction) {
    json::object fields;
    fields["gid"] = transaction.gid.text();
    fields["state"] = txn::to_string(transaction.at);
    fields["ended"] = transaction.ended;
    fields["readable"] = transaction.readable;
    if (transaction.why)
        fields["why"] = transaction.why.message();
    if (!transaction.text.empty())
        set_bytes(fields, "text", transaction.text);
    if (!transaction.key.empty())
        set_bytes(fields, "key", transaction.key);
    if (!transaction.traceparent.empty())
        set_bytes(fields, "traceparent", transaction.traceparent);
    fields["begun_epoch"] = std::to_string(transaction.begun_epoch);
    if (transaction.decided_ms != 0)
        fields["decided_epoch"] = std::to_string(transaction.decided_epoch);
    set_time(fields, "begun", transaction.begun_ms);
    set_time(fields, "decided", transaction.decided_ms);
    set_time(fields, "ended_at", transaction.ended_ms);
    fields["locks"] = locks_json(transaction.locks);
    json::array branches;
    for (const auto& each : transaction.branches)
        branches.push_back(branch_json(each, branches.size() + 1));
    fields["branches"] = std::move(branches);
    fields["actions"] = actions_json(transaction.actions);
    fields["wishes"] = actions_json(transaction.operator_orders);
    return fields;
}

}  // namespace mortise::tool
