// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/handler_sink.hpp"

#include "mortise/coro/error.hpp"
#include "mortise/outbox/error.hpp"

#include <memory>
#include <utility>

namespace mortise::outbox {
namespace {

class handler_sink final : public sink {
public:
    explicit handler_sink(std::shared_ptr<const message_handler> handler)
        : handler_(std::move(handler)) {}

    bool keeps_marks() const noexcept override { return false; }

    asio::awaitable<result<opening>> open(const shard_name&) override {
        opening made;
        made.identity = "handler";
        co_return made;
    }

    asio::awaitable<published> publish(std::span<outgoing> messages, const mark&) override {
        published came;
        for (std::size_t i = 0; i < messages.size(); ++i) {
            verdict said;
            error_code failed;
            std::string text;
            try {
                auto handling = (*handler_)(messages[i]);
                said = co_await std::move(handling);
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
                came = published(published::kind::again, failed, std::move(text));
                came.done = i;
                co_return came;
            }
            if (said.what == verdict::kind::refused) {
                came.what = published::kind::refused;
                came.poison.emplace_back(i, errc::refused, std::move(said.text));
                came.done = i;
                co_return came;
            }
        }
        co_return came;
    }

    asio::awaitable<void> close() override { co_return; }

private:
    const std::shared_ptr<const message_handler> handler_;
};

}  // namespace

sink_factory make_handler_sink(message_handler handler) {
    auto kept = std::make_shared<const message_handler>(std::move(handler));
    return [kept = std::move(kept)](const asio::any_io_executor&, std::uint32_t) {
        return std::make_unique<handler_sink>(kept);
    };
}

}  // namespace mortise::outbox
