// SPDX-License-Identifier: BSL-1.0
#include "sqlite/host_facts.hpp"

#include "mortise/detail/unique_fd.hpp"
#include "sqlite/failure.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <string_view>

namespace mortise::sqlite_detail {

void refuse_to_make_as_root(const std::string& beside) {
    struct stat found {};
    if (::geteuid() != 0 || ::stat(beside.c_str(), &found) != 0 || found.st_uid == 0)
        return;
    const std::string owner = std::to_string(found.st_uid);
    throw error(
        errc::not_writable,
        beside + " (its owner is user " + owner + ", and you are root)",
        "run this as that user (sudo -u '#" + owner + "'): it could not open what root makes"
    );
}
namespace {

struct known_kind {
    std::uint32_t magic;
    std::string_view name;
};

// Numbers of <linux/magic.h> and of the file systems' own sources; not all headers have all of
// them.
constexpr std::array network_kinds{
    known_kind{0x6969, "NFS"},
    known_kind{0x517b, "SMB"},
    known_kind{0xff534d42, "CIFS"},
    known_kind{0xfe534d42, "SMB2"},
    known_kind{0x01021997, "9p"},
    known_kind{0x00c36400, "Ceph"},
    known_kind{0x0bd00bd0, "Lustre"},
    known_kind{0x5346414f, "AFS"},
    known_kind{0x6b414653, "kAFS"},
    known_kind{0x73757245, "Coda"},
    known_kind{0x564c, "NCP"},
    known_kind{0x7461636f, "OCFS2"},
    known_kind{0x01161970, "GFS2"},
    known_kind{0x47504653, "GPFS"},
    known_kind{0x19830326, "BeeGFS"},
    known_kind{0x20030528, "OrangeFS"},
    known_kind{0xaad7aaea, "PanFS"},
    known_kind{0xbacbacbc, "VMware shared folder"},
    known_kind{0x786f4256, "VirtualBox shared folder"},
};
constexpr std::uint32_t fuse_magic = 0x65735546;

// FUSE carries every kind of file system; these live on disks of this host.
constexpr std::array<std::string_view, 9> local_fuse_kinds{
    "fuseblk",
    "fuse.fuse-overlayfs",
    "fuse.bindfs",
    "fuse.mergerfs",
    "fuse.ntfs",
    "fuse.ntfs-3g",
    "fuse.exfat",
    "fuse.lxcfs",
    "fuse.portal"};

// The file system's name in the list of mounts: "... major:minor ... - type source options".
std::string kind_of_mount(const std::string& folder) {
    struct stat found {};
    if (::stat(folder.c_str(), &found) != 0)
        return {};
    const std::string wanted =
        std::to_string(major(found.st_dev)) + ':' + std::to_string(minor(found.st_dev));
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream fields(line);
        std::string id;
        std::string parent;
        std::string device;
        fields >> id >> parent >> device;
        const auto dash = line.find(" - ");
        if (device != wanted || dash == std::string::npos)
            continue;
        std::istringstream rest(line.substr(dash + 3));
        std::string kind;
        rest >> kind;
        return kind;
    }
    return {};
}

}  // namespace

std::string boot_id() {
    constexpr const char* path = "/proc/sys/kernel/random/boot_id";
    constexpr std::size_t size = 36;
    const detail::unique_fd file(::open(path, O_RDONLY | O_CLOEXEC));
    if (!file && errno != ENOENT)
        throw failure_of_call(errno, "reading the boot id", path);
    std::string text(size, '\0');
    return file && ::read(file.get(), text.data(), size) == ssize_t{size} ? text : std::string();
}

std::uint64_t time_namespace() noexcept {
    struct stat found {};
    return ::stat("/proc/self/ns/time", &found) == 0 ? found.st_ino : 0;
}

std::size_t datagram_queue_max() {
    constexpr std::size_t oldest_kernels = 10;
    std::ifstream file("/proc/sys/net/unix/max_dgram_qlen");
    std::size_t count = 0;
    return file >> count && count > 0 ? count : oldest_kernels;
}

file_system file_system_of(const std::string& folder, std::int64_t magic_override) {
    struct statfs found {};
    if (::statfs(folder.c_str(), &found) != 0)
        throw failure_of_call(errno, "statfs", folder);
    // The field is signed on some machines and 32 bits wide on others; the numbers have 32 bits.
    const auto magic = static_cast<std::uint32_t>(
        magic_override != 0 ? magic_override : static_cast<std::int64_t>(found.f_type)
    );
    if (magic == fuse_magic) {
        const std::string kind = magic_override != 0 ? "fuse" : kind_of_mount(folder);
        const bool local = std::find(local_fuse_kinds.begin(), local_fuse_kinds.end(), kind) !=
                           local_fuse_kinds.end();
        return {!local, kind};
    }
    const auto known =
        std::find_if(network_kinds.begin(), network_kinds.end(), [magic](const known_kind& each) {
            return each.magic == magic;
        });
    if (known != network_kinds.end())
        return {true, std::string(known->name)};
    const std::string kind = magic_override != 0 ? std::string() : kind_of_mount(folder);
    return {false, kind.empty() ? "a local file system" : kind};
}

}  // namespace mortise::sqlite_detail
