// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_PREPARED_TRANSACTION_HPP
#define MORTISE_DB_PREPARED_TRANSACTION_HPP

#include <compare>
#include <cstdint>
#include <string>

namespace mortise::db {

/// The name of a transaction that is prepared: the global transaction that it is a part of, and
/// the branch. At PostgreSQL it is one text, with a slash between the two; at MariaDB and MySQL it
/// is an XID of the format 1.
class prepared_name {
public:
    /// No name.
    prepared_name() = default;
    /// @param of, branch 1 to 64 letters, digits, or characters of `._:-`
    /// @throws error `value_refused`
    prepared_name(std::string of, std::string branch);

    /// Whether a name can have these parts.
    static bool is_usable(const std::string& of, const std::string& branch) noexcept;

    bool empty() const noexcept { return global_.empty(); }
    const std::string& global() const noexcept { return global_; }
    const std::string& branch() const noexcept { return branch_; }
    friend auto operator<=>(const prepared_name&, const prepared_name&) = default;

private:
    std::string global_;
    std::string branch_;
};

/// How a prepared transaction ends.
enum class prepared_end : std::uint8_t { commit, roll_back };

}  // namespace mortise::db

#endif
