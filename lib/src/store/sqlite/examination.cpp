// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/examination.hpp"

#include "mortise/fencing_token.hpp"
#include "sqlite/failure.hpp"
#include "sqlite/query.hpp"
#include "sqlite/side_folder.hpp"
#include "sqlite/sockets.hpp"
#include "sqlite/sqlite_db.hpp"
#include "store/sqlite/hint_sender.hpp"
#include "store/sqlite/slot_file.hpp"
#include "store/sqlite/store_files.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sqlite3.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>

namespace mortise::store_detail {

using sqlite_detail::failure_of_call;
using sqlite_detail::file_system;
using sqlite_detail::make_sockets;
using sqlite_detail::number_of;
using sqlite_detail::remedy_of;
using sqlite_detail::remove_sockets;
using sqlite_detail::side_folder;
using sqlite_detail::sqlite_db;
using sqlite_detail::text_of;

using verdict = store_finding::verdict;
using std::chrono::milliseconds;

namespace {

std::string milliseconds_text(clock::duration span) {
    std::array<char, 32> text;
    const double count = std::chrono::duration<double, std::milli>(span).count();
    std::snprintf(text.data(), text.size(), "%.3f ms", count);
    return text.data();
}

std::string megabytes_text(std::uint64_t bytes) {
    return std::to_string(bytes >> 20) + " MiB";
}

// What is wrong with the rights of a file; empty if only its owner, who must be this user, can use
// it.
std::string fault_of(int folder, const std::string& name, const std::string& shown) {
    struct stat found {};
    if (::fstatat(folder, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? std::string() : shown + " cannot be looked at";
    if (found.st_uid != ::geteuid())
        return shown + " belongs to user " + std::to_string(found.st_uid);
    if ((found.st_mode & 077) == 0)
        return {};
    std::array<char, 8> mode;
    std::snprintf(mode.data(), mode.size(), "%03o", static_cast<unsigned>(found.st_mode & 0777));
    return shown + " is open to other users (mode " + mode.data() + ")";
}

}  // namespace

void examination::look(
    const std::string& subject, const std::function<verdict(std::string& text)>& at
) {
    found_.emplace_back();
    auto& finding = found_.back();
    finding.subject = subject;
    try {
        finding.judgement = at(finding.found);
    } catch (const error& why) {
        finding.judgement = verdict::broken;
        finding.found = std::string(why.what()) + '.';
    }
}

verdict examine_library(std::string& text) {
    constexpr int mended = 3'051'003;
    text = std::string("SQLite ") + ::sqlite3_libversion();
    if (::sqlite3_libversion_number() >= mended) {
        text += ", whose checkpoints may run side by side.";
        return verdict::holds;
    }
    text +=
        ": two checkpoints at once can damage a database before 3.51.3. Clients of mortise never "
        "run two; let no other program write to the file, or use a newer SQLite.";
    return verdict::weak;
}

verdict examine_name(const std::string& database, std::string& text) {
    text = "The database is " + database;
    switch (names_of(database)) {
    case file_names::one:
        text += '.';
        return verdict::holds;
    case file_names::several:
        text += ", which has hard links. By one of them somebody may write past the locks, or be "
                "refused: remove all but this one.";
        return verdict::weak;
    case file_names::own_mount:
        break;
    }
    text += ", which is mounted without its folder: by it nobody sees who uses the database by its "
            "own name. Mount the folder instead.";
    return verdict::broken;
}

verdict examine_file_system(const file_system& files, std::string& text) {
    text = "The store is on " + files.kind;
    if (files.network) {
        text += ", a network file system: locks hold on this host at best. Use a local disk.";
        return verdict::weak;
    }
    if (files.kind == "tmpfs" || files.kind == "ramfs") {
        text += ", in memory: after a restart of the host tokens begin again, and fences elsewhere "
                "refuse them. Use a disk if anything is fenced that outlives the host.";
        return verdict::weak;
    }
    text += ", which is local.";
    return verdict::holds;
}

verdict examine_space(const std::string& folder, std::size_t log_bytes, std::string& text) {
    struct statvfs found {};
    if (::statvfs(folder.c_str(), &found) != 0)
        throw failure_of_call(errno, "statvfs", folder);
    const std::uint64_t free = std::uint64_t{found.f_bavail} * found.f_frsize;
    const std::uint64_t wanted = 4 * std::uint64_t{log_bytes};
    text = megabytes_text(free) + " are free";
    if (free >= wanted) {
        text += '.';
        return verdict::holds;
    }
    text += ", and the log may grow to " + megabytes_text(wanted) +
            ": on a full disk nothing is granted or released. Free some space.";
    return verdict::weak;
}

verdict examine_lock(const std::string& database, milliseconds limit, std::string& text) {
    side_folder folder(database);
    const bool locked = folder.lock_within(limit);
    if (locked) {
        folder.undo();
        folder.unlock();
        text = "Nobody holds it for long.";
        return verdict::holds;
    }
    text = "Somebody has held the lock of the store for " + std::to_string(limit.count()) +
           " ms: a process that is stopped in the middle stops the store. Find it with `lslocks`, "
           "and wake it or end it.";
    return verdict::broken;
}

verdict examine_modes(const std::string& database, const side_folder& folder, std::string& text) {
    for (const std::string& each : {database, database + "-wal", database + "-shm"})
        text = text.empty() ? fault_of(AT_FDCWD, each, each) : text;
    if (text.empty())
        text = fault_of(AT_FDCWD, folder.path(), folder.path());
    std::error_code failed;
    for (const auto& each : std::filesystem::directory_iterator(folder.path(), failed)) {
        const std::string name = each.path().filename();
        text = text.empty() ? fault_of(folder.fd(), name, each.path()) : text;
    }
    if (failed)
        throw failure_of_call(failed.value(), "reading the side folder", folder.path());
    if (text.empty()) {
        text = "Database, side folder and sockets are for this user only.";
        return verdict::holds;
    }
    text += ": whoever can write there can break every promise. Take the rights away (chmod 600, "
            "and 700 for the folder).";
    return verdict::weak;
}

verdict examine_datagrams(side_folder& folder, coro::time_source& time, std::string& text) {
    const std::uint64_t nonce = random_id::draw().high;
    const auto sockets = make_sockets(folder, nonce);
    hint_sender sender(folder);
    const auto before = time.now();
    const bool sent = sender.send(folder, nonce, {hint::kind::changed, 1, 1});
    pollfd waits{sockets.inbox.get(), POLLIN, 0};
    const bool arrived = sent && ::poll(&waits, 1, 500) == 1;
    const auto took = time.now() - before;
    std::array<std::byte, hint_bytes> datagram;
    const auto got = ::recv(waits.fd, datagram.data(), datagram.size(), MSG_DONTWAIT);
    remove_sockets(folder, nonce);
    if (arrived && got == static_cast<ssize_t>(hint_bytes) && decode(datagram)) {
        text = "A datagram reaches a mailbox in the side folder in " + milliseconds_text(took) +
               "; " + std::to_string(sockets.inbox_max) + " may wait in one.";
        return verdict::holds;
    }
    text = "Datagrams do not reach a mailbox in the side folder: a grant is then found by a "
           "heartbeat only. See whether something forbids Unix sockets there.";
    return verdict::weak;
}

verdict examine_disk(const side_folder& folder, coro::time_source& time, std::string& text) {
    constexpr milliseconds slow{100};
    const std::string name = "disk." + random_id::draw().text();
    const detail::unique_fd file(
        ::openat(folder.fd(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
    );
    const int failed = errno;
    ::unlinkat(folder.fd(), name.c_str(), 0);
    if (!file)
        throw failure_of_call(failed, "making a file", folder.path());
    std::array<char, 4096> block{};
    std::array<clock::duration, 5> took{};
    for (auto& each : took) {
        const auto before = time.now();
        if (::pwrite(file.get(), block.data(), block.size(), 0) != ssize_t{block.size()} ||
            ::fsync(file.get()) != 0)
            throw failure_of_call(errno, "fsync", folder.path());
        each = time.now() - before;
    }
    std::sort(took.begin(), took.end());
    const auto median = took[took.size() / 2];
    text = "The disk takes " + milliseconds_text(median) + " for an fsync";
    if (median <= slow) {
        text += "; a hand-off needs none.";
        return verdict::holds;
    }
    text += ": opening a store needs several, and every millionth token one. Use a faster disk.";
    return verdict::weak;
}

verdict examine_sessions(const slot_file& slots, std::string& text) {
    std::size_t alive = 0;
    for (std::size_t i = 0; i < slots.used(); ++i)
        alive += slots.word(i).dead() ? 0u : 1u;
    text = std::to_string(alive) + " sessions live, of " + std::to_string(slot_file::capacity) +
           " that have room";
    if (alive * 10 < slot_file::capacity * 9) {
        text += '.';
        return verdict::holds;
    }
    text += ": use one client per process, shared by all of it.";
    return verdict::weak;
}

verdict examine_journal(sqlite_db& db, std::string& text) {
    const std::string mode = text_of(db, "PRAGMA journal_mode");
    const std::uint64_t force = number_of(db, "PRAGMA synchronous");
    text = "Journal mode " + mode + ", synchronous " + std::to_string(force);
    if (mode == "wal" && force == 1) {
        text += ", as it must be.";
        return verdict::holds;
    }
    text += ", but wal and 1 are needed: see what changed them.";
    return verdict::broken;
}

verdict examine_tokens(sqlite_db& db, std::string& text) {
    const std::uint64_t next = number_of(db, "SELECT token_next FROM meta");
    const std::uint64_t mark = number_of(db, "SELECT token_mark FROM meta");
    if (next >= fencing_token::base_end || next == 0) {
        text = "All tokens are used up: nothing is granted any more. Use a new store with another "
               "domain.";
        return verdict::broken;
    }
    text = "Tokens are strict: they never fall, whatever crashes. " +
           std::to_string(mark - std::min(mark, next)) +
           " grants are left before the next forced commit, and " +
           std::to_string(fencing_token::base_end - next) + " in all.";
    return verdict::holds;
}

verdict examine_pages(sqlite_db& db, std::string& text) {
    constexpr std::uint64_t bytes_max = 64u << 20;
    const std::uint64_t bytes =
        number_of(db, "PRAGMA page_count") * number_of(db, "PRAGMA page_size");
    if (bytes > bytes_max) {
        text = "The database has " + megabytes_text(bytes) +
               ", which is too much to check on the way: run `PRAGMA integrity_check`.";
        return verdict::holds;
    }
    const std::string answer = text_of(db, "PRAGMA quick_check(1)");
    if (answer == "ok") {
        text = "SQLite finds nothing wrong in " + std::to_string(bytes >> 10) + " KiB.";
        return verdict::holds;
    }
    text = "SQLite says: " + answer + ". " + remedy_of(errc::store_corrupt) + '.';
    return verdict::broken;
}

}  // namespace mortise::store_detail
