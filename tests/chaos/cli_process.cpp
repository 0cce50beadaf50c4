// SPDX-License-Identifier: BSL-1.0
#include "chaos/cli_process.hpp"

#include "support/machine_delay.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>

namespace mortise::test {
namespace {

std::filesystem::path fresh_file(const std::filesystem::path& folder, const char* kind) {
    static int count = 0;
    return folder / (std::to_string(++count) + kind);
}

/// Pointers to the texts, as `exec` takes them.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

/// The environment of this process with these changes; an empty value removes a variable.
std::vector<std::string> environment_with(const cli_process::variables& changes) {
    std::vector<std::string> entries;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const auto name = text.substr(0, text.find('='));
        const auto is_changed = [&](const auto& change) { return change.first == name; };
        if (std::none_of(changes.begin(), changes.end(), is_changed))
            entries.emplace_back(text);
    }
    for (const auto& [name, value] : changes) {
        if (!value.empty())
            entries.push_back(name + '=' + value);
    }
    return entries;
}

}  // namespace

cli_process::cli_process(
    const std::filesystem::path& folder,
    const std::vector<std::string>& arguments,
    const variables& environment
)
    : out_(fresh_file(folder, ".out")), err_(fresh_file(folder, ".err")) {
    std::vector<std::string> texts = arguments;
    std::vector<std::string> entries = environment_with(environment);
    const std::vector<char*> words = pointers_to(texts);
    const std::vector<char*> all_variables = pointers_to(entries);
    const int out = ::open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const int err = ::open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    // Another thread may hold the heap's lock at present: the child must not allocate.
    pid_ = ::fork();
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (out < 0 || err < 0)
            ::_exit(125);
        ::dup2(out, STDOUT_FILENO);
        ::dup2(err, STDERR_FILENO);
        ::execvpe(words[0], words.data(), all_variables.data());
        ::_exit(125);
    }
    ::close(out);
    ::close(err);
    EXPECT_GT(pid_, 0);
}

cli_process::cli_process(cli_process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)) {}

cli_process::~cli_process() {
    if (pid_ <= 0)
        return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

void cli_process::send(int signal) const {
    ASSERT_GT(pid_, 0);
    ASSERT_EQ(::kill(pid_, signal), 0);
}

int cli_process::wait(std::chrono::milliseconds limit) {
    int status = 0;
    const auto ended = [&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; };
    const machine_delay delay;
    if (!eventually(ended, limit) &&
        !eventually(ended, std::chrono::ceil<std::chrono::milliseconds>(delay.so_far()))) {
        ADD_FAILURE() << "it does not end; so far: " << out() << err();
        return -1;
    }
    pid_ = -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string cli_process::out() const {
    return text_of(out_);
}

std::string cli_process::err() const {
    return text_of(err_);
}

std::string text_of(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

std::string typed_at(const std::vector<std::string>& arguments, int& status) {
    std::vector<std::string> texts = arguments;
    const std::vector<char*> words = pointers_to(texts);
    int terminal = -1;
    const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (pid == 0) {
        ::execv(words[0], words.data());
        ::_exit(125);
    }
    std::string seen;
    bool typed = false;
    std::array<char, 256> bytes{};
    for (;;) {
        const ssize_t got = ::read(terminal, bytes.data(), bytes.size());
        if (got <= 0)
            break;  // the last process on the terminal has ended
        seen.append(bytes.data(), static_cast<std::size_t>(got));
        if (!typed && seen.find("ready") != std::string::npos)
            typed = ::write(terminal, "\x03", 1) == 1;
    }
    ::close(terminal);
    ::waitpid(pid, &status, 0);
    return seen;
}

bool runs(pid_t pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(status, text);
    const std::size_t name_end = text.rfind(')');
    return name_end != std::string::npos && text.compare(name_end, 3, ") Z") != 0;
}

}  // namespace mortise::test
