// SPDX-License-Identifier: BSL-1.0
#include "wire/answers.hpp"

#include "mortise/txn/error.hpp"
#include "wire/field_names.hpp"
#include "wire/field_values.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

namespace mortise::txn::http {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t after_max_ms = 86'400'000;  // a day
constexpr std::uint64_t retry_after_max = 3'600;    // seconds; in responses of proxies

/// The refusals of the protocol, with their names on the wire.
struct named_error {
    error_code code;
    const char* name;
    unsigned status;
};

const named_error (&named_errors())[8] {
    static const named_error all[] = {
        {errc::late_try, "late_try", 409},
        {errc::unknown_branch, "unknown_branch", 404},
        {errc::conflict, "conflict", 409},
        {errc::stale_epoch, "stale_epoch", 409},
        {errc::participant_ahead, "participant_ahead", 409},
        {mortise::errc::stale_token, "stale_token", 409},
        {mortise::errc::foreign_domain, "foreign_domain", 409},
        {mortise::errc::no_token, "no_token", 409},
    };
    return all;
}

response refusal(const error_code& why) {
    for (const auto& each : named_errors()) {
        if (each.code != why)
            continue;
        response made(each.status, why.message() + '\n');
        made.headers.add(fields::error, each.name);
        return made;
    }
    // The effect is unknown: add no header of ours, so that nobody takes it for an answer.
    return response(500, why.message() + '\n');
}

response verdict(unsigned status, const char* word, std::string payload) {
    response made(status, std::move(payload));
    made.headers.add(fields::verdict, word);
    return made;
}

// Makes an answer with evidence. Its error has the same name as one without evidence.
response ahead(const reply::evidence& seen) {
    auto made = refusal(seen.epoch != 0 ? errc::stale_epoch : errc::participant_ahead);
    const auto add = [&](const char* name, std::uint64_t value) {
        if (value != 0)
            made.headers.add(name, std::to_string(value));
    };
    add(fields::seen_epoch, seen.epoch);
    add(fields::seen_term, seen.term);
    add(fields::seen_ended_below, seen.ended_below);
    return made;
}

reply::evidence read_evidence(const response& from) {
    const auto read = [&](const char* name) {
        const auto text = from.headers.one(name);
        constexpr auto most = std::numeric_limits<std::uint64_t>::max();
        return decimal(text.value_or(""), most).value_or(0);
    };
    reply::evidence made;
    made.epoch = read(fields::seen_epoch);
    made.term = read(fields::seen_term);
    made.ended_below = read(fields::seen_ended_below);
    return made;
}

result<reply> read_verdict(response& from, std::string_view word) {
    if (word == "done" && from.status == 200)
        return reply::done(std::move(from.body));
    if (word == "refused" && from.status == 409)
        return reply::refused(std::move(from.body));
    if (word == "again" && from.status == 425) {
        if (!from.headers.has(fields::after))
            return reply::again(milliseconds(0));
        const auto text = from.headers.one(fields::after);
        if (const auto after = decimal(text.value_or(""), after_max_ms))
            return reply::again(milliseconds(*after));
    }
    return error_code(errc::call_failed);
}

result<reply> read_error(const response& from, std::string_view name) {
    for (const auto& each : named_errors()) {
        if (each.name != name || each.status != from.status)
            continue;
        const auto seen = read_evidence(from);
        const bool may_have_seen =
            each.code == errc::stale_epoch || each.code == errc::participant_ahead;
        if (may_have_seen && seen != reply::evidence())
            return reply::ahead(seen);
        return each.code;
    }
    return error_code(errc::call_failed);
}

// Reads a response without our headers. A proxy can say that it is busy, but not that a call was
// done.
result<reply> read_foreign(const response& from) {
    if (from.status == 401)
        return error_code(mortise::errc::access_denied);
    const auto wait = from.headers.one(fields::retry_after);
    const auto seconds = decimal(wait.value_or(""), retry_after_max);
    if ((from.status == 429 || from.status == 503) && seconds)
        return reply::again(std::chrono::seconds(*seconds));
    return error_code(errc::call_failed);
}

bool is_encoded(const header_list& headers) {
    const auto all = headers.all(fields::content_encoding);
    return std::any_of(all.begin(), all.end(), [](auto each) { return each != "identity"; });
}

}  // namespace

response to_response(const result<reply>& said, std::string_view id) {
    response made;
    if (!said) {
        made = refusal(said.error());
    } else if (said->what == reply::verdict::done) {
        made = verdict(200, "done", said->payload);
    } else if (said->what == reply::verdict::refused) {
        made = verdict(409, "refused", said->payload);
    } else if (said->what == reply::verdict::ahead) {
        made = ahead(said->seen);
    } else {
        made = verdict(425, "again", said->payload);
        const auto after = std::max(said->after, milliseconds(0)).count();
        made.headers.add(
            fields::after, std::to_string(std::min(static_cast<std::uint64_t>(after), after_max_ms))
        );
    }
    made.headers.add(fields::call, std::string(id));
    return made;
}

result<reply> read_answer(response from, std::string_view id) {
    const bool judged = from.headers.has(fields::verdict);
    const bool refused = from.headers.has(fields::error);
    if (!judged && !refused)
        return read_foreign(from);
    const bool of_this_call = from.headers.one(fields::call) == id;
    if (judged == refused || !of_this_call || is_encoded(from.headers))
        return error_code(errc::call_failed);
    // `one` is empty for a field that occurs twice: such an answer says two things.
    const auto word = from.headers.one(judged ? fields::verdict : fields::error);
    if (!word)
        return error_code(errc::call_failed);
    return judged ? read_verdict(from, *word) : read_error(from, *word);
}

}  // namespace mortise::txn::http
