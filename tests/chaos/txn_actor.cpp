// SPDX-License-Identifier: BSL-1.0
// A process that makes transfers between two banks, or is one of them:
//
//     txn_actor FOLDER transfers COUNT [locks=URL] [here=URL there=URL]
//     txn_actor FOLDER settle [locks=URL] [here=URL there=URL]
//     txn_actor FOLDER stuck
//     txn_actor FOLDER mend
//     txn_actor FOLDER bank here|there PORT
//
// The first makes COUNT transfers and waits for their end; the second only finishes what it finds.
// The third makes a transfer whose confirm is refused, and the fourth skips that branch, as an
// operator does. Each outcome that is told is appended to FOLDER/told, with the transaction's
// number. The banks are in the same process unless they have URLs: of HTTP, or of a database server
// at which their branches are prepared. With `xa=yes` fewer transfers are under way.
#include "chaos/transfer_bank.hpp"
#include "chaos/xa_bank.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/open_store.hpp"
#include "mortise/txn/coordinator.hpp"
#include "mortise/txn/http/http_participant.hpp"
#include "mortise/txn/http/participant_server.hpp"

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
#include <map>
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

/// A file whose lines survive the process.
class outcome_file {
public:
    explicit outcome_file(const std::filesystem::path& path)
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
    txn_actor(const std::filesystem::path& folder, const std::map<std::string, std::string>& given)
        : outcomes_(folder / "told") {
        txn::coordinator_config how;
        how.log = folder / "log.db";
        for (const std::string name : {"here", "there"})
            how.participants.emplace(name, find_bank(folder, name, given));
        how.retry_first = 2ms;
        how.retry_max = 50ms;
        how.deadline = 5s;
        how.breaker_failures = 1'000'000;  // keeps calls to a crashed bank going
        if (const auto locks = given.find("locks"); locks != given.end()) {
            client_config patience;
            patience.ttl = 1s;
            how.locks = std::make_shared<lock_client>(
                context_.get_executor(), open_store(locks->second), patience
            );
            locks_ = how.locks;
        }
        if (given.count("xa") != 0) {
            in_flight_ = 4;        // two that wait for each other's rows
            how.call_max = 2s;  // do not wait for long
            for (const char* const name : {"here", "there"}) {
                if (given.count(name) != 0)
                    preparing_.emplace_back(name);
            }
        }
        tcc_.emplace(context_.get_executor(), std::move(how));
    }

    int make_transfers(int count) {
        left_ = count;
        asio::post(strand_, [this] {
            for (int i = 0; i < in_flight_; ++i)
                next();
        });
        return run([this] { return left_ == 0 && under_way_ == 0; });
    }

    int settle() {
        return run([this] { return tcc_->stats().partitions != 0; });
    }

    int make_stuck() {
        txn::transaction transaction;
        transaction.add("here", "debit 1 5");
        transaction.add("there", "credit 0 5");
        tcc_->async_run(std::move(transaction), [](error_code, const txn::outcome&) {});
        return run_until_stuck([this](const txn::gid&) { stop(); });
    }

    int mend() {
        return run_until_stuck([this](const txn::gid& gid) {
            txn::intervention order;
            order.type = txn::intervention::kind::skip;
            order.gid = gid;
            order.who = "the test";
            order.why = "the account is closed";
            tcc_->async_intervene(order, asio::bind_executor(strand_, [this](error_code failed) {
                                      failed_ = failed_ || failed;
                                      later_.set(*time_, strand_, time_->now() + 10ms, [this] {
                                          look([] { return true; });
                                      });
                                  }));
        });
    }

private:
    int run_until_stuck(std::function<void(const txn::gid&)> then) {
        work_.emplace(context_.get_executor());
        asio::post(strand_, [this, then] { look_for_stuck(then); });
        context_.run();
        return failed_ ? 1 : 0;
    }

    void look_for_stuck(const std::function<void(const txn::gid&)>& then) {
        tcc_->async_list(
            txn::list_filter::stuck,
            0,
            1,
            asio::bind_executor(
                strand_,
                [this, then](error_code failed, const std::vector<txn::transaction_view>& found) {
                    // A transaction that is taken up is tried once more before it is stuck again.
                    if (!failed && !found.empty() && tcc_->stats().stuck != 0)
                        return then(found.front().gid);
                    later_.set(*time_, strand_, time_->now() + 10ms, [this, then] {
                        look_for_stuck(then);
                    });
                }
            )
        );
    }

    std::shared_ptr<txn::participant> find_bank(
        const std::filesystem::path& folder,
        const std::string& name,
        const std::map<std::string, std::string>& given
    ) {
        if (const auto url = given.find(name); url != given.end()) {
#ifdef MORTISE_XA_BANKS
            if (!url->second.starts_with("http"))
                return make_xa_bank(context_.get_executor(), url->second);
#endif
            return std::make_shared<txn::http_participant>(
                context_.get_executor(), txn::http_client_config(url->second)
            );
        }
        return std::make_shared<transfer_bank>(context_.get_executor(), folder / (name + ".db"));
    }

    /// Runs until `done` and no transaction is open.
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
            return stop();  // other processes finish it
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
        std::uniform_int_distribution<int> account(1, transfer_ledger::accounts);
        std::uniform_int_distribution<int> cents(1, 2'000);
        const auto amount = std::to_string(cents(random_));
        const auto any_account = [&] { return std::to_string(account(random_)); };
        txn::transaction transaction;
        const bool away = random_() % 2 == 0;
        // A bank that prepares also moves money inside of itself, alone, and is looked at.
        const auto way = preparing_.empty() ? 0 : random_() % 5;
        const std::string bank =
            preparing_.empty() ? "" : preparing_[random_() % preparing_.size()];
        if (way == 1) {
            transaction.add(bank, "inside " + any_account() + ' ' + amount);
        } else {
            transaction.add(away ? "here" : "there", "debit " + any_account() + ' ' + amount);
            transaction.add(away ? "there" : "here", "credit " + any_account() + ' ' + amount);
        }
        if (way == 2)
            transaction.add(bank, "look " + any_account() + " 0");
        tcc_->async_run(
            std::move(transaction),
            asio::bind_executor(
                strand_,
                [this](error_code failed, const txn::outcome& outcome) {
                    --under_way_;
                    if (failed)
                        return again();
                    const auto number = std::to_string(outcome.gid().number);
                    if (outcome.confirmed())
                        outcomes_.add(number + " confirmed\n");
                    else if (outcome.cancelled())
                        outcomes_.add(number + " cancelled\n");
                    next();
                }
            )
        );
    }

    // Another coordinator decides at present: try again later.
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
    const outcome_file outcomes_;
    std::shared_ptr<lock_client> locks_;
    std::optional<txn::coordinator> tcc_;
    std::minstd_rand random_{static_cast<unsigned>(::getpid())};
    coro::detail::alarm later_;
    std::vector<std::string> preparing_;  ///< Banks at servers that prepare transactions.
    int in_flight_ = 16;
    int left_ = 0;
    int under_way_ = 0;
    bool asked_ = false;
    bool stopping_ = false;
    bool failed_ = false;
};

// Runs until it is killed.
int be_bank(const std::filesystem::path& folder, const std::string& name, const std::string& port) {
    asio::io_context context;
    txn::http_server_config at;
    at.port = static_cast<std::uint16_t>(std::stoi(port));
    txn::participant_server::participants served;
    served.emplace(
        name, std::make_shared<transfer_bank>(context.get_executor(), folder / (name + ".db"))
    );
    const txn::participant_server server(context.get_executor(), at, std::move(served));
    context.run();
    return 0;
}

int run(std::vector<std::string> words) {
    constexpr const char* usage = "FOLDER transfers COUNT | settle | stuck | mend | bank NAME PORT "
                                  "[locks=URL] [here=URL there=URL]";
    std::map<std::string, std::string> given;
    while (!words.empty() && words.back().find('=') != std::string::npos) {
        const auto at = words.back().find('=');
        given.emplace(words.back().substr(0, at), words.back().substr(at + 1));
        words.pop_back();
    }
    if (words.size() == 4 && words[1] == "bank")
        return be_bank(words[0], words[2], words[3]);
    if (words.size() == 3 && words[1] == "transfers")
        return txn_actor(words[0], given).make_transfers(std::stoi(words[2]));
    if (words.size() == 2 && words[1] == "stuck")
        return txn_actor(words[0], given).make_stuck();
    if (words.size() == 2 && words[1] == "mend")
        return txn_actor(words[0], given).mend();
    if (words.size() == 2 && words[1] == "settle")
        return txn_actor(words[0], given).settle();
    throw std::runtime_error(usage);
}

}  // namespace
}  // namespace mortise::test

int main(int count, char** words) {
    try {
        return mortise::test::run({words + 1, words + count});
    } catch (const std::exception& wrong) {
        std::fprintf(stderr, "txn_actor: %s\n", wrong.what());
        return 1;
    }
}
