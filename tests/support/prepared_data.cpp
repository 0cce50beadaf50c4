// SPDX-License-Identifier: BSL-1.0
#include "support/prepared_data.hpp"

#include "support/child_program.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace mortise::test {
namespace {

struct stat facts_of(const std::filesystem::path& file) {
    struct stat facts {};
    if (::stat(file.c_str(), &facts) != 0)
        throw std::system_error(errno, std::generic_category(), file.string());
    return facts;
}

std::string text_in(const std::filesystem::path& file) {
    std::ifstream opened(file);
    return {std::istreambuf_iterator<char>(opened), std::istreambuf_iterator<char>()};
}

// A disk that others keep busy stops a server for seconds, even one that syncs nothing.
scratch_folder::place roomy_place() {
    constexpr std::uintmax_t enough = 2'000'000'000;
    constexpr long kilobytes_enough = 4'000'000;
    std::error_code none;
    const auto room = std::filesystem::space("/dev/shm", none);
    std::istringstream facts(text_in("/proc/meminfo"));
    std::string name;
    for (long kilobytes = 0; facts >> name; facts.ignore(64, '\n')) {
        facts >> kilobytes;
        if (name == "MemAvailable:")
            return !none && room.available >= enough && kilobytes >= kilobytes_enough
                       ? scratch_folder::place::memory
                       : scratch_folder::place::disk;
    }
    return scratch_folder::place::disk;
}

}  // namespace

prepared_data::prepared_data(
    const std::filesystem::path& original, const std::filesystem::path& program
)
    : folder_(roomy_place()) {
    for (const auto& each : {program, original}) {
        std::error_code unknown;  // Others may have been given the data.
        if (!std::filesystem::exists(each, unknown) && !unknown)
            throw std::runtime_error(
                each.string() + " is gone: `./run test` installs and prepares what tests need"
            );
    }
    const auto log = folder_.path() / "copy.log";
    // Keeps owners and permissions, on which servers insist.
    child_program copy({"cp", "-a", original.string(), data().string()}, log);
    if (copy.wait(std::chrono::seconds(60)) != 0) {
        constexpr std::uintmax_t megabyte = 1'000'000;
        const auto room = std::filesystem::space(folder()).available / megabyte;
        throw std::runtime_error(
            "the prepared data cannot be copied to " + folder().parent_path().string() +
            ", where " + std::to_string(room) +
            " MB are free (TMPDIR names another folder): " + text_in(log)
        );
    }
    give(folder());
}

void prepared_data::give(const std::filesystem::path& file) const {
    const auto owner = facts_of(data());
    if (::geteuid() == 0 && ::chown(file.c_str(), owner.st_uid, owner.st_gid) != 0)
        throw std::system_error(errno, std::generic_category(), file.string());
}

std::vector<std::string> prepared_data::as_owner(std::vector<std::string> command) const {
    const auto owner = facts_of(data());
    if (::geteuid() != 0 || owner.st_uid == 0)
        return command;
    // The kernel forgets the signal at the parent's death when a process changes its account.
    std::vector<std::string> all = {
        "setpriv",
        "--reuid=" + std::to_string(owner.st_uid),
        "--regid=" + std::to_string(owner.st_gid),
        "--clear-groups",
        "--pdeathsig=KILL",
        "--",
    };
    all.insert(all.end(), command.begin(), command.end());
    return all;
}

std::vector<pid_t> children_of(pid_t parent) {
    const std::string number = std::to_string(parent);
    std::ifstream file("/proc/" + number + "/task/" + number + "/children");
    return {std::istream_iterator<pid_t>(file), std::istream_iterator<pid_t>()};
}

bool has_ended(pid_t process) {
    const std::string facts = text_in("/proc/" + std::to_string(process) + "/stat");
    const auto name_end = facts.rfind(')');
    return name_end == std::string::npos || facts.compare(name_end, 3, ") Z") == 0;
}

}  // namespace mortise::test
