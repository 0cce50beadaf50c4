// SPDX-License-Identifier: BSL-1.0
// Replays the committed inputs of the fuzz targets, and changed ones made from them, without a
// fuzzer: with any compiler, always the same ones, in seconds.
#include "fuzz/supervised_run.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr const char* usage = "usage: fuzz_replay [--mutations N] [--seed N] [--limit SECONDS] "
                              "NAME [FILE...]\n"
                              "       fuzz_replay [--mutations N] --all\n"
                              "       fuzz_replay --list\n";

struct settings {
    settings() = default;

    std::size_t mutations = 2'000;
    std::uint64_t seed = 1;
    std::chrono::seconds limit{20};
    std::string program;
    bool all = false;
    std::string name;
    std::vector<std::string> files;
};

struct wrong_usage : std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::uint64_t number_of(std::string_view text) {
    std::uint64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size())
        throw wrong_usage("not a number: '" + std::string(text) + "'");
    return value;
}

settings settings_of(const std::vector<std::string>& arguments) {
    settings chosen;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& word = arguments[i];
        const auto value = [&] {
            return number_of(++i < arguments.size() ? arguments[i] : std::string());
        };
        if (word == "--mutations")
            chosen.mutations = static_cast<std::size_t>(value());
        else if (word == "--seed")
            chosen.seed = value();
        else if (word == "--limit")
            chosen.limit = std::chrono::seconds(value());
        else if (word == "--all")
            chosen.all = true;
        else if (chosen.name.empty())
            chosen.name = word;
        else
            chosen.files.push_back(word);
    }
    return chosen;
}

const target& target_of(const std::string& name) {
    for (const target& each : targets()) {
        if (each.name == name)
            return each;
    }
    throw wrong_usage("there is no target '" + name + "'");
}

bytes read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    bytes all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file)
        throw std::runtime_error("cannot read " + path.string());
    all.resize(std::min(all.size(), mutator::size_max));
    return all;
}

std::vector<bytes> read_corpus(const std::string& name) {
    std::vector<fs::path> paths;
    for (const auto& each : fs::directory_iterator(fs::path(MORTISE_FUZZ_CORPUS) / name))
        paths.push_back(each.path());
    std::sort(paths.begin(), paths.end());  // so that each run is the same
    std::vector<bytes> known;
    for (const auto& each : paths)
        known.push_back(read_file(each));
    if (known.empty())
        throw std::runtime_error("the corpus of " + name + " is empty");
    return known;
}

std::uint64_t hash_of(std::string_view text) noexcept {
    std::uint64_t hash = 14'695'981'039'346'656'037u;  // FNV-1a
    for (const char each : text)
        hash = (hash ^ static_cast<unsigned char>(each)) * 1'099'511'628'211u;
    return hash;
}

// The input goes into a file, and the last line is the command that replays it.
void report(const settings& chosen, const run_failure& failed) {
    std::fprintf(
        stderr,
        "fuzz_replay: %s %s, after %zu inputs\n",
        chosen.name.c_str(),
        failed.how.c_str(),
        failed.inputs
    );
    if (!failed.last) {
        std::fprintf(stderr, "fuzz_replay: it failed between the inputs or at the end\n");
        return;
    }
    const std::string_view text(
        reinterpret_cast<const char*>(failed.last->data()), failed.last->size()
    );
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", 0ULL + hash_of(text));
    const fs::path path = fs::absolute("fuzz-found") / (chosen.name + '-' + digits);
    fs::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file)
        throw std::runtime_error("cannot write " + path.string());
    std::fprintf(stderr, "fuzz_replay: the input is in %s\n", path.c_str());
    std::fprintf(
        stderr,
        "fuzz_replay: %s %s %s\n",
        fs::absolute(chosen.program).c_str(),
        chosen.name.c_str(),
        path.c_str()
    );
}

int replay(const settings& chosen) {
    const target& subject = target_of(chosen.name);
    std::vector<bytes> known;
    for (const auto& each : chosen.files)
        known.push_back(read_file(each));
    if (chosen.files.empty())
        known = read_corpus(chosen.name);
    mutator changed(known, chosen.seed ^ hash_of(chosen.name));
    const std::size_t mutations = chosen.files.empty() ? chosen.mutations : 0;
    const auto next = [&, at = std::size_t{0}]() mutable -> std::optional<bytes> {
        const std::size_t now = at++;
        if (now < known.size())
            return known[now];
        return now - known.size() < mutations ? std::optional(changed.next()) : std::nullopt;
    };
    if (const auto failed = supervised_run(subject, next, chosen.limit)) {
        report(chosen, *failed);
        return 1;
    }
    std::printf("%s: %zu inputs are fine\n", chosen.name.c_str(), known.size() + mutations);
    return 0;
}

int run(const std::vector<std::string>& arguments) {
    if (!arguments.empty() && arguments.at(1 % arguments.size()) == "--list") {
        for (const target& each : targets())
            std::printf("%s\n", std::string(each.name).c_str());
        return 0;
    }
    if (arguments.size() < 2)
        throw wrong_usage("nothing to replay");
    settings chosen = settings_of({arguments.begin() + 1, arguments.end()});
    chosen.program = arguments.front();
    if (!chosen.all)
        return replay(chosen);
    int failures = 0;
    for (const target& each : targets()) {
        chosen.name = each.name;
        failures += replay(chosen);
    }
    return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace mortise::fuzz

int main(int argc, char** argv) {
    try {
        return mortise::fuzz::run({argv, argv + argc});
    } catch (const mortise::fuzz::wrong_usage& why) {
        std::fprintf(stderr, "fuzz_replay: %s\n%s", why.what(), mortise::fuzz::usage);
        return 2;
    } catch (const std::exception& why) {
        std::fprintf(stderr, "fuzz_replay: %s\n", why.what());
        return 1;
    }
}
