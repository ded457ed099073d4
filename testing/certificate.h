// Certificates for tests, and an authority that makes them.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace once::testing {

// When a certificate is valid, in seconds from now.
struct Validity {
  long from = -3'600;
  long until = 3'600;
};

namespace certificates {

inline X509* make(EVP_PKEY* key, const char* subject, const Validity& validity) {
  static long serial = 0;
  X509* const certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), validity.from);
  X509_gmtime_adj(X509_getm_notAfter(certificate), validity.until);
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(subject), -1, -1, 0);
  return certificate;
}

inline void extend(X509* certificate, int what, const char* value) {
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, what, value);
  if (extension == nullptr) std::abort();
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

inline void sign(X509* certificate, X509_NAME* issuer, EVP_PKEY* key) {
  X509_set_issuer_name(certificate, issuer);
  if (X509_sign(certificate, key, EVP_sha256()) == 0) std::abort();
}

inline void write(const std::filesystem::path& file, X509* certificate, EVP_PKEY* key) {
  std::FILE* const out = std::fopen(file.c_str(), "w");
  if (out == nullptr || (certificate != nullptr && PEM_write_X509(out, certificate) != 1) ||
      (key != nullptr &&
       PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr) != 1)) {
    std::abort();
  }
  std::fclose(out);
}

}  // namespace certificates

// A certificate that vouches for itself: certificate.pem and key.pem. `names` as a certificate has
// them: "IP:127.0.0.1".
inline void make_certificate(const std::filesystem::path& directory, const char* names) {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = certificates::make(key, "once test", {});
  certificates::extend(certificate, NID_subject_alt_name, names);
  certificates::sign(certificate, X509_get_subject_name(certificate), key);
  certificates::write(directory / "certificate.pem", certificate, nullptr);
  certificates::write(directory / "key.pem", nullptr, key);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

// Vouches for others. Its own certificate is in a file.
class Authority {
 public:
  explicit Authority(std::filesystem::path file, const char* name = "once test authority")
      : file_(std::move(file)),
        key_(EVP_EC_gen("P-256")),
        certificate_(certificates::make(key_, name, {})) {
    certificates::extend(certificate_, NID_basic_constraints, "critical,CA:TRUE");
    certificates::sign(certificate_, X509_get_subject_name(certificate_), key_);
    certificates::write(file_, certificate_, nullptr);
  }
  ~Authority() {
    X509_free(certificate_);
    EVP_PKEY_free(key_);
  }
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;

  std::string file() const { return file_.string(); }

  // Writes a certificate and its key into one file.
  void issue(const std::filesystem::path& file, const char* names, Validity validity = {}) const {
    EVP_PKEY* const key = EVP_EC_gen("P-256");
    X509* const certificate = certificates::make(key, "once test", validity);
    certificates::extend(certificate, NID_subject_alt_name, names);
    certificates::sign(certificate, X509_get_subject_name(certificate_), key_);
    const std::filesystem::path fresh = file.string() + ".new";
    certificates::write(fresh, certificate, key);
    std::filesystem::rename(fresh, file);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }

 private:
  const std::filesystem::path file_;
  EVP_PKEY* const key_;
  X509* const certificate_;
};

}  // namespace once::testing
