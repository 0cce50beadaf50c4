// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/log_reader.hpp"

#include "log/log_entries.hpp"
#include "log/log_schema.hpp"
#include "log/log_views.hpp"
#include "mortise/db/read_only.hpp"
#include "mortise/txn/error.hpp"

#include <optional>

namespace mortise::txn {
namespace {

// Returns zero for an empty database: its coordinator has not made its tables yet.
std::uint64_t id_of(db::connection& on, const std::filesystem::path& log) {
    try {
        return log::log_schema::log_id(on);
    } catch (const error& failed) {
        if (failed.code() == errc::not_a_log)
            throw error(errc::not_a_log, log.native(), "name the log of a coordinator");
        throw;
    }
}

}  // namespace

log_reader::log_reader(const std::filesystem::path& log)
    : file_(std::make_unique<db::read_only>(log)),
      id_(file_->ask([&](db::connection& on) { return id_of(on, log); })) {}

log_reader::~log_reader() = default;
log_reader::log_reader(log_reader&&) noexcept = default;
log_reader& log_reader::operator=(log_reader&&) noexcept = default;

std::optional<transaction_view> log_reader::show(const gid& gid) const {
    return file_->ask([&](db::connection& on) { return log::log_views::of(on, gid); });
}

std::vector<transaction_view>
log_reader::list(list_filter filter, std::uint64_t after, std::size_t limit) const {
    return file_->ask([&](db::connection& on) {
        return log::log_views::list(on, filter, after, limit);
    });
}

standing log_reader::standing_of(const gid& gid) const {
    return file_->ask([&](db::connection& on) { return log::log_entries::verdict_on(on, gid).at; });
}

prepared_standing log_reader::standing_of(const prepared_branch& branch) const {
    return file_->ask([&](db::connection& on) { return log::log_entries::standing_of(on, branch); }
    );
}

}  // namespace mortise::txn
