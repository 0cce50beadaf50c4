// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SQLITE_HOST_FACTS_HPP
#define MORTISE_SQLITE_HOST_FACTS_HPP

#include <cstddef>
#include <cstdint>
#include <string>

namespace mortise::sqlite_detail {

/// The kernel's name for this run of the host: 36 characters, or empty where there is none to read.
std::string boot_id();

/// The time namespace that this process lives in; zero where the kernel has none.
std::uint64_t time_namespace() noexcept;

/// How many datagrams the kernel keeps for a Unix socket that is not read.
std::size_t datagram_queue_max();

/// Refuses to make a file as root where the owner of `beside` is somebody else: that user could not
/// open it. @throws error
void refuse_to_make_as_root(const std::string& beside);

/// What kind of file system a folder is on.
struct file_system {
    bool network = false;  ///< Its locks or mapped files do not, or not surely, hold between hosts.
    std::string kind;      ///< Its name, for people.
};

/// `magic_override`, if it is not zero, replaces what the kernel says.
/// @throws error if the folder cannot be asked.
file_system file_system_of(const std::string& folder, std::int64_t magic_override);

}  // namespace mortise::sqlite_detail

#endif
