// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/handler_sink.hpp"

#include "mortise/coro/error.hpp"
#include "mortise/detail/require.hpp"
#include "mortise/outbox/error.hpp"

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/this_coro.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace mortise::outbox {
namespace {

class handler_sink final : public sink {
public:
    handler_sink(std::shared_ptr<const message_handler> handler, handler_sink_options options)
        : handler_(std::move(handler)), options_(options) {}

    bool keeps_marks() const noexcept override { return false; }

    asio::awaitable<result<opening>> open(const shard_name&) override {
        opening result;
        result.identity = "handler";
        co_return result;
    }

    asio::awaitable<published> publish(std::span<outgoing> messages, const mark&) override {
        published outcome;
        for (std::size_t i = 0; i < messages.size(); ++i) {
            verdict decision;
            error_code failed;
            std::string text;
            try {
                auto handling = (*handler_)(messages[i]);
                decision = co_await std::move(handling);
            } catch (const boost::system::system_error& wrong) {
                failed = wrong.code();
                text = wrong.what();
            } catch (const std::exception& wrong) {
                failed = coro::errc::work_threw;
                text = wrong.what();
            } catch (...) {
                failed = coro::errc::work_threw;
            }
            if (failed) {
                const auto state = co_await asio::this_coro::cancellation_state;
                const bool stopped = state.cancelled() != asio::cancellation_type::none;
                if (!stopped && is_last_attempt(messages[i].row)) {
                    outcome.type = published::kind::refused;
                    outcome.poison.emplace_back(i, failed, std::move(text));
                } else {
                    outcome = published(published::kind::again, failed, std::move(text));
                }
                outcome.done = i;
                co_return outcome;
            }
            if (decision.type == verdict::kind::refused) {
                outcome.type = published::kind::refused;
                outcome.poison.emplace_back(i, errc::refused, std::move(decision.text));
                outcome.done = i;
                co_return outcome;
            }
        }
        co_return outcome;
    }

    asio::awaitable<void> close() override { co_return; }

private:
    // Counts attempts of one row only: messages come in order, so only the first of a batch can
    // have failed before.
    bool is_last_attempt(std::int64_t row) {
        if (std::exchange(failing_row_, row) != row)
            attempts_ = 0;
        return ++attempts_ >= options_.attempts_max;
    }

    const std::shared_ptr<const message_handler> handler_;
    const handler_sink_options options_;
    std::int64_t failing_row_ = 0;
    std::uint32_t attempts_ = 0;  // for `failing_row_`
};

}  // namespace

sink_factory make_handler_sink(message_handler handler, handler_sink_options options) {
    mortise::detail::require(
        options.attempts_max >= 1 && options.attempts_max <= 1'000'000,
        "attempts_max",
        "use 1 to 1,000,000"
    );
    auto kept = std::make_shared<const message_handler>(std::move(handler));
    return [kept = std::move(kept), options](const asio::any_io_executor&, std::uint32_t) {
        return std::make_unique<handler_sink>(kept, options);
    };
}

}  // namespace mortise::outbox
