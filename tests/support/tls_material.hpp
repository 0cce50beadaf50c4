// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_TLS_MATERIAL_HPP
#define MORTISE_TESTS_SUPPORT_TLS_MATERIAL_HPP

#include "support/redis_server.hpp"
#include "support/scratch_folder.hpp"

#include <filesystem>
#include <string>

namespace mortise::test {

/// An authority of certificates that nobody else trusts, and certificates by it. Made by the
/// command `openssl` in a scratch folder, for some days.
class tls_material {
public:
    /// A certificate and its private key, in PEM files.
    class identity {
    public:
        std::filesystem::path certificate;
        std::filesystem::path key;
    };

    /// @throws std::runtime_error with what openssl says
    tls_material();

    /// The certificate of the authority.
    const std::filesystem::path& authority() const noexcept { return authority_.certificate; }

    /// For a server called localhost and 127.0.0.1.
    const identity& server() const noexcept { return server_; }
    /// For a server with another name: elsewhere.example.
    const identity& elsewhere() const noexcept { return elsewhere_; }
    /// For a server with the right names, but not signed by the authority.
    const identity& stranger() const noexcept { return stranger_; }
    /// For a client.
    const identity& client() const noexcept { return client_; }

private:
    identity
    make(const std::string& name, const std::string& extension, const identity* signed_by) const;

    const scratch_folder folder_;
    const identity authority_;
    const identity server_;
    const identity elsewhere_;
    const identity stranger_;
    const identity client_;
};

/// The command that makes them.
std::string openssl_command();

/// The material of this program, made when it is first asked for.
const tls_material& shared_tls();

/// The settings of a server that proves to be `server`; clients need no certificate.
redis_server::settings speaks_tls_as(const tls_material::identity& server);

}  // namespace mortise::test

#endif
