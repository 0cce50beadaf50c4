// SPDX-License-Identifier: BSL-1.0
// A process that makes transfers between two banks:
//
//     txn_actor FOLDER transfers COUNT [LOCKS_URL]
//     txn_actor FOLDER settle [LOCKS_URL]
//
// The first makes so many and waits for their end; the second only finishes what it finds. What is
// told of a transaction is appended to FOLDER/told: its number and its outcome.
#include "chaos/transfer_bank.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/open_store.hpp"
#include "mortise/txn/coordinator.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

constexpr int in_flight = 16;

/// Lines that are there whenever the process dies.
class told_file {
public:
    explicit told_file(const std::filesystem::path& path)
        : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
        if (file_ < 0)
            throw std::system_error(errno, std::generic_category(), path);
    }
    void add(const std::string& line) const {
        if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
            std::abort();
    }

private:
    const int file_;
};

class txn_actor {
public:
    txn_actor(const std::filesystem::path& folder, const char* locks)
        : told_(folder / "told"),
          here_(std::make_shared<transfer_bank>(context_.get_executor(), folder / "here.db")),
          there_(std::make_shared<transfer_bank>(context_.get_executor(), folder / "there.db")) {
        txn::coordinator_config how;
        how.log = folder / "log.db";
        how.participants.emplace("here", here_);
        how.participants.emplace("there", there_);
        how.retry_first = 2ms;
        how.retry_max = 50ms;
        how.deadline = 5s;
        if (locks != nullptr) {
            client_config patience;
            patience.ttl = 1s;
            how.locks =
                std::make_shared<lock_client>(context_.get_executor(), open_store(locks), patience);
            locks_ = how.locks;
        }
        tcc_.emplace(context_.get_executor(), std::move(how));
    }

    int make_transfers(int count) {
        left_ = count;
        asio::post(strand_, [this] {
            for (int i = 0; i < in_flight; ++i)
                next();
        });
        return run([this] { return left_ == 0 && under_way_ == 0; });
    }

    int settle() {
        return run([this] { return tcc_->stats().partitions != 0; });
    }

private:
    /// Until that is so and nothing is open.
    int run(std::function<bool()> done) {
        work_.emplace(context_.get_executor());
        asio::post(strand_, [this, done] { look(done); });
        context_.run();
        return 0;
    }

    void look(const std::function<bool()>& done) {
        if (done() && tcc_->stats().partitions != 0 && !asked_) {
            asked_ = true;
            tcc_->async_list(
                txn::list_filter::unfinished,
                0,
                1,
                asio::bind_executor(
                    strand_,
                    [this](error_code failed, const std::vector<txn::transaction_view>& open) {
                        asked_ = false;
                        if (!failed && open.empty())
                            stop();
                    }
                )
            );
        }
        if (done() && locks_ && left_ == 0 && tcc_->stats().partitions == 0)
            return stop();  // others finish it
        if (!stopping_)
            later_.set(*time_, strand_, time_->now() + 10ms, [this, done] { look(done); });
    }

    void stop() {
        if (std::exchange(stopping_, true))
            return;
        tcc_->async_stop([this](error_code) {
            if (!locks_)
                return work_.reset();
            locks_->async_stop([this](error_code) { work_.reset(); });
        });
    }

    void next() {
        if (left_ == 0)
            return;
        --left_;
        ++under_way_;
        std::uniform_int_distribution<int> account(1, transfer_bank::accounts);
        std::uniform_int_distribution<int> cents(1, 2'000);
        const auto amount = std::to_string(cents(random_));
        txn::transaction what;
        const bool away = random_() % 2 == 0;
        what.add(
            away ? "here" : "there", "debit " + std::to_string(account(random_)) + ' ' + amount
        );
        what.add(
            away ? "there" : "here", "credit " + std::to_string(account(random_)) + ' ' + amount
        );
        tcc_->async_run(
            std::move(what),
            asio::bind_executor(
                strand_,
                [this](error_code failed, const txn::outcome& came) {
                    --under_way_;
                    if (failed)
                        return again();
                    const auto number = std::to_string(came.gid().number);
                    if (came.confirmed())
                        told_.add(number + " confirmed\n");
                    else if (came.cancelled())
                        told_.add(number + " cancelled\n");
                    next();
                }
            )
        );
    }

    // Another one decides just now: this one stands by.
    void again() {
        ++under_way_;
        auto pause = std::make_shared<coro::detail::alarm>();
        pause->set(*time_, strand_, time_->now() + 20ms, [this, pause] {
            --under_way_;
            next();
        });
    }

    asio::io_context context_;
    asio::strand<asio::io_context::executor_type> strand_{asio::make_strand(context_)};
    std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_;
    const std::shared_ptr<coro::time_source> time_ =
        coro::make_boot_time_source(context_.get_executor());
    const told_file told_;
    std::shared_ptr<transfer_bank> here_;
    std::shared_ptr<transfer_bank> there_;
    std::shared_ptr<lock_client> locks_;
    std::optional<txn::coordinator> tcc_;
    std::minstd_rand random_{static_cast<unsigned>(::getpid())};
    coro::detail::alarm later_;
    int left_ = 0;
    int under_way_ = 0;
    bool asked_ = false;
    bool stopping_ = false;
};

int run(int count, char** words) {
    const std::string what = count > 2 ? words[2] : "";
    const int used = what == "transfers" ? 4 : 3;
    if (count < used)
        throw std::runtime_error("FOLDER transfers COUNT [LOCKS] | FOLDER settle [LOCKS]");
    txn_actor actor(words[1], count > used ? words[used] : nullptr);
    return what == "transfers" ? actor.make_transfers(std::atoi(words[3])) : actor.settle();
}

}  // namespace
}  // namespace mortise::test

int main(int count, char** words) {
    try {
        return mortise::test::run(count, words);
    } catch (const std::exception& wrong) {
        std::fprintf(stderr, "txn_actor: %s\n", wrong.what());
        return 1;
    }
}
