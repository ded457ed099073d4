// A certificate that vouches for itself, for tests.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace once::testing {

// Writes certificate.pem and key.pem. `names` as a certificate has them: "IP:127.0.0.1".
inline void make_certificate(const std::filesystem::path& directory, const char* names) {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3'600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3'600);
  X509_set_pubkey(certificate, key);
  X509_NAME* const name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("once test"), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509_EXTENSION* const extension =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  if (X509_sign(certificate, key, EVP_sha256()) == 0) std::abort();
  std::FILE* const public_file = std::fopen((directory / "certificate.pem").c_str(), "w");
  std::FILE* const private_file = std::fopen((directory / "key.pem").c_str(), "w");
  if (public_file == nullptr || private_file == nullptr ||
      PEM_write_X509(public_file, certificate) != 1 ||
      PEM_write_PrivateKey(private_file, key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    std::abort();
  }
  std::fclose(public_file);
  std::fclose(private_file);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

}  // namespace once::testing
