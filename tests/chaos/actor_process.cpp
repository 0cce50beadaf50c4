// SPDX-License-Identifier: BSL-1.0
#include "chaos/actor_process.hpp"

#include "mortise/coro/clock.hpp"
#include "support/built_program.hpp"
#include "support/machine_delay.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace mortise::test {

actor_process::actor_process(
    const std::filesystem::path& folder, std::chrono::milliseconds ttl, actor_place where
)
    : where_(where) {
    start((folder / "locks.db").string(), folder, ttl);
}

actor_process::actor_process(
    const std::string& store_url, const std::filesystem::path& folder, std::chrono::milliseconds ttl
)
    : where_(actor_place::here) {
    start(store_url, folder, ttl);
}

void actor_process::start(
    std::string store, const std::filesystem::path& folder, std::chrono::milliseconds ttl
) {
    int in[2];
    int out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0)
        throw std::runtime_error("pipe");
    std::string program = built_program("tests/lock_actor");
    std::string place = word_for(where_);
    std::string time = std::to_string(ttl.count());
    std::string resource = (folder / "resource.db").string();
    char* arguments[] = {
        program.data(), place.data(), store.data(), time.data(), resource.data(), nullptr};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    const int failed = ::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments, environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    to_ = in[1];
    from_ = out[0];
    if (failed != 0)
        throw std::runtime_error("cannot start " + program);
}

actor_process::~actor_process() {
    kill();
    ::close(to_);
    ::close(from_);
}

void actor_process::tell(const std::string& line) {
    const std::string whole = line + "\n";
    EXPECT_EQ(::write(to_, whole.data(), whole.size()), static_cast<ssize_t>(whole.size()));
}

std::optional<std::string> actor_process::take_line(std::chrono::milliseconds limit) {
    const auto end = clock::now() + limit;
    for (;;) {
        if (const auto at = buffer_.find('\n'); at != std::string::npos) {
            std::string line = buffer_.substr(0, at);
            buffer_.erase(0, at + 1);
            return line;
        }
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - clock::now()).count();
        pollfd ready{from_, POLLIN, 0};
        if (left <= 0 || ::poll(&ready, 1, static_cast<int>(left)) <= 0)
            return std::nullopt;
        char bytes[4096];
        const auto got = ::read(from_, bytes, sizeof bytes);
        if (got <= 0)
            return std::nullopt;
        buffer_.append(bytes, static_cast<std::size_t>(got));
    }
}

std::optional<std::string>
actor_process::hear(const std::string& begins, std::chrono::milliseconds limit) {
    const machine_delay delay;
    auto end = clock::now() + limit;
    for (bool extended = false;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - clock::now());
        auto line = take_line(left);
        if (line && line->starts_with(begins))
            return line;
        if (line)
            continue;
        if (extended || clock::now() < end)  // the actor ended or is too late
            return std::nullopt;
        extended = true;
        end += std::chrono::ceil<std::chrono::milliseconds>(delay.so_far());
    }
}

std::uint64_t actor_process::acquire(const std::string& name) {
    tell("acquire " + name);
    const auto line = hear("held " + name);
    if (!line) {
        ADD_FAILURE() << "the actor did not get " << name;
        return 0;
    }
    return std::stoull(words_of(*line).at(2));
}

// In a container, the process that we started waits outside for the actor.
pid_t actor_process::inner() const {
    if (where_ != actor_place::container)
        return pid_;
    const std::string id = std::to_string(pid_);
    std::ifstream children("/proc/" + id + "/task/" + id + "/children");
    pid_t found = -1;
    children >> found;
    EXPECT_GT(found, 0) << "nobody in the container";
    return found;
}

void actor_process::send(int signal) const {
    if (pid_ > 0)
        ::kill(inner(), signal);
}

std::int64_t actor_process::kill() {
    const auto at = clock::now().time_since_epoch().count();
    if (pid_ > 0) {
        send(SIGKILL);
        int status = 0;
        ::waitpid(pid_, &status, 0);
        pid_ = -1;
    }
    return at;
}

int actor_process::await_change(int how) const {
    constexpr std::chrono::milliseconds step(5);
    int status = 0;
    pid_t changed = 0;
    for (auto left = std::chrono::milliseconds(20'000); changed == 0 && left.count() > 0;
         left -= step) {
        changed = ::waitpid(pid_, &status, how | WNOHANG);
        if (changed == 0)
            ::poll(nullptr, 0, static_cast<int>(step.count()));
    }
    EXPECT_EQ(changed, pid_) << "it goes on as if nothing had been";
    return status;
}

int actor_process::await_death() {
    const int status = await_change(0);
    if (!WIFSIGNALED(status))
        return 0;
    pid_ = -1;
    return WTERMSIG(status);
}

void actor_process::await_stop() const {
    EXPECT_TRUE(WIFSTOPPED(await_change(WUNTRACED)));
}

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
        words.push_back(word);
    return words;
}

}  // namespace mortise::test
