// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SQL_WORDS_HPP
#define MORTISE_DB_SQL_WORDS_HPP

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::db::detail {

/// The words at the beginning of a statement.
class sql_words {
public:
    enum class comments : std::uint8_t {
        nested,      ///< As PostgreSQL has them.
        executable,  ///< As MariaDB and MySQL have them: the server runs what is in `/*! */`.
    };

    sql_words(std::string_view sql, comments style) noexcept : rest_(sql), style_(style) {}

    /// Takes the next word, in capitals; empty if there comes something else.
    std::string next();
    /// What was not taken.
    std::string_view rest() const noexcept { return rest_; }

private:
    void skip() noexcept;
    bool skip_comment() noexcept;
    void skip_to_end_of_comment() noexcept;

    std::string_view rest_;
    comments style_;
};

}  // namespace mortise::db::detail

#endif
