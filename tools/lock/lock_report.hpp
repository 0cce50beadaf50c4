// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_LOCK_LOCK_REPORT_HPP
#define MORTISE_TOOLS_LOCK_LOCK_REPORT_HPP

#include "common/json.hpp"
#include "mortise/store_types.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace mortise::tool {

/// `exclusive`, `shared` or `permits(N)`.
std::string mode_text(const lock_mode& mode);

/// Describes a party on one line that is safe on a terminal: "run: sh, process 12 on host".
std::string party_text(const party_view& party);

/// Describes a holder's grant: "token 4711 (slot 2), run: sh, process 12 on host".
std::string grant_text(const party_view& holder);

/// `label`, `pid`, `host`, `session`, `mode`, and `hold_max_ms` if there is a limit. A holder also
/// has `token`, `token_domain`, `slot` (of a permit) and `held_ms`; a waiter has `waited_ms`.
json::object party_json(const party_view& party, bool holds);

json::array holders_json(const std::vector<party_view>& holders);

/// `name`, `holders`, `waiter_count` and `waiters`.
json::object lock_json(const lock_view& lock);

/// `at`, `token`, `token_domain`, `holder`, `who` and `why`.
json::object break_json(const break_record& record);

/// Writes a table with a line for each holder and, with `waiters`, one for each waiter.
void write_table(std::ostream& out, const std::vector<lock_view>& locks, bool waiters);

/// Writes a JSON object: `store`, and `locks`, an array of `name`, `holders`, `waiter_count` and
/// `waiters`.
void write_json(std::ostream& out, const std::string& store, const std::vector<lock_view>& locks);

/// One lock in full: its holders, its waiters, and the forced breaks.
class lock_report {
public:
    lock_report() = default;

    lock_view view;  ///< Has only a name if nobody holds the lock or waits for it.
    std::vector<break_record> breaks;  ///< Newest first.

    /// Writes the report for people.
    void write(std::ostream& out) const;

    /// Writes an object: `store`, the fields of `lock_json`, `waiters_not_shown`, and `breaks`.
    void write_json(std::ostream& out, const std::string& store) const;

private:
    void write_head(std::ostream& out) const;
    void write_holders(std::ostream& out) const;
    void write_waiters(std::ostream& out) const;
    void write_breaks(std::ostream& out) const;
    std::uint64_t waiters_not_shown() const noexcept;
};

}  // namespace mortise::tool

#endif
