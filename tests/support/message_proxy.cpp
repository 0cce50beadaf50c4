// SPDX-License-Identifier: BSL-1.0
#include "support/message_proxy.hpp"

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
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace mortise::test {
namespace {

using tcp = asio::ip::tcp;

/// What becomes of an answer.
enum class answer_fate : std::uint8_t {
    passes,
    is_dropped,
    ends_the_connection,
};

struct link {
    link(tcp::socket from, tcp::socket to, std::unique_ptr<message_reader> with)
        : client(std::move(from)), server(std::move(to)), reader(std::move(with)) {}

    void close() {
        boost::system::error_code ignored;
        client.close(ignored);
        server.close(ignored);
    }

    tcp::socket client;
    tcp::socket server;
    const std::unique_ptr<message_reader> reader;
    std::deque<answer_fate> owed;  ///< For each command without an answer.
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

class message_proxy::core : public std::enable_shared_from_this<core> {
public:
    core(asio::any_io_executor executor, std::uint16_t server_port, make_reader make)
        : gate(executor),
          executor_(executor),
          server_(asio::ip::address_v4::loopback(), server_port),
          make_(make),
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
    using piece_kind = proxied_piece::kind;

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
            const auto joint =
                std::make_shared<link>(std::move(client), std::move(server), self->make_());
            self->links_.insert(joint);
            asio::co_spawn(self->executor_, to_server(self, joint), asio::detached);
            asio::co_spawn(self->executor_, to_client(self, joint), asio::detached);
        }
    }

    deed judged(kind type, std::string_view bytes) const {
        return judge ? judge(type, bytes) : deed::pass;
    }

    static asio::awaitable<bool>
    pass_command(std::shared_ptr<core> self, link_ptr on, proxied_piece piece) {
        if (piece.type == piece_kind::other)
            co_return co_await write(on->server, std::move(piece.bytes));
        const bool rings = piece.type == piece_kind::push;
        const deed how = self->judged(rings ? kind::push : kind::command, piece.bytes);
        if (how == deed::late)
            co_await wait(std::chrono::milliseconds(2));
        if (how == deed::cut) {
            while (!on->owed.empty() && on->client.is_open())
                co_await wait(std::chrono::milliseconds(1));
            co_return false;
        }
        if (how == deed::swallow)
            piece.bytes = std::move(piece.substitute);
        on->owed.push_back(
            how == deed::cut_answer ? answer_fate::ends_the_connection : answer_fate::passes
        );
        on->reader->goes_out(piece);
        if (how == deed::repeat) {
            on->owed.push_back(answer_fate::is_dropped);
            on->reader->goes_out(piece);
            piece.bytes += piece.bytes;
        }
        co_return co_await write(on->server, std::move(piece.bytes));
    }

    static asio::awaitable<void> to_server(std::shared_ptr<core> self, link_ptr on) {
        std::array<char, 65'536> bytes{};
        for (bool goes_on = true; goes_on;) {
            const auto read =
                co_await on->client.async_read_some(asio::buffer(bytes), without_throw);
            if (std::get<0>(read))
                break;
            on->reader->feed_client({bytes.data(), std::get<1>(read)});
            while (goes_on) {
                auto piece = on->reader->next_of_client();
                if (!piece)
                    break;
                co_await self->gate.async_wait(without_throw);
                goes_on = co_await pass_command(self, on, std::move(*piece));
            }
        }
        on->close();
        self->links_.erase(on);
    }

    // Passes a piece of the server on, unless it belongs to an answer that is dropped.
    static asio::awaitable<bool>
    pass_answer(std::shared_ptr<core> self, link_ptr on, proxied_piece piece) {
        if (piece.type == piece_kind::push) {
            const deed how = self->judged(kind::push, piece.bytes);
            if (how == deed::swallow)
                co_return true;
            if (how == deed::late)
                co_await wait(std::chrono::milliseconds(2));
            if (how == deed::repeat)
                piece.bytes += piece.bytes;
        } else if (piece.type != piece_kind::other) {
            const auto becomes = on->owed.front();
            if (becomes == answer_fate::ends_the_connection)
                co_return false;
            if (piece.type == piece_kind::answer_end)
                on->owed.pop_front();
            if (becomes == answer_fate::is_dropped)
                co_return true;
        } else if (piece.number_at != 0 && self->is_pooler) {
            char& byte = piece.bytes.at(piece.number_at);
            byte = static_cast<char>(byte ^ 1);
        }
        co_return co_await write(on->client, std::move(piece.bytes));
    }

    static asio::awaitable<void> to_client(std::shared_ptr<core> self, link_ptr on) {
        std::array<char, 65'536> bytes{};
        for (bool goes_on = true; goes_on;) {
            const auto read =
                co_await on->server.async_read_some(asio::buffer(bytes), without_throw);
            if (std::get<0>(read))
                break;
            on->reader->feed_server({bytes.data(), std::get<1>(read)});
            while (goes_on) {
                auto piece = on->reader->next_of_server();
                if (!piece)
                    break;
                co_await self->gate.async_wait(without_throw);
                goes_on = co_await pass_answer(self, on, std::move(*piece));
            }
        }
        on->close();
        self->links_.erase(on);
    }

    const asio::any_io_executor executor_;
    const tcp::endpoint server_;
    const make_reader make_;
    tcp::acceptor acceptor_;
    std::set<link_ptr> links_;
};

message_proxy::message_proxy(
    asio::any_io_executor executor, std::uint16_t server_port, make_reader make
)
    : core_(std::make_shared<core>(std::move(executor), server_port, make)) {
    core_->start();
}

message_proxy::~message_proxy() {
    core_->end();
}

std::uint16_t message_proxy::port() const noexcept {
    return core_->port();
}

void message_proxy::decide(judge_function judge) {
    core_->judge = std::move(judge);
}

void message_proxy::pose_as_pooler() {
    core_->is_pooler = true;
}

void message_proxy::hold(bool held) {
    if (held)
        core_->gate.reset();
    else
        core_->gate.set();
}

}  // namespace mortise::test
