// SPDX-License-Identifier: BSL-1.0
#include "support/fake_sentinel.hpp"

#include "support/resp_framing.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <future>
#include <utility>

namespace mortise::test {
namespace {

using asio::ip::tcp;

constexpr auto coded = asio::as_tuple(asio::deferred);

std::string bulk(const std::string& text) {
    return '$' + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

bool says(const std::string& command, const char* word) {
    return command.find(std::string("\r\n") + word + "\r\n") != std::string::npos;
}

}  // namespace

fake_sentinel::fake_sentinel(std::uint16_t primary)
    : acceptor_(context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
      port_(acceptor_.local_endpoint().port()),
      primary_(primary) {
    asio::co_spawn(context_, accept(), asio::detached);
    thread_ = std::thread([this] {
        const auto work = asio::make_work_guard(context_);
        context_.run();
    });
}

fake_sentinel::~fake_sentinel() {
    context_.stop();
    thread_.join();
}

template <class Task>
void fake_sentinel::run(Task task) {
    std::packaged_task<void()> whole(std::move(task));
    auto done = whole.get_future();
    asio::post(context_, std::move(whole));
    done.get();
}

void fake_sentinel::tell_all(std::uint16_t primary) {
    primary_ = primary;
    for (const auto& each : guests_)
        each->primary = primary;
}

void fake_sentinel::name(std::uint16_t primary) {
    run([this, primary] { tell_all(primary); });
}

void fake_sentinel::name_to_newcomers(std::uint16_t primary) {
    run([this, primary] { primary_ = primary; });
}

void fake_sentinel::announce(std::uint16_t primary) {
    run([this, primary] {
        const auto before = primary_;
        tell_all(primary);
        const auto news = std::string(primary_name) + " 127.0.0.1 " + std::to_string(before) +
                          " 127.0.0.1 " + std::to_string(primary);
        const auto message = ">3\r\n" + bulk("message") + bulk("+switch-master") + bulk(news);
        for (const auto& each : guests_) {
            boost::system::error_code ignored;
            if (each->listens)
                asio::write(each->connection, asio::buffer(message), ignored);
        }
    });
}

void fake_sentinel::leave() {
    run([this] {
        acceptor_.close();
        for (const auto& each : std::exchange(guests_, {}))
            each->connection.close();
    });
}

void fake_sentinel::come_back() {
    run([this] {
        silent_ = false;
        acceptor_ = tcp::acceptor(context_, {asio::ip::address_v4::loopback(), port_});
        asio::co_spawn(context_, accept(), asio::detached);
    });
}

void fake_sentinel::fall_silent() {
    run([this] { silent_ = true; });
}

asio::awaitable<void> fake_sentinel::accept() {
    for (;;) {
        auto accepting = acceptor_.async_accept(coded);
        auto [failed, connection] = co_await std::move(accepting);
        if (failed)
            co_return;
        const auto client = std::make_shared<guest>(std::move(connection), primary_);
        guests_.push_back(client);
        asio::co_spawn(context_, serve(client), asio::detached);
    }
}

asio::awaitable<void> fake_sentinel::serve(std::shared_ptr<guest> client) {
    resp_framing framing;
    std::array<char, 4'096> bytes{};
    for (;;) {
        auto reading = client->connection.async_read_some(asio::buffer(bytes), coded);
        const auto [failed, size] = co_await std::move(reading);
        if (failed)
            break;
        framing.feed({bytes.data(), size});
        std::string replies;
        while (const auto command = framing.next())
            replies += answer(*client, command->bytes);
        if (silent_)
            continue;
        auto writing = asio::async_write(client->connection, asio::buffer(replies), coded);
        co_await std::move(writing);
    }
    guests_.remove(client);
}

std::string fake_sentinel::answer(guest& client, const std::string& command) {
    if (says(command, "HELLO")) {
        return "%3\r\n" + bulk("server") + bulk("redis") + bulk("proto") + ":3\r\n" + bulk("mode") +
               bulk("sentinel");
    }
    if (says(command, "SUBSCRIBE")) {
        client.listens = true;
        return ">3\r\n" + bulk("subscribe") + bulk("+switch-master") + ":1\r\n";
    }
    if (says(command, "get-master-addr-by-name"))
        return "*2\r\n" + bulk("127.0.0.1") + bulk(std::to_string(client.primary));
    return "+OK\r\n";
}

}  // namespace mortise::test
