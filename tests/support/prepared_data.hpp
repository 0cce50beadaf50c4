// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_PREPARED_DATA_HPP
#define MORTISE_TESTS_SUPPORT_PREPARED_DATA_HPP

#include "support/scratch_folder.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace mortise::test {

/// A copy of the data directory of a database server that `./run` prepared, in a scratch folder. If
/// the test runs as root, both belong to the account that owns the original, and the server runs as
/// that account: PostgreSQL refuses to run as root.
class prepared_data {
public:
    /// @param program of the server, which must be there, too.
    /// @throws std::runtime_error if it cannot be copied
    prepared_data(const std::filesystem::path& original, const std::filesystem::path& program);

    /// Where the server may make files beside its data: sockets, say.
    const std::filesystem::path& folder() const noexcept { return folder_.path(); }
    std::filesystem::path data() const { return folder() / "data"; }

    /// The command that runs `command` as the owner of the data. Such a program dies with the
    /// thread that started it, too.
    std::vector<std::string> as_owner(std::vector<std::string> command) const;

    /// Makes the owner of the data own `file`: a key, say, that the server reads.
    void give(const std::filesystem::path& file) const;

private:
    scratch_folder folder_;
};

/// The processes whose parent is `parent`.
std::vector<pid_t> children_of(pid_t parent);

/// Whether the process has ended, even if nobody has asked for its exit code.
bool has_ended(pid_t process);

}  // namespace mortise::test

#endif
