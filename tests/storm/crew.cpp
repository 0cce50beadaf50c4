// SPDX-License-Identifier: BSL-1.0
#include "storm/crew.hpp"

#include "mortise/coro/clock.hpp"
#include "storm/flock_holder.hpp"
#include "storm/worker_order.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace mortise::storm {
namespace {

// Starts this program as a worker. All that the child needs is made before the fork.
pid_t spawn(std::vector<std::string> words, const std::vector<int>& kept) {
    words.insert(words.begin(), {"storm", "--worker"});
    std::vector<char*> pointers;
    for (std::string& each : words)
        pointers.push_back(each.data());
    pointers.push_back(nullptr);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0)
        fail("no process can be started");
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);  // our connections must not stay open in it
        for (const int fd : kept)
            ::fcntl(fd, F_SETFD, 0);
        if (::getppid() == parent)
            ::execv("/proc/self/exe", pointers.data());
        ::_exit(127);
    }
    return child;
}

}  // namespace

crew::crew(const settings& how, const ground& over, const board& shared, resource_desk& desk)
    : how_(how),
      over_(over),
      shared_(shared),
      desk_(desk),
      seeds_(how.seed),
      seats_(how.processes) {
    for (std::size_t i = 0; i < seats_.size(); ++i)
        start(i);
}

crew::~crew() {
    for (const seat& each : seats_) {
        if (each.pid > 0)
            ::kill(each.pid, SIGKILL);
    }
    for (const seat& each : seats_) {
        if (each.pid > 0)
            ::waitpid(each.pid, nullptr, 0);
    }
}

void crew::start(std::size_t at) {
    worker_order order;
    order.store = over_.url(at);
    order.seat = static_cast<std::uint32_t>(at);
    order.number = ++started_;
    order.seed = seeds_();
    order.ttl = how_.ttl;
    order.bug = how_.bug;
    order.board = shared_.descriptor();
    std::vector<int> kept{order.board};
    for (std::size_t i = 0; i < how_.tasks; ++i) {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
            fail("no sockets can be made");
        desk_.serve(ends[0]);
        order.sockets.push_back(ends[1]);
        kept.push_back(ends[1]);
    }
    seats_[at] = {spawn(order.words(), kept), order.number, no_blow};
    for (const int each : order.sockets)
        ::close(each);
}

void crew::kill(std::size_t at) {
    seat& victim = seats_[at];
    blow done;
    done.process = victim.number;
    done.from = now_ns();
    ::kill(victim.pid, SIGKILL);
    int status = 0;
    if (::waitpid(victim.pid, &status, 0) != victim.pid)
        fail("a process that was killed does not end");
    done.until = now_ns();
    blows_.push_back(done);
    if (stopped(at))
        blows_[victim.stop].until = done.until;
    victim = seat();
}

void crew::stop(std::size_t at) {
    seat& victim = seats_[at];
    blow done;
    done.type = blow::kind::stop;
    done.process = victim.number;
    done.from = now_ns();
    done.until = INT64_MAX;
    ::kill(victim.pid, SIGSTOP);
    int status = 0;
    if (::waitpid(victim.pid, &status, WUNTRACED) != victim.pid)
        fail("a process does not stop");
    if (!WIFSTOPPED(status)) {
        note_end(victim, status);
        return;
    }
    done.inside = holds_flock(victim.pid);
    victim.stop = blows_.size();
    blows_.push_back(done);
}

void crew::resume(std::size_t at) {
    seat& victim = seats_[at];
    ::kill(victim.pid, SIGCONT);
    blows_[victim.stop].until = now_ns();
    victim.stop = no_blow;
}

bool crew::any_left() {
    bool any = false;
    for (seat& each : seats_) {
        int status = 0;
        if (each.pid > 0 && ::waitpid(each.pid, &status, WNOHANG) == each.pid)
            note_end(each, status);
        any = any || each.pid > 0;
    }
    return any;
}

void crew::note_end(seat& whose, int status) {
    crashed_ += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    whose = seat();
}

}  // namespace mortise::storm
