// SPDX-License-Identifier: BSL-1.0
#include "bench/run_control.hpp"
#include "bench/server_meter.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/store/redis.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/redis/connection.hpp>

#include <charconv>
#include <exception>
#include <string_view>
#include <utility>

namespace mortise::tool {
namespace {

namespace redis = boost::redis;
using asio_error = boost::system::error_code;
using std::chrono::milliseconds;

constexpr milliseconds patience{10'000};
constexpr const char* echo = "e";
constexpr const char* last_echo = "q";

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

asio::ssl::context tls_for(const redis_store_config& server) {
    asio::ssl::context tls(asio::ssl::context::tls_client);
    if (!server.tls)
        return tls;
    tls.set_verify_mode(asio::ssl::verify_peer);
    tls.set_verify_callback(asio::ssl::host_name_verification(server.server.host));
    if (server.ca_file.empty())
        tls.set_default_verify_paths();
    else
        tls.load_verify_file(server.ca_file.string());
    if (!server.certificate_file.empty()) {
        tls.use_certificate_chain_file(server.certificate_file.string());
        tls.use_private_key_file(server.key_file.string(), asio::ssl::context::pem);
    }
    return tls;
}

redis::config config_for(const redis_store_config& server) {
    redis::config config;
    config.use_ssl = server.tls;
    config.addr = {server.server.host, std::to_string(server.server.port)};
    config.username = server.user.empty() ? "default" : server.user;
    config.password = server.password;
    config.clientname = "mortise-bench";
    config.database_index = static_cast<int>(server.database);
    config.health_check_interval = std::chrono::seconds::zero();
    config.reconnect_wait_interval = std::chrono::seconds::zero();
    return config;
}

/// The connection, with a context of its own that runs while a member waits.
class redis_line {
public:
    explicit redis_line(const redis_store_config& server)
        : name_(server.server.host + ':' + std::to_string(server.server.port)),
          scripts_only_(server.form == redis_form::queue),
          connection_(strand_, tls_for(server)),
          config_(config_for(server)) {
        connection_.set_receive_response(heard_);
        connection_.async_run(
            config_,
            redis::logger(redis::logger::level::disabled),
            [this](const asio_error&) {
                connection_.cancel();  // fails the requests that wait
            }
        );
        ping_.push("PING");
        info_.push("INFO", "all");
        double ignored = 0;
        wait(ping_for(milliseconds(0), ignored), milliseconds(0));
        // The same option as the store's: commands are small, and somebody waits for each.
        connection_.next_layer().next_layer().set_option(asio::ip::tcp::no_delay(true));
    }

    ~redis_line() {
        connection_.cancel();
        context_.run();
    }
    redis_line(const redis_line&) = delete;
    redis_line& operator=(const redis_line&) = delete;

    /// Runs `work` to its end. Fails if that takes much longer than `span`.
    void wait(asio::awaitable<void> work, milliseconds span) {
        bool done = false;
        std::exception_ptr failed;
        asio::steady_timer late(strand_, span + patience);
        late.async_wait([this](const asio_error& stopped) {
            if (!stopped)
                connection_.cancel();
        });
        asio::co_spawn(strand_, std::move(work), [&](const std::exception_ptr& thrown) {
            failed = thrown;
            done = true;
        });
        while (!done)
            context_.run_one();
        if (failed)
            std::rethrow_exception(failed);
    }

    asio::awaitable<void> ping_for(milliseconds span, double& rate) {
        std::uint64_t pings = 0;
        const clock::time_point begin = clock::now();
        clock::duration passed{};
        do {
            auto asking = connection_.async_exec(ping_, redis::ignore, coro::detail::with_code);
            const auto [failed, size] = co_await std::move(asking);
            require(failed);
            interruption::check();
            ++pings;
            passed = clock::now() - begin;
        } while (passed < span);
        own_bytes_ += pings * ping_.payload().size();
        rate = static_cast<double>(pings) / std::chrono::duration<double>(passed).count();
    }

    asio::awaitable<void> count(std::optional<server_counts>& found) {
        redis::response<std::string> report;
        auto asking = connection_.async_exec(info_, report, coro::detail::with_code);
        const auto [failed, size] = co_await std::move(asking);
        own_bytes_ += info_.payload().size();
        if (!std::get<0>(report).has_value())
            co_return;  // the server refuses the command
        require(failed);
        const std::string& text = std::get<0>(report).value();
        server_counts counts;
        // A store in the queue form sends nothing but scripts while it works. In the single-key
        // form the server counts its plain commands together with those inside scripts.
        if (scripts_only_)
            counts.commands =
                number_in(text, "cmdstat_evalsha:calls=") + number_in(text, "cmdstat_eval:calls=");
        counts.bytes = number_in(text, "total_net_input_bytes:") - own_bytes_;
        found = counts;
    }

    asio::awaitable<void> subscribe(std::string channel) {
        redis::request request;
        request.push("SUBSCRIBE", channel);
        auto asking = connection_.async_exec(request, redis::ignore, coro::detail::with_code);
        const auto [failed, size] = co_await std::move(asking);
        require(failed);
        auto hearing = hear();
        co_await std::move(hearing);
    }

    asio::awaitable<void> echo_for(std::string channel, milliseconds span, echo_count& found) {
        redis::request request;
        request.push("PUBLISH", channel, echo);
        const clock::time_point begin = clock::now();
        clock::duration passed{};
        while (passed < span) {
            auto sending = send_and_hear(request);
            co_await std::move(sending);
            interruption::check();
            found.one_way += 2;
            passed = clock::now() - begin;
        }
        found.took = passed;
        auto ending = end_echo(channel);
        co_await std::move(ending);
    }

    asio::awaitable<void> echo_once(std::string channel) {
        redis::request request;
        request.push("PUBLISH", channel, echo);
        auto sending = send_and_hear(request);
        co_await std::move(sending);
        interruption::check();
    }

    asio::awaitable<void> end_echo(std::string channel) {
        redis::request end;
        end.push("PUBLISH", channel, last_echo);
        auto ending = connection_.async_exec(end, redis::ignore, coro::detail::with_code);
        const auto [failed, size] = co_await std::move(ending);
        require(failed);
    }

    asio::awaitable<void> echo_back(std::string channel) {
        redis::request request;
        request.push("PUBLISH", channel, echo);
        for (;;) {
            auto hearing = hear();
            const std::string message = co_await std::move(hearing);
            if (message == last_echo)
                co_return;
            auto sending = connection_.async_exec(request, redis::ignore, coro::detail::with_code);
            const auto [failed, size] = co_await std::move(sending);
            require(failed);
        }
    }

private:
    void require(const asio_error& failed) const {
        if (failed)
            throw failure(
                exit_code::unavailable,
                "the Redis server does not answer the measurement",
                name_ + " (" + failed.message() + ')'
            );
    }

    asio::awaitable<void> send_and_hear(const redis::request& request) {
        auto sending = connection_.async_exec(request, redis::ignore, coro::detail::with_code);
        const auto [failed, size] = co_await std::move(sending);
        require(failed);
        auto hearing = hear();
        co_await std::move(hearing);
    }

    /// Waits for the next push and returns its last word.
    asio::awaitable<std::string> hear() {
        const auto [failed, size] = co_await connection_.async_receive(coro::detail::with_code);
        require(failed);
        if (!heard_.has_value())
            throw failure(
                exit_code::unavailable,
                "the Redis server refuses the measurement",
                name_ + " (" + heard_.error().diagnostic + ')'
            );
        std::string last;
        if (!heard_.value().empty())
            last = heard_.value().back().value;
        heard_.value().clear();
        co_return last;
    }

    const std::string name_;
    const bool scripts_only_;  ///< Whether the store sends only scripts while it works.
    asio::io_context context_{1};
    asio::any_io_executor strand_{asio::make_strand(context_)};
    redis::connection connection_;
    const redis::config config_;
    redis::generic_response heard_;
    redis::request ping_;
    redis::request info_;
    std::uint64_t own_bytes_ = 0;
};

class redis_meter final : public server_meter {
public:
    explicit redis_meter(const redis_store_config& server) : line_(server) {}

    std::string_view exchange() const noexcept override { return "PINGs by the client library"; }

    double exchanges_per_s(milliseconds span) override {
        double rate = 0;
        line_.wait(line_.ping_for(span, rate), span);
        return rate;
    }

    std::optional<server_counts> counts(bool) override {
        std::optional<server_counts> found;
        line_.wait(line_.count(found), milliseconds(0));
        return found;
    }

    void subscribe(const std::string& channel) override {
        line_.wait(line_.subscribe(channel), milliseconds(0));
    }

    echo_count echo_for(const std::string& channel, milliseconds span) override {
        echo_count found;
        line_.wait(line_.echo_for(channel, span, found), span);
        return found;
    }

    void echo_once(const std::string& channel) override {
        line_.wait(line_.echo_once(channel), milliseconds(0));
    }

    void end_echo(const std::string& channel) override {
        line_.wait(line_.end_echo(channel), milliseconds(0));
    }

    void echo_back(const std::string& channel) override {
        line_.wait(line_.echo_back(channel), std::chrono::minutes(1));
    }

private:
    redis_line line_;
};

}  // namespace

std::unique_ptr<server_meter> make_redis_meter(const std::string& store) {
    if (!store.starts_with("redis:") && !store.starts_with("rediss:"))
        return nullptr;
    return std::make_unique<redis_meter>(parse_redis_url(store));
}

}  // namespace mortise::tool
