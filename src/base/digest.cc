#include "base/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "base/encoding.h"

namespace once {
namespace {

using Room = std::array<unsigned char, EVP_MAX_MD_SIZE>;

std::string text_of(const Room& room, unsigned length) {
  return {reinterpret_cast<const char*>(room.data()), length};
}

std::string digest_by(const EVP_MD* kind, std::string_view bytes) {
  Room room{};
  unsigned length = 0;
  EVP_Digest(bytes.data(), bytes.size(), room.data(), &length, kind, nullptr);
  return text_of(room, length);
}

}  // namespace

std::string sha256(std::string_view bytes) { return digest_by(EVP_sha256(), bytes); }

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  Room room{};
  unsigned length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), room.data(), &length);
  return text_of(room, length);
}

std::string sha256_hex(std::string_view bytes) { return hex_encode(sha256(bytes)); }

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr);
}
Sha256::~Sha256() = default;

void Sha256::add(std::string_view piece) {
  EVP_DigestUpdate(state_->context, piece.data(), piece.size());
}

std::string Sha256::hex() {
  Room room{};
  unsigned length = 0;
  EVP_DigestFinal_ex(state_->context, room.data(), &length);
  return hex_encode(text_of(room, length));
}

std::string sha1_hex(std::string_view bytes) { return hex_encode(digest_by(EVP_sha1(), bytes)); }

}  // namespace once
