// SPDX-License-Identifier: BSL-1.0
#include "support/kafka_proxy.hpp"

#include "support/without_throw.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <stdexcept>
#include <utility>

namespace mortise::test {
namespace {

constexpr unsigned end_txn = 26;  // Kafka's number for that request

unsigned number_at(const std::string& bytes, std::size_t at, std::size_t size) {
    unsigned number = 0;
    for (std::size_t i = 0; i < size; ++i)
        number = number << 8u | static_cast<unsigned char>(bytes.at(at + i));
    return number;
}

/// A message with the four bytes of its length before it; empty if the connection has ended.
asio::awaitable<std::string> read_message(asio::ip::tcp::socket& from) {
    std::string bytes(4, '\0');
    auto reading = asio::async_read(from, asio::buffer(bytes), without_throw);
    if (const auto read = co_await std::move(reading); std::get<0>(read))
        co_return std::string();
    const std::size_t size = number_at(bytes, 0, 4);
    bytes.resize(4 + size);
    auto more = asio::async_read(from, asio::buffer(bytes.data() + 4, size), without_throw);
    if (const auto read = co_await std::move(more); std::get<0>(read))
        co_return std::string();
    co_return bytes;
}

}  // namespace

struct kafka_proxy::link {
    link(socket from, socket to) : client(std::move(from)), broker(std::move(to)) {}
    socket client;
    socket broker;
    bool keeps = false;
};

kafka_proxy::kafka_proxy(std::uint16_t broker_port)
    : broker_(asio::ip::address_v4::loopback(), broker_port), acceptor_(context_) {
    acceptor_.open(asio::ip::tcp::v4());
    acceptor_.set_option(asio::socket_base::reuse_address(true));
    acceptor_.bind({asio::ip::address_v4::loopback(), port()});
    acceptor_.listen();
    asio::co_spawn(context_, accept(), asio::detached);
    thread_ = std::thread([this] { context_.run(); });
}

kafka_proxy::~kafka_proxy() {
    context_.stop();
    thread_.join();
}

std::future<void> kafka_proxy::keep_next_end() {
    std::promise<void> promise;
    auto kept = promise.get_future();
    asio::post(
        context_, asio::use_future([this, &promise] { wanted_ = std::move(promise); })
    ).get();
    return kept;
}

void kafka_proxy::cut_all() {
    const auto cut = [this] {
        for (const auto& each : std::exchange(links_, {})) {
            if (const auto on = each.lock()) {
                on->client.close();
                on->broker.close();
            }
        }
    };
    asio::post(context_, asio::use_future(cut)).get();
}

std::int16_t kafka_proxy::deliver() {
    return asio::co_spawn(context_, ask(), asio::use_future).get();
}

asio::awaitable<void> kafka_proxy::accept() {
    for (;;) {
        auto accepting = acceptor_.async_accept(without_throw);
        auto accepted = co_await std::move(accepting);
        if (std::get<0>(accepted))
            co_return;
        asio::co_spawn(context_, serve(std::move(std::get<1>(accepted))), asio::detached);
    }
}

asio::awaitable<void> kafka_proxy::serve(socket client) {
    socket broker(context_);
    auto connecting = broker.async_connect(broker_, without_throw);
    if (const auto connected = co_await std::move(connecting); std::get<0>(connected))
        co_return;
    client.set_option(asio::ip::tcp::no_delay(true));
    broker.set_option(asio::ip::tcp::no_delay(true));
    const auto on = std::make_shared<link>(std::move(client), std::move(broker));
    links_.push_back(on);
    asio::co_spawn(context_, pass_answers(on), asio::detached);
    auto passing = pass_requests(on);
    co_await std::move(passing);
}

asio::awaitable<void> kafka_proxy::pass_requests(std::shared_ptr<link> on) {
    for (;;) {
        auto reading = read_message(on->client);
        std::string request = co_await std::move(reading);
        if (request.size() < 6)
            break;
        if (wanted_ && number_at(request, 4, 2) == end_txn) {
            kept_ = std::move(request);
            kept_by_ = on;
            on->keeps = true;
            on->client.close();
            std::exchange(wanted_, std::nullopt)->set_value();
            co_return;
        }
        auto writing = asio::async_write(on->broker, asio::buffer(request), without_throw);
        if (const auto wrote = co_await std::move(writing); std::get<0>(wrote))
            break;
    }
    on->client.close();
    on->broker.close();
}

// Passes answers on as they come. After a request was kept, its answer is for `ask`.
asio::awaitable<void> kafka_proxy::pass_answers(std::shared_ptr<link> on) {
    std::array<char, 16'384> bytes{};
    for (;;) {
        auto waiting = on->broker.async_wait(socket::wait_read, without_throw);
        const auto waited = co_await std::move(waiting);
        if (on->keeps)
            co_return;
        if (std::get<0>(waited))
            break;
        auto reading = on->broker.async_read_some(asio::buffer(bytes), without_throw);
        const auto read = co_await std::move(reading);
        if (std::get<0>(read))
            break;
        const auto some = asio::buffer(bytes.data(), std::get<1>(read));
        auto writing = asio::async_write(on->client, some, without_throw);
        if (const auto wrote = co_await std::move(writing); std::get<0>(wrote))
            break;
    }
    on->client.close();
    on->broker.close();
}

asio::awaitable<std::int16_t> kafka_proxy::ask() {
    const auto on = std::exchange(kept_by_, nullptr);
    if (!on)
        throw std::logic_error("nothing was kept");
    on->broker.cancel();
    auto writing = asio::async_write(on->broker, asio::buffer(kept_), asio::deferred);
    co_await std::move(writing);
    auto reading = read_message(on->broker);
    const std::string answer = co_await std::move(reading);
    if (answer.size() < 14)
        throw std::runtime_error("the broker does not answer");
    // The code follows the length, the number of the request, and the time to wait.
    co_return static_cast<std::int16_t>(number_at(answer, 12, 2));
}

}  // namespace mortise::test
