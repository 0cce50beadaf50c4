// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/file_sink.hpp"

#include "mortise/coro/worker.hpp"
#include "mortise/outbox/error.hpp"
#include "sinks/message_file.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>

#include <memory>
#include <string>
#include <utility>

namespace mortise::outbox {
namespace {

class file_sink final : public sink {
public:
    file_sink(asio::any_io_executor strand, std::filesystem::path folder, file_sink_options bounds)
        : strand_(std::move(strand)),
          folder_(std::move(folder)),
          file_(std::make_shared<sinks::message_file>(bounds)) {}

    bool keeps_marks() const noexcept override { return true; }

    asio::awaitable<result<opening>> open(const shard_name& shard) override {
        if (!thread_) {
            coro::worker_config config;
            config.name = "mortise-file";
            thread_ = std::make_unique<coro::worker>(strand_, std::move(config));
        }
        auto work = [file = file_, folder = folder_, number = shard.shard] {
            return file->open(folder, number);
        };
        auto opening_it = thread_->async_run(std::move(work), asio::as_tuple(asio::deferred));
        auto [failed, found] = co_await std::move(opening_it);
        if (failed || !found)
            co_return failed ? failed : found.error();
        opening result;
        result.identity = std::move(found->id);
        result.last = std::move(found->last);
        co_return result;
    }

    asio::awaitable<published> publish(std::span<outgoing> messages, const mark& after) override {
        std::string lines;
        for (const auto& each : messages)
            lines += sinks::message_line(each);
        lines += sinks::mark_line(after);
        const bool any = !messages.empty();
        auto work = [file = file_, lines = std::move(lines), after, any] {
            return file->append(lines, after, any);
        };
        auto appending = thread_->async_run(std::move(work), asio::as_tuple(asio::deferred));
        auto [failed, refused] = co_await std::move(appending);
        if (failed || refused)
            co_return published(published::kind::lost, failed ? failed : refused, folder_.string());
        co_return published();
    }

    asio::awaitable<void> close() override {
        if (!thread_)
            co_return;
        auto work = [file = file_] { file->close(); };
        auto closing = thread_->async_run(std::move(work), asio::as_tuple(asio::deferred));
        co_await std::move(closing);
    }

private:
    const asio::any_io_executor strand_;
    const std::filesystem::path folder_;
    // Shared with the work that runs on the thread.
    const std::shared_ptr<sinks::message_file> file_;
    std::unique_ptr<coro::worker> thread_;
};

}  // namespace

sink_factory make_file_sink(std::filesystem::path folder, file_sink_options options) {
    return [folder = std::move(folder), options](asio::any_io_executor strand, std::uint32_t) {
        return std::make_unique<file_sink>(std::move(strand), folder, options);
    };
}

}  // namespace mortise::outbox
