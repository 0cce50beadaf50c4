// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/prepared_transaction.hpp"

#include "db/server_finish.hpp"
#include "mortise/db/server_database.hpp"
#include "mortise/error.hpp"

#include <algorithm>
#include <utility>

namespace mortise::db {
namespace {

// Such a text needs no quoting in any statement.
bool is_part(const std::string& text) noexcept {
    constexpr std::size_t size_max = 64;  // MariaDB's and MySQL's
    return !text.empty() && text.size() <= size_max &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_' || c == ':' || c == '-';
           });
}

}  // namespace

prepared_name::prepared_name(std::string of, std::string branch)
    : global_(std::move(of)), branch_(std::move(branch)) {
    if (!is_usable(global_, branch_)) {
        throw error(
            errc::value_refused,
            "prepared_name",
            "use 1 to 64 letters, digits, or characters of ._:- for each part"
        );
    }
}

bool prepared_name::is_usable(const std::string& of, const std::string& branch) noexcept {
    return is_part(of) && is_part(branch);
}

void detail::server_handle::start_finish(
    coro::detail::completion<void(std::exception_ptr, bool)> done,
    std::shared_ptr<server_session> session,
    prepared_name name,
    prepared_end how
) {
    const auto wait = std::make_shared<finish_wait>(std::move(done));
    const auto slot = wait->release_slot();
    std::make_shared<server_finish>(std::move(session), wait, std::move(name), how)
        ->submit(wait, slot);
}

}  // namespace mortise::db
