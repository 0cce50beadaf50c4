// SPDX-License-Identifier: BSL-1.0
#include "table/log_keeper.hpp"

#include "mortise/db/sqlite_error.hpp"
#include "mortise/outbox/error.hpp"
#include "table/schema.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace mortise::outbox::table {
namespace {

constexpr const char* lost_remedy =
    "the disk has lost commits: see to it, end all programs that have the database open, and start "
    "them again";

void check(int code, const char* action) {
    if (code != SQLITE_OK)
        throw error(error_code(code, db::sqlite_category()), action, "see to the disk");
}

/// Finds the write-ahead log. @return null if the database has none at present.
sqlite3_file* log_of(db::connection& on) {
    sqlite3_file* log = nullptr;
    check(
        ::sqlite3_file_control(on.handle(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log),
        "finding the write-ahead log"
    );
    return log != nullptr && log->pMethods != nullptr ? log : nullptr;
}

void sync(sqlite3_file* log) {
    if (log == nullptr)
        return;
    const int code = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
    check(code, "syncing the write-ahead log");
}

// The write-ahead log and its index, as https://www.sqlite.org/walformat.html describes them.
constexpr std::size_t log_head_bytes = 32;
constexpr std::size_t frame_head_bytes = 24;
constexpr std::size_t sum_bytes = 8;  // at the end of each head
constexpr std::uint32_t log_magic = 0x377f0682;
constexpr int index_bytes = 32'768;

/// The head of the index tells of the last commit. Its numbers have the machine's order of bytes.
struct index_head {
    std::uint32_t version;
    std::uint32_t unused;
    std::uint32_t changes;
    std::uint8_t is_made;
    std::uint8_t sums_big_endian;
    std::uint16_t page_bytes;
    std::uint32_t last_frame;
    std::uint32_t pages;
    std::array<std::uint32_t, 2> last_sum;
};
static_assert(sizeof(index_head) == 32);

std::uint32_t big_endian(const unsigned char* at) {
    return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 |
           std::uint32_t{at[3]};
}

std::uint32_t little_endian(const unsigned char* at) {
    return std::uint32_t{at[3]} << 24 | std::uint32_t{at[2]} << 16 | std::uint32_t{at[1]} << 8 |
           std::uint32_t{at[0]};
}

/// The running checksum over the frames of a log.
class log_sum {
public:
    explicit log_sum(std::uint32_t magic) : word_((magic & 1) != 0 ? big_endian : little_endian) {}

    void add(const unsigned char* bytes, std::size_t size) {
        for (std::size_t i = 0; i < size; i += 8) {
            sum_[0] += word_(bytes + i) + sum_[1];
            sum_[1] += word_(bytes + i + 4) + sum_[0];
        }
    }
    bool is_at(const unsigned char* stored) const {
        return sum_[0] == big_endian(stored) && sum_[1] == big_endian(stored + 4);
    }
    bool operator==(const std::array<std::uint32_t, 2>& other) const { return sum_ == other; }

private:
    std::uint32_t (*const word_)(const unsigned char*);
    std::array<std::uint32_t, 2> sum_{};
};

index_head head_of_index(db::connection& on) {
    constexpr const char* action = "reading the index of the write-ahead log";
    sqlite3_file* file = nullptr;
    check(::sqlite3_file_control(on.handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file), action);
    volatile void* index = nullptr;
    check(file->pMethods->xShmMap(file, 0, index_bytes, 0, &index), action);
    index_head head{};
    if (index != nullptr)
        std::memcpy(&head, const_cast<const void*>(index), sizeof head);
    return head;
}

/// Writes the log over itself, from its begin to its last commit.
class log_writer {
public:
    log_writer(sqlite3_file* log, const index_head& head)
        : log_(log),
          head_(head),
          page_bytes_(head.page_bytes == 1 ? 65'536 : head.page_bytes),
          block_(std::max(log_head_bytes, frame_head_bytes + page_bytes_)) {}

    /// @return whether the log still has all that was committed. If pages were lost, their bytes
    ///         contradict the checksums.
    bool write_all() {
        if (!rewrite(log_head_bytes, 0))
            return false;
        const std::uint32_t magic = big_endian(block_.data());
        if ((magic | 1) != (log_magic | 1))
            return false;
        log_sum sum(magic);
        sum.add(block_.data(), log_head_bytes - sum_bytes);
        if (!sum.is_at(block_.data() + log_head_bytes - sum_bytes))
            return false;
        for (std::uint32_t i = 0; i < head_.last_frame; ++i) {
            if (!rewrite_frame(i, sum))
                return false;
        }
        return sum == head_.last_sum;
    }

private:
    bool rewrite_frame(std::uint32_t number, log_sum& sum) {
        constexpr std::size_t summed_head_bytes = 8;
        const std::size_t bytes = frame_head_bytes + page_bytes_;
        if (!rewrite(bytes, static_cast<sqlite3_int64>(log_head_bytes + number * bytes)))
            return false;
        sum.add(block_.data(), summed_head_bytes);
        sum.add(block_.data() + frame_head_bytes, page_bytes_);
        return sum.is_at(block_.data() + frame_head_bytes - sum_bytes);
    }

    // Writes the same bytes again to make their pages dirty: the next sync writes them, or fails.
    // @return whether there are so many bytes.
    bool rewrite(std::size_t size, sqlite3_int64 at) {
        const int bytes = static_cast<int>(size);
        const int code = log_->pMethods->xRead(log_, block_.data(), bytes, at);
        if (code == SQLITE_IOERR_SHORT_READ)
            return false;
        check(code, "reading the write-ahead log");
        check(
            log_->pMethods->xWrite(log_, block_.data(), bytes, at),
            "writing the write-ahead log anew"
        );
        return true;
    }

    sqlite3_file* const log_;
    const index_head head_;
    const std::size_t page_bytes_;
    std::vector<unsigned char> block_;
};

}  // namespace

void log_keeper::make_durable(db::connection& on) {
    const std::uint64_t before = failures_;
    if (is_suspect())
        throw error(errc::log_not_synced, path_of(on), "see to the disk");
    try {
        sync(log_of(on));
    } catch (...) {
        suspect();
        throw;
    }
    if (failures_ != before)
        throw error(errc::log_not_synced, path_of(on), "see to the disk");
}

void log_keeper::write_anew(db::connection& on) {
    const std::uint64_t before = failures_;
    try {
        sqlite3_file* const log = log_of(on);
        const index_head head = log == nullptr ? index_head() : head_of_index(on);
        if (head.last_frame != 0 && !log_writer(log, head).write_all())
            throw error(errc::log_not_synced, path_of(on), lost_remedy);
        sync(log);
    } catch (...) {
        suspect();
        throw;
    }
    settled_ = before;  // not `failures_`: another sync may have failed meanwhile
}

}  // namespace mortise::outbox::table
