// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_LOCK_READER_HPP
#define MORTISE_STORE_SQLITE_LOCK_READER_HPP

#include "core/lock_rows.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/store_types.hpp"
#include "store/sqlite/hint_sender.hpp"
#include "store/sqlite/outcome.hpp"
#include "store/sqlite/store_files.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mortise::sqlite_detail {
class sqlite_query;
}

namespace mortise::store_detail {

/// Reads the rows of a store, for its client and for people, at one time. What is read counts only
/// if the connection has not failed afterwards.
class lock_reader {
public:
    lock_reader(store_files& files, const token_domain& domain, clock::time_point at) noexcept
        : files_(files), domain_(domain), at_(at) {}

    /// The requests and grants of a session.
    std::vector<session_entry> entries(core::session_key session);
    /// The event of the session that a hint tells of, if it is true. Needs no lock: the commit came
    /// before the hint.
    std::optional<notice> true_notice(const hint& hint, core::session_key session);

    std::vector<lock_view> list(const std::string& after, std::size_t limit, std::size_t queue_max);
    std::optional<lock_view> find(const std::string& name, std::size_t queue_max);
    /// The holders that have this token.
    std::vector<party_view>
    holders(const std::string& name, std::size_t limit, std::uint64_t token);
    /// The newest records of broken locks; an empty `name` stands for all locks.
    std::vector<break_record> breaks(const std::string& name, std::size_t limit);

private:
    lock_view view_of(const std::string& name, std::uint64_t waiters, std::size_t queue_max);
    /// The holders of a lock, or its waiters; if `token` is not zero, only the holders with that
    /// token.
    std::vector<party_view>
    parties(const std::string& name, bool granted, std::size_t limit, std::uint64_t token);
    clock::duration left(sqlite_detail::sqlite_query& query);

    store_files& files_;
    const token_domain& domain_;
    const clock::time_point at_;
};

}  // namespace mortise::store_detail

#endif
