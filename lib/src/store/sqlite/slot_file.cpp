// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/slot_file.hpp"

#include "mortise/coro/assert.hpp"
#include "sqlite/failure.hpp"
#include "sqlite/host_facts.hpp"
#include "sqlite/side_folder.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace mortise::store_detail {

using sqlite_detail::failure_of_call;
using sqlite_detail::file_identity;
using sqlite_detail::find_file;
using sqlite_detail::identity_of;
using sqlite_detail::side_folder;
using sqlite_detail::whereabouts;

namespace {

constexpr const char* file_name = "sessions";
constexpr const char* new_name = "sessions.new";
constexpr std::uint64_t slot_file_magic = 0x3165736974726f6d;  // "mortise1" in memory
constexpr std::uint64_t format = 2;                            // 1 did not name the folder
constexpr std::uint64_t contended_bit = std::uint64_t{1} << 32;

std::uint64_t load_word(const std::uint64_t& value) noexcept {
    return std::atomic_ref(const_cast<std::uint64_t&>(value)).load(std::memory_order_acquire);
}

void store_word(std::uint64_t& value, std::uint64_t to) noexcept {
    std::atomic_ref(value).store(to, std::memory_order_release);
}

}  // namespace

struct slot_file::header {
    std::uint64_t magic;
    std::uint64_t format;
    std::uint64_t slots;
    std::uint64_t used;
    random_id store;
    file_identity database;
    std::uint64_t folder;  // its inode: a copy of the file belongs to nobody
    std::uint64_t time_namespace;
    std::uint64_t lock_changes;
    std::uint64_t watched;  // whether any slot may be armed
    std::array<char, slot_file::boot_size_max + 1> boot;
};

struct alignas(64) slot_file::slot {
    std::uint64_t word;
    std::uint64_t key;
    std::uint64_t nonce;
    std::uint64_t changes;
    std::uint64_t grants;
    std::uint64_t requests;
    std::uint64_t granted_request;
    std::uint64_t granted_token;
    std::uint64_t granted_slot;  // and, above 32 bits, whether others wait
    std::uint64_t ends;          // nanoseconds of the clock
    std::uint64_t armed;         // one more than `lock_changes` was when it was armed
    std::uint64_t spare[5];
};

namespace {

constexpr std::size_t header_bytes = 4096;
constexpr std::size_t file_bytes = header_bytes + slot_file::capacity * 128;

}  // namespace

slot_file::slot_file(detail::unique_fd fd, void* memory)
    : fd_(std::move(fd)), memory_(memory), guard_(std::in_place, memory, file_bytes) {}

std::shared_ptr<slot_file> slot_file::map(detail::unique_fd fd, const std::string& path) {
    static_assert(sizeof(header) <= header_bytes && sizeof(slot) == 128);
    static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);
    void* const memory =
        ::mmap(nullptr, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (memory == MAP_FAILED)
        throw failure_of_call(errno, "mmap", path);
    return std::shared_ptr<slot_file>(new slot_file(std::move(fd), memory));
}

std::shared_ptr<slot_file>
slot_file::open(const side_folder& folder, const slot_file_owner& owner, found& earlier) {
    earlier = found::none;
    detail::unique_fd fd(::openat(folder.fd(), file_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!fd) {
        if (errno == ENOENT)
            return nullptr;
        throw failure_of_call(errno, "opening the file of heartbeats", folder.path());
    }
    struct stat size {};
    if (::fstat(fd.get(), &size) != 0 || size.st_size != static_cast<off_t>(file_bytes))
        return nullptr;  // Cut, or not ours: nothing in it can be believed.
    auto file = map(std::move(fd), folder.path());
    const header& head = file->head();
    if (head.magic != slot_file_magic || head.format != format || head.slots != capacity ||
        load_word(head.used) > capacity)
        return nullptr;
    if (std::string_view(head.boot.data(), ::strnlen(head.boot.data(), head.boot.size())) !=
        owner.boot)
        earlier = found::other_boot;
    else if (head.time_namespace != owner.time_namespace)
        earlier = found::other_clock;
    else if (head.store != owner.store || head.database != owner.database ||
             head.folder != identity_of(folder.fd()).inode)
        earlier = found::other_database;
    else
        earlier = found::good;
    return file;
}

std::shared_ptr<slot_file>
slot_file::make(const side_folder& folder, const slot_file_owner& owner) {
    MORTISE_ASSERT(owner.boot.size() <= boot_size_max);
    sqlite_detail::refuse_to_make_as_root(folder.path());
    ::unlinkat(folder.fd(), new_name, 0);
    detail::unique_fd fd(
        ::openat(folder.fd(), new_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)
    );
    if (!fd)
        throw failure_of_call(errno, "making the file of heartbeats", folder.path());
    // Allocates the blocks, too, not only a size: a write through the mapping cannot report a full
    // disk.
    if (const int code = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(file_bytes)); code != 0)
        throw failure_of_call(code, "making the file of heartbeats", folder.path());
    auto file = map(std::move(fd), folder.path());
    header& head = file->head();
    head.format = format;
    head.slots = capacity;
    head.used = 0;
    head.store = owner.store;
    head.database = owner.database;
    head.folder = identity_of(folder.fd()).inode;
    head.time_namespace = owner.time_namespace;
    std::copy(owner.boot.begin(), owner.boot.end(), head.boot.begin());
    head.magic = slot_file_magic;
    if (::renameat(folder.fd(), new_name, folder.fd(), file_name) != 0)
        throw failure_of_call(errno, "making the file of heartbeats", folder.path());
    return file;
}

// Compares no devices: their numbers change with a restart of the host.
bool slot_file::belongs(const side_folder& folder, std::uint64_t inode) noexcept {
    const detail::unique_fd fd(::openat(folder.fd(), file_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    header head{};
    return fd && ::pread(fd.get(), &head, sizeof head, 0) == static_cast<ssize_t>(sizeof head) &&
           head.magic == slot_file_magic && head.format == format && head.database.inode == inode &&
           head.folder == identity_of(folder.fd()).inode;
}

slot_file::~slot_file() {
    guard_.reset();
    ::munmap(memory_, file_bytes);
}

slot_file::header& slot_file::head() const noexcept {
    return *static_cast<header*>(memory_);
}

slot_file::slot& slot_file::at(std::size_t index) const noexcept {
    MORTISE_ASSERT(index < capacity);
    return *reinterpret_cast<slot*>(
        static_cast<char*>(memory_) + header_bytes + index * sizeof(slot)
    );
}

std::size_t slot_file::used() const noexcept {
    return std::min<std::size_t>(load_word(head().used), capacity);
}

slot_view slot_file::view(std::size_t index) const noexcept {
    const slot& from = at(index);
    slot_view seen;
    // Looks again if the slot changed hands meanwhile. The last look is taken as it is, since every
    // user of a view compares the incarnation, or reads under the lock.
    for (int i = 0; i < 4; ++i) {
        seen.word = slot_word(load_word(from.word));
        seen.key = load_word(from.key);
        seen.nonce = load_word(from.nonce);
        seen.changes = load_word(from.changes);
        seen.grants = load_word(from.grants);
        seen.requests = load_word(from.requests);
        seen.ends =
            clock::time_point(clock::duration(static_cast<clock::rep>(load_word(from.ends))));
        if (slot_word(load_word(from.word)).incarnation() == seen.word.incarnation())
            break;
    }
    return seen;
}

slot_word slot_file::word(std::size_t index) const noexcept {
    return slot_word(load_word(at(index).word));
}

bool slot_file::swap(std::size_t index, slot_word expected, slot_word desired) noexcept {
    std::uint64_t raw = expected.raw();
    return std::atomic_ref(at(index).word).compare_exchange_strong(raw, desired.raw());
}

bool slot_file::kill(std::size_t index, std::uint16_t incarnation) noexcept {
    // Each failed swap means that the owner sent a heartbeat; it cannot do that faster than we try.
    for (int i = 0; i < 1000; ++i) {
        const slot_word seen = word(index);
        if (seen.incarnation() != incarnation || seen.dead())
            return true;
        if (swap(index, seen, seen.killed()))
            return true;
    }
    return false;
}

void slot_file::claim(std::size_t index, std::uint64_t key, std::uint64_t nonce) noexcept {
    slot& to = at(index);
    store_word(to.changes, 0);
    store_word(to.grants, 0);
    store_word(to.requests, 0);
    store_word(to.granted_request, 0);
    store_word(to.granted_token, 0);
    store_word(to.ends, 0);
    store_word(to.armed, 0);
    store_word(to.nonce, nonce);
    store_word(to.key, key);
    if (index >= used())
        store_word(head().used, index + 1);
}

void slot_file::free(std::size_t index) noexcept {
    slot& to = at(index);
    store_word(to.key, 0);
    store_word(to.nonce, 0);
    store_word(to.ends, 0);
    store_word(to.armed, 0);
}

void slot_file::add(
    std::size_t index, std::int64_t grants, std::int64_t requests, std::uint64_t changes
) noexcept {
    slot& to = at(index);
    store_word(to.grants, load_word(to.grants) + static_cast<std::uint64_t>(grants));
    store_word(to.requests, load_word(to.requests) + static_cast<std::uint64_t>(requests));
    store_word(to.changes, load_word(to.changes) + changes);
}

void slot_file::set_counts(
    std::size_t index, std::uint64_t grants, std::uint64_t requests
) noexcept {
    slot& to = at(index);
    store_word(to.grants, grants);
    store_word(to.requests, requests);
}

void slot_file::set_ends(std::size_t index, clock::time_point ends) noexcept {
    store_word(at(index).ends, static_cast<std::uint64_t>(ends.time_since_epoch().count()));
}

void slot_file::note_grant(
    std::size_t index, std::uint64_t request, const noted_grant& grant
) noexcept {
    slot& to = at(index);
    store_word(to.granted_request, 0);
    store_word(to.granted_token, grant.token);
    store_word(to.granted_slot, grant.slot | (grant.contended ? contended_bit : 0));
    store_word(to.granted_request, request);
}

void slot_file::forget_grant(std::size_t index, std::uint64_t request) noexcept {
    slot& to = at(index);
    if (load_word(to.granted_request) == request)
        store_word(to.granted_request, 0);
}

void slot_file::note_contended(std::size_t index, std::uint64_t request) noexcept {
    slot& to = at(index);
    if (load_word(to.granted_request) == request)
        store_word(to.granted_slot, load_word(to.granted_slot) | contended_bit);
}

std::optional<noted_grant>
slot_file::find_grant(std::size_t index, std::uint64_t request) const noexcept {
    const slot& from = at(index);
    if (request == 0 || load_word(from.granted_request) != request)
        return std::nullopt;
    noted_grant noted;
    noted.token = load_word(from.granted_token);
    const std::uint64_t detail = load_word(from.granted_slot);
    noted.slot = static_cast<std::uint32_t>(detail);
    noted.contended = (detail & contended_bit) != 0;
    // A later grant would have changed `granted_request` first.
    if (load_word(from.granted_request) != request)
        return std::nullopt;
    // Reject values that no store writes.
    const bool sound = noted.token != 0 && noted.token >> 63 == 0 &&
                       noted.slot <= lock_mode::capacity_max && detail >> 33 == 0;
    return sound ? std::optional(noted) : std::nullopt;
}

std::uint64_t slot_file::noted_request(std::size_t index) const noexcept {
    return load_word(at(index).granted_request);
}

void slot_file::count_change() noexcept {
    store_word(head().lock_changes, load_word(head().lock_changes) + 1);
}

void slot_file::arm(std::size_t index) noexcept {
    store_word(head().watched, 1);
    store_word(at(index).armed, load_word(head().lock_changes) + 1);
}

std::vector<std::size_t> slot_file::disarm_all() {
    std::vector<std::size_t> were_armed;
    if (load_word(head().watched) == 0)
        return were_armed;
    for (std::size_t i = 0; i < used(); ++i) {
        if (!armed(i))
            continue;
        store_word(at(i).armed, 0);
        were_armed.push_back(i);
    }
    store_word(head().watched, 0);
    return were_armed;
}

bool slot_file::armed(std::size_t index) const noexcept {
    return load_word(at(index).armed) != 0;
}

bool slot_file::stirred(std::size_t index) const noexcept {
    return load_word(at(index).armed) != load_word(head().lock_changes) + 1;
}

bool slot_file::cut() const noexcept {
    struct stat size {};
    return guard_->cut() || ::fstat(fd_.get(), &size) != 0 ||
           size.st_size != static_cast<off_t>(file_bytes);
}

whereabouts slot_file::where(const side_folder& folder) const noexcept {
    if (cut())
        return whereabouts::other;
    return find_file(folder.fd(), file_name, identity_of(fd_.get()));
}

}  // namespace mortise::store_detail
