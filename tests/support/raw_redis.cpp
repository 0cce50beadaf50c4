// SPDX-License-Identifier: BSL-1.0
#include "support/raw_redis.hpp"

#include "mortise/coro/clock.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace mortise::test {
namespace {

[[noreturn]] void fail(int reason, const char* text) {
    throw std::system_error(reason, std::generic_category(), text);
}

std::chrono::milliseconds until(clock::time_point end) {
    return std::chrono::ceil<std::chrono::milliseconds>(end - clock::now());
}

int connect_to(std::uint16_t port) {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (descriptor < 0 ||
        ::connect(descriptor, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) {
        const int reason = errno;
        ::close(descriptor);
        fail(reason, "no connection to Redis");
    }
    return descriptor;
}

}  // namespace

raw_redis::raw_redis(std::uint16_t port, milliseconds limit)
    : socket_(connect_to(port)), limit_(limit) {}

raw_redis::~raw_redis() {
    if (socket_ >= 0)
        ::close(socket_);
}

raw_redis::raw_redis(raw_redis&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      limit_(other.limit_),
      framing_(std::move(other.framing_)),
      pushes_(std::move(other.pushes_)) {}

redis_value raw_redis::command(const std::vector<std::string>& words) {
    redis_value reply = try_command(words);
    if (reply.is_error())
        throw std::runtime_error(words.at(0) + " was answered: " + reply.text);
    return reply;
}

redis_value raw_redis::try_command(const std::vector<std::string>& words) {
    send(words);
    return receive();
}

void raw_redis::send(const std::vector<std::string>& words) {
    send_bytes(encode_redis_command(words));
}

void raw_redis::send_bytes(std::string_view bytes) {
    const clock::time_point end = clock::now() + limit_;
    while (!bytes.empty()) {
        pollfd ready{socket_, POLLOUT, 0};
        if (::poll(&ready, 1, static_cast<int>(std::max(until(end), milliseconds(0)).count())) <= 0)
            fail(ETIMEDOUT, "Redis does not read");
        const ssize_t sent =
            ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            fail(errno, "nothing can be sent to Redis");
        bytes.remove_prefix(sent > 0 ? static_cast<std::size_t>(sent) : 0);
    }
}

redis_value raw_redis::receive() {
    const clock::time_point end = clock::now() + limit_;
    for (;;) {
        while (const auto message = framing_.next()) {
            redis_value value = decode_redis_value(message->bytes);
            if (!message->is_push())
                return value;
            pushes_.push_back(std::move(value));
        }
        if (!await(until(end)))
            fail(ETIMEDOUT, "no answer from Redis");
        if (!read_more())
            fail(ECONNRESET, "Redis has ended the connection");
    }
}

std::optional<redis_value> raw_redis::next_push(milliseconds limit) {
    const clock::time_point end = clock::now() + limit;
    while (pushes_.empty()) {
        if (const auto message = framing_.next()) {
            if (!message->is_push())
                throw std::logic_error("a reply was not received before the push was asked for");
            pushes_.push_back(decode_redis_value(message->bytes));
            break;
        }
        if (!await(until(end)))
            return std::nullopt;
        if (!read_more())
            fail(ECONNRESET, "Redis has ended the connection");
    }
    redis_value first = std::move(pushes_.front());
    pushes_.pop_front();
    return first;
}

bool raw_redis::ends_within(milliseconds limit) {
    const clock::time_point end = clock::now() + limit;
    while (await(until(end))) {
        if (!read_more())
            return true;
    }
    return false;
}

bool raw_redis::await(milliseconds limit) const {
    pollfd ready{socket_, POLLIN, 0};
    return ::poll(&ready, 1, static_cast<int>(std::max(limit, milliseconds(0)).count())) > 0;
}

// Reads what has come. @return false at the end of the connection, whatever its cause.
bool raw_redis::read_more() {
    std::array<char, 16384> bytes;
    const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0)
        framing_.feed({bytes.data(), static_cast<std::size_t>(got)});
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

std::map<std::string, std::string> raw_redis::info(const std::string& section) {
    std::map<std::string, std::string> fields;
    std::istringstream lines(command({"INFO", section}).text);
    for (std::string line; std::getline(lines, line);) {
        if (!line.empty() && line.back() == '\r')
            line.pop_back();
        const std::size_t colon = line.find(':');
        if (colon != std::string::npos && line.front() != '#')
            fields[line.substr(0, colon)] = line.substr(colon + 1);
    }
    return fields;
}

std::uint64_t raw_redis::calls(const std::string& command_in_lower_case) {
    const auto fields = info("commandstats");
    const auto found = fields.find("cmdstat_" + command_in_lower_case);
    constexpr std::string_view begin = "calls=";
    if (found == fields.end())
        return 0;
    if (!found->second.starts_with(begin))
        throw std::runtime_error("not a statistic: " + found->second);
    return std::stoull(found->second.substr(begin.size()));
}

}  // namespace mortise::test
