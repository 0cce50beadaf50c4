// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_SQLITE_STORE_FOLDER_HPP
#define MORTISE_TESTS_UNIT_SQLITE_STORE_FOLDER_HPP

#include "mortise/store/sqlite.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace mortise::test {

/// A folder for one store, removed at the end, and a second look at what lies in it.
class store_folder {
public:
    store_folder();
    ~store_folder();
    store_folder(const store_folder&) = delete;
    store_folder& operator=(const store_folder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path database() const { return path_ / "locks.db"; }
    std::filesystem::path side() const { return path_ / "locks.db.mortise"; }
    sqlite_store_config config() const;

    /// Runs the statement on a connection of its own; the first number of its first row, else zero.
    std::int64_t sql(const std::string& statement) const;
    /// How many sockets lie in the side folder.
    std::size_t sockets() const;

private:
    std::filesystem::path path_;
};

/// Runs `body` in a forked child that ends as if it were killed: nothing is closed or destroyed.
/// @return whether `body` returned true.
bool in_dying_child(const std::function<bool()>& body);

}  // namespace mortise::test

#endif
