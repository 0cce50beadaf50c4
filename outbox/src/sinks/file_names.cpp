// SPDX-License-Identifier: BSL-1.0
#include "sinks/file_names.hpp"

#include <algorithm>
#include <string>
#include <system_error>

namespace mortise::outbox::sinks {
namespace {

constexpr const char* ending = ".messages";
constexpr std::size_t digits = 20;  // of the largest sequence number

std::string beginning(std::uint32_t shard) {
    return std::to_string(shard) + '.';
}

bool is_closed_file(const std::string& name, std::uint32_t shard) {
    const std::string begin = beginning(shard);
    return name.size() == begin.size() + digits + std::string_view(ending).size() &&
           name.starts_with(begin) && name.ends_with(ending) &&
           name.find_first_not_of("0123456789", begin.size()) == begin.size() + digits;
}

}  // namespace

std::filesystem::path present_file(const std::filesystem::path& folder, std::uint32_t shard) {
    return folder / (std::to_string(shard) + ending);
}

std::filesystem::path next_file(const std::filesystem::path& folder, std::uint32_t shard) {
    return folder / (std::to_string(shard) + ".next");
}

std::filesystem::path
closed_file(const std::filesystem::path& folder, std::uint32_t shard, std::uint64_t sequence) {
    const std::string number = std::to_string(sequence);
    return folder / (beginning(shard) + std::string(digits - number.size(), '0') + number + ending);
}

std::vector<std::filesystem::path>
closed_files(const std::filesystem::path& folder, std::uint32_t shard) {
    std::vector<std::filesystem::path> found;
    std::error_code absent;
    for (const auto& each : std::filesystem::directory_iterator(folder, absent)) {
        if (is_closed_file(each.path().filename().string(), shard))
            found.push_back(each.path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace mortise::outbox::sinks
