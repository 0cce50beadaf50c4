// SPDX-License-Identifier: BSL-1.0
#include "store/zookeeper/server_probe.hpp"

#include "mortise/coro/detail/with_code.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <limits>
#include <utility>

namespace mortise::store_detail {
namespace {

using coro::detail::with_code;
using std::chrono::milliseconds;

constexpr std::size_t answer_max = 65'536;

}  // namespace

server_probe::server_probe(
    asio::any_io_executor strand, std::shared_ptr<coro::time_source> time, zookeeper_address server
)
    : strand_(std::move(strand)),
      time_(std::move(time)),
      server_(std::move(server)),
      resolver_(strand_),
      socket_(strand_) {}

void server_probe::stop() {
    late_ = true;
    resolver_.cancel();
    error_code ignored;
    socket_.close(ignored);
}

asio::awaitable<error_code> server_probe::look_up() {
    auto looking = resolver_.async_resolve(server_.host, std::to_string(server_.port), with_code);
    auto found = co_await std::move(looking);
    places_ = std::move(std::get<1>(found));
    co_return std::get<0>(found);
}

asio::awaitable<error_code> server_probe::connect() {
    if (late_)
        co_return asio::error::timed_out;
    socket_ = tcp::socket(strand_);
    auto connecting = asio::async_connect(socket_, places_, with_code);
    const auto connected = co_await std::move(connecting);
    if (late_)
        co_return asio::error::timed_out;
    co_return std::get<0>(connected);
}

// The server closes the connection behind its answer.
asio::awaitable<result<std::string>> server_probe::ask_word(std::string word) {
    auto connecting = connect();
    if (const error_code failed = co_await std::move(connecting))
        co_return failed;
    auto writing = asio::async_write(socket_, asio::buffer(word), with_code);
    const auto written = co_await std::move(writing);
    if (const error_code failed = std::get<0>(written))
        co_return failed;
    std::string answer;
    auto reading = asio::async_read(socket_, asio::dynamic_buffer(answer, answer_max), with_code);
    const auto read = co_await std::move(reading);
    if (const error_code failed = std::get<0>(read); failed && failed != asio::error::eof)
        co_return failed;
    co_return answer;
}

// Begins a session and ends it. @return the time-out that was granted.
asio::awaitable<result<milliseconds>> server_probe::ask_session(milliseconds wish) {
    auto connecting = connect();
    if (const error_code failed = co_await std::move(connecting))
        co_return failed;
    const auto message = session_wish(wish);
    auto writing = asio::async_write(socket_, asio::buffer(message), with_code);
    const auto written = co_await std::move(writing);
    if (const error_code failed = std::get<0>(written))
        co_return failed;
    std::string answer(session_answer_size, '\0');
    auto reading = asio::async_read(socket_, asio::buffer(answer), with_code);
    const auto read = co_await std::move(reading);
    if (const error_code failed = std::get<0>(read))
        co_return failed;
    const auto granted = granted_timeout(answer);
    if (!granted)
        co_return asio::error::no_data;
    const auto farewell = session_end();
    auto leaving = asio::async_write(socket_, asio::buffer(farewell), with_code);
    co_await std::move(leaving);
    // Whatever comes: what counts is granted, and the session is over when the connection ends.
    std::string rest;
    auto ending = asio::async_read(socket_, asio::dynamic_buffer(rest, answer_max), with_code);
    co_await std::move(ending);
    co_return *granted;
}

std::string server_probe::text_of(const error_code& failed) const {
    if (late_)
        return "it does not answer in time";
    if (failed == asio::error::eof || failed == asio::error::no_data ||
        failed == asio::error::connection_reset)
        return "it grants no session";
    return failed.message();
}

asio::awaitable<server_report> server_probe::ask(milliseconds limit) {
    const auto kept = shared_from_this();
    server_report report;
    report.name = server_.host + ':' + std::to_string(server_.port);
    due_.set(*time_, strand_, time_->now() + limit, [weak = weak_from_this()] {
        if (const auto self = weak.lock())
            self->stop();
    });
    auto looking = look_up();
    if (const error_code failed = co_await std::move(looking)) {
        report.failure = text_of(failed);
        co_return report;
    }
    report.addresses = places_.size();
    auto asking_shortest = ask_session(milliseconds(1));
    const auto shortest = co_await std::move(asking_shortest);
    auto asking_longest = ask_session(milliseconds(std::numeric_limits<std::int32_t>::max()));
    const auto longest = co_await std::move(asking_longest);
    auto asking_state = ask_word("srvr");
    const auto state = co_await std::move(asking_state);
    auto asking_settings = ask_word("conf");
    const auto settings = co_await std::move(asking_settings);
    if (!shortest)
        report.failure = text_of(shortest.error());
    else if (!longest)
        report.failure = text_of(longest.error());
    report.granted_min = shortest.has_value() ? *shortest : milliseconds(0);
    report.granted_max = longest.has_value() ? *longest : milliseconds(0);
    if (state)
        report.state = parse_state(*state);
    if (settings)
        report.settings = parse_settings(*settings);
    due_.cancel();
    co_return report;
}

asio::awaitable<server_report> probe_server(
    asio::any_io_executor strand,
    std::shared_ptr<coro::time_source> time,
    zookeeper_address server,
    milliseconds limit
) {
    const auto probe =
        std::make_shared<server_probe>(std::move(strand), std::move(time), std::move(server));
    auto asking = probe->ask(limit);
    co_return co_await std::move(asking);
}

}  // namespace mortise::store_detail
