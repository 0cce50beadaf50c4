// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_MYSQL_STATEMENT_TEXT_HPP
#define MORTISE_STORE_MYSQL_STATEMENT_TEXT_HPP

#include "store/sql/sql_gateway.hpp"

#include <boost/mysql/blob_view.hpp>
#include <boost/mysql/character_set.hpp>
#include <boost/mysql/constant_string_view.hpp>
#include <boost/mysql/format_sql.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace mortise::store_detail {

/// Marks in the stamp of a grant, for the bell of its session: the lock was granted to it after it
/// had waited; somebody began to wait, or tried in vain.
inline constexpr sql_stamp mark_granted = std::uint64_t(1) << 62;
inline constexpr sql_stamp mark_contended = std::uint64_t(1) << 61;
/// Tells the stamp of a message that joined from that of the same message if it took the lock.
inline constexpr sql_stamp mark_joined = std::uint64_t(1) << 60;

/// The server's time, in microseconds since 1970. `SYSDATE` is the time of the moment, even after a
/// statement has waited.
#define MORTISE_NOW "CAST(UNIX_TIMESTAMP(SYSDATE(6))*1000000 AS SIGNED)"

/// In `opens` of all sessions while somebody watches: the short ways, which tell no watcher, are
/// closed.
#define MORTISE_NEVER "9223372036854775807"

/// Of a lock: that nobody has used it for a minute.
#define MORTISE_OLD                                                                                \
    "held=0 AND queue=0 AND (rest=0 OR (rest=2 AND until<" MORTISE_NOW ")) AND base<@floor"

/// Whether a session other than the holder's waits for this plain lock.
#define MORTISE_OTHERS_WAIT(lock)                                                                  \
    "EXISTS(SELECT 1 FROM mortise_waiter o WHERE o.name=" lock ".name AND o.session<>" lock        \
    ".session)"

/// Bytes as a value of a text: x'..'. They must outlive the text's writing.
inline boost::mysql::blob_view as_bytes(std::string_view bytes) noexcept {
    return {reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()};
}

/// The text with each `{name}` replaced by the value of that name.
inline std::string
write_statement(std::string_view text, std::initializer_list<boost::mysql::format_arg> values) {
    // The character set and the escapes concern values that are texts: there are none.
    constexpr boost::mysql::format_options options{boost::mysql::utf8mb4_charset, true};
    return boost::mysql::format_sql(options, boost::mysql::runtime(text), values);
}

}  // namespace mortise::store_detail

#endif
