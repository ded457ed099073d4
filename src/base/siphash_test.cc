#include "base/siphash.h"

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <cstring>
#include <string>

namespace once {
namespace {

// 00 01 02 ... 0f, as the authors' reference has it.
constexpr SipKey kReferenceKey = {0x0706050403020100U, 0x0f0e0d0c0b0a0908U};

SipCode code_by_openssl(const SipKey& key, const std::string& bytes) {
  EVP_MAC* const kind = EVP_MAC_fetch(nullptr, "SIPHASH", nullptr);
  EVP_MAC_CTX* const context = EVP_MAC_CTX_new(kind);
  std::size_t size = sizeof(SipCode);
  const OSSL_PARAM how[] = {OSSL_PARAM_construct_size_t(OSSL_MAC_PARAM_SIZE, &size),
                            OSSL_PARAM_construct_end()};
  SipCode hash{};
  std::size_t written = 0;
  const bool done = EVP_MAC_init(context, reinterpret_cast<const unsigned char*>(key.data()),
                                 sizeof key, how) == 1 &&
                    EVP_MAC_update(context, reinterpret_cast<const unsigned char*>(bytes.data()),
                                   bytes.size()) == 1 &&
                    EVP_MAC_final(context, reinterpret_cast<unsigned char*>(hash.data()), &written,
                                  sizeof hash) == 1;
  EVP_MAC_CTX_free(context);
  EVP_MAC_free(kind);
  EXPECT_TRUE(done);
  EXPECT_EQ(written, sizeof hash);
  return hash;
}

SipCode code_of_bytes(const SipKey& key, std::string_view bytes) {
  SipHash hash(key);
  hash.add(bytes);
  return hash.finish();
}

TEST(SipHash, IsThatOfTheReferenceForNoBytes) {
  // a3817f04ba25a8e66df67214c7550293
  EXPECT_EQ(code_of_bytes(kReferenceKey, ""), (SipCode{0xe6a825ba047f81a3U, 0x930255c71472f66dU}));
}

TEST(SipHash, IsThatOfAnotherImplementationForEveryLength) {
  std::string bytes;
  for (int length = 0; length < 300; ++length) {
    EXPECT_EQ(code_of_bytes(kReferenceKey, bytes), code_by_openssl(kReferenceKey, bytes)) << length;
    bytes.push_back(static_cast<char>(length * 7));
  }
  EXPECT_EQ(code_of_bytes({1, 2}, bytes), code_by_openssl({1, 2}, bytes));
}

TEST(SipHash, IsTheSameHoweverItIsAdded) {
  const std::string bytes = "some bytes that are added in two parts, and 12345678 as a number";
  const SipCode whole = code_of_bytes(kReferenceKey, bytes);
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    SipHash hash(kReferenceKey);
    hash.add(std::string_view(bytes).substr(0, at));
    hash.add(std::string_view(bytes).substr(at));
    EXPECT_EQ(hash.finish(), whole) << at;
  }
  for (std::size_t before = 0; before < 9; ++before) {
    SipHash hash(kReferenceKey);
    hash.add(std::string(before, 'x'));
    hash.add(std::uint64_t{0x3837363534333231});
    hash.add("yz");
    EXPECT_EQ(hash.finish(), code_of_bytes(kReferenceKey, std::string(before, 'x') + "12345678yz"));
  }
}

}  // namespace
}  // namespace once
