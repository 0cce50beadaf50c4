// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_SLOT_FILE_HPP
#define MORTISE_STORE_SQLITE_SLOT_FILE_HPP

#include "core/session_rules.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/detail/unique_fd.hpp"
#include "mortise/store_types.hpp"
#include "sqlite/file_identity.hpp"
#include "store/sqlite/mapping_guard.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::sqlite_detail {
class side_folder;
}

namespace mortise::store_detail {

/// Life or death of a slot in one word: how often the slot was taken (upper 16 bits), and until
/// when its session lives, in microseconds of the clock (lower 48 bits, enough for nine years since
/// boot). Zero microseconds is death.
///
/// The owner swaps the word that it wrote last for one with a later deadline; whoever takes over
/// swaps the word that it sees for death. Only one of the two can win.
class slot_word {
public:
    constexpr slot_word() noexcept = default;
    constexpr explicit slot_word(std::uint64_t raw) noexcept : raw_(raw) {}
    constexpr slot_word(std::uint16_t incarnation, std::uint64_t deadline_us) noexcept
        : raw_(std::uint64_t{incarnation} << deadline_bits | (deadline_us & deadline_mask)) {}

    /// Rounds up: the store must not let a session end earlier than its owner does.
    static constexpr std::uint64_t microseconds_until(clock::time_point when) noexcept {
        using std::chrono::ceil;
        using std::chrono::microseconds;
        const auto count = ceil<microseconds>(when.time_since_epoch()).count();
        return count <= 0 ? 1 : std::min(static_cast<std::uint64_t>(count), deadline_mask);
    }

    constexpr std::uint64_t raw() const noexcept { return raw_; }
    constexpr std::uint16_t incarnation() const noexcept {
        return static_cast<std::uint16_t>(raw_ >> deadline_bits);
    }
    constexpr bool dead() const noexcept { return (raw_ & deadline_mask) == 0; }
    constexpr clock::time_point deadline() const noexcept {
        return clock::time_point(
            std::chrono::microseconds(static_cast<std::int64_t>(raw_ & deadline_mask))
        );
    }
    constexpr bool expired(clock::time_point now) const noexcept {
        return core::is_over(deadline(), now);
    }

    constexpr slot_word killed() const noexcept { return slot_word(incarnation(), 0); }
    constexpr slot_word next(std::uint64_t deadline_us) const noexcept {
        return slot_word(static_cast<std::uint16_t>(incarnation() + 1), deadline_us);
    }

    friend constexpr bool operator==(slot_word, slot_word) noexcept = default;

private:
    static constexpr unsigned deadline_bits = 48;
    static constexpr std::uint64_t deadline_mask = (std::uint64_t{1} << deadline_bits) - 1;

    std::uint64_t raw_ = 0;
};

/// What a slot file belongs to; a file of another owner is made anew.
struct slot_file_owner {
    slot_file_owner() = default;

    random_id store;
    sqlite_detail::file_identity database;  ///< A restored copy is another file.
    std::string boot;                       ///< The boot id of the host.
    std::uint64_t time_namespace = 0;
};

/// The contents of one slot at one moment.
struct slot_view {
    slot_word word;
    std::uint64_t key = 0;    ///< The session's; zero: the slot is free.
    std::uint64_t nonce = 0;  ///< Names the session's sockets.
    std::uint64_t changes = 0;
    std::uint64_t grants = 0;
    std::uint64_t requests = 0;
    clock::time_point ends;  ///< When the first grant ends by `hold_max`; the epoch: none does.
};

/// The newest committed grant of a session, as its slot notes it.
struct noted_grant {
    std::uint64_t token = 0;
    std::uint32_t slot = 0;
    bool contended = false;
};

/// The mapped file `sessions`: heartbeats that need no transaction.
///
/// Anybody may swap the word of a slot at any time (see `slot_word`); everything else of a slot is
/// written under the lock of the folder. The file has its full size, and its blocks, before it is
/// mapped. If somebody cuts it later, all slots read as free and dead from the next access on, and
/// `where` says that it is another file.
///
/// @par Threads Any.
class slot_file {
public:
    static constexpr std::size_t capacity = 4096;
    static constexpr std::size_t boot_size_max = 39;

    /// What was found in the place of the file, and why it was not taken as it was.
    enum class found : std::uint8_t {
        good,
        none,        ///< There was no file, or one that cannot be read.
        other_boot,  ///< The host was started again since: nobody in it is alive.
        /// Of this boot, but of another database, or copied from another folder: the sessions that
        /// live in it use that one.
        other_database,
        other_clock,  ///< Of another time namespace of this boot: its deadlines mean nothing here.
    };

    /// Opens the file of that folder. Under the lock. @throws error if the system refuses.
    /// @return the file, unless `earlier` is `none`.
    static std::shared_ptr<slot_file>
    open(const sqlite_detail::side_folder& folder, const slot_file_owner& owner, found& earlier);

    /// Makes the file anew, in one step. Under the lock. @throws error
    static std::shared_ptr<slot_file>
    make(const sqlite_detail::side_folder& folder, const slot_file_owner& owner);

    /// Whether the folder holds a file that was made there for the database with this inode. Needs
    /// no lock, since a file never changes its owner.
    static bool belongs(const sqlite_detail::side_folder& folder, std::uint64_t inode) noexcept;

    ~slot_file();
    slot_file(const slot_file&) = delete;
    slot_file& operator=(const slot_file&) = delete;

    /// One more than the highest slot that was ever used.
    std::size_t used() const noexcept;

    slot_view view(std::size_t index) const noexcept;
    slot_word word(std::size_t index) const noexcept;

    /// @return whether the slot held `expected` and was changed.
    bool swap(std::size_t index, slot_word expected, slot_word desired) noexcept;
    /// Makes the slot dead if it still has that incarnation. @return whether it is dead now.
    bool kill(std::size_t index, std::uint16_t incarnation) noexcept;

    // These need the lock of the folder.
    /// Gives a free slot to a session, which stays dead until `swap` gives it a deadline.
    void claim(std::size_t index, std::uint64_t key, std::uint64_t nonce) noexcept;
    /// Makes a dead slot free.
    void free(std::size_t index) noexcept;
    void
    add(std::size_t index, std::int64_t grants, std::int64_t requests, std::uint64_t changes
    ) noexcept;
    void set_counts(std::size_t index, std::uint64_t grants, std::uint64_t requests) noexcept;

    void set_ends(std::size_t index, clock::time_point ends) noexcept;

    /// Notes the grant of a session that was committed last: this request has this token. A grant
    /// is noted after the commit that grants and forgotten before the commit that takes it away, so
    /// that what is noted is true.
    void note_grant(std::size_t index, std::uint64_t request, const noted_grant& grant) noexcept;
    void forget_grant(std::size_t index, std::uint64_t request) noexcept;
    /// Notes that others wait for what this request holds; does nothing if its grant is no longer
    /// noted.
    void note_contended(std::size_t index, std::uint64_t request) noexcept;

    /// Counts a change of a lock that the following commit makes.
    void count_change() noexcept;
    /// Has the slot's session told of the next change.
    void arm(std::size_t index) noexcept;
    /// Disarms all slots, after a commit that changed a lock. Costs one load while nobody watches.
    /// @return the slots whose sessions must be told.
    std::vector<std::size_t> disarm_all();

    // These can be called at any time.
    /// @return nothing if no grant of that request is noted: then ask the row.
    std::optional<noted_grant> find_grant(std::size_t index, std::uint64_t request) const noexcept;
    /// The request whose grant the slot notes; zero if it notes none.
    std::uint64_t noted_request(std::size_t index) const noexcept;
    /// Whether a lock may have changed since this slot was armed, or the slot is not armed at all.
    /// A change that was counted may not be committed yet; it is if the folder's lock is free.
    bool stirred(std::size_t index) const noexcept;
    bool armed(std::size_t index) const noexcept;

    /// Whether a part of the file is missing, or was when it was read: that part reads as zeros.
    bool cut() const noexcept;

    /// Whether the name in the folder still leads to this file, and the file has its size.
    sqlite_detail::whereabouts where(const sqlite_detail::side_folder& folder) const noexcept;

private:
    struct header;
    struct slot;

    slot_file(detail::unique_fd fd, void* memory);
    static std::shared_ptr<slot_file> map(detail::unique_fd fd, const std::string& path);
    header& head() const noexcept;
    slot& at(std::size_t index) const noexcept;

    detail::unique_fd fd_;
    void* memory_;
    std::optional<mapping_guard> guard_;
};

}  // namespace mortise::store_detail

#endif
