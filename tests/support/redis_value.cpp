// SPDX-License-Identifier: BSL-1.0
#include "support/redis_value.hpp"

#include "support/resp_framing.hpp"

#include <charconv>
#include <ostream>
#include <stdexcept>

namespace mortise::test {
namespace {

using kind = redis_value::kind;

/// Reads what `resp_framing` has found to be whole.
class reader {
public:
    explicit reader(std::string_view message) : left_(message) {}

    redis_value value() {
        for (;;) {
            const std::string_view line = take_line();
            if (line.empty())
                throw resp_error("no value");
            if (line.front() != '|')
                return value_of(line.front(), line.substr(1));
            for (std::int64_t i = 2 * number(line.substr(1)); i > 0; --i)
                value();
        }
    }
    bool at_end() const noexcept { return left_.empty(); }

private:
    std::string_view take(std::size_t size) {
        if (size > left_.size())
            throw resp_error("a message that is not whole");
        const std::string_view taken = left_.substr(0, size);
        left_.remove_prefix(size);
        return taken;
    }
    std::string_view take_line() {
        const std::string_view line = take(std::min(left_.find("\r\n"), left_.size()));
        take(2);
        return line;
    }
    static std::int64_t number(std::string_view text) {
        std::int64_t value = 0;
        const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (failed != std::errc() || end != text.data() + text.size())
            throw resp_error("not a number: " + std::string(text));
        return value;
    }

    redis_value value_of(char type, std::string_view rest) {
        redis_value result;
        switch (type) {
        case '+':
        case '(':
        case ',':
        case '-':
            result.type = type == '-' ? kind::error : type == ',' ? kind::real : kind::text;
            result.text = rest;
            return result;
        case ':':
            result.type = kind::number;
            result.number = number(rest);
            return result;
        case '#':
            result.type = kind::boolean;
            result.number = rest == "t" ? 1 : 0;
            return result;
        case '_':
            return result;
        case '$':
        case '!':
        case '=':
            return blob(type, number(rest));
        default:
            return aggregate(type, number(rest));
        }
    }

    redis_value blob(char type, std::int64_t size) {
        redis_value result;
        if (size < 0)
            return result;
        result.type = type == '!' ? kind::error : kind::text;
        result.text = take(static_cast<std::size_t>(size));
        take(2);
        if (type == '=')
            result.text.erase(0, std::string_view("txt:").size());
        return result;
    }

    redis_value aggregate(char type, std::int64_t count) {
        redis_value result;
        if (count < 0)
            return result;
        result.type = type == '%'   ? kind::map
                      : type == '~' ? kind::set
                      : type == '>' ? kind::push
                                    : kind::array;
        for (std::int64_t i = type == '%' ? 2 * count : count; i > 0; --i)
            result.items.push_back(value());
        return result;
    }

    std::string_view left_;
};

void print_items(const redis_value& value, std::ostream& out) {
    out << '[';
    const char* between = "";
    for (const redis_value& item : value.items) {
        out << between;
        PrintTo(item, &out);
        between = ", ";
    }
    out << ']';
}

}  // namespace

std::vector<std::string> redis_value::texts() const {
    std::vector<std::string> all;
    for (const redis_value& item : items)
        all.push_back(item.type == kind::number ? std::to_string(item.number) : item.text);
    return all;
}

const redis_value& redis_value::at(std::string_view key) const {
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
        if (items[i].text == key)
            return items[i + 1];
    }
    throw std::out_of_range("no key " + std::string(key));
}

void PrintTo(const redis_value& value, std::ostream* out) {
    switch (value.type) {
    case kind::null:
        *out << "null";
        return;
    case kind::text:
        *out << '"' << value.text << '"';
        return;
    case kind::error:
        *out << "error(" << value.text << ')';
        return;
    case kind::number:
        *out << value.number;
        return;
    case kind::real:
        *out << value.text;
        return;
    case kind::boolean:
        *out << (value.number != 0 ? "true" : "false");
        return;
    case kind::array:
        return print_items(value, *out);
    case kind::set:
        *out << "set";
        return print_items(value, *out);
    case kind::map:
        *out << "map";
        return print_items(value, *out);
    case kind::push:
        *out << "push";
        return print_items(value, *out);
    }
}

redis_value decode_redis_value(std::string_view message) {
    reader from(message);
    redis_value value = from.value();
    if (!from.at_end())
        throw resp_error("more than one message");
    return value;
}

std::string encode_redis_command(const std::vector<std::string>& words) {
    std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words)
        bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    return bytes;
}

}  // namespace mortise::test
