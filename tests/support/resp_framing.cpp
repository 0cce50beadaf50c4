// SPDX-License-Identifier: BSL-1.0
#include "support/resp_framing.hpp"

#include <charconv>

namespace mortise::test {
namespace {

constexpr std::string_view line_end = "\r\n";
constexpr std::int64_t count_max = 1'000'000'000;

std::int64_t number_of(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc() || end != text.data() + text.size() || value < -1 ||
        value > count_max)
        throw resp_error("not a length: " + std::string(text));
    return value;
}

}  // namespace

std::optional<resp_message> resp_framing::next() {
    while (!whole_) {
        if (!take_one())
            return std::nullopt;
    }
    resp_message message;
    message.type = type_;
    message.bytes = buffer_.substr(0, seen_);
    buffer_.erase(0, seen_);
    seen_ = 0;
    type_ = 0;
    whole_ = false;
    return message;
}

// Goes one step further; false if there are too few bytes for it.
bool resp_framing::take_one() {
    if (!in_blob_)
        return take_line();
    const std::size_t wanted = blob_ + line_end.size();
    if (buffer_.size() - seen_ < wanted)
        return false;
    if (std::string_view(buffer_).substr(seen_ + blob_, line_end.size()) != line_end)
        throw resp_error("a string does not end where its length says");
    seen_ += wanted;
    in_blob_ = false;
    close_value();
    return true;
}

bool resp_framing::take_line() {
    const std::size_t end = buffer_.find(line_end, seen_);
    if (end == std::string::npos)
        return false;
    const std::string_view line = std::string_view(buffer_).substr(seen_, end - seen_);
    const char type = line.empty() ? '\0' : line.front();
    if (open_.empty() && type != '|')
        type_ = type;
    switch (type) {
    case '+':
    case '-':
    case ':':
    case '_':
    case ',':
    case '#':
    case '(':
        seen_ = end + line_end.size();
        close_value();
        return true;
    case '$':
    case '!':
    case '=':
    case '*':
    case '~':
    case '>':
    case '%':
    case '|': {
        const std::int64_t count = number_of(line.substr(1));
        seen_ = end + line_end.size();
        open(type, count);
        return true;
    }
    default:
        throw resp_error("no value begins like this: " + std::string(line.substr(0, 40)));
    }
}

void resp_framing::open(char type, std::int64_t count) {
    if (count < 0) {  // RESP2's null
        close_value();
        return;
    }
    if (type == '$' || type == '!' || type == '=') {
        blob_ = static_cast<std::size_t>(count);
        in_blob_ = true;
        return;
    }
    const bool pairs = type == '%' || type == '|';
    if (count == 0) {
        if (type != '|')
            close_value();
        return;
    }
    frame opened;
    opened.left = pairs ? 2 * count : count;
    opened.is_attribute = type == '|';
    open_.push_back(opened);
}

// Ends a value, and all aggregates of which it is the last part.
void resp_framing::close_value() {
    while (!open_.empty()) {
        frame& around = open_.back();
        --around.left;
        if (around.left > 0)
            return;
        const bool is_attribute = around.is_attribute;
        open_.pop_back();
        if (is_attribute)
            return;
    }
    whole_ = true;
}

}  // namespace mortise::test
