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

const char* verdict_word(call_view::verdict what) noexcept {
    switch (what) {
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

json::object call_json(const call_view& what) {
    json::object made;
    made["operation"] = to_string(what.what);
    made["attempt"] = what.attempt;
    made["epoch"] = std::to_string(what.epoch);
    made["begun_us"] = std::int64_t{what.begun.count()};
    made["took_us"] = std::int64_t{what.took.count()};
    made["verdict"] = verdict_word(what.came);
    made["text"] = utf8(what.text);
    return made;
}

json::object branch_json(const branch_view& what, std::size_t number) {
    json::object made;
    made["branch"] = number;
    made["participant"] = utf8(what.participant);
    made["payload_bytes"] = what.payload_size;
    json::array after;
    for (const auto each : what.after)
        after.push_back(each);
    made["after"] = std::move(after);
    made["state"] = to_string(what.at);
    made["finished"] = what.finished;
    made["skipped"] = what.skipped;
    made["stuck"] = what.stuck;
    made["calls"] = what.calls;
    json::array newest;
    for (const auto& each : what.newest)
        newest.push_back(call_json(each));
    made["newest"] = std::move(newest);
    return made;
}

json::object view_object(const transaction_view& what) {
    json::object made;
    made["gid"] = what.gid.text();
    made["outcome"] = outcome_word(what.at);
    made["ended"] = what.ended;
    made["readable"] = what.readable;
    made["why"] = what.why ? utf8(what.why.message()) : std::string();
    made["text"] = utf8(what.text);
    made["key"] = utf8(what.key);
    made["begun_epoch"] = std::to_string(what.begun_epoch);
    made["decided_epoch"] = std::to_string(what.decided_epoch);
    made["begun_ms"] = what.begun_ms;
    made["decided_ms"] = what.decided_ms;
    made["ended_ms"] = what.ended_ms;
    made["traceparent"] = utf8(what.traceparent);
    json::array locks;
    for (const auto& each : what.locks) {
        json::object lock;
        lock["name"] = utf8(each.name);
        lock["token"] = std::to_string(each.token.value);
        lock["token_domain"] = each.token.domain.name();
        locks.push_back(std::move(lock));
    }
    made["locks"] = std::move(locks);
    json::array branches;
    for (const auto& each : what.branches)
        branches.push_back(branch_json(each, branches.size() + 1));
    made["branches"] = std::move(branches);
    json::array actions;
    for (const auto& each : what.actions) {
        json::object action;
        action["what"] = utf8(each.what);
        action["branch"] = each.branch;
        action["who"] = utf8(each.who);
        action["why"] = utf8(each.why);
        action["at_ms"] = each.at_ms;
        actions.push_back(std::move(action));
    }
    made["actions"] = std::move(actions);
    return made;
}

json::value parsed(std::string_view text) {
    boost::system::error_code failed;
    json::value made = json::parse(text, failed);
    return failed ? json::value() : made;
}

}  // namespace

std::string_view outcome_word(standing what) noexcept {
    switch (what) {
    case standing::never_existed:
        return "never_existed";
    case standing::open:
        return "active";
    case standing::confirmed:
    case standing::cancelled:
    case standing::forgotten:
        break;
    }
    return to_string(what);
}

std::string outcome_json(const gid& which, standing what) {
    json::object made;
    made["gid"] = which.text();
    made["outcome"] = outcome_word(what);
    return json::serialize(made) + '\n';
}

std::optional<standing> read_outcome(std::string_view text, const gid& which) {
    const json::value all = parsed(text);
    const auto* const object = all.if_object();
    const auto* const named = object != nullptr ? object->if_contains("gid") : nullptr;
    const auto* const said = object != nullptr ? object->if_contains("outcome") : nullptr;
    if (named == nullptr || said == nullptr || !named->is_string() || !said->is_string())
        return std::nullopt;
    if (std::string_view(named->get_string()) != which.text())
        return std::nullopt;
    for (const auto each : standings) {
        if (std::string_view(said->get_string()) == outcome_word(each))
            return each;
    }
    return std::nullopt;
}

std::string view_json(const transaction_view& what) {
    return json::serialize(view_object(what)) + '\n';
}

std::string list_json(const std::vector<transaction_view>& all) {
    json::array listed;
    for (const auto& each : all)
        listed.push_back(view_object(each));
    json::object made;
    made["transactions"] = std::move(listed);
    made["next_after"] = std::to_string(all.empty() ? 0 : all.back().gid.number);
    return json::serialize(made) + '\n';
}

std::string error_json(std::string_view name, std::string_view message) {
    json::object made;
    made["error"] = name;
    made["message"] = utf8(message);
    return json::serialize(made) + '\n';
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
