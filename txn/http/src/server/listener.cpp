// SPDX-License-Identifier: BSL-1.0
// Listens, limits the number of connections, and stops.
#include "server/listener.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/detail/defaults.hpp"
#include "mortise/detail/require.hpp"
#include "stream/byte_stream.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace mortise::txn::http {
namespace {

using boost::system::system_error;
using coro::detail::with_code;
using mortise::detail::require;
using std::chrono::milliseconds;

constexpr milliseconds accept_again{100};  // after "too many open files" and similar errors

http_server_config checked(http_server_config config) {
    constexpr std::size_t smallest = 1u << 10;
    constexpr std::size_t largest = 64u << 20;
    const auto sound = [](milliseconds span) {
        return span >= milliseconds(1) && span <= std::chrono::hours(24);
    };
    require(
        config.connections_max >= 1 && config.connections_max <= 100'000,
        "connections_max",
        "use 1 to 100,000"
    );
    require(
        config.header_max >= smallest && config.header_max <= largest &&
            config.body_max >= smallest && config.body_max <= largest,
        "header_max, body_max",
        "use 1 KiB to 64 MiB"
    );
    require(
        sound(config.handshake_max) && sound(config.idle_max) && sound(config.read_max) &&
            sound(config.write_max) && sound(config.grace),
        "handshake_max, idle_max, read_max, write_max, grace",
        "use one millisecond to one day"
    );
    return config;
}

}  // namespace

listener::listener(
    asio::any_io_executor executor, http_server_config config, answer_function answer
)
    : background_core(std::move(executor)),
      config_(checked(std::move(config))),
      time_(mortise::detail::time_or_real(config_.time, this->executor())),
      tls_(make_tls(config_)),
      answer_(std::move(answer)) {
    open();
}

listener::~listener() = default;

void listener::open() {
    const std::string place = config_.address + ':' + std::to_string(config_.port);
    error_code failed;
    const auto address = asio::ip::make_address(config_.address, failed);
    if (failed)
        throw error(failed, place, "write the address as numbers, such as 127.0.0.1 or ::1");
    try {
        acceptor_.emplace(strand(), tcp::endpoint(address, config_.port));
        port_ = acceptor_->local_endpoint().port();
    } catch (const system_error& why) {
        throw error(why.code(), place, "use an address of this host, and a port that is free");
    }
    room_.emplace(strand());
}

std::string listener::url() const {
    const bool v6 = config_.address.find(':') != std::string::npos;
    return (tls_ ? "https://" : "http://") + (v6 ? '[' + config_.address + ']' : config_.address) +
           ':' + std::to_string(port_);
}

http_server_stats listener::stats() const noexcept {
    http_server_stats now;
    now.connections = count_.connections;
    now.handshakes_failed = count_.handshakes_failed;
    now.requests = count_.requests;
    now.denied = count_.denied;
    return now;
}

void listener::start() {
    accepting_ = true;
    asio::co_spawn(
        strand(),
        accept(shared_from_this()),
        asio::bind_cancellation_slot(
            accept_stop_.slot(),
            [self = shared_from_this()](const std::exception_ptr&) {
                self->accepting_ = false;
                self->tell_stopped();
            }
        )
    );
}

void listener::drop() noexcept {
    stopping_ = true;
    deadlines_.clear();
    alarm_.cancel();
    const auto open = std::exchange(open_, {});
    acceptor_.reset();
    room_.reset();
}

void listener::stop(stop_handler done) {
    static_cast<void>(done.release_slot());
    if (deserted())
        return done.complete(error_code());
    background_core::stop(std::move(done));
}

void listener::close() noexcept {
    stop_unheard();
}

void listener::begin_stop(bool at_once) {
    close_acceptor(at_once ? clock::duration::zero() : clock::duration(config_.grace));
    if (at_once)
        cut_all();
    tell_stopped();
}

// Takes no further requests, and lets those that were read be answered.
void listener::close_acceptor(clock::duration grace) {
    if (std::exchange(stopping_, true))
        return;
    error_code ignored;  // it fails only for a closed acceptor
    acceptor_->close(ignored);
    accept_stop_.emit(asio::cancellation_type::terminal);
    for (const auto& each : open_) {
        if (each->at == connection::phase::idle || each->at == connection::phase::greeting)
            each->give_up();
    }
    if (grace > clock::duration::zero())
        deadlines_.set(grace_, coro::saturating_add(time_->now(), grace), [this] { cut_all(); });
    arm();
}

void listener::cut_all() {
    // Use a copy: a connection may end, and leave the set, inside its signal.
    const auto all = open_;
    for (const auto& each : all) {
        each->give_up();
        each->stop.emit(asio::cancellation_type::terminal);
    }
}

void listener::tell_stopped() {
    if (!stopping_ || accepting_ || !open_.empty())
        return;
    deadlines_.clear();
    alarm_.cancel();
    coro::detail::wait_service::unlink(*this);
    answer_ = nullptr;
    answer_stoppers();
}

asio::awaitable<void> listener::accept(std::shared_ptr<listener> self) {
    co_await self->accept_all();
}

asio::awaitable<void> listener::accept_all() {
    while (!stopping_) {
        co_await wait_for_room();
        auto result = co_await acceptor_->async_accept(strand(), with_code);
        auto& [failed, socket] = result;
        if (stopping_)
            co_return;
        if (failed)
            co_await coro::sleep_for(*time_, accept_again);
        else
            take_in(std::move(socket));
    }
}

// Makes room when a client waits and all places are taken: closes the connection that has been
// idle, or in its TLS handshake, for longest.
asio::awaitable<void> listener::wait_for_room() {
    while (!stopping_ && open_.size() >= config_.connections_max) {
        co_await acceptor_->async_wait(tcp::acceptor::wait_read, asio::deferred);
        if (open_.size() < config_.connections_max)
            co_return;
        room_->reset();
        if (connection* const longest = longest_idle())
            longest->give_up();
        co_await room_->async_wait();
    }
}

connection* listener::longest_idle() const noexcept {
    connection* longest = nullptr;
    for (const auto& each : open_) {
        if (each->may_make_room() && (longest == nullptr || each->idle_since < longest->idle_since))
            longest = each.get();
    }
    return longest;
}

void listener::take_in(tcp::socket accepted) {
    error_code ignored;  // without the option it is only slower
    accepted.set_option(tcp::no_delay(true), ignored);
    ++count_.connections;
    const auto on = std::make_shared<connection>(std::move(accepted));
    open_.insert(on);
    asio::co_spawn(
        strand(),
        serve(shared_from_this(), on),
        asio::bind_cancellation_slot(
            on->stop.slot(),
            [self = shared_from_this(), on](const std::exception_ptr&) { self->ended(on); }
        )
    );
}

void listener::ended(const connection_ptr& on) {
    deadlines_.clear(on->timer);
    error_code ignored;
    on->stream.socket().close(ignored);
    open_.erase(on);
    if (room_)
        room_->set();
    tell_stopped();
}

void listener::limit(connection& on, connection::phase now_in, clock::duration span) {
    on.at = now_in;
    if (on.may_make_room())
        on.idle_since = ++idle_count_;
    deadlines_.set(on.timer, coro::saturating_add(time_->now(), span), [&on] { on.give_up(); });
    arm();
}

void listener::arm() {
    const auto next = deadlines_.next();
    if (next == clock::time_point::max() || (alarm_.is_set() && armed_for_ <= next))
        return;  // an alarm that goes off too early does no harm
    armed_for_ = next;
    alarm_.set(*time_, strand(), next, [this] { due(); });
}

void listener::due() {
    while (const auto task = deadlines_.take_due(time_->now()))
        task();
    arm();
}

void start_stop(coro::detail::completion<void(error_code)> done, std::shared_ptr<listener> server) {
    server->stop(std::move(done));
}

}  // namespace mortise::txn::http
