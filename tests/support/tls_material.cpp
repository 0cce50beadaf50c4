// SPDX-License-Identifier: BSL-1.0
#include "support/tls_material.hpp"

#include "support/child_program.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace mortise::test {
namespace {

constexpr const char* of_localhost = "subjectAltName=DNS:localhost,IP:127.0.0.1";
constexpr const char* of_elsewhere = "subjectAltName=DNS:elsewhere.example";
constexpr const char* of_client = "extendedKeyUsage=clientAuth";
constexpr const char* of_authority = "keyUsage=critical,keyCertSign,cRLSign";

}  // namespace

tls_material::tls_material()
    : authority_(make("authority", of_authority, nullptr)),
      server_(make("localhost", of_localhost, &authority_)),
      elsewhere_(make("elsewhere.example", of_elsewhere, &authority_)),
      stranger_(make("stranger", of_localhost, nullptr)),
      client_(make("client", of_client, &authority_)) {}

tls_material::identity tls_material::make(
    const std::string& name, const std::string& extension, const identity* signed_by
) const {
    identity result;
    result.certificate = folder_.path() / (name + ".crt");
    result.key = folder_.path() / (name + ".key");
    std::vector<std::string> command = {
        openssl_command(),
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "30",
        "-subj",
        "/CN=" + name,
        "-addext",
        extension,
        "-keyout",
        result.key.string(),
        "-out",
        result.certificate.string(),
    };
    if (signed_by != nullptr) {
        for (const std::string& word :
             {std::string("-CA"),
              signed_by->certificate.string(),
              std::string("-CAkey"),
              signed_by->key.string()})
            command.push_back(word);
    }
    const auto log = folder_.path() / (name + ".log");
    if (child_program(command, log).wait() != 0) {
        std::ostringstream output;
        output << std::ifstream(log).rdbuf();
        throw std::runtime_error("openssl makes no certificate: " + output.str());
    }
    return result;
}

std::string openssl_command() {
    return MORTISE_OPENSSL;
}

const tls_material& shared_tls() {
    static const tls_material material;
    return material;
}

redis_server::settings speaks_tls_as(const tls_material::identity& server) {
    return {
        "tls-cert-file " + server.certificate.string(),
        "tls-key-file " + server.key.string(),
        "tls-ca-cert-file " + shared_tls().authority().string(),
        "tls-auth-clients no",
    };
}

}  // namespace mortise::test
