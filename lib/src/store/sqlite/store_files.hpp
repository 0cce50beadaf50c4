// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_STORE_FILES_HPP
#define MORTISE_STORE_SQLITE_STORE_FILES_HPP

#include "mortise/store/sqlite.hpp"
#include "sqlite/host_facts.hpp"
#include "sqlite/side_folder.hpp"
#include "sqlite/sqlite_db.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/slot_file.hpp"

#include <memory>
#include <string>

namespace mortise::store_detail {

/// Follows symbolic links to the file that they lead to, which need not exist. SQLite names its log
/// after that file, so the side folder must be named after it, too.
/// @throws error if the links lead in a circle.
std::string followed_links(const std::string& path);

/// What is known of a file's other names.
enum class file_names : unsigned char {
    one,        ///< It has this name only, or does not exist.
    several,    ///< It has hard links.
    own_mount,  ///< It is mounted by itself, so that its folder is not the one of the file.
};

file_names names_of(const std::string& path) noexcept;

/// Everything of a store that lies on the disk: the database, its side folder, the mapped
/// heartbeats.
///
/// Opening decides who may work here at all, and whether anybody who did is still alive.
class store_files {
public:
    /// Does no I/O except to ask for the current folder. @throws error
    explicit store_files(sqlite_store_config config);

    bool is_open() const noexcept { return slots_ != nullptr; }
    /// Leads `path` to the file behind symbolic links, unless the store is open. @throws error
    void follow_links();
    void make_folder();
    bool exists() const noexcept;

    /// Opens everything, or only the database again after `close_database`. @throws error
    /// @return whether anything had to be opened.
    bool open(clock::time_point now);
    void close() noexcept;
    /// Closes the connection after a failure that leaves it in doubt.
    void close_database() noexcept { db_.close(); }

    /// Whether the paths still lead to what is open. Any thread, while `folder` and `slots` live.
    static sqlite_detail::whereabouts where(
        const std::string& path,
        const slot_file_owner& owner,
        const sqlite_detail::side_folder& folder,
        const slot_file& slots
    ) noexcept;

    /// The same for this store; `same` if nothing is open.
    sqlite_detail::whereabouts where() const noexcept;

    const std::string& path() const noexcept { return path_; }
    sqlite_detail::sqlite_db& db() noexcept { return db_; }
    const std::shared_ptr<sqlite_detail::side_folder>& folder() const noexcept { return folder_; }
    const std::shared_ptr<slot_file>& slots() const noexcept { return slots_; }
    const store_identity& identity() const noexcept { return identity_; }
    const slot_file_owner& owner() const noexcept { return owner_; }
    std::size_t checkpoint_bytes() const noexcept { return config_.checkpoint_bytes; }
    /// The file system of the store's folder. @throws error if the folder cannot be asked.
    sqlite_detail::file_system file_system() const;
    clock::time_point quarantine_until() const noexcept { return quarantine_until_; }

private:
    void check_file_system() const;
    void check_names() const;
    void open_database(bool anew);
    void open_slots(clock::time_point now);
    void read_quarantine(clock::time_point now);
    clock::time_point
    quarantine_of(slot_file::found earlier, const slot_file* old, clock::time_point now);

    sqlite_store_config config_;
    std::string given_path_;
    std::string path_;
    std::string boot_;
    std::shared_ptr<sqlite_detail::side_folder> folder_;
    sqlite_detail::sqlite_db db_;
    std::shared_ptr<slot_file> slots_;
    store_identity identity_;
    slot_file_owner owner_;
    clock::time_point quarantine_until_;
};

}  // namespace mortise::store_detail

#endif
