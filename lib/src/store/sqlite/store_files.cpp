// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/store_files.hpp"

#include "core/planted_bug.hpp"
#include "core/session_rules.hpp"
#include "sqlite/failure.hpp"
#include "sqlite/query.hpp"
#include "sqlite/sockets.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace mortise::store_detail {

using sqlite_detail::boot_id;
using sqlite_detail::both;
using sqlite_detail::failure_of;
using sqlite_detail::failure_of_call;
using sqlite_detail::file_identity;
using sqlite_detail::file_system;
using sqlite_detail::file_system_of;
using sqlite_detail::find_file;
using sqlite_detail::folder_guard;
using sqlite_detail::probe;
using sqlite_detail::probe_life;
using sqlite_detail::refuse_to_make_as_root;
using sqlite_detail::remedy_of;
using sqlite_detail::side_folder;
using sqlite_detail::sqlite_query;
using sqlite_detail::time_namespace;
using sqlite_detail::whereabouts;

namespace {

// Swaps expired words to death. @return whether anybody is alive.
bool anybody_alive(slot_file& slots, clock::time_point now) noexcept {
    bool alive = false;
    for (std::size_t i = 0; i < slots.used(); ++i) {
        const slot_word word = slots.word(i);
        const bool dead = word.dead() || (word.expired(now) && slots.swap(i, word, word.killed()));
        alive = alive || !dead;
    }
    return alive;
}

// Probes the sockets: deadlines of another time namespace mean nothing here, but a socket that
// refuses proves death anywhere.
bool all_proved_dead(const side_folder& folder, const slot_file& slots) noexcept {
    for (std::size_t i = 0; i < slots.used(); ++i) {
        const slot_view seen = slots.view(i);
        if (!seen.word.dead() && probe_life(folder, seen.nonce).result != probe::outcome::refused)
            return false;
    }
    return true;
}

// After a restart of the host nobody does.
bool anybody_listens(const side_folder& folder, const slot_file& slots) noexcept {
    for (std::size_t i = 0; i < slots.used(); ++i) {
        const slot_view seen = slots.view(i);
        if (!seen.word.dead() && probe_life(folder, seen.nonce).result == probe::outcome::connected)
            return true;
    }
    return false;
}

}  // namespace

store_files::store_files(sqlite_store_config config) : config_(std::move(config)) {
    // Absolute, so that a later chdir does no harm.
    std::error_code failed;
    given_path_ = path_ = std::filesystem::absolute(config_.path, failed).string();
    if (failed)
        throw failure_of_call(failed.value(), "finding the current folder", config_.path.string());
}

void store_files::follow_links() {
    if (!is_open())
        path_ = followed_links(given_path_);
}

// Makes the last folder of the path only: if more is missing, the path is rather misspelt, or its
// disk is not mounted.
void store_files::make_folder() {
    const auto folder = std::filesystem::path(path_).parent_path();
    std::error_code ignored;
    if (std::filesystem::exists(folder, ignored))
        return;
    refuse_to_make_as_root(folder.parent_path().string());
    if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST)
        return follow_links();
    if (errno != ENOENT)
        throw failure_of_call(errno, "making the folder", folder.string());
    throw error(
        errc::not_writable,
        folder.parent_path().string() + " (there is no such folder)",
        "make it first: of the path " + path_ + " only the last folder is made by the store"
    );
}

bool store_files::exists() const noexcept {
    std::error_code ignored;
    return std::filesystem::exists(path_, ignored);
}

bool store_files::open(clock::time_point now) {
    if (is_open() && db_.is_open())
        return false;
    if (is_open()) {
        const folder_guard guard(*folder_);
        open_database(true);
        return true;
    }
    follow_links();
    make_folder();
    check_file_system();
    boot_ = config_.boot_id_override.empty() ? boot_id() : config_.boot_id_override;
    if (boot_.empty() || boot_.size() > slot_file::boot_size_max) {
        throw error(
            errc::unsupported,
            "no boot id in /proc",
            "mount /proc: without it the store cannot tell a crash from a restart of the host"
        );
    }
    folder_ = std::make_shared<side_folder>(path_);
    const auto folder = folder_;
    const folder_guard guard(*folder);
    try {
        check_names();  // before SQLite makes a log beside the wrong name
        open_database(false);
        open_slots(now);
        read_quarantine(now);
    } catch (...) {
        close();
        folder->undo();
        throw;
    }
    return true;
}

void store_files::close() noexcept {
    db_.close();
    slots_.reset();
    folder_.reset();
}

whereabouts store_files::where(
    const std::string& path,
    const slot_file_owner& owner,
    const side_folder& folder,
    const slot_file& slots
) noexcept {
    const auto database = find_file(AT_FDCWD, path.c_str(), owner.database);
    return both(database, both(folder.where(), slots.where(folder)));
}

whereabouts store_files::where() const noexcept {
    return is_open() ? where(path_, owner_, *folder_, *slots_) : whereabouts::same;
}

file_system store_files::file_system() const {
    const std::string parent = std::filesystem::path(path_).parent_path().string();
    return file_system_of(parent, config_.file_system_type_override);
}

void store_files::check_file_system() const {
    const auto found = file_system();
    if (found.network && !config_.allow_network_file_system) {
        throw error(
            errc::network_file_system,
            path_ + " (" + found.kind + ')',
            "use a folder on a local disk, or a store that is made for several hosts"
        );
    }
}

// Refuses other names of the file. Of hard links, the one beside which the side folder was made may
// be used: it is the name of the first user.
void store_files::check_names() const {
    const auto names = names_of(path_);
    if (names == file_names::one)
        return;
    struct stat found {};
    const bool first_name = names == file_names::several && ::stat(path_.c_str(), &found) == 0 &&
                            slot_file::belongs(*folder_, found.st_ino);
    if (!first_name) {
        const char* const reason = names == file_names::several ? " (a hard link)" : " (a mount)";
        throw error(errc::several_names, path_ + reason, remedy_of(errc::several_names));
    }
}

void store_files::open_database(bool anew) {
    const bool is_new = !exists();
    if (anew && is_new)
        throw error(errc::store_replaced, path_, "open the store again");
    if (is_new)
        refuse_to_make_as_root(folder_->path());
    const char* const vfs = config_.vfs.empty() ? nullptr : config_.vfs.c_str();
    if (!db_.open(path_, false, vfs))
        throw failure_of(db_, path_);
    try {
        if (db_.read_only())
            throw error(errc::not_writable, path_, remedy_of(errc::not_writable));
        // SQLite's log and its index take over the mode of the file.
        if (is_new && ::chmod(path_.c_str(), 0600) != 0)
            throw failure_of_call(errno, "chmod", path_);
        const auto identity = open_schema(db_, path_, config_.domain, boot_);
        struct stat found {};
        if (::stat(path_.c_str(), &found) != 0)
            throw failure_of_call(errno, "stat", path_);
        const file_identity database{found.st_dev, found.st_ino};
        if (anew && database != owner_.database)
            throw error(errc::store_replaced, path_, "open the store again");
        if (anew && identity.store != identity_.store) {
            const std::string value = path_ + " (it says that it is another store)";
            throw error(errc::store_corrupt, value, remedy_of(errc::store_corrupt));
        }
        identity_ = identity;
        owner_.store = identity.store;
        owner_.database = database;
        owner_.boot = boot_;
        owner_.time_namespace = time_namespace();
    } catch (...) {
        db_.close();
        throw;
    }
}

void store_files::open_slots(clock::time_point now) {
    auto earlier = slot_file::found::none;
    slots_ = slot_file::open(*folder_, owner_, earlier);
    if (earlier == slot_file::found::good && identity_.boot == boot_) {
        if (anybody_alive(*slots_, now))
            return;
        begin_epoch(db_, path_, identity_, boot_, clock::time_point());
        for (std::size_t i = 0; i < slots_->used(); ++i)
            slots_->free(i);
        folder_->sweep();
        return;
    }
    if (earlier == slot_file::found::other_clock && !all_proved_dead(*folder_, *slots_)) {
        throw error(
            errc::foreign_time_namespace,
            path_,
            "use the store from one time namespace only, or wait until its other users have ended"
        );
    }
    // Some containers have a boot id of their own.
    if (earlier == slot_file::found::other_boot && anybody_listens(*folder_, *slots_)) {
        throw error(
            errc::foreign_time_namespace,
            path_ + " (in use under another boot id)",
            "let all users of the store see the boot id of the host, which containers of LXC or "
            "systemd-nspawn replace, or wait until its other users have ended"
        );
    }
    const auto quarantine = quarantine_of(earlier, slots_.get(), now);
    slots_.reset();
    begin_epoch(db_, path_, identity_, boot_, quarantine);
    slots_ = slot_file::make(*folder_, owner_);
    folder_->sweep();
}

// Until when somebody who will not be seen here any longer may believe in a lease of this store.
clock::time_point
store_files::quarantine_of(slot_file::found earlier, const slot_file* old, clock::time_point now) {
    clock::time_point until;
    switch (earlier) {
    case slot_file::found::good:  // The database was last used in another boot: a copy was
    case slot_file::found::other_database:  // put in the place of what the slots belong to.
        for (std::size_t i = 0; i < old->used(); ++i)
            until = std::max(until, old->word(i).deadline());
        break;
    case slot_file::found::none: {
        // Somebody removed the file. Sessions of this boot that the database knows may be alive.
        sqlite_query query(db_, "SELECT boot_id, (SELECT max(ttl_ms) FROM session) FROM meta");
        if (query.step() && query.bytes(0) == boot_)
            until = coro::saturating_add(now, std::chrono::milliseconds(query.signed_number(1)));
        break;
    }
    case slot_file::found::other_boot:
    case slot_file::found::other_clock:
        break;
    }
    if (MORTISE_PLANTED(restart_without_quarantine))
        until = clock::time_point();
    return core::quarantine_end(until, session_ttl_max, now);
}

void store_files::read_quarantine(clock::time_point now) {
    quarantine_until_ = clock::time_point();
    sqlite_query query(db_, "SELECT quarantine_until FROM meta");
    if (query.step())
        quarantine_until_ = quarantine_in(query, 0, now);
    if (db_.failed())
        throw failure_of(db_, path_);
}

using sqlite_detail::failure_of_call;

namespace {

constexpr int links_max = 40;  // what Linux itself follows

// Since Linux 5.8; older headers do not name it.
constexpr std::uint64_t is_mount_root = 0x2000;

}  // namespace

std::string followed_links(const std::string& path) {
    std::filesystem::path at = path;
    for (int links = 0;; ++links) {
        std::error_code is_no_link;
        const auto target = std::filesystem::read_symlink(at, is_no_link);
        if (is_no_link)
            break;
        if (links == links_max)
            throw failure_of_call(ELOOP, "following symbolic links", path);
        at = at.parent_path() / target;  // an absolute target replaces the folder
    }
    // Resolves the links of the folder, too. A missing folder is an error of whoever opens the
    // file.
    std::error_code missing;
    const auto folder = std::filesystem::canonical(at.parent_path(), missing);
    return missing ? at.string() : (folder / at.filename()).string();
}

file_names names_of(const std::string& path) noexcept {
    struct statx found {};
    if (::statx(AT_FDCWD, path.c_str(), 0, STATX_NLINK, &found) != 0)
        return file_names::one;
    if ((found.stx_attributes_mask & found.stx_attributes & is_mount_root) != 0)
        return file_names::own_mount;
    return found.stx_nlink > 1 ? file_names::several : file_names::one;
}

}  // namespace mortise::store_detail
