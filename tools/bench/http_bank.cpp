// SPDX-License-Identifier: BSL-1.0
#include "bench/http_bank.hpp"

#include "bench/tcc_phases.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/detail/unique_fd.hpp"
#include "mortise/txn/http/http_participant.hpp"
#include "mortise/txn/http/participant_server.hpp"

#include <boost/asio/io_context.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <iostream>
#include <utility>

namespace mortise::tool {
namespace {

[[noreturn]] void serve(int port_to) noexcept {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
        asio::io_context context(1);
        txn::participant_server::participants served{
            {"stock", willing_participant()}, {"wallet", willing_participant()}};
        const txn::participant_server server(
            context.get_executor(), txn::http_server_config(), std::move(served)
        );
        const std::uint16_t port = server.port();
        if (::write(port_to, &port, sizeof port) == sizeof port)
            context.run();
    } catch (const std::exception& wrong) {
        std::cerr << wrong.what() << '\n';
    }
    ::_exit(1);
}

}  // namespace

std::unique_ptr<http_bank> http_bank::start() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw failure::of_errno("pipe2");
    const detail::unique_fd from(ends[0]);
    detail::unique_fd to(ends[1]);
    std::cout.flush();
    const pid_t child = ::fork();
    if (child < 0)
        throw failure::of_errno("fork");
    if (child == 0)
        serve(ends[1]);
    to.reset();
    std::unique_ptr<http_bank> bank(new http_bank(child));
    if (::read(from.get(), &bank->port_, sizeof bank->port_) != sizeof bank->port_)
        throw failure(exit_code::internal, "the participants of the measurement do not start");
    return bank;
}

http_bank::~http_bank() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
}

std::shared_ptr<txn::participant>
http_bank::participant(const asio::any_io_executor& executor, const std::string& name) const {
    return std::make_shared<txn::http_participant>(
        executor, txn::http_client_config("http://127.0.0.1:" + std::to_string(port_) + '/' + name)
    );
}

}  // namespace mortise::tool
