// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_LOG_LOG_MARK_HPP
#define MORTISE_TXN_LOG_LOG_MARK_HPP

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace mortise::txn::log {

/// How far a log has come, in a file beside it (`LOG-mark`): a log that has less is an old copy. It
/// is raised after each commit that anybody hears of, and not synced: after a power failure it may
/// be behind the log, which does no harm, and never before it.
///
/// @par Threads Any.
class log_mark {
public:
    /// Opens it, or makes one. @throws error if that cannot be done.
    explicit log_mark(const std::filesystem::path& log);
    ~log_mark();
    log_mark(const log_mark&) = delete;
    log_mark& operator=(const log_mark&) = delete;

    /// From here on it is that log's; what another one has left there is forgotten.
    void adopt(std::uint64_t log);

    /// Forced changes of that partition that were seen.
    std::uint64_t changes(std::uint32_t partition) const noexcept;
    /// The highest number that a transaction was seen to get.
    std::uint64_t number() const noexcept;

    // A failure is no harm but that less is noticed.
    void raise_changes(std::uint32_t partition, std::uint64_t to) noexcept;
    void raise_number(std::uint64_t to) noexcept;

    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::uint64_t read(std::size_t place) const noexcept;
    bool write(std::size_t place, std::uint64_t what) noexcept;

    std::filesystem::path path_;
    int file_ = -1;
};

}  // namespace mortise::txn::log

#endif
