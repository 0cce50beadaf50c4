// SPDX-License-Identifier: BSL-1.0
#include "bench/server_meter.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/detail/tls.hpp"
#include "mortise/store/redis.hpp"
#include "store/redis/greeting.hpp"
#include "store/redis/resp.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include <sys/socket.h>
#include <sys/time.h>

#include <charconv>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::tool {
namespace {

using store_detail::redis_command;
using store_detail::redis_value;

constexpr std::chrono::seconds silence_max{10};

/// The number behind `label` in a report of the server; zero if there is none.
std::uint64_t number_in(std::string_view report, std::string_view label) {
    const auto at = report.find(label);
    std::uint64_t number = 0;
    if (at != std::string_view::npos) {
        report.remove_prefix(at + label.size());
        std::from_chars(report.data(), report.data() + report.size(), number);
    }
    return number;
}

/// A connection whose calls block: two calls of the kernel for a command and its answer, which is
/// the least that there can be.
class redis_line {
public:
    explicit redis_line(const redis_store_config& server)
        : name_(
              server.unix_socket.empty()
                  ? server.server.host + ':' + std::to_string(server.server.port)
                  : server.unix_socket.string()
          ) {
        try {
            connect(server);
        } catch (const error& wrong) {
            throw failure::of(wrong);
        } catch (const boost::system::system_error& wrong) {
            refuse_measurement(wrong.code().message());
        }
        greet(server);
    }

    /// Sends a command and waits for its reply. Pushes that come before it are kept for `hear`.
    redis_value ask(const redis_command& command) {
        send(command);
        for (;;) {
            auto item = read();
            if (!item.pushed)
                return std::move(item.value);
            pushes_.push_back(std::move(item.value));
        }
    }

    /// The next message of a channel.
    std::string hear() {
        for (;;) {
            while (pushes_.empty())
                pushes_.push_back(read().value);
            const redis_value push = std::move(pushes_.front());
            pushes_.pop_front();
            if (push.items.size() == 3 && push.items.front().text == "message")
                return push.items.back().text;
        }
    }

    /// Sends a command that is answered by a push, and waits for it.
    void subscribe(const std::string& channel) {
        send({"SUBSCRIBE", channel});
        const auto item = read();
        if (!item.pushed)
            refuse_measurement(item.value.text);
    }

    /// The bytes of all commands so far.
    std::uint64_t sent() const noexcept { return sent_; }

private:
    void connect(const redis_store_config& server) {
        if (!server.unix_socket.empty()) {
            socket_.connect(asio::local::stream_protocol::endpoint(server.unix_socket.string()));
            return limit_waits();
        }
        asio::ip::tcp::socket reached(context_);
        asio::ip::tcp::resolver names(context_);
        asio::connect(
            reached, names.resolve(server.server.host, std::to_string(server.server.port))
        );
        // The same option as the store's: commands are small, and somebody waits for each.
        reached.set_option(asio::ip::tcp::no_delay(true));
        socket_ = std::move(reached);
        limit_waits();
        if (!server.tls)
            return;
        mortise::detail::tls_files files;
        files.ca = server.ca_file;
        files.certificate = server.certificate_file;
        files.key = server.key_file;
        mortise::detail::prepare_client_tls(tls_context_, files);
        tls_.emplace(socket_, tls_context_);
        const auto& name = server.tls_name.empty() ? server.server.host : server.tls_name;
        mortise::detail::expect_host(*tls_->native_handle(), name);
        tls_->handshake(asio::ssl::stream_base::client);
    }

    void limit_waits() {
        timeval most{};
        most.tv_sec = silence_max.count();
        ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    }

    void greet(const redis_store_config& server) {
        store_detail::wire_settings settings;
        settings.database = server.database;
        settings.client_name = "mortise-bench";
        redis_login login;
        login.user = server.user;
        login.password = server.password;
        for (const auto& command : store_detail::greeting_of(settings, login))
            require(ask(command));
    }

    void send(const redis_command& command) {
        text_.clear();
        store_detail::put_command(text_, command);
        sent_ += text_.size();
        error_code failed;
        if (tls_)
            asio::write(*tls_, asio::buffer(text_), failed);
        else
            asio::write(socket_, asio::buffer(text_), failed);
        if (failed)
            refuse_measurement(failed.message());
    }

    store_detail::resp_item read() {
        for (;;) {
            if (auto item = reader_.next())
                return std::move(*item);
            const auto room = reader_.room();
            const auto into = asio::buffer(room.data(), room.size());
            error_code failed;
            const auto size =
                tls_ ? tls_->read_some(into, failed) : socket_.read_some(into, failed);
            if (failed || reader_.failed())
                refuse_measurement(failed ? failed.message() : "it is no Redis server");
            reader_.filled(size);
        }
    }

    void require(const redis_value& reply) const {
        if (reply.type == redis_value::kind::error)
            refuse_measurement(reply.text);
    }

    [[noreturn]] void refuse_measurement(const std::string& why) const {
        throw failure(
            exit_code::unavailable,
            "the Redis server does not answer the measurement",
            name_ + " (" + why + ')'
        );
    }

    using socket_type = asio::generic::stream_protocol::socket;

    const std::string name_;
    asio::io_context context_{1};
    socket_type socket_{context_};
    asio::ssl::context tls_context_{asio::ssl::context::tls_client};
    std::optional<asio::ssl::stream<socket_type&>> tls_;
    store_detail::resp_reader reader_;
    std::deque<redis_value> pushes_;
    std::string text_;
    std::uint64_t sent_ = 0;
};

class redis_meter final : public blocking_meter {
public:
    explicit redis_meter(const redis_store_config& server)
        : scripts_only_(server.form == redis_form::queue), line_(server) {}

    std::string_view exchange() const noexcept override {
        return "PINGs by a client that blocks and does nothing else";
    }

    // A store in the queue form sends nothing but scripts while it works. In the single-key form
    // the server counts its plain commands together with those inside scripts.
    std::optional<server_counts> counts(bool) override {
        const auto report = line_.ask({"INFO", "all"});
        if (report.type != redis_value::kind::text)
            return std::nullopt;  // the server refuses the command
        const std::string& text = report.text;
        server_counts counts;
        if (scripts_only_)
            counts.commands =
                number_in(text, "cmdstat_evalsha:calls=") + number_in(text, "cmdstat_eval:calls=");
        counts.bytes = number_in(text, "total_net_input_bytes:") - line_.sent();
        return counts;
    }

    void subscribe(const std::string& channel) override { line_.subscribe(channel); }

protected:
    void exchange_once() override { line_.ask({"PING"}); }
    void publish(const std::string& channel, const std::string& word) override {
        line_.ask({"PUBLISH", channel, word});
    }
    std::string hear() override { return line_.hear(); }

private:
    const bool scripts_only_;  ///< Whether the store sends only scripts while it works.
    redis_line line_;
};

}  // namespace

std::unique_ptr<server_meter> make_redis_meter(const std::string& store) {
    if (!store.starts_with("redis:") && !store.starts_with("rediss:") &&
        !store.starts_with("redis+unix:"))
        return nullptr;
    return std::make_unique<redis_meter>(parse_redis_url(store));
}

}  // namespace mortise::tool
