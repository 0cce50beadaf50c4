// SPDX-License-Identifier: BSL-1.0
#include "support/proxy_link.hpp"

#include "support/without_throw.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include <utility>

namespace mortise::test {
namespace {

using fate = redis_exchange::fate;
using deed_kind = proxy_deed::kind;

void end(asio::ip::tcp::socket& half, bool reset) {
    error_code ignored;  // it may have been ended by the other side
    if (reset)
        half.set_option(asio::socket_base::linger(true, 0), ignored);
    half.close(ignored);
}

}  // namespace

proxy_link::proxy_link(
    std::shared_ptr<proxy_core> core, std::uint64_t number, socket client, socket server
)
    : core_(std::move(core)),
      number_(number),
      client_(std::move(client)),
      server_(std::move(server)),
      ended_(client_.get_executor()),
      answered_(client_.get_executor()) {
    answered_.set();
    const asio::ip::tcp::no_delay at_once(true);
    client_.set_option(at_once);
    server_.set_option(at_once);
}

void proxy_link::start() {
    for (lane* each : {&to_server_, &to_client_}) {
        asio::co_spawn(
            client_.get_executor(),
            pump(*each),
            [self = shared_from_this()](std::exception_ptr failure) {
                self->cut();
                try {
                    if (failure)
                        std::rethrow_exception(failure);
                } catch (const std::exception& error) {
                    ADD_FAILURE() << "the proxy understands nothing more: " << error.what();
                }
            }
        );
    }
}

void proxy_link::cut() {
    if (ended_.is_set())
        return;
    ended_.set();
    answered_.set();
    end(client_, core_->reset);
    end(server_, core_->reset);
    to_server_.wake.emit(asio::cancellation_type::all);
    to_client_.wake.emit(asio::cancellation_type::all);
    core_->gone(number_);
}

asio::awaitable<void> proxy_link::pump(lane& on) {
    socket& from = on.where == way::to_server ? client_ : server_;
    for (;;) {
        const auto read = co_await from.async_read_some(asio::buffer(on.bytes), without_throw);
        if (std::get<0>(read))
            break;
        on.framing.feed({on.bytes.data(), std::get<1>(read)});
        while (auto message = on.framing.next()) {
            auto passing = on.where == way::to_server ? pass_command(std::move(*message))
                                                      : pass_answer(std::move(*message));
            if (!co_await std::move(passing))
                co_return;
            if (exchange_.open() == 0)
                answered_.set();
        }
    }
    // While a way is held, the end of a connection does not come through it, either.
    co_await core_->gate(on.where).async_wait(without_throw);
}

asio::awaitable<bool> proxy_link::pass_command(resp_message command) {
    const proxy_deed deed =
        core_->judge(described(proxied_message::kind::command, command_name(command), command.bytes)
        );
    if (deed.type == deed_kind::cut)
        co_await answered_.async_wait(without_throw);
    if (!co_await obey(to_server_, deed))
        co_return false;
    answered_.reset();
    const bool loses_answer = deed.type == deed_kind::cut_answer;
    exchange_.sent(command, loses_answer ? fate::cut : fate::pass);
    if (deed.type == deed_kind::repeat) {
        exchange_.sent(command, fate::swallow);
        std::string twice = command.bytes + command.bytes;
        co_return co_await write(to_server_, std::move(twice));
    }
    co_return co_await write(to_server_, std::move(command.bytes));
}

asio::awaitable<bool> proxy_link::pass_answer(resp_message message) {
    redis_exchange::answer answer = exchange_.received(message);
    if (answer.to_be == fate::swallow)
        co_return true;
    if (answer.to_be == fate::cut) {
        cut();
        co_return false;
    }
    const auto type = answer.is_push ? proxied_message::kind::push : proxied_message::kind::reply;
    const proxy_deed deed = core_->judge(described(type, std::move(answer.name), message.bytes));
    if (!co_await obey(to_client_, deed))
        co_return false;
    if (deed.type == deed_kind::swallow)
        co_return true;
    co_return co_await write(to_client_, std::move(message.bytes));
}

// Waits as the deed says, and until the way is open. @return false if the message is lost.
asio::awaitable<bool> proxy_link::obey(lane& on, proxy_deed deed) {
    if (deed.delay > clock::duration::zero()) {
        const auto when = coro::saturating_add(core_->time()->now(), deed.delay);
        co_await core_->time()->async_wait_until(
            when, asio::bind_cancellation_slot(on.wake.slot(), without_throw)
        );
    }
    if (deed.type == deed_kind::cut)
        cut();
    if (deed.type == deed_kind::stall)
        co_await ended_.async_wait(without_throw);
    co_await core_->gate(on.where).async_wait(without_throw);
    co_return !ended_.is_set();
}

asio::awaitable<bool> proxy_link::write(lane& on, std::string bytes) {
    socket& to = on.where == way::to_server ? server_ : client_;
    const auto written = co_await asio::async_write(to, asio::buffer(bytes), without_throw);
    if (std::get<0>(written))
        cut();
    co_return !ended_.is_set();
}

proxied_message
proxy_link::described(proxied_message::kind type, std::string name, std::string_view bytes) {
    proxied_message message;
    message.type = type;
    message.connection = number_;
    message.name = std::move(name);
    message.bytes = bytes;
    return message;
}

}  // namespace mortise::test
