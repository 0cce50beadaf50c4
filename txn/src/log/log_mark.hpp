// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_LOG_LOG_MARK_HPP
#define MORTISE_TXN_LOG_LOG_MARK_HPP

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace mortise::txn::log {

/// Records how far a log has come, in a file beside it (`LOG-mark`). A log that has come less far
/// is an old copy. The mark is raised after each commit that anybody hears of, and is not synced.
/// After a power failure it may be behind the log, which does no harm, but never ahead of it.
///
/// @par Threads Any thread.
class log_mark {
public:
    /// Opens the mark, or creates it. @throws error if that fails.
    explicit log_mark(const std::filesystem::path& log);
    ~log_mark();
    log_mark(const log_mark&) = delete;
    log_mark& operator=(const log_mark&) = delete;

    /// Assigns the mark to a log, and clears what another log has left in it.
    void adopt(std::uint64_t log);

    /// The number of forced changes of a partition, as far as the mark knows.
    std::uint64_t changes(std::uint32_t partition) const noexcept;
    /// The highest number of a transaction, as far as the mark knows.
    std::uint64_t number() const noexcept;

    // A failure does no harm, except that some old copies are not recognised.
    void raise_changes(std::uint32_t partition, std::uint64_t to) noexcept;
    void raise_number(std::uint64_t to) noexcept;

    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::uint64_t read(std::size_t place) const noexcept;
    bool write(std::size_t place, std::uint64_t value) noexcept;

    std::filesystem::path path_;
    int file_ = -1;
};

}  // namespace mortise::txn::log

#endif
