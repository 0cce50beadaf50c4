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
    settings said;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& word = arguments[i];
        const auto value = [&] {
            return number_of(++i < arguments.size() ? arguments[i] : std::string());
        };
        if (word == "--mutations")
            said.mutations = static_cast<std::size_t>(value());
        else if (word == "--seed")
            said.seed = value();
        else if (word == "--limit")
            said.limit = std::chrono::seconds(value());
        else if (word == "--all")
            said.all = true;
        else if (said.name.empty())
            said.name = word;
        else
            said.files.push_back(word);
    }
    return said;
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
void report(const settings& said, const run_failure& failed) {
    std::fprintf(
        stderr,
        "fuzz_replay: %s %s, after %zu inputs\n",
        said.name.c_str(),
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
    const fs::path path = fs::absolute("fuzz-found") / (said.name + '-' + digits);
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
        fs::absolute(said.program).c_str(),
        said.name.c_str(),
        path.c_str()
    );
}

int replay(const settings& said) {
    const target& what = target_of(said.name);
    std::vector<bytes> known;
    for (const auto& each : said.files)
        known.push_back(read_file(each));
    if (said.files.empty())
        known = read_corpus(said.name);
    mutator changed(known, said.seed ^ hash_of(said.name));
    const std::size_t mutations = said.files.empty() ? said.mutations : 0;
    const auto next = [&, at = std::size_t{0}]() mutable -> std::optional<bytes> {
        const std::size_t now = at++;
        if (now < known.size())
            return known[now];
        return now - known.size() < mutations ? std::optional(changed.next()) : std::nullopt;
    };
    if (const auto failed = supervised_run(what, next, said.limit)) {
        report(said, *failed);
        return 1;
    }
    std::printf("%s: %zu inputs are fine\n", said.name.c_str(), known.size() + mutations);
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
    settings said = settings_of({arguments.begin() + 1, arguments.end()});
    said.program = arguments.front();
    if (!said.all)
        return replay(said);
    int failures = 0;
    for (const target& each : targets()) {
        said.name = each.name;
        failures += replay(said);
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
