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

    /// Of a server called localhost and 127.0.0.1.
    const identity& server() const noexcept { return server_; }
    /// Of a server that is called otherwise: elsewhere.example.
    const identity& elsewhere() const noexcept { return elsewhere_; }
    /// Of a server with the right names whom another authority knows.
    const identity& stranger() const noexcept { return stranger_; }
    /// Of a client.
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

/// The command that made them.
std::string openssl_command();

/// Those of this program, made when they are first asked for.
const tls_material& shared_tls();

/// The settings of a server that proves to be this one; clients need no certificate.
redis_server::settings speaks_tls_as(const tls_material::identity& server);

}  // namespace mortise::test

#endif
