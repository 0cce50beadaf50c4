// SPDX-License-Identifier: BSL-1.0
#include "fuzz/supervised_run.hpp"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <span>
#include <system_error>

namespace mortise::fuzz {
namespace {

// Shared by both processes.
struct board {
    std::size_t inputs = 0;
    bool under_way = false;
    std::size_t size = 0;
    std::array<std::uint8_t, mutator::size_max> input{};
};

class shared_board {
public:
    shared_board() {
        void* const memory = ::mmap(
            nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0
        );
        if (memory == MAP_FAILED)
            throw std::system_error(errno, std::generic_category(), "mmap");
        board_ = new (memory) board;
    }
    ~shared_board() { ::munmap(board_, sizeof(board)); }
    shared_board(const shared_board&) = delete;
    shared_board& operator=(const shared_board&) = delete;

    board& operator*() const noexcept { return *board_; }

private:
    board* board_;
};

[[noreturn]] void feed(
    board& seen,
    const target& subject,
    const std::function<std::optional<bytes>()>& next,
    std::chrono::seconds limit
) {
    ::signal(SIGALRM, SIG_DFL);
    while (const auto each = next()) {
        seen.size = std::min(each->size(), seen.input.size());
        std::copy_n(each->begin(), seen.size, seen.input.begin());
        ++seen.inputs;
        seen.under_way = true;
        ::alarm(static_cast<unsigned>(limit.count()));
        // A copy of its own size, so that a sanitizer sees a read behind its end.
        const bytes given(seen.input.begin(), seen.input.begin() + std::ptrdiff_t(seen.size));
        subject.run(input(std::span(given)));
        ::alarm(0);
        seen.under_way = false;
    }
    std::exit(0);  // the leak sanitizer looks now
}

std::string how_it_ended(int status) {
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        return "took too long";
    if (WIFSIGNALED(status))
        return "ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
               ::strsignal(WTERMSIG(status)) + ")";
    return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

std::optional<run_failure> supervised_run(
    const target& subject,
    const std::function<std::optional<bytes>()>& next,
    std::chrono::seconds limit
) {
    const shared_board shared;
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0)
        throw std::system_error(errno, std::generic_category(), "fork");
    if (child == 0)
        feed(*shared, subject, next, limit);
    int status = 0;
    while (::waitpid(child, &status, 0) != child) {
        if (errno != EINTR)
            throw std::system_error(errno, std::generic_category(), "waitpid");
    }
    const board& seen = *shared;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return std::nullopt;
    run_failure failed;
    failed.how = how_it_ended(status);
    failed.inputs = seen.inputs;
    if (seen.under_way)
        failed.last.emplace(seen.input.begin(), seen.input.begin() + std::ptrdiff_t(seen.size));
    return failed;
}

}  // namespace mortise::fuzz
