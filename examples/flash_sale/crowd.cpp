// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/crowd.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <utility>

namespace flash_sale {

crowd::crowd(const sale_options& options, int round, const std::filesystem::path& folder) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw std::runtime_error("no pipe can be made");
    events_ = ends[0];
    for (int process = 0; process < options.processes; ++process) {
        start(
            {"flash_sale",
             "--folder",
             folder.native(),
             "--round",
             std::to_string(round),
             "--process",
             std::to_string(process),
             "--buyers",
             std::to_string(options.buyers),
             "--visits",
             std::to_string(options.visits),
             "--think",
             std::to_string(options.think.count())},
            ends[1]
        );
    }
    ::close(ends[1]);  // now the pipe ends when the last process does
}

void crowd::start(const std::vector<std::string>& arguments, int output) {
    std::vector<std::string> texts = arguments;
    std::vector<char*> pointers;
    for (std::string& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    const pid_t parent = ::getpid();
    const pid_t process = ::fork();
    if (process < 0)
        throw std::runtime_error("no process can be started");
    if (process == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody shops on when the program was killed
        if (::getppid() == parent && ::dup2(output, STDOUT_FILENO) >= 0)
            ::execv("/proc/self/exe", pointers.data());
        ::_exit(127);
    }
    processes_.push_back(process);
}

crowd::~crowd() {
    for (const pid_t process : processes_)
        ::kill(process, SIGKILL);
    for (const pid_t process : processes_)
        ::waitpid(process, nullptr, 0);
    ::close(events_);
}

bool crowd::read_events(std::vector<char>& events) {
    std::array<char, 4'096> bytes{};
    const ssize_t got = ::read(events_, bytes.data(), bytes.size());
    if (got < 0)
        throw std::runtime_error(errno == EINTR ? "interrupted" : "the buyers cannot be heard");
    events.insert(events.end(), bytes.begin(), bytes.begin() + got);
    return got > 0;
}

void crowd::join() {
    bool good = true;
    for (const pid_t process : std::exchange(processes_, {})) {
        int status = 0;
        const bool reaped = ::waitpid(process, &status, 0) == process;
        good = good && reaped && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    if (!good)
        throw std::runtime_error("a process full of buyers failed");
}

}  // namespace flash_sale
