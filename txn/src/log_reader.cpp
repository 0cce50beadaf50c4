// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/log_reader.hpp"

#include "log/log_tables.hpp"
#include "log/log_views.hpp"
#include "mortise/db/connection.hpp"
#include "mortise/db/sqlite_error.hpp"
#include "mortise/txn/error.hpp"

#include <sqlite3.h>

#include <optional>
#include <string>

namespace mortise::txn {

/// A connection that can only read.
class log_reader::file {
public:
    explicit file(const std::filesystem::path& path) {
        const int code = ::sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READONLY, nullptr);
        if (code != SQLITE_OK) {
            ::sqlite3_close(handle_);
            throw error(db::sqlite_error(code), path.native(), "name the log of a coordinator");
        }
        constexpr int busy_ms = 5'000;
        ::sqlite3_busy_timeout(handle_, busy_ms);
        on_.emplace(handle_);
    }
    ~file() {
        on_.reset();
        ::sqlite3_close(handle_);
    }
    file(const file&) = delete;
    file& operator=(const file&) = delete;

    /// In one snapshot.
    template <class Question>
    auto ask(Question question) {
        const snapshot all(*on_);
        return question(*on_);
    }

private:
    class snapshot {
    public:
        explicit snapshot(db::connection& on) : on_(on) { on_.run("BEGIN"); }
        ~snapshot() {
            on_.reset_statements();
            ::sqlite3_exec(on_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
        }
        snapshot(const snapshot&) = delete;
        snapshot& operator=(const snapshot&) = delete;

    private:
        db::connection& on_;
    };

    sqlite3* handle_ = nullptr;
    std::optional<db::connection> on_;
};

namespace {

// Where there are no tables of a log none are made: this file is another's.
std::uint64_t id_of(db::connection& on, const std::filesystem::path& log) {
    {
        auto row = on.query("SELECT 1 FROM sqlite_master WHERE name = 'mortise_txn_log'");
        if (!row.step())
            throw error(errc::not_a_log, log.native(), "name the log of a coordinator");
    }
    return log::log_tables::prepare(on, log::log_facts()).id;
}

}  // namespace

log_reader::log_reader(const std::filesystem::path& log)
    : file_(std::make_unique<file>(log)),
      id_(file_->ask([&](db::connection& on) { return id_of(on, log); })) {}

log_reader::~log_reader() = default;
log_reader::log_reader(log_reader&&) noexcept = default;
log_reader& log_reader::operator=(log_reader&&) noexcept = default;

std::optional<transaction_view> log_reader::show(const gid& which) const {
    if (which.log != id_)
        return std::nullopt;
    return file_->ask([&](db::connection& on) { return log::log_views::of(on, which); });
}

std::vector<transaction_view>
log_reader::list(list_filter which, std::uint64_t after, std::size_t limit) const {
    return file_->ask([&](db::connection& on) {
        return log::log_views::list(on, id_, which, after, limit);
    });
}

standing log_reader::standing_of(const gid& which) const {
    if (which.log != id_)
        return standing::never_existed;
    return file_->ask([&](db::connection& on) {
        int why = 0;
        return log::log_tables::standing_of(on, which.number, why);
    });
}

}  // namespace mortise::txn
