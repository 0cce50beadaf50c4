// SPDX-License-Identifier: BSL-1.0
// Writes message files, and reads them.
#include "mortise/outbox/file_sink.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/worker.hpp"
#include "mortise/outbox/error.hpp"
#include "sinks/message_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

namespace mortise::outbox {
namespace {

using coro::detail::with_code;
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
        auto [failed, found] = co_await thread_->async_run(std::move(work), with_code);
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
        auto [failed, refused] = co_await thread_->async_run(std::move(work), with_code);
        if (failed || refused)
            co_return published(published::kind::lost, failed ? failed : refused, folder_.string());
        co_return published();
    }

    asio::awaitable<void> close() override {
        if (!thread_)
            co_return;
        auto work = [file = file_] { file->close(); };
        co_await thread_->async_run(std::move(work), with_code);
    }

private:
    const asio::any_io_executor strand_;
    const std::filesystem::path folder_;
    // Shared with the work that runs on the thread.
    const std::shared_ptr<sinks::message_file> file_;
    std::unique_ptr<coro::worker> thread_;
};

// After so many attempts, files are closed faster than they can be read.
constexpr int attempts_max = 100;

class read_file {
public:
    read_file() = default;

    sinks::file_contents contents;
    ino_t node = 0;
};

/// Reads one file. @return the system's code if it cannot be opened. @throws error
result<read_file> read_one(const std::filesystem::path& file) {
    const int opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (opened < 0)
        return error_code(errno, boost::system::system_category());
    struct stat about {};
    const bool known = ::fstat(opened, &about) == 0;
    auto found = sinks::read_lines(opened, true);
    ::close(opened);
    if (!found)
        throw error(found.error(), file.string(), "name a file that a sink has written");
    read_file content;
    content.contents = std::move(*found);
    content.node = known ? about.st_ino : 0;
    return content;
}

[[noreturn]] void refuse(const error_code& why, const std::filesystem::path& file) {
    throw error(why, file.string(), "see that it is there");
}

bool is_absent(const error_code& why) {
    return why == boost::system::errc::no_such_file_or_directory;
}

/// Reads all files once. @return nothing if a file was closed or removed meanwhile.
std::optional<std::vector<outgoing>> read_as_they_are(
    const std::filesystem::path& folder, std::uint32_t shard, std::optional<std::int64_t> after
) {
    const auto files = message_files(folder, shard);
    std::vector<outgoing> messages;
    ino_t before = 0;
    for (const auto& each : files) {
        auto found = read_one(each);
        if (!found && is_absent(found.error()))
            return std::nullopt;
        if (!found)
            refuse(found.error(), each);
        if (std::exchange(before, found->node) == found->node)
            continue;  // One file with two names.
        const auto begins_after = found->contents.begins_after;
        const bool first = &each == &files.front();
        if (first && after && begins_after && *after < *begins_after)
            throw error(
                errc::files_removed,
                each.string(),
                "it begins after row " + std::to_string(*begins_after) + ": keep more files"
            );
        for (auto& message : found->contents.messages) {
            if (message.row > after.value_or(0))
                messages.push_back(std::move(message));
        }
    }
    if (message_files(folder, shard) != files)
        return std::nullopt;
    return messages;
}

}  // namespace

sink_factory make_file_sink(std::filesystem::path folder, file_sink_options options) {
    return [folder = std::move(folder), options](asio::any_io_executor strand, std::uint32_t) {
        return std::make_unique<file_sink>(std::move(strand), folder, options);
    };
}

std::vector<outgoing> read_message_file(const std::filesystem::path& file) {
    auto found = read_one(file);
    if (!found)
        refuse(found.error(), file);
    return std::move(found->contents.messages);
}

std::vector<std::filesystem::path>
message_files(const std::filesystem::path& folder, std::uint32_t shard) {
    auto files = sinks::closed_files(folder, shard);
    const auto present = sinks::present_file(folder, shard);
    std::error_code unknown;
    if (std::filesystem::exists(present, unknown))
        files.push_back(present);
    return files;
}

std::vector<outgoing> read_message_files(
    const std::filesystem::path& folder, std::uint32_t shard, std::optional<std::int64_t> after
) {
    for (int i = 0; i < attempts_max; ++i) {
        if (auto found = read_as_they_are(folder, shard, after))
            return std::move(*found);
    }
    throw error(
        errc::files_removed, folder.string(), "files are removed faster than they can be read"
    );
}

}  // namespace mortise::outbox
