// SPDX-License-Identifier: BSL-1.0
#include "support/postgres_message_proxy.hpp"

#include "mortise/coro/event.hpp"
#include "support/without_throw.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace mortise::test {
namespace {

using tcp = asio::ip::tcp;

/// Cuts a stream into the messages of the protocol.
class framing {
public:
    /// @param typed whether the first message begins with its type.
    explicit framing(bool typed) : typed_(typed) {}

    void feed(std::string_view bytes) { buffer_.append(bytes); }

    std::optional<std::string> next() {
        const std::size_t head = typed_ ? 1 : 0;
        constexpr std::size_t length_size = 4;
        if (buffer_.size() < head + length_size)
            return std::nullopt;
        std::size_t length = 0;
        for (std::size_t i = 0; i < length_size; ++i)
            length = length << 8 | static_cast<unsigned char>(buffer_[head + i]);
        if (buffer_.size() < head + length)
            return std::nullopt;
        auto message = buffer_.substr(0, head + length);
        buffer_.erase(0, head + length);
        typed_ = true;
        return message;
    }

private:
    bool typed_;
    std::string buffer_;
};

struct link {
    link(tcp::socket from, tcp::socket to) : client(std::move(from)), server(std::move(to)) {}

    void close() {
        boost::system::error_code ignored;
        client.close(ignored);
        server.close(ignored);
    }

    tcp::socket client;
    tcp::socket server;
    std::deque<bool> owed;  ///< For each Sync without an answer, whether its answer is dropped.
    bool logged_in = false;
};

asio::awaitable<bool> write(tcp::socket& to, std::string bytes) {
    const auto written = co_await asio::async_write(to, asio::buffer(bytes), without_throw);
    co_return !std::get<0>(written);
}

asio::awaitable<void> wait(std::chrono::milliseconds span) {
    asio::steady_timer timer(co_await asio::this_coro::executor, span);
    co_await timer.async_wait(without_throw);
}

}  // namespace

class postgres_message_proxy::core : public std::enable_shared_from_this<core> {
public:
    core(asio::any_io_executor executor, std::uint16_t server_port)
        : gate(executor),
          executor_(executor),
          server_(asio::ip::address_v4::loopback(), server_port),
          acceptor_(executor, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
        gate.set();
    }

    void start() { asio::co_spawn(executor_, accept(shared_from_this()), asio::detached); }

    void end() {
        boost::system::error_code ignored;
        acceptor_.close(ignored);
        gate.set();
        for (const auto& each : std::exchange(links_, {}))
            each->close();
    }

    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

    coro::event gate;  ///< Set while messages pass.
    judge_function judge;
    bool is_pooler = false;

private:
    using link_ptr = std::shared_ptr<link>;

    static asio::awaitable<void> accept(std::shared_ptr<core> self) {
        for (;;) {
            tcp::socket client(self->executor_);
            const auto accepted = co_await self->acceptor_.async_accept(client, without_throw);
            if (std::get<0>(accepted))
                co_return;
            tcp::socket server(self->executor_);
            const auto connected = co_await server.async_connect(self->server_, without_throw);
            if (std::get<0>(connected))
                continue;
            client.set_option(tcp::no_delay(true));
            server.set_option(tcp::no_delay(true));
            const auto joint = std::make_shared<link>(std::move(client), std::move(server));
            self->links_.insert(joint);
            asio::co_spawn(self->executor_, to_server(self, joint), asio::detached);
            asio::co_spawn(self->executor_, to_client(self, joint), asio::detached);
        }
    }

    deed judged(kind type, std::string_view bytes) const {
        return judge ? judge(type, bytes) : deed::pass;
    }

    static asio::awaitable<bool>
    pass_command(std::shared_ptr<core> self, link_ptr on, std::string command) {
        const deed how = self->judged(kind::command, command);
        if (how == deed::late)
            co_await wait(std::chrono::milliseconds(2));
        if (how == deed::cut) {
            while (!on->owed.empty() && on->client.is_open())
                co_await wait(std::chrono::milliseconds(1));
            co_return false;
        }
        on->owed.push_back(false);
        if (how == deed::repeat) {
            on->owed.push_back(true);
            command += command;
        }
        co_return co_await write(on->server, std::move(command));
    }

    static asio::awaitable<void> to_server(std::shared_ptr<core> self, link_ptr on) {
        constexpr char sync = 'S';
        std::array<char, 65'536> bytes{};
        framing stream(false);
        std::string command;
        for (bool goes_on = true; goes_on;) {
            const auto read =
                co_await on->client.async_read_some(asio::buffer(bytes), without_throw);
            if (std::get<0>(read))
                break;
            stream.feed({bytes.data(), std::get<1>(read)});
            while (const auto message = stream.next()) {
                co_await self->gate.async_wait(without_throw);
                if (!on->logged_in) {
                    goes_on = co_await write(on->server, *message);
                } else {
                    command += *message;
                    if (message->front() == sync)
                        goes_on =
                            co_await pass_command(self, on, std::exchange(command, std::string()));
                }
                if (!goes_on)
                    break;
            }
        }
        on->close();
        self->links_.erase(on);
    }

    // Passes a message of the server on, unless it belongs to an answer that is dropped.
    static asio::awaitable<bool>
    pass_answer(std::shared_ptr<core> self, link_ptr on, std::string message) {
        constexpr char ready = 'Z';
        constexpr char push = 'A';
        constexpr char key_data = 'K';
        constexpr std::size_t process_end = 8;  // type, length, then four bytes
        if (message.front() == push) {
            const deed how = self->judged(kind::push, message);
            if (how == deed::swallow)
                co_return true;
            if (how == deed::late)
                co_await wait(std::chrono::milliseconds(2));
            if (how == deed::repeat)
                message += message;
        } else if (on->logged_in && !on->owed.empty()) {
            const bool dropped = on->owed.front();
            if (message.front() == ready)
                on->owed.pop_front();
            if (dropped)
                co_return true;
        } else if (message.front() == ready) {
            on->logged_in = true;
        } else if (message.front() == key_data && self->is_pooler) {
            message[process_end] = static_cast<char>(message[process_end] ^ 1);
        }
        co_return co_await write(on->client, std::move(message));
    }

    static asio::awaitable<void> to_client(std::shared_ptr<core> self, link_ptr on) {
        std::array<char, 65'536> bytes{};
        framing stream(true);
        for (bool goes_on = true; goes_on;) {
            const auto read =
                co_await on->server.async_read_some(asio::buffer(bytes), without_throw);
            if (std::get<0>(read))
                break;
            stream.feed({bytes.data(), std::get<1>(read)});
            for (auto message = stream.next(); message && goes_on; message = stream.next()) {
                co_await self->gate.async_wait(without_throw);
                goes_on = co_await pass_answer(self, on, std::move(*message));
            }
        }
        on->close();
        self->links_.erase(on);
    }

    const asio::any_io_executor executor_;
    const tcp::endpoint server_;
    tcp::acceptor acceptor_;
    std::set<link_ptr> links_;
};

postgres_message_proxy::postgres_message_proxy(
    asio::any_io_executor executor, std::uint16_t server_port
)
    : core_(std::make_shared<core>(std::move(executor), server_port)) {
    core_->start();
}

postgres_message_proxy::~postgres_message_proxy() {
    core_->end();
}

std::uint16_t postgres_message_proxy::port() const noexcept {
    return core_->port();
}

void postgres_message_proxy::decide(judge_function judge) {
    core_->judge = std::move(judge);
}

void postgres_message_proxy::pose_as_pooler() {
    core_->is_pooler = true;
}

void postgres_message_proxy::hold(bool held) {
    if (held)
        core_->gate.reset();
    else
        core_->gate.set();
}

}  // namespace mortise::test
