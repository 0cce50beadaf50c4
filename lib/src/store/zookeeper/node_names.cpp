// SPDX-License-Identifier: BSL-1.0
#include "store/zookeeper/node_names.hpp"

#include "store/hex_id.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace mortise::store_detail {
namespace {

constexpr std::size_t id_digits = 32;
constexpr std::size_t request_digits = 16;
constexpr int hexadecimal = 16;
constexpr int decimal = 10;
constexpr const char* wanted_mark = " wanted";

bool is_plain(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

template <class Number>
std::optional<Number> number_in(std::string_view text, int base) noexcept {
    Number value{};
    const char* const end = text.data() + text.size();
    const auto [last, failed] = std::from_chars(text.data(), end, value, base);
    if (text.empty() || failed != std::errc() || last != end)
        return std::nullopt;
    return value;
}

std::string hex_digits(std::uint64_t value) {
    std::array<char, request_digits> digits;
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), value, hexadecimal);
    const std::string text(digits.data(), end.ptr);
    return std::string(request_digits - text.size(), '0') + text;
}

std::string text_of(lock_mode mode) {
    if (mode.type() == lock_mode::kind::permits)
        return "p" + std::to_string(mode.capacity());
    return mode.type() == lock_mode::kind::shared ? "s" : "x";
}

std::optional<lock_mode> parse_mode(std::string_view text) noexcept {
    if (text == "x")
        return lock_mode::exclusive();
    if (text == "s")
        return lock_mode::shared();
    if (!text.starts_with('p'))
        return std::nullopt;
    const auto capacity = number_in<std::uint32_t>(text.substr(1), decimal);
    if (!capacity)
        return std::nullopt;
    return lock_mode::permits(*capacity);
}

}  // namespace

std::string node_of_lock(std::string_view lock) {
    constexpr const char* digits = "0123456789ABCDEF";
    constexpr unsigned half = 4;
    constexpr unsigned low = 15;
    std::string node;
    for (const char c : lock) {
        if (is_plain(c)) {
            node += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        node += '%';
        node += digits[byte >> half];
        node += digits[byte & low];
    }
    return node;
}

std::optional<std::string> lock_of_node(std::string_view node) {
    std::string lock;
    for (std::size_t i = 0; i < node.size(); ++i) {
        if (is_plain(node[i])) {
            lock += node[i];
            continue;
        }
        const auto byte = number_in<unsigned char>(node.substr(i + 1, 2), hexadecimal);
        if (node[i] != '%' || node.size() - i < 3 || !byte)
            return std::nullopt;
        lock += static_cast<char>(*byte);
        i += 2;
    }
    return lock;
}

std::string node_prefix(const session_id& session, request_id request, lock_mode mode) {
    return session.text() + '-' + hex_digits(request) + '-' + text_of(mode) + '-';
}

// A number beyond 2^31 is written with a sign.
std::optional<queue_node> parse_queue_node(std::string_view name) {
    constexpr std::size_t mode_at = id_digits + 1 + request_digits + 1;
    if (name.size() < mode_at || name[id_digits] != '-' || name[mode_at - 1] != '-')
        return std::nullopt;
    const auto mode_end = name.find('-', mode_at);
    if (mode_end == std::string_view::npos)
        return std::nullopt;
    const auto session = parse_hex_id(name.substr(0, id_digits));
    const auto request =
        number_in<request_id>(name.substr(id_digits + 1, request_digits), hexadecimal);
    const auto mode = parse_mode(name.substr(mode_at, mode_end - mode_at));
    const auto number = number_in<std::int32_t>(name.substr(mode_end + 1), decimal);
    if (!session || !request || !mode || !number)
        return std::nullopt;
    queue_node node;
    node.name = name;
    node.session = *session;
    node.request = *request;
    node.mode = *mode;
    node.number = static_cast<std::uint32_t>(*number);
    return node;
}

std::string holder_note::text() const {
    return session.text() + (wanted ? wanted_mark : "");
}

std::optional<holder_note> parse_holder_note(std::string_view text) {
    const auto session = parse_hex_id(text.substr(0, id_digits));
    const auto rest = text.substr(std::min(id_digits, text.size()));
    if (!session || (!rest.empty() && rest != wanted_mark))
        return std::nullopt;
    holder_note note;
    note.session = *session;
    note.wanted = !rest.empty();
    return note;
}

}  // namespace mortise::store_detail
