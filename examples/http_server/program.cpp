// SPDX-License-Identifier: BSL-1.0
#include "http_server/program.hpp"

#include <boost/asio/co_spawn.hpp>

#include <charconv>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace http_server {

std::uint16_t parse_port(std::string_view text, std::string_view program) {
    std::uint16_t port = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (code != std::errc() || end != text.data() + text.size())
        throw std::invalid_argument("usage: " + std::string(program) + " [PORT | --self-test]");
    return port;
}

void run(boost::asio::io_context& context, boost::asio::awaitable<void> task) {
    boost::asio::co_spawn(context, std::move(task), [](const std::exception_ptr& e) {
        if (e)
            std::rethrow_exception(e);
    });
    context.run();
}

}  // namespace http_server
