// SPDX-License-Identifier: BSL-1.0
#include "control/control_json.hpp"

#include "mortise/detail/text.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <cstdint>
#include <limits>
#include <utility>

namespace mortise::txn::http {
namespace {

namespace json = boost::json;

constexpr standing standings[] = {
    standing::never_existed,
    standing::open,
    standing::confirmed,
    standing::cancelled,
    standing::forgotten,
};

/// JSON text must be UTF-8: other bytes become `\xNN`.
std::string utf8(std::string_view bytes) {
    std::string text;
    while (!bytes.empty()) {
        const auto size = mortise::detail::first_utf8(bytes).size;
        if (size != 0) {
            text += bytes.substr(0, size);
            bytes.remove_prefix(size);
            continue;
        }
        text += "\\x" + mortise::detail::hexadecimal(bytes.substr(0, 1));
        bytes.remove_prefix(1);
    }
    return text;
}

const char* verdict_word(call_view::verdict verdict) noexcept {
    switch (verdict) {
    case call_view::verdict::done:
        return "done";
    case call_view::verdict::refused:
        return "refused";
    case call_view::verdict::again:
        return "again";
    case call_view::verdict::failed:
        return "failed";
    }
    return "?";
}

// Epochs and tokens are written as text, because many readers round numbers above 2^53.

json::object call_json(const call_view& call) {
    json::object object;
    object["operation"] = to_string(call.type);
    object["attempt"] = call.attempt;
    object["epoch"] = std::to_string(call.epoch);
    object["begun_us"] = std::int64_t{call.begun.count()};
    object["took_us"] = std::int64_t{call.took.count()};
    object["verdict"] = verdict_word(call.result);
    object["text"] = utf8(call.text);
    return object;
}

json::object branch_json(const branch_view& branch, std::size_t number) {
    json::object object;
    object["branch"] = number;
    object["participant"] = utf8(branch.participant);
    object["payload_bytes"] = branch.payload_size;
    json::array after;
    for (const auto each : branch.after)
        after.push_back(each);
    object["after"] = std::move(after);
    object["state"] = to_string(branch.at);
    object["finished"] = branch.finished;
    object["skipped"] = branch.skipped;
    object["stuck"] = branch.stuck;
    object["calls"] = branch.calls;
    json::array newest;
    for (const auto& each : branch.newest)
        newest.push_back(call_json(each));
    object["newest"] = std::move(newest);
    return object;
}

json::object view_object(const transaction_view& view) {
    json::object object;
    object["gid"] = view.gid.text();
    object["outcome"] = outcome_word(view.at);
    object["ended"] = view.ended;
    object["readable"] = view.readable;
    object["why"] = view.why ? utf8(view.why.message()) : std::string();
    object["text"] = utf8(view.text);
    object["key"] = utf8(view.key);
    object["begun_epoch"] = std::to_string(view.begun_epoch);
    object["decided_epoch"] = std::to_string(view.decided_epoch);
    object["begun_ms"] = view.begun_ms;
    object["decided_ms"] = view.decided_ms;
    object["ended_ms"] = view.ended_ms;
    object["traceparent"] = utf8(view.traceparent);
    json::array locks;
    for (const auto& each : view.locks) {
        json::object lock;
        lock["name"] = utf8(each.name);
        lock["token"] = std::to_string(each.token.value);
        lock["token_domain"] = each.token.domain.name();
        locks.push_back(std::move(lock));
    }
    object["locks"] = std::move(locks);
    json::array branches;
    for (const auto& each : view.branches)
        branches.push_back(branch_json(each, branches.size() + 1));
    object["branches"] = std::move(branches);
    json::array actions;
    for (const auto& each : view.actions) {
        json::object action;
        action["what"] = utf8(each.type);
        action["branch"] = each.branch;
        action["who"] = utf8(each.who);
        action["why"] = utf8(each.why);
        action["at_ms"] = each.at_ms;
        actions.push_back(std::move(action));
    }
    object["actions"] = std::move(actions);
    return object;
}

json::value parsed(std::string_view text) {
    boost::system::error_code failed;
    json::value value = json::parse(text, failed);
    return failed ? json::value() : value;
}

}  // namespace

std::string_view outcome_word(standing value) noexcept {
    switch (value) {
    case standing::never_existed:
        return "never_existed";
    case standing::open:
        return "active";
    case standing::confirmed:
    case standing::cancelled:
    case standing::forgotten:
        break;
    }
    return to_string(value);
}

std::string outcome_json(const gid& gid, standing standing) {
    json::object object;
    object["gid"] = gid.text();
    object["outcome"] = outcome_word(standing);
    return json::serialize(object) + '\n';
}

std::optional<standing> read_outcome(std::string_view text, const gid& gid) {
    const json::value all = parsed(text);
    const auto* const object = all.if_object();
    const auto* const named = object != nullptr ? object->if_contains("gid") : nullptr;
    const auto* const outcome = object != nullptr ? object->if_contains("outcome") : nullptr;
    if (named == nullptr || outcome == nullptr || !named->is_string() || !outcome->is_string())
        return std::nullopt;
    if (std::string_view(named->get_string()) != gid.text())
        return std::nullopt;
    for (const auto each : standings) {
        if (std::string_view(outcome->get_string()) == outcome_word(each))
            return each;
    }
    return std::nullopt;
}

std::string view_json(const transaction_view& view) {
    return json::serialize(view_object(view)) + '\n';
}

std::string list_json(const std::vector<transaction_view>& all) {
    json::array listed;
    for (const auto& each : all)
        listed.push_back(view_object(each));
    json::object object;
    object["transactions"] = std::move(listed);
    object["next_after"] = std::to_string(all.empty() ? 0 : all.back().gid.number);
    return json::serialize(object) + '\n';
}

std::string error_json(std::string_view name, std::string_view message) {
    json::object object;
    object["error"] = name;
    object["message"] = utf8(message);
    return json::serialize(object) + '\n';
}

bool read_intervention(std::string_view text, intervention& into, std::string& wrong) {
    const json::value all = parsed(text);
    const auto* const object = all.if_object();
    if (object == nullptr) {
        wrong = R"(the body is no JSON object such as {"branch": 1, "who": "anna", "why": "..."})";
        return false;
    }
    for (const auto& [name, value] : *object) {
        if (name == "branch") {
            const auto number = value.try_to_number<std::uint32_t>();
            if (!number || value.is_double()) {
                wrong = "branch is no number of a branch";
                return false;
            }
            into.branch = *number;
        } else if ((name == "who" || name == "why") && value.is_string()) {
            (name == "who" ? into.who : into.why) = value.get_string();
        } else {
            wrong = "only branch, who and why can be said, the last two as texts";
            return false;
        }
    }
    if (into.who.empty() || into.why.empty()) {
        wrong = "say who does that, and why: it is recorded";
        return false;
    }
    return true;
}

}  // namespace mortise::txn::http
