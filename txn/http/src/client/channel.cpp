// SPDX-License-Identifier: BSL-1.0
#include "client/channel.hpp"

#include "client/host_look_up.hpp"
#include "mortise/coro/detail/cancel_proxy.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/detail/require.hpp"
#include "mortise/txn/error.hpp"
#include "stream/byte_stream.hpp"
#include "wire/message_reader.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>
#include <exception>

namespace mortise::txn::http {
namespace {

using boost::system::system_error;
using coro::detail::with_code;
using mortise::detail::require;
using std::chrono::milliseconds;

constexpr std::size_t answer_bytes = 16u << 10;
constexpr int interim_max = 8;  // responses of status 1xx before the one that counts

http_client_config checked(http_client_config config) {
    constexpr std::size_t smallest = 1u << 10;
    constexpr std::size_t largest = 64u << 20;
    require(
        config.connections_max >= 1 && config.connections_max <= 10'000,
        "connections_max",
        "use 1 to 10,000"
    );
    require(
        config.idle_max >= milliseconds(0) && config.idle_max <= std::chrono::hours(24),
        "idle_max",
        "use zero to one day"
    );
    require(
        config.header_max >= smallest && config.header_max <= largest &&
            config.body_max >= smallest && config.body_max <= largest,
        "header_max, body_max",
        "use 1 KiB to 64 MiB"
    );
    return config;
}

}  // namespace

struct channel::connection {
    explicit connection(const asio::any_io_executor& strand) : stream(tcp::socket(strand)) {}

    byte_stream stream;
    std::string arrived;
    bool answered = false;  ///< A byte of the present answer has come.
    clock::time_point since{};
};

class channel::operation : public std::enable_shared_from_this<channel::operation> {
public:
    operation(asio::any_io_executor strand, completion given)
        : done(std::move(given)), strand_(std::move(strand)) {}

    const asio::any_io_executor& strand() const noexcept { return strand_; }
    void on_cancel(asio::cancellation_type_t) {
        cancelled = true;
        stop.emit(asio::cancellation_type::terminal);
    }

    asio::cancellation_signal stop;
    completion done;
    bool cancelled = false;

private:
    const asio::any_io_executor strand_;
};

/// Gives its slot back, whichever way the exchange ends.
class channel::slot {
public:
    explicit slot(channel& of) : of_(of) {}
    ~slot() { of_.give_slot_back(); }
    slot(const slot&) = delete;
    slot& operator=(const slot&) = delete;

private:
    channel& of_;
};

channel::channel(asio::any_io_executor executor, http_client_config config)
    : seat_(std::move(executor)),
      config_(checked(std::move(config))),
      at_(base_url::parse(config_.url)),
      addresses_(std::make_shared<host_look_up>(at_.host, at_.port)),
      extra_(config_),
      tls_(make_tls(config_, at_.tls)) {}

channel::~channel() {
    coro::detail::wait_service::unlink(*this);
}

void channel::attach() {
    if (!seat_.take(shared_from_this()))
        shut_down();
}

void channel::shut_down() noexcept {
    if (seat_.forked())
        return;
    closed_ = true;
    idle_.clear();
    addresses_->abandon();
    seat_.leave();
}

void channel::close() noexcept {
    coro::detail::wait_service::unlink(*this);
    if (seat_.deserted())
        return;
    asio::dispatch(seat_.strand(), [self = shared_from_this()] {
        self->closed_ = true;
        self->idle_.clear();
        for (const auto& each : std::exchange(self->under_way_, {})) {
            if (const auto doing = each.lock())
                doing->on_cancel(asio::cancellation_type::terminal);
        }
    });
}

void channel::exchange(request message, completion done) {
    if (seat_.deserted())
        return done.complete(errc::call_failed, response());
    const auto stops_it = done.release_slot();
    auto doing = std::make_shared<operation>(seat_.strand(), std::move(done));
    coro::detail::install_cancel_proxy(stops_it, std::weak_ptr(doing));
    asio::dispatch(
        seat_.strand(),
        [self = shared_from_this(), doing = std::move(doing), message = std::move(message)](
        ) mutable { self->start(std::move(doing), std::move(message)); }
    );
}

void channel::start(std::shared_ptr<operation> doing, request message) {
    if (closed_ || doing->cancelled) {
        const error_code why = doing->cancelled ? error_code(asio::error::operation_aborted)
                                                : error_code(errc::call_failed);
        return doing->done.complete(why, response());
    }
    std::erase_if(under_way_, [](const auto& each) { return each.expired(); });
    under_way_.push_back(doing);
    extra_.add_to(message.headers);
    asio::co_spawn(
        seat_.strand(),
        run(shared_from_this(), doing, std::move(message)),
        asio::bind_cancellation_slot(
            doing->stop.slot(), [doing](const std::exception_ptr&) { /* run() tells it */ }
        )
    );
}

asio::awaitable<void>
channel::run(std::shared_ptr<channel> self, std::shared_ptr<operation> doing, request message) {
    error_code failed;
    response got;
    std::string why;
    try {
        got = co_await self->carry(message, why);
    } catch (const system_error& thrown) {
        failed = thrown.code();
    } catch (...) {
        failed = errc::call_failed;
    }
    if (failed)
        got.body = std::move(why);
    doing->done.complete(failed, std::move(got));
}

// Exchanges a request. It may send the request twice: participants must bear repetitions anyway.
asio::awaitable<response> channel::carry(const request& message, std::string& why) {
    co_await take_slot();
    const slot held(*this);
    const std::string text = bytes_of(message);
    auto on = take_idle();
    if (on != nullptr) {
        auto got = co_await converse(*on, text);
        if (got) {
            if (got->keep_alive)
                keep(std::move(on));
            co_return std::move(*got);
        }
        if (on->answered || got.error() == asio::error::operation_aborted)
            throw system_error(got.error());
    }
    on = co_await connect(why);
    auto got = co_await converse(*on, text);
    if (!got)
        throw system_error(got.error());
    if (got->keep_alive)
        keep(std::move(on));
    co_return std::move(*got);
}

asio::awaitable<void> channel::take_slot() {
    auto waiting = coro::detail::async_start<void(error_code)>(
        seat_.strand(),
        asio::deferred,
        [](coro::detail::completion<void(error_code)> done, channel* self) {
            const auto outcome = self->slot_waiters_.wait_unless(done, [self] {
                if (self->used_ >= self->config_.connections_max)
                    return false;
                ++self->used_;
                return true;
            });
            if (outcome != coro::detail::wait_outcome::waits)
                done.complete(error_code());
        },
        this
    );
    co_await std::move(waiting);
}

// Passes the slot to the exchange that has waited longest, if there is one.
void channel::give_slot_back() noexcept {
    if (!slot_waiters_.complete_one(error_code()))
        --used_;
}

asio::awaitable<channel::connection_ptr> channel::connect(std::string& why) {
    const auto places = co_await addresses_->find(seat_.strand());
    error_code last = asio::error::host_not_found;
    for (const auto& place : places) {
        auto link = std::make_unique<connection>(seat_.strand());
        last = co_await reach(*link, place, why);
        if (!last)
            co_return link;
        if (last == asio::error::operation_aborted)
            break;
    }
    throw system_error(last);
}

asio::awaitable<error_code> channel::reach(connection& on, tcp::endpoint place, std::string& why) {
    why.clear();
    auto& socket = on.stream.socket();
    const auto ended = co_await socket.async_connect(place, with_code);
    error_code failed = std::get<0>(ended);
    if (!failed)
        socket.set_option(tcp::no_delay(true), failed);
    if (!failed && tls_)
        failed = co_await on.stream.greet(*tls_, at_.host, why);
    co_return failed;
}

asio::awaitable<result<response>> channel::converse(connection& on, const std::string& text) {
    on.answered = false;
    const auto failed_to_send = co_await on.stream.write(asio::buffer(text));
    if (failed_to_send)
        co_return failed_to_send;
    response got;
    for (int interim = 0; interim <= interim_max; ++interim) {
        if (const error_code failed = co_await read(on, got))
            co_return failed;
        if (got.status >= 200)
            co_return got;
    }
    co_return error_code(errc::call_failed);
}

asio::awaitable<error_code> channel::read(connection& on, response& into) {
    response_reader reader({config_.header_max, config_.body_max});
    std::array<char, answer_bytes> bytes{};
    for (;;) {
        if (reader.feed(on.arrived) != fault::none || reader.has_no_length())
            co_return error_code(errc::call_failed);
        if (reader.done())
            break;
        const auto size = co_await on.stream.read_some(asio::buffer(bytes));
        if (!size && size.error() == asio::error::eof && on.answered)
            co_return error_code(errc::call_failed);  // the answer was cut off
        if (!size)
            co_return size.error();
        on.answered = true;
        on.arrived.append(bytes.data(), *size);
    }
    into = reader.take();
    co_return error_code();
}

channel::connection_ptr channel::take_idle() {
    drop_expired();
    while (!idle_.empty()) {
        auto last = std::move(idle_.back());
        idle_.pop_back();
        if (last->stream.is_quiet())
            return last;
    }
    return nullptr;
}

// Keeps a connection for the next call. Bytes after the answer could be taken for the next answer,
// so such a connection is dropped.
void channel::keep(connection_ptr on) {
    drop_expired();
    if (closed_ || !on->arrived.empty())
        return;
    on->since = now();
    idle_.push_back(std::move(on));
}

void channel::drop_expired() {
    const auto oldest = now() - config_.idle_max;
    std::erase_if(idle_, [oldest](const auto& each) { return each->since < oldest; });
}

clock::time_point channel::now() const noexcept {
    return config_.time ? config_.time->now() : clock::now();
}

}  // namespace mortise::txn::http
