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

/// The first entries of one lock, who hold it before those who wait, as a transaction sees them: so
/// that the rules of the queue, which look at these again and again, cost one query.
///
/// Every answer is nothing if the entries that are in sight do not say it: then ask the rows.
class lock_window {
public:
    /// As many as are in sight; most queues are shorter.
    static constexpr std::size_t size_max = 8;

    /// `first` are the first entries, or all of them, which `whole` says.
    lock_window(std::string name, std::vector<core::lock_entry> first, bool whole);

    const std::string& name() const noexcept { return name_; }

    /// An answer that may be "there is none".
    using found = std::optional<std::optional<core::lock_entry>>;

    found next(bool granted, std::uint64_t after) const;
    std::optional<std::uint64_t> last_ordinal(bool granted) const noexcept;
    std::optional<std::vector<core::lock_entry>> holders() const;
    std::optional<std::uint64_t> holder_count() const noexcept;
    std::optional<bool> others_wait(core::session_key session) const noexcept;
    std::optional<std::uint32_t> capacity() const noexcept;

    // What is done to the rows is done here, too.
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
