// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/crowd.hpp"

#include "flash_sale/interruption.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

namespace flash_sale {
namespace {

pid_t spawn(std::vector<std::string> arguments, int output) {
    std::vector<char*> pointers;
    for (std::string& text : arguments)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    const pid_t parent = ::getpid();
    const pid_t process = ::fork();
    if (process < 0)
        throw std::runtime_error("no process can be started");
    if (process == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // buyers must not outlive the program
        if (::getppid() == parent && ::dup2(output, STDOUT_FILENO) >= 0)
            ::execv("/proc/self/exe", pointers.data());
        ::_exit(127);
    }
    return process;
}

}  // namespace

crowd::crowd(const sale_options& options, int round, const std::filesystem::path& folder)
    : options_(options), round_(round), folder_(folder) {
    for (int process = 0; process < options.processes; ++process)
        start();
}

void crowd::start() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw std::runtime_error("no pipe can be made");
    const int number = started_++;
    std::vector<std::string> arguments{
        "flash_sale",
        "--folder",
        folder_.native(),
        "--round",
        std::to_string(round_),
        "--process",
        std::to_string(number),
        "--buyers",
        std::to_string(options_.buyers),
        "--visits",
        std::to_string(options_.visits),
        "--think",
        std::to_string(options_.think.count())};
    if (!options_.kafka.empty())
        arguments.insert(arguments.end(), {"--kafka", options_.kafka});
    members_.push_back({number, -1, ends[0]});
    members_.back().pid = spawn(arguments, ends[1]);
    ::close(ends[1]);  // the pipe now ends when the process does
}

crowd::~crowd() {
    for (const member& each : members_) {
        if (each.pid > 0)
            ::kill(each.pid, SIGKILL);
    }
    for (const member& each : members_) {
        if (each.pid > 0)
            ::waitpid(each.pid, nullptr, 0);
        if (each.events >= 0)
            ::close(each.events);
    }
}

bool crowd::read_events(std::vector<sale_event>& events, std::chrono::milliseconds limit) {
    std::vector<pollfd> waiting;
    for (const member& each : members_)
        waiting.push_back({each.events, POLLIN, 0});  // `poll` skips a negative descriptor
    throw_if_interrupted();
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(limit.count())) < 0) {
        throw_if_interrupted();
        throw std::runtime_error("the buyers cannot be heard");
    }
    bool more = false;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
        if (waiting[i].revents == 0 || read_from(members_[i], events))
            more = more || members_[i].events >= 0;
    }
    return more;
}

// Reads whole events only, as they were written.
bool crowd::read_from(member& source, std::vector<sale_event>& events) {
    std::array<sale_event, 1'024> fresh{};
    const ssize_t got = ::read(source.events, fresh.data(), sizeof fresh);
    if (got < 0) {
        throw_if_interrupted();
        throw std::runtime_error("the buyers cannot be heard");
    }
    const auto count = static_cast<std::size_t>(got) / sizeof(sale_event);
    events.insert(events.end(), fresh.begin(), fresh.begin() + static_cast<std::ptrdiff_t>(count));
    if (got == 0)
        ::close(std::exchange(source.events, -1));
    return got > 0;
}

crowd::member& crowd::find(int process) {
    const auto found = std::find_if(members_.begin(), members_.end(), [process](const auto& each) {
        return each.number == process;
    });
    if (found == members_.end() || found->pid <= 0)
        throw std::runtime_error("there is no such process");
    return *found;
}

// Events that the victim wrote before are still read.
void crowd::replace(int process) {
    member& victim = find(process);
    ::kill(victim.pid, SIGKILL);
    ::waitpid(std::exchange(victim.pid, -1), nullptr, 0);
    start();
}

bool crowd::stop(int process) {
    const member& victim = find(process);
    ::kill(victim.pid, SIGSTOP);
    int status = 0;
    ::waitpid(victim.pid, &status, WUNTRACED);
    pollfd unread{victim.events, POLLIN, 0};
    return WIFSTOPPED(status) && ::poll(&unread, 1, 0) == 0;
}

void crowd::resume(int process) {
    ::kill(find(process).pid, SIGCONT);
}

void crowd::join() {
    bool good = true;
    for (member& each : members_) {
        if (each.pid <= 0)
            continue;  // killed
        int status = 0;
        const pid_t process = std::exchange(each.pid, -1);
        const bool reaped = ::waitpid(process, &status, 0) == process;
        good = good && reaped && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    if (!good)
        throw std::runtime_error("a process full of buyers failed");
}

}  // namespace flash_sale
