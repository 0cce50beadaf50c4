// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_LOCK_WINDOW_HPP
#define MORTISE_STORE_SQLITE_LOCK_WINDOW_HPP

#include "core/lock_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::store_detail {

/// The first entries of one lock, its holders before its waiters, as a transaction sees them. The
/// rules of the queue look at these again and again; with this they cost one query.
///
/// Every answer is empty if the entries in sight do not tell it: then ask the rows.
class lock_window {
public:
    /// How many entries are in sight; most queues are shorter.
    static constexpr std::size_t size_max = 8;

    /// `first` are the first entries, or all of them if `whole`.
    lock_window(std::string name, std::vector<core::lock_entry> first, bool whole);

    const std::string& name() const noexcept { return name_; }

    /// An answer that may be "there is none".
    using found = std::optional<std::optional<core::lock_entry>>;

    found find(core::session_key session, request_id id) const;
    found next(bool granted, std::uint64_t after) const;
    std::optional<std::uint64_t> last_ordinal(bool granted) const noexcept;
    std::optional<std::vector<core::lock_entry>> holders() const;
    std::optional<std::uint64_t> holder_count() const noexcept;
    std::optional<bool> others_wait(core::session_key session) const noexcept;
    std::optional<std::uint32_t> capacity() const noexcept;

    // Called with each change of the rows, to make it here, too.
    void insert(const core::lock_entry& entry);
    void erase(const core::lock_entry& entry);
    void grant(const core::lock_entry& entry);

private:
    bool all_holders() const noexcept;

    std::string name_;
    std::vector<core::lock_entry> entries_;
    bool whole_;  // no entry is out of sight
};

}  // namespace mortise::store_detail

#endif
