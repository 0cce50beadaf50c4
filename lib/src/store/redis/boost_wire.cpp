// SPDX-License-Identifier: BSL-1.0
#include "store/redis/boost_wire.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "mortise/detail/secret.hpp"
#include "mortise/detail/tls.hpp"
#include "store/redis/boost_exchange.hpp"
#include "store/redis/redis_replies.hpp"

#include <boost/asio/cancel_after.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/redis/connection.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <list>
#include <utility>
#include <vector>

namespace mortise::store_detail {
namespace {

using asio_error = boost::system::error_code;

error_code meaning_of(const asio_error& failed) {
    return failed == redis::error::not_connected ? errc::store_unavailable : errc::outcome_unknown;
}

// Checks that a file descriptor is left. Boost.Redis reports every failure to connect as a
// time-out, which would hide this cause.
bool can_have_a_socket() noexcept {
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0)
        return errno != EMFILE && errno != ENFILE;
    ::close(probe);
    return true;
}

// Notes in `failure` a file that cannot be used; `open` reports it.
asio::ssl::context make_tls(const wire_settings& settings, redis_failure& failure) {
    asio::ssl::context tls(asio::ssl::context::tls_client);
    if (!settings.tls)
        return tls;
    mortise::detail::tls_files files;
    files.ca = settings.ca_file;
    files.certificate = settings.certificate_file;
    files.key = settings.key_file;
    try {
        mortise::detail::prepare_client_tls(tls, files);
    } catch (const error& wrong) {
        failure = {errc::bad_config, wrong.value()};
    }
    return tls;
}

class boost_wire final : public redis_wire, public std::enable_shared_from_this<boost_wire> {
public:
    boost_wire(const asio::any_io_executor& strand, wire_settings settings)
        : settings_(std::move(settings)),
          connection_(strand, make_tls(settings_, failure_)),
          opened_(strand, 1),
          heard_(strand, 1),
          earlier_(strand) {
        pushes_.take = [this](redis_value push) { hear(std::move(push)); };
        connection_.set_receive_response(pushes_);
    }

    asio::awaitable<redis_failure> open(redis_wire_events& events) override;
    asio::awaitable<redis_failure> subscribe(std::string channel) override;
    asio::awaitable<result<redis_value>> call(redis_command command) override;
    asio::awaitable<result<std::vector<redis_value>>> pipeline(std::vector<redis_command> commands
    ) override;
    void close() noexcept override;

private:
    using connection = redis::basic_connection<asio::any_io_executor>;
    using signal = asio::experimental::channel<asio::any_io_executor, void(asio_error)>;

    /// Learns the outcome of each step of an opening, which Boost.Redis tells only to its logger.
    struct listener {
        boost_wire* wire;

        void set_prefix(std::string_view) {}
        void on_resolve(const asio_error& failed, const asio::ip::tcp::resolver::results_type&) {
            wire->step("the name of the host", failed, errc::store_unavailable);
        }
        void on_connect(const asio_error& failed, const asio::ip::tcp::endpoint&) {
            wire->step("connecting", failed, errc::store_unavailable);
            if (!failed)
                wire->connected();
        }
        void on_ssl_handshake(const asio_error& failed) {
            const bool judged = failed.category() == asio::error::get_ssl_category();
            wire->step(
                "the TLS handshake",
                failed,
                judged ? errc::untrusted_server : errc::store_unavailable
            );
        }
        void on_hello(const asio_error& failed, const redis::generic_response& response) {
            wire->greeted(failed, response);
        }
        void on_write(const asio_error&, const std::string&) {}
        void on_read(const asio_error&, std::size_t) {}
        void trace(std::string_view) {}
        void trace(std::string_view, const asio_error&) {}
    };

    void prepare_tls();
    redis::config config() const;
    void step(std::string_view stage, const asio_error& failed, errc meaning);
    void connected();
    void greeted(const asio_error& failed, const redis::generic_response& response);
    void ended(const asio_error& why);
    void hear(redis_value push);

    const wire_settings settings_;
    redis_failure failure_;  ///< The first reason why the wire is not open.
    std::list<boost_exchange> exchanges_;
    connection connection_;
    push_slot pushes_;
    signal opened_;
    signal heard_;  ///< Gets a signal when a subscription was answered.
    /// Expires before the endless timer by which Boost.Redis waits for commands. If that one were
    /// the earliest timer of the context, each command would cost a call to the kernel.
    asio::steady_timer earlier_;
    redis_wire_events* events_ = nullptr;
    redis_failure refused_;  ///< Why a subscription was refused, if it was.
    bool open_ = false;
    bool closed_ = false;
};

// Checks the certificate against the name of the host: otherwise any server with a certificate of
// the same authority would be trusted.
void boost_wire::prepare_tls() {
    if (!settings_.tls)
        return;
    mortise::detail::expect_host(*connection_.next_layer().native_handle(), settings_.host);
}

redis::config boost_wire::config() const {
    redis::config config;
    config.use_ssl = settings_.tls;
    config.addr = {settings_.host, std::to_string(settings_.port)};
    config.username = settings_.user.empty() ? "default" : settings_.user;
    config.password = settings_.password;
    config.clientname = "mortise";
    config.database_index = static_cast<int>(settings_.database);
    config.health_check_interval = std::chrono::seconds::zero();
    config.reconnect_wait_interval = std::chrono::seconds::zero();  // redis_link reconnects
    config.resolve_timeout = settings_.connect_max;
    config.connect_timeout = settings_.connect_max;
    config.ssl_handshake_timeout = settings_.connect_max;
    return config;
}

asio::awaitable<redis_failure> boost_wire::open(redis_wire_events& events) {
    const auto kept = shared_from_this();
    events_ = &events;
    if (failure_.code)
        co_return failure_;
    if (!can_have_a_socket()) {
        failure_ = {errc::too_many_files, "no file descriptor is left for a connection"};
        co_return failure_;
    }
    prepare_tls();
    connection_.async_run(config(), listener{this}, [kept](const asio_error& why) {
        kept->ended(why);
    });
    // Boost.Redis limits the time of each step except the greeting, hence a limit for the whole.
    auto waiting =
        opened_.async_receive(asio::cancel_after(settings_.connect_max, coro::detail::with_code));
    const auto [stopped] = co_await std::move(waiting);
    if (closed_ && !failure_.code)
        failure_ = {errc::store_unavailable, "closed"};  // Even if it has just greeted.
    if (stopped && !failure_.code)
        failure_ = {errc::store_unavailable, "it does not greet in time"};
    if (failure_.code)
        close();
    open_ = !failure_.code;
    if (open_) {
        earlier_.expires_after(std::chrono::years(1));
        earlier_.async_wait(asio::detached);
    }
    co_return failure_;
}

// Keeps the reason of the first step that fails; the later ones only follow from it.
void boost_wire::step(std::string_view stage, const asio_error& failed, errc meaning) {
    if (failed && !failure_.code)
        failure_ = {meaning, std::string(stage) + ": " + failed.message()};
}

// Turns on TCP_NODELAY: a command is small, and somebody waits for its reply.
void boost_wire::connected() {
    asio_error ignored;
    auto& socket = connection_.next_layer().next_layer();
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
}

void boost_wire::greeted(const asio_error& failed, const redis::generic_response& response) {
    std::vector<redis_value> replies;
    if (response.has_error())
        replies.emplace_back().text = response.error().diagnostic;
    reply_builder builder;
    for (const auto& each :
         response.has_value() ? response.value() : std::vector<redis::resp3::node>()) {
        const resp_node node{each.data_type, each.aggregate_size, each.depth, each.value};
        if (auto done = builder.add(node))
            replies.push_back(std::move(*done));
    }
    if (response.has_error())
        replies.front().type = redis_value::kind::error;
    // A server that was silent or hung up may well be a Redis server; one that said something else
    // is not.
    const bool spoke = failed.category() == make_error_code(redis::error::not_a_number).category();
    if (failed && replies.empty())
        step("the greeting", failed, spoke ? errc::wrong_server : errc::store_unavailable);
    else if (!failure_.code)
        failure_ = judge_hello(replies, settings_.sentinel);
    failure_.text = mortise::detail::without_secret(std::move(failure_.text), settings_.password);
    opened_.try_send(asio_error());
}

// Called when the connection has ended, or could not be opened.
void boost_wire::ended(const asio_error& why) {
    if (!open_) {
        step("the connection", why ? why : asio::error::eof, errc::store_unavailable);
        opened_.try_send(asio_error());
        return;
    }
    open_ = false;
    heard_.close();
    earlier_.cancel();
    if (!std::exchange(closed_, true))
        events_->on_closed(
            {errc::store_unavailable, why ? why.message() : "the server closed the connection"}
        );
}

asio::awaitable<redis_failure> boost_wire::subscribe(std::string channel) {
    const auto kept = shared_from_this();
    if (!open_ || closed_)
        co_return redis_failure(errc::store_unavailable, "the connection was closed");
    passage going(exchanges_);
    going.mine().put({"SUBSCRIBE", std::move(channel)});
    refused_ = {};
    auto sending =
        connection_.async_exec(going.mine().request(), redis::ignore, coro::detail::with_code);
    going.sent();
    const auto [failed, size] = co_await std::move(sending);
    going.answered();
    if (failed)
        co_return redis_failure(errc::store_unavailable, failed.message());
    auto waiting = heard_.async_receive(coro::detail::with_code);
    const auto [stopped] = co_await std::move(waiting);
    if (stopped || closed_)
        co_return redis_failure(errc::store_unavailable, "the connection was closed");
    co_return refused_;
}

// Takes a push. A refused subscription arrives here, too: its error comes like a push when no reply
// is expected.
void boost_wire::hear(redis_value push) {
    asio_error ignored;
    connection_.receive(ignored);  // Otherwise Boost.Redis stops reading after 256 pushes.
    if (push.type == redis_value::kind::error) {
        refused_ = {meaning_of_refusal(push.text), push.text};
        heard_.try_send(asio_error());
    } else if (!push.items.empty() && push.items.front().text == "subscribe") {
        heard_.try_send(asio_error());
    } else if (events_ && open_ && !closed_) {
        events_->on_push(std::move(push));
    }
}

asio::awaitable<result<redis_value>> boost_wire::call(redis_command command) {
    const auto kept = shared_from_this();
    if (!open_ || closed_)
        co_return error_code(errc::store_unavailable);
    passage going(exchanges_);
    going.mine().put(command);
    auto running = connection_.async_exec(
        going.mine().request(), redis::any_adapter(going.mine().replies()), coro::detail::with_code
    );
    going.sent();
    const auto [failed, size] = co_await std::move(running);
    going.answered();
    if (failed)
        co_return meaning_of(failed);
    auto& values = going.mine().replies().values();
    // A command that the server answers only by a push has no reply.
    co_return values.empty() ? redis_value() : std::move(values.front());
}

asio::awaitable<result<std::vector<redis_value>>>
boost_wire::pipeline(std::vector<redis_command> commands) {
    const auto kept = shared_from_this();
    if (!open_ || closed_)
        co_return error_code(errc::store_unavailable);
    passage going(exchanges_);
    for (const auto& command : commands)
        going.mine().put(command);
    auto running = connection_.async_exec(
        going.mine().request(), redis::any_adapter(going.mine().replies()), coro::detail::with_code
    );
    going.sent();
    const auto [failed, size] = co_await std::move(running);
    going.answered();
    if (failed)
        co_return meaning_of(failed);
    auto& values = going.mine().replies().values();
    if (values.size() != commands.size())
        co_return error_code(errc::outcome_unknown);
    co_return std::move(values);
}

void boost_wire::close() noexcept {
    closed_ = true;
    heard_.close();
    earlier_.cancel();
    connection_.cancel(redis::operation::all);
}

}  // namespace

std::shared_ptr<redis_wire>
make_boost_wire(const asio::any_io_executor& strand, wire_settings settings) {
    return std::make_shared<boost_wire>(strand, std::move(settings));
}

}  // namespace mortise::store_detail
