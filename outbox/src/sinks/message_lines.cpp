// SPDX-License-Identifier: BSL-1.0
#include "sinks/message_lines.hpp"

#include "mortise/detail/text.hpp"

#include <charconv>
#include <system_error>
#include <utility>

namespace mortise::outbox::sinks {
namespace {

using mortise::detail::percent_decoded;
using mortise::detail::percent_encoded;

constexpr std::string_view head = "mortise-messages-1\t";
constexpr std::string_view head_of_next = "mortise-messages-2\t";
constexpr std::string_view message_word = "message\t";
constexpr std::string_view mark_word = "mark\t";
constexpr std::string_view none = "%";

std::string part(const std::optional<std::string>& bytes) {
    return bytes ? percent_encoded(*bytes) : std::string(none);
}

bool starts(std::string_view& text, std::string_view with) noexcept {
    if (text.substr(0, with.size()) != with)
        return false;
    text.remove_prefix(with.size());
    return true;
}

std::string_view next_part(std::string_view& parts, char end = '\t') noexcept {
    const auto at = parts.find(end);
    const auto taken = parts.substr(0, at);
    parts = at == std::string_view::npos ? std::string_view() : parts.substr(at + 1);
    return taken;
}

bool read_bytes(std::string_view text, std::optional<std::string>& into) {
    if (text == none)
        return true;
    into = percent_decoded(text);
    return into.has_value();
}

}  // namespace

std::string head_line(std::string_view id) {
    return std::string(head) + std::string(id) + '\n';
}

std::string head_line_of_next(std::string_view id) {
    return std::string(head_of_next) + std::string(id) + '\n';
}

std::string message_line(const outgoing& message) {
    const outbox::message& each = message.message;
    std::string line(message_word);
    line += std::to_string(message.row) + '\t' + percent_encoded(each.id) + '\t' +
            percent_encoded(each.topic) + '\t' + part(each.key) + '\t' + part(each.payload);
    for (const auto& beside : each.headers)
        line += '\t' + percent_encoded(beside.name) + '=' + percent_encoded(beside.value);
    return line + '\n';
}

std::string mark_line(const mark& after) {
    return std::string(mark_word) + after.text() + '\n';
}

bool line_reader::take(std::string_view line) {
    read_ += line.size() + 1;
    if (!std::exchange(begun_, true)) {
        continues_ = starts(line, head_of_next);
        if ((!continues_ && !starts(line, head)) || line.empty())
            return false;
        contents_.id = line;
        contents_.whole = read_;
        return true;
    }
    if (starts(line, message_word))
        return !continues_ && take_message(line);
    if (!starts(line, mark_word))
        return false;
    contents_.last = mark::parse(line);
    if (std::exchange(continues_, false) && contents_.last)
        contents_.begins_after = contents_.last->row;
    contents_.whole = read_;
    contents_.has_messages = contents_.has_messages || std::exchange(batch_has_messages_, false);
    for (auto& each : std::exchange(batch_, {}))
        contents_.messages.push_back(std::move(each));
    return contents_.last.has_value();
}

bool line_reader::may_end_with(std::string_view rest) const noexcept {
    // A continued file gets its name only after its first mark is on the disk.
    return begun_ ? !continues_ : rest.substr(0, head.size()) == head.substr(0, rest.size());
}

bool line_reader::take_message(std::string_view parts) {
    outgoing entry;
    const auto row = next_part(parts);
    const char* const last = row.data() + row.size();
    const auto [end, failed] = std::from_chars(row.data(), last, entry.row);
    const auto id = percent_decoded(next_part(parts));
    const auto topic = percent_decoded(next_part(parts));
    if (failed != std::errc() || end != last || !id || id->empty() || !topic || topic->empty() ||
        !read_bytes(next_part(parts), entry.message.key) ||
        !read_bytes(next_part(parts), entry.message.payload))
        return false;
    entry.message.id = *id;
    entry.message.topic = *topic;
    while (!parts.empty()) {
        auto pair = next_part(parts);
        const auto name = percent_decoded(next_part(pair, '='));
        const auto value = percent_decoded(pair);
        if (!name || name->empty() || !value)
            return false;
        entry.message.headers.emplace_back(*name, *value);
    }
    batch_has_messages_ = true;
    if (keep_)
        batch_.push_back(std::move(entry));
    return true;
}

}  // namespace mortise::outbox::sinks
