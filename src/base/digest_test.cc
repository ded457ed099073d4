#include "base/digest.h"

#include <gtest/gtest.h>

#include "base/encoding.h"

namespace once {
namespace {

TEST(Digest, IsThatOfTheStandards) {
  // FIPS 180-4 and RFC 4231, case 2.
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(hex_encode(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(sha256("abc").size(), 32U);
}

}  // namespace
}  // namespace once
