// SPDX-License-Identifier: BSL-1.0
// Any bytes become text that is safe on a terminal, in JSON and for Prometheus, and from which the
// bytes can be read again.
#include "common/json.hpp"
#include "common/printable.hpp"
#include "fuzz/target.hpp"
#include "lock/live_screen.hpp"
#include "mortise/prometheus.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

namespace mortise::fuzz::printable_target {
namespace {

namespace json = tool::json;

bool has_controls(std::string_view text) {
    return std::any_of(text.begin(), text.end(), [](const char each) {
        return static_cast<unsigned char>(each) < 0x20 || each == 0x7f;
    });
}

std::string from_hexadecimal(std::string_view digits) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
        unsigned value = 0;
        const auto read = std::from_chars(digits.data() + i, digits.data() + i + 2, value, 16);
        MORTISE_ASSERT(read.ptr == digits.data() + i + 2);
        bytes += static_cast<char>(value);
    }
    return bytes;
}

// Reverses `printable`.
std::string plain(std::string_view text) {
    std::string bytes;
    while (!text.empty()) {
        std::size_t size = 1;
        if (text.front() != '\\') {
            bytes += text.front();
        } else if (text.substr(1, 1) == "\\") {
            bytes += '\\';
            size = 2;
        } else {
            size = 4;
            MORTISE_ASSERT(text.size() >= size && text[1] == 'x');
            bytes += from_hexadecimal(text.substr(2, 2));
        }
        text.remove_prefix(size);
    }
    return bytes;
}

void check_text(const std::string& bytes) {
    const std::string text = tool::printable(bytes);
    MORTISE_ASSERT(tool::valid_utf8(text) && !has_controls(text));
    MORTISE_ASSERT(plain(text) == bytes);
    const std::string sentence = tool::printable(bytes, tool::newlines::as_spaces);
    MORTISE_ASSERT(tool::valid_utf8(sentence) && !has_controls(sentence));
    MORTISE_ASSERT(tool::width_of(text) <= text.size());
    MORTISE_ASSERT(from_hexadecimal(tool::hexadecimal(bytes)) == bytes);
}

void check_json(const std::string& bytes) {
    json::object object;
    tool::set_bytes(object, "name", bytes);
    const json::value read = json::parse(json::serialize(object));
    const json::object& fields = read.as_object();
    const std::string value(fields.at("name").as_string());
    const auto* const hex = fields.if_contains("name_hex");
    MORTISE_ASSERT((hex == nullptr) == tool::valid_utf8(bytes));
    MORTISE_ASSERT(value == (hex ? tool::printable(bytes) : bytes));
    if (hex)
        MORTISE_ASSERT(from_hexadecimal(std::string_view(hex->as_string())) == bytes);
}

void check_prometheus(const std::string& bytes) {
    const std::string text = prometheus_text(client_stats(), bytes, false);
    const std::string first = text.substr(0, text.find('\n'));
    const std::size_t begin = first.find("{client=\"");
    const std::size_t end = first.rfind("\"} 0");
    MORTISE_ASSERT(begin != std::string::npos && end != std::string::npos);
    std::string label;
    for (std::size_t i = begin + 9; i < end; ++i) {
        if (first[i] == '\\')
            label += first[++i] == 'n' ? '\n' : first[i];
        else
            label += first[i];
    }
    MORTISE_ASSERT(label == bytes);
}

// Of what is drawn, only the sequences of the screen itself are control characters.
void check_frame(const std::string& text, tool::screen_size size) {
    std::string frame = tool::frame_of(text, size);
    for (const std::string_view known : {"\x1b[H", "\x1b[K", "\x1b[J"}) {
        for (auto at = frame.find(known); at != std::string::npos; at = frame.find(known))
            frame.erase(at, known.size());
    }
    std::size_t lines = 1;
    for (auto at = frame.find("\r\n"); at != std::string::npos; at = frame.find("\r\n")) {
        frame.erase(at, 2);
        ++lines;
    }
    MORTISE_ASSERT(!has_controls(frame) && lines <= size.rows);
}

}  // namespace

MORTISE_FUZZ_TARGET(printable) {
    tool::screen_size size;
    size.rows = 1 + in.pick(40);
    size.columns = 1 + in.pick(200);
    const std::string bytes = in.rest();
    check_text(bytes);
    check_json(bytes);
    check_prometheus(bytes);
    std::string lines = tool::printable(bytes);
    std::replace(lines.begin(), lines.end(), '|', '\n');
    check_frame(lines, size);
}

}  // namespace mortise::fuzz::printable_target
