// SPDX-License-Identifier: BSL-1.0
#include "wire/call_headers.hpp"

#include "wire/field_names.hpp"
#include "wire/field_values.hpp"

#include <algorithm>
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

    void blame(const char* name, const char* what) {
        if (why_.empty())
            why_ = std::string("the header ") + name + ' ' + what;
    }

private:
    const header_list& from_;
    std::string& why_;
};

}  // namespace

std::string call_id(const call& what) {
    return std::string(to_string(what.what)) + '.' + what.gid.text() + '.' +
           std::to_string(what.branch) + '.' + std::to_string(what.attempt) + '.' +
           std::to_string(what.epoch);
}

request to_request(const call& what, const base_url& at) {
    request made;
    made.method = "POST";
    made.target = at.path + '/' + std::string(to_string(what.what));
    made.headers.add(fields::host, at.authority);
    made.headers.add(fields::content_type, "application/octet-stream");
    made.headers.add(fields::call, call_id(what));
    made.headers.add(fields::gid, what.gid.text());
    made.headers.add(fields::branch, std::to_string(what.branch));
    made.headers.add(fields::attempt, std::to_string(what.attempt));
    made.headers.add(fields::epoch, std::to_string(what.epoch));
    made.headers.add(fields::term, std::to_string(what.term));
    made.headers.add(fields::participant, percent_encoded(what.participant));
    const auto left = std::max(what.time_left, milliseconds(0)).count();
    made.headers.add(
        fields::time_left, std::to_string(std::min(static_cast<std::uint64_t>(left), time_left_max))
    );
    made.headers.add(fields::ended_below, std::to_string(what.ended_below));
    if (what.presumed)
        made.headers.add(fields::presumed, "1");
    for (const auto& each : what.locks)
        made.headers.add(fields::lock, each.text());
    if (is_field_value(what.traceparent))
        made.headers.add(fields::traceparent, what.traceparent);
    made.body = what.payload;
    return made;
}

std::optional<call> read_call(const request& from, operation what, std::string& why) {
    why.clear();
    field_reader read(from.headers, why);
    call made;
    made.what = what;
    if (const auto named = gid::parse(read.text(fields::gid)); named)
        made.gid = *named;
    else
        read.blame(fields::gid, "names no transaction");
    made.branch = static_cast<std::uint32_t>(read.number(fields::branch, 1, branch_max));
    made.attempt = static_cast<std::uint32_t>(read.number(fields::attempt, 1, branch_max));
    made.epoch = read.number(fields::epoch, 0, signed_max);
    made.term = read.number(fields::term, 0, number_max);
    made.ended_below = read.number(fields::ended_below, 0, signed_max);
    if (from.headers.has(fields::presumed))
        made.presumed = read.number(fields::presumed, 0, 1) == 1;
    made.time_left = milliseconds(read.number(fields::time_left, 0, time_left_max));
    if (auto name = percent_decoded(read.text(fields::participant)); name)
        made.participant = std::move(*name);
    else
        read.blame(fields::participant, "has a % that is not followed by two digits");
    read.locks(made.locks);
    if (const auto trace = from.headers.one(fields::traceparent); trace)
        made.traceparent = *trace;
    if (why.empty() && read.text(fields::call) != call_id(made))
        read.blame(fields::call, "is not that of this call");
    made.payload = from.body;
    if (!why.empty())
        return std::nullopt;
    return made;
}

}  // namespace mortise::txn::http
