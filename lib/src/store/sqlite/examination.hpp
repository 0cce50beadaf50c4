// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_EXAMINATION_HPP
#define MORTISE_STORE_SQLITE_EXAMINATION_HPP

#include "mortise/coro/time_source.hpp"
#include "mortise/store_types.hpp"
#include "sqlite/host_facts.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace mortise::sqlite_detail {
class side_folder;
class sqlite_db;
}  // namespace mortise::sqlite_detail

namespace mortise::store_detail {

class slot_file;
class store_files;

/// Collects findings about a store, one for each subject, and goes on after every failure.
class examination {
public:
    using verdict = store_finding::verdict;

    /// Examines one subject: `at` says in `text` what is the case. An error that it throws is a
    /// finding, too.
    void look(const std::string& subject, const std::function<verdict(std::string& text)>& at);

    std::vector<store_finding> take() { return std::move(found_); }

private:
    std::vector<store_finding> found_;
};

/// Examines all of a store.
/// @param open_store opens it, unless it is open.
/// @param throw_failure throws the first failure of the connection, and mends the connection.
std::vector<store_finding> examine_store(
    store_files& files,
    coro::time_source& time,
    const std::function<void()>& open_store,
    const std::function<void()>& throw_failure
);

// The subjects. Each says in `text` what it found and, if that is not good, what to do. May throw
// error.
store_finding::verdict examine_library(std::string& text);
/// Whether the database has other names.
store_finding::verdict examine_name(const std::string& database, std::string& text);
store_finding::verdict
examine_file_system(const sqlite_detail::file_system& files, std::string& text);
store_finding::verdict
examine_space(const std::string& folder, std::size_t log_bytes, std::string& text);
/// Whether the lock of the store becomes free within `limit`.
store_finding::verdict
examine_lock(const std::string& database, std::chrono::milliseconds limit, std::string& text);
store_finding::verdict examine_modes(
    const std::string& database, const sqlite_detail::side_folder& folder, std::string& text
);
/// Sends a hint to a mailbox that it makes and removes again.
store_finding::verdict
examine_datagrams(sqlite_detail::side_folder& folder, coro::time_source& time, std::string& text);
store_finding::verdict
examine_disk(const sqlite_detail::side_folder& folder, coro::time_source& time, std::string& text);
store_finding::verdict examine_sessions(const slot_file& slots, std::string& text);
// Subjects that need a connection, whose failures the caller sees.
store_finding::verdict examine_journal(sqlite_detail::sqlite_db& db, std::string& text);
store_finding::verdict examine_tokens(sqlite_detail::sqlite_db& db, std::string& text);
store_finding::verdict examine_pages(sqlite_detail::sqlite_db& db, std::string& text);

}  // namespace mortise::store_detail

#endif
