// SPDX-License-Identifier: BSL-1.0
#include "store/redis/resp.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <utility>

namespace mortise::store_detail {
namespace {

constexpr std::string_view line_end = "\r\n";
constexpr std::size_t room_min = 4 * 1024;
constexpr std::size_t kept_max = 256 * 1024;  // of a buffer in which nothing is left to read

template <class Number>
std::optional<Number> number_in(std::string_view text) noexcept {
    Number value = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (wrong != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

redis_value text_value(redis_value::kind kind, std::string_view text) {
    redis_value value;
    value.type = kind;
    value.text = text;
    return value;
}

void put_size(std::string& to, char type, std::size_t size) {
    char digits[24];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), size).ptr;
    to += type;
    to.append(digits, end);
    to += line_end;
}

}  // namespace

std::span<char> resp_reader::room() {
    if (begin_ == end_) {
        begin_ = end_ = 0;
        if (bytes_.size() > kept_max) {
            bytes_.clear();
            bytes_.shrink_to_fit();
        }
    }
    if (bytes_.size() - end_ < room_min && begin_ > end_ - begin_) {
        std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
        end_ -= std::exchange(begin_, 0);
    }
    if (bytes_.size() - end_ < room_min)
        bytes_.resize(std::max(2 * room_min, 2 * bytes_.size()));
    return std::span(bytes_).subspan(end_);
}

std::optional<resp_item> resp_reader::next() {
    while (!failed_) {
        const std::size_t before = begin_;
        auto done = read_some();
        const bool progress = begin_ != before;
        if (done && !count(sizeof(redis_value)))
            return std::nullopt;
        if (done && close_with(*done)) {
            resp_item item;
            item.value = std::move(*done);
            item.pushed = std::exchange(pushed_, false);
            consumed_ = 0;
            return item;
        }
        if (!progress)
            return std::nullopt;
    }
    return std::nullopt;
}

// Reads a line or a text. Nothing comes of a line that only opens something, or that is not there
// as a whole.
std::optional<redis_value> resp_reader::read_some() {
    if (text_)
        return take_text();
    const auto line = take_line();
    if (!line)
        return std::nullopt;
    if (line->empty())
        return fail();
    return read(line->front(), line->substr(1));
}

std::optional<std::string_view> resp_reader::take_line() {
    const auto bytes = unread();
    const auto size = bytes.substr(0, line_max).find(line_end);
    if (size == std::string_view::npos) {
        failed_ = bytes.size() >= line_max;
        return std::nullopt;
    }
    if (!count(size + line_end.size()))
        return std::nullopt;
    begin_ += size + line_end.size();
    return bytes.substr(0, size);
}

std::optional<redis_value> resp_reader::take_text() {
    const auto bytes = unread();
    const std::size_t size = *text_;
    if (bytes.size() < size + line_end.size())
        return std::nullopt;
    if (bytes.substr(size, line_end.size()) != line_end)
        return fail();
    begin_ += size + line_end.size();
    text_.reset();
    const auto kind = text_is_error_ ? redis_value::kind::error : redis_value::kind::text;
    return text_value(kind, bytes.substr(0, size));
}

std::optional<redis_value> resp_reader::read(char type, std::string_view rest) {
    redis_value value;
    switch (type) {
    case '_':
        return rest.empty() ? value : fail();
    case ':':
        if (const auto number = number_in<std::int64_t>(rest)) {
            value.type = redis_value::kind::number;
            value.number = *number;
            return value;
        }
        return fail();
    case '+':
    case ',':  // a number with a fraction
    case '#':  // t or f
    case '(':  // a number of any size
        return text_value(redis_value::kind::text, rest);
    case '-':
        return text_value(redis_value::kind::error, rest);
    default:
        return open(type, rest);
    }
}

// What has a size: texts, and values that have items.
std::optional<redis_value> resp_reader::open(char type, std::string_view rest) {
    constexpr std::size_t reserved_max = 4'096;
    constexpr std::string_view types = "$!=*~>%|";
    if (types.find(type) == std::string_view::npos)
        return fail();
    if ((type == '$' || type == '*') && rest == "-1")
        return redis_value();  // Nothing, in RESP2.
    const auto size = number_in<std::size_t>(rest);
    if (!size || *size > value_max)
        return fail();
    if (type == '$' || type == '!' || type == '=') {
        if (!count(*size + line_end.size()))
            return std::nullopt;
        text_ = *size;
        text_is_error_ = type == '!';
        return std::nullopt;
    }
    if (open_.empty())
        pushed_ = type == '>';
    open_array array;
    array.value.type = redis_value::kind::array;
    array.left = type == '%' || type == '|' ? 2 * *size : *size;
    array.is_attribute = type == '|';
    if (array.left == 0)
        return array.is_attribute ? std::nullopt : std::optional(std::move(array.value));
    if (open_.size() == depth_max)
        return fail();
    array.value.items.reserve(std::min(array.left, reserved_max));
    open_.push_back(std::move(array));
    return std::nullopt;
}

// Puts a value into the array that it is an item of, and that one into the next if it was the last
// item. @return whether `done` is a whole value now.
bool resp_reader::close_with(redis_value& done) {
    while (!open_.empty()) {
        open_array& into = open_.back();
        into.value.items.push_back(std::move(done));
        if (--into.left != 0)
            return false;
        const bool dropped = into.is_attribute;
        done = std::move(into.value);
        open_.pop_back();
        if (dropped)
            return false;
    }
    return true;
}

std::optional<redis_value> resp_reader::fail() noexcept {
    failed_ = true;
    return std::nullopt;
}

bool resp_reader::count(std::size_t bytes) noexcept {
    consumed_ += bytes;
    failed_ = failed_ || consumed_ > value_max;
    return !failed_;
}

void put_command(std::string& to, const redis_command& command) {
    put_size(to, '*', command.size());
    for (const auto& word : command) {
        put_size(to, '$', word.size());
        to += word;
        to += line_end;
    }
}

bool is_answered_by_push(std::string_view name) noexcept {
    constexpr std::string_view names[] = {
        "SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE", "SSUBSCRIBE", "SUNSUBSCRIBE"};
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace mortise::store_detail
