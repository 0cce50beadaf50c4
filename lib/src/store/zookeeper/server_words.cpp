// SPDX-License-Identifier: BSL-1.0
#include "store/zookeeper/server_words.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace mortise::store_detail {
namespace {

using std::chrono::milliseconds;

/// The rest of the line that begins with `mark`.
std::optional<std::string_view> line_after(std::string_view mark, std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        auto line = text.substr(at, end - at);
        if (line.starts_with(mark)) {
            line.remove_prefix(mark.size());
            return line.substr(0, line.find('\r'));
        }
        at = end + 1;
    }
    return std::nullopt;
}

/// A number of that name. Negative ones mean "as usual" to the servers, which tell none.
std::optional<std::uint32_t> number_after(std::string_view mark, std::string_view text) {
    const auto rest = line_after(mark, text);
    if (!rest)
        return std::nullopt;
    std::uint32_t value = 0;
    const auto [last, failed] = std::from_chars(rest->data(), rest->data() + rest->size(), value);
    if (failed != std::errc() || last != rest->data() + rest->size())
        return std::nullopt;
    return value;
}

/// Writes and reads what a message consists of: numbers, most significant byte first.
void put(std::string& message, std::uint64_t number, std::size_t bytes) {
    constexpr unsigned byte_bits = 8;
    for (std::size_t i = bytes; i-- > 0;)
        message += static_cast<char>(number >> (byte_bits * i));
}

std::uint64_t number_at(std::string_view message, std::size_t at, std::size_t bytes) {
    constexpr unsigned byte_bits = 8;
    std::uint64_t number = 0;
    for (const char c : message.substr(at, bytes))
        number = number << byte_bits | static_cast<unsigned char>(c);
    return number;
}

constexpr std::size_t word = 4;
constexpr std::size_t long_word = 8;

std::string framed(const std::string& message) {
    std::string whole;
    put(whole, message.size(), word);
    return whole + message;
}

}  // namespace

std::optional<server_settings> parse_settings(std::string_view answer) {
    const auto tick = number_after("tickTime=", answer);
    const auto session_min = number_after("minSessionTimeout=", answer);
    const auto session_max = number_after("maxSessionTimeout=", answer);
    if (!tick || !session_min || !session_max || *tick == 0)
        return std::nullopt;
    server_settings settings;
    settings.tick = milliseconds(*tick);
    settings.session_min = milliseconds(*session_min);
    settings.session_max = milliseconds(*session_max);
    settings.sync = settings.tick * number_after("syncLimit=", answer).value_or(0);
    settings.connections_max = number_after("maxClientCnxns=", answer).value_or(0);
    return settings;
}

std::optional<server_state> parse_state(std::string_view answer) {
    const auto version = line_after("Zookeeper version: ", answer);
    const auto role = line_after("Mode: ", answer);
    if (!version || !role)
        return std::nullopt;
    server_state state;
    state.version = version->substr(0, version->find_first_not_of("0123456789."));
    state.role = *role;
    return state;
}

std::string session_wish(milliseconds timeout) {
    constexpr std::size_t password_size = 16;
    std::string message;
    put(message, 0, word);       // the version of the protocol
    put(message, 0, long_word);  // the last transaction that was seen: none
    put(message, static_cast<std::uint64_t>(timeout.count()), word);
    put(message, 0, long_word);  // the session: a new one
    put(message, password_size, word);
    message.append(password_size, '\0');
    message += '\0';  // not for reading only
    return framed(message);
}

std::optional<milliseconds> granted_timeout(std::string_view answer) {
    constexpr std::size_t timeout_at = 2 * word;
    constexpr std::size_t session_at = 3 * word;
    static_assert(session_at + long_word == session_answer_size);
    if (answer.size() < session_answer_size || number_at(answer, session_at, long_word) == 0)
        return std::nullopt;
    // Another kind of server, which has begun to complain.
    constexpr std::uint64_t length_max = 256;
    if (number_at(answer, 0, word) > length_max || number_at(answer, word, word) != 0)
        return std::nullopt;
    const auto granted = static_cast<std::int32_t>(number_at(answer, timeout_at, word));
    if (granted <= 0)
        return std::nullopt;
    return milliseconds(granted);
}

std::string session_end() {
    constexpr std::int32_t close_session = -11;
    std::string message;
    put(message, 1, word);  // the number of the request
    put(message, static_cast<std::uint32_t>(close_session), word);
    return framed(message);
}

}  // namespace mortise::store_detail
