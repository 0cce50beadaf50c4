// SPDX-License-Identifier: BSL-1.0
#include "wire/call_messages.hpp"

#include "mortise/txn/error.hpp"
#include "wire/fields.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace mortise::txn::http {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t signed_max = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t number_max = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t branch_max = std::numeric_limits<std::uint32_t>::max();
// A hundred years, so that a conversion to nanoseconds does not overflow.
constexpr std::uint64_t time_left_max = 3'155'760'000'000;
constexpr std::size_t locks_max = 1'024;

/// Takes the text before the first comma, or all of it.
std::string_view take_item(std::string_view& text) noexcept {
    const auto end = text.find(',');
    const auto taken = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    return taken;
}

/// Reads fields, and remembers the first faulty one.
class field_reader {
public:
    field_reader(const header_list& from, std::string& why) : from_(from), why_(why) {}

    std::string_view text(const char* name) {
        const auto found = from_.one(name);
        if (!found)
            blame(name, from_.has(name) ? "stands there more than once" : "is missing");
        return found.value_or(std::string_view());
    }

    std::uint64_t number(const char* name, std::uint64_t min, std::uint64_t max) {
        const auto digits = text(name);
        const auto read = decimal(digits, max);
        if (!read || *read < min)
            blame(name, "is no number within its limits");
        return read.value_or(0);
    }

    void locks(std::vector<lock_token>& into) {
        for (auto line : from_.all(fields::lock)) {
            while (!line.empty()) {  // a proxy may have joined several lines
                auto read = lock_token::parse(take_item(line));
                if (!read || into.size() == locks_max)
                    return blame(fields::lock, "is not NAME; DOMAIN; TOKEN, or stands too often");
                into.push_back(std::move(*read));
            }
        }
    }

    void blame(const char* name, const char* problem) {
        if (why_.empty())
            why_ = std::string("the header ") + name + ' ' + problem;
    }

private:
    const header_list& from_;
    std::string& why_;
};

}  // namespace

std::string call_id(const call& call) {
    return std::string(to_string(call.type)) + '.' + call.gid.text() + '.' +
           std::to_string(call.branch) + '.' + std::to_string(call.attempt) + '.' +
           std::to_string(call.epoch);
}

request to_request(const call& call, const base_url& at) {
    request message;
    message.method = "POST";
    message.target = at.path + '/' + std::string(to_string(call.type));
    message.headers.add(fields::host, at.authority);
    message.headers.add(fields::content_type, "application/octet-stream");
    message.headers.add(fields::call, call_id(call));
    message.headers.add(fields::gid, call.gid.text());
    message.headers.add(fields::branch, std::to_string(call.branch));
    message.headers.add(fields::attempt, std::to_string(call.attempt));
    message.headers.add(fields::epoch, std::to_string(call.epoch));
    message.headers.add(fields::term, std::to_string(call.term));
    message.headers.add(fields::participant, percent_encoded(call.participant));
    const auto left = std::max(call.time_left, milliseconds(0)).count();
    message.headers.add(
        fields::time_left, std::to_string(std::min(static_cast<std::uint64_t>(left), time_left_max))
    );
    message.headers.add(fields::ended_below, std::to_string(call.ended_below));
    if (call.presumed)
        message.headers.add(fields::presumed, "1");
    for (const auto& each : call.locks)
        message.headers.add(fields::lock, each.text());
    if (is_field_value(call.traceparent))
        message.headers.add(fields::traceparent, call.traceparent);
    message.body = call.payload;
    return message;
}

std::optional<call> read_call(const request& from, operation operation, std::string& why) {
    why.clear();
    field_reader read(from.headers, why);
    call call;
    call.type = operation;
    if (const auto named = gid::parse(read.text(fields::gid)); named)
        call.gid = *named;
    else
        read.blame(fields::gid, "names no transaction");
    call.branch = static_cast<std::uint32_t>(read.number(fields::branch, 1, branch_max));
    call.attempt = static_cast<std::uint32_t>(read.number(fields::attempt, 1, branch_max));
    call.epoch = read.number(fields::epoch, 0, signed_max);
    call.term = read.number(fields::term, 0, number_max);
    call.ended_below = read.number(fields::ended_below, 0, signed_max);
    if (from.headers.has(fields::presumed))
        call.presumed = read.number(fields::presumed, 0, 1) == 1;
    call.time_left = milliseconds(read.number(fields::time_left, 0, time_left_max));
    if (auto name = percent_decoded(read.text(fields::participant)); name)
        call.participant = std::move(*name);
    else
        read.blame(fields::participant, "has a % that is not followed by two digits");
    read.locks(call.locks);
    if (const auto trace = from.headers.one(fields::traceparent); trace)
        call.traceparent = *trace;
    if (why.empty() && read.text(fields::call) != call_id(call))
        read.blame(fields::call, "is not that of this call");
    call.payload = from.body;
    if (!why.empty())
        return std::nullopt;
    return call;
}

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
        response answer(each.status, why.message() + '\n');
        answer.headers.add(fields::error, each.name);
        return answer;
    }
    // The effect is unknown: add no header of ours, so that nobody takes it for an answer.
    return response(500, why.message() + '\n');
}

response verdict(unsigned status, const char* word, std::string payload) {
    response answer(status, std::move(payload));
    answer.headers.add(fields::verdict, word);
    return answer;
}

// Makes an answer with evidence. Its error has the same name as one without evidence.
response ahead(const reply::evidence& seen) {
    auto message = refusal(seen.epoch != 0 ? errc::stale_epoch : errc::participant_ahead);
    const auto add = [&](const char* name, std::uint64_t value) {
        if (value != 0)
            message.headers.add(name, std::to_string(value));
    };
    add(fields::seen_epoch, seen.epoch);
    add(fields::seen_term, seen.term);
    add(fields::seen_ended_below, seen.ended_below);
    return message;
}

reply::evidence read_evidence(const response& from) {
    const auto read = [&](const char* name) {
        const auto text = from.headers.one(name);
        constexpr auto most = std::numeric_limits<std::uint64_t>::max();
        return decimal(text.value_or(""), most).value_or(0);
    };
    reply::evidence evidence;
    evidence.epoch = read(fields::seen_epoch);
    evidence.term = read(fields::seen_term);
    evidence.ended_below = read(fields::seen_ended_below);
    return evidence;
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

response to_response(const result<reply>& answer, std::string_view id) {
    response message;
    if (!answer) {
        message = refusal(answer.error());
    } else if (answer->type == reply::verdict::done) {
        message = verdict(200, "done", answer->payload);
    } else if (answer->type == reply::verdict::refused) {
        message = verdict(409, "refused", answer->payload);
    } else if (answer->type == reply::verdict::ahead) {
        message = ahead(answer->seen);
    } else {
        message = verdict(425, "again", answer->payload);
        const auto after = std::max(answer->after, milliseconds(0)).count();
        message.headers.add(
            fields::after, std::to_string(std::min(static_cast<std::uint64_t>(after), after_max_ms))
        );
    }
    message.headers.add(fields::call, std::string(id));
    return message;
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
