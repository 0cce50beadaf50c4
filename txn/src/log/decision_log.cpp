// SPDX-License-Identifier: BSL-1.0
#include "log/decision_log.hpp"

#include "mortise/coro/assert.hpp"
#include "mortise/error.hpp"
#include "mortise/store_types.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace mortise::txn::log {
namespace {

// The file is a row of words of eight bytes, lowest byte first.
constexpr std::uint64_t magic = 0x316b72616d78746dULL;  // "mtxmark1"
enum place : std::size_t { at_magic, at_log, at_number, at_changes };
constexpr std::size_t partitions_max = 256;
constexpr std::size_t words = at_changes + partitions_max;

std::filesystem::path beside(const std::filesystem::path& log) {
    std::error_code none;
    auto real = std::filesystem::weakly_canonical(log, none);
    return (real.empty() ? log : real).native() + "-mark";
}

}  // namespace

log_mark::log_mark(const std::filesystem::path& log)
    : path_(beside(log)), file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (file_ < 0)
        throw error(
            error_code(errno, boost::system::system_category()),
            path_.string(),
            "let the coordinator write beside its log"
        );
}

log_mark::~log_mark() {
    ::close(file_);
}

std::uint64_t log_mark::read(std::size_t place) const noexcept {
    std::array<unsigned char, 8> bytes{};
    const auto at = static_cast<off_t>(place * bytes.size());
    if (::pread(file_, bytes.data(), bytes.size(), at) != static_cast<ssize_t>(bytes.size()))
        return 0;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        value |= std::uint64_t{bytes[i]} << (8 * i);
    return value;
}

bool log_mark::write(std::size_t place, std::uint64_t value) noexcept {
    std::array<unsigned char, 8> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<unsigned char>(value >> (8 * i));
    const auto at = static_cast<off_t>(place * bytes.size());
    return ::pwrite(file_, bytes.data(), bytes.size(), at) == static_cast<ssize_t>(bytes.size());
}

// Writes the id of the log last, so that an unfinished mark belongs to no log.
void log_mark::adopt(std::uint64_t log) {
    if (read(at_magic) == magic && read(at_log) == log)
        return;
    write(at_log, 0);
    for (std::size_t i = at_number; i < words; ++i)
        write(i, 0);
    write(at_magic, magic);
    write(at_log, log);
}

std::uint64_t log_mark::changes(std::uint32_t partition) const noexcept {
    return partition < partitions_max ? read(at_changes + partition) : 0;
}

std::uint64_t log_mark::number() const noexcept {
    return read(at_number);
}

void log_mark::raise_changes(std::uint32_t partition, std::uint64_t to) noexcept {
    if (partition < partitions_max && read(at_changes + partition) < to)
        write(at_changes + partition, to);
}

void log_mark::raise_number(std::uint64_t to) noexcept {
    if (read(at_number) < to)
        write(at_number, to);
}

namespace {

db::sqlite_config config_for(const coordinator_config& given) {
    if (given.must_exist && !std::filesystem::exists(given.log))
        throw error(errc::log_missing, given.log.string(), "see that its disk is there");
    db::sqlite_config config;
    config.path = given.log;
    config.vfs = given.vfs;
    config.queue_max = 1u << 20;
    return config;
}

}  // namespace

decision_log::decision_log(const asio::any_io_executor& executor, const coordinator_config& given)
    : session_(executor, config_for(given)), mark_(std::make_shared<log_mark>(given.log)) {}

// Compares the log with its mark. No commit can come between, because the closure has the writer.
log_facts decision_log::prepare_by(log_mark& mark, db::connection& on, const log_facts& fresh) {
    const auto found = log_schema::prepare(on, fresh);
    mark.adopt(found.id);
    for (std::uint32_t i = 0; i < found.partitions; ++i) {
        const auto here = log_terms::changes(on, i);
        if (here < mark.changes(i)) {
            throw error(
                errc::old_log,
                "partition " + std::to_string(i) + " of it has " + std::to_string(here) +
                    " changes, and " + mark.path().string() + " says " +
                    std::to_string(mark.changes(i)),
                "find the newest copy; if there is none, `mortise txn adopt LOG` goes on with this "
                "one, and what was decided since is to be settled by hand"
            );
        }
    }
    log_entries::go_on_above_reserved(on);
    return found;
}

// Leaves a gap above the mark: a power failure may have lost the latest raises of the mark, and the
// numbers that it did not see may be in use.
void decision_log::adopt_by(log_mark& mark, db::connection& on) {
    constexpr std::uint64_t unseen = 1u << 16;
    const auto found = log_schema::prepare(on, log_facts());
    mark.adopt(found.id);
    log_entries::go_on_above(on, mark.number() + unseen);
    for (std::uint32_t i = 0; i < found.partitions; ++i)
        log_terms::go_on_above(on, i, mark.changes(i) + unseen);
}

durable_decision decision_log::proof_of(const term& by, const logged& found) {
    MORTISE_ASSERT(found.at == standing::confirmed || found.at == standing::cancelled);
    return {txn::gid{by.log, found.number}, found.at == standing::confirmed};
}

std::uint64_t decision_log::random_term() {
    const auto drawn = random_id::draw();
    constexpr auto below = ~(std::uint64_t{1} << 63);
    const auto id = drawn.low & below;
    return id != 0 ? id : 1;
}

}  // namespace mortise::txn::log
