// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/assert.hpp"
#include "mortise/store/sqlite.hpp"
#include "store/sqlite/lock_operations.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/sqlite_shell.hpp"
#include "store/store_domain.hpp"

#include <utility>

namespace mortise {
namespace {

using store_detail::sqlite_shell;

class sqlite_store final : public store {
public:
    explicit sqlite_store(sqlite_store_config config) : config_(std::move(config)) {}
    ~sqlite_store() override { detach(); }

    store_traits traits() const noexcept override {
        store_traits traits;
        traits.scheme = "sqlite";
        traits.strength = token_strength::strict;
        traits.push = traits.fair = traits.server_clock = true;
        traits.shared = traits.permits = traits.hold_max = traits.extend = true;
        traits.release_and_request = traits.request_in_order = true;
        traits.ttl_min = std::chrono::milliseconds(100);
        traits.ttl_max = store_detail::session_ttl_max;
        return traits;
    }

    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override {
        MORTISE_ASSERT(!shell_);
        shell_ =
            std::make_shared<sqlite_shell>(std::move(strand), events, std::move(time), config_);
    }

    void detach() noexcept override {
        if (shell_)
            shell_->detach();
    }

    asio::awaitable<result<resumed>> resume(session_start start) override {
        return shell_->resume(std::move(start));
    }

    asio::awaitable<error_code> end() override { return shell_->end(); }
    asio::awaitable<result<heartbeat>> beat(proof_number) override { return shell_->beat(); }

    asio::awaitable<result<answer>> request(lock_request request) override {
        return performed(store_detail::request_operation(std::move(request)));
    }

    asio::awaitable<error_code> withdraw(std::string name, request_id id) override {
        store_detail::withdraw_operation operation(std::move(name), id);
        const auto out = co_await shell_->perform(std::move(operation));
        co_return out.code;
    }

    asio::awaitable<result<bool>> release(grant held) override {
        return performed(store_detail::release_operation(std::move(held)));
    }

    asio::awaitable<result<answers_in_order>> request_in_order(std::vector<lock_request> requests
    ) override {
        return performed(store_detail::request_in_order_operation(std::move(requests)));
    }

    asio::awaitable<released_and_asked>
    release_and_request(grant held, lock_request request) override {
        auto performing = performed(
            store_detail::release_and_request_operation(std::move(held), std::move(request))
        );
        const auto both = co_await std::move(performing);
        if (both)
            co_return *both;
        co_return released_and_asked(both.error());
    }

    asio::awaitable<result<session_view>> look(proof_number) override {
        auto job = [state = shell_->state()] { return state->look(); };
        return answered<session_view>(std::move(job));
    }

    asio::awaitable<result<std::vector<lock_view>>>
    list(std::string after, std::size_t limit, std::size_t queue_max) override {
        auto job = [state = shell_->state(), after = std::move(after), limit, queue_max] {
            return state->list(after, limit, queue_max);
        };
        return answered<std::vector<lock_view>>(std::move(job));
    }

    asio::awaitable<result<std::optional<lock_view>>>
    inspect(std::string name, std::size_t queue_max) override {
        auto job = [state = shell_->state(), name = std::move(name), queue_max] {
            return state->inspect(name, queue_max);
        };
        return answered<std::optional<lock_view>>(std::move(job));
    }

    asio::awaitable<result<token_range>> draw(grant held) override {
        return performed(store_detail::draw_operation(std::move(held)));
    }

    asio::awaitable<result<std::chrono::milliseconds>>
    extend(grant held, std::chrono::milliseconds hold_max) override {
        return performed(store_detail::extend_operation(std::move(held), hold_max));
    }

    asio::awaitable<result<bool>> break_(break_order order) override {
        auto job = [state = shell_->state(), order = std::move(order)] {
            return state->break_(order);
        };
        return answered<bool>(std::move(job));
    }

    asio::awaitable<result<std::vector<break_record>>>
    breaks(std::string name, std::size_t limit) override {
        auto job = [state = shell_->state(), name = std::move(name), limit] {
            return state->breaks(name, limit);
        };
        return answered<std::vector<break_record>>(std::move(job));
    }

    asio::awaitable<error_code> watch() override { return shell_->watch(); }

    asio::awaitable<result<std::vector<store_finding>>> examine() override {
        auto job = [state = shell_->state()] { return state->examine(); };
        return answered<std::vector<store_finding>>(std::move(job));
    }

    std::string explain() const override { return shell_ ? shell_->state()->explain() : ""; }

private:
    template <class T>
    static result<T> result_of(store_detail::outcome<T> out) {
        return out.code ? result<T>(out.code) : result<T>(std::move(out.value));
    }

    template <class T, class Job>
    asio::awaitable<result<T>> answered(Job job) {
        auto out = co_await shell_->template ask<T>(std::move(job));
        co_return result_of(std::move(out));
    }

    template <class Operation>
    asio::awaitable<result<typename Operation::value_type>> performed(Operation operation) {
        auto out = co_await shell_->perform(std::move(operation));
        co_return result_of(std::move(out));
    }

    const sqlite_store_config config_;
    std::shared_ptr<sqlite_shell> shell_;
};

}  // namespace

std::unique_ptr<store> make_sqlite_store(sqlite_store_config config) {
    constexpr std::size_t checkpoint_min = 64u << 10;
    if (config.path.empty())
        throw error(errc::bad_config, "path = \"\"", "name the file of the store");
    store_detail::check_wanted_domain(config.domain);
    if (config.checkpoint_bytes < checkpoint_min) {
        throw error(
            errc::bad_config,
            "checkpoint_bytes = " + std::to_string(config.checkpoint_bytes),
            "use " + std::to_string(checkpoint_min) + " or more"
        );
    }
    if (config.busy_poll_max < std::chrono::microseconds::zero() ||
        config.busy_poll_max > std::chrono::milliseconds(1))
        throw error(errc::bad_config, "busy_poll_max", "use at most one millisecond, or zero");
    return std::make_unique<sqlite_store>(std::move(config));
}

}  // namespace mortise
