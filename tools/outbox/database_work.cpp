// SPDX-License-Identifier: BSL-1.0
#include "outbox/database_work.hpp"

#include "common/exit_code.hpp"
#include "mortise/db/sqlite_error.hpp"
#include "mortise/outbox/error.hpp"

#include <utility>

namespace mortise::tool {

failure database_failure(
    const boost::system::system_error& thrown, const std::string& database, std::string value
) {
    const error_code code = thrown.code();
    const bool absent = code == outbox::errc::no_such_row || code == outbox::errc::nothing_refused;
    const bool malformed = code == outbox::errc::no_topic || code == outbox::errc::bad_header ||
                           code == outbox::errc::message_too_large;
    const int exit = absent      ? exit_code::nothing_to_do
                     : malformed ? exit_code::usage
                                 : exit_code::unavailable;
    if (code.category() == db::sqlite_category())
        return failure(exit, code.message(), database, "name the database by --db");
    if (const auto* known = dynamic_cast<const error*>(&thrown))
        return failure(exit, code.message(), known->value(), known->remedy());
    return failure(exit, code.message(), value.empty() ? database : std::move(value));
}

}  // namespace mortise::tool
