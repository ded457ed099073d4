// Amazon's published test suite for Signature Version 4, and the examples of the S3 documentation.
#include "aws/signer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace once::aws {
namespace {

const Time kSuiteTime{std::chrono::seconds(1'440'938'160)};  // 20150830T123600Z
const Time kS3Time{std::chrono::seconds(1'369'353'600)};     // 20130524T000000Z

struct Vector {
  std::string name;
  Request request;
  std::string signed_headers;
  std::string signature;
};

std::string authorization(const std::vector<Header>& headers) {
  return std::string(header_of(headers, "Authorization"));
}

void expect_signed(const std::vector<Vector>& vectors, const Keys& keys) {
  for (const Vector& vector : vectors) {
    const auto headers = sign(vector.request, "example.amazonaws.com", keys,
                              {.region = "us-east-1", .service = "service"}, kSuiteTime);
    EXPECT_EQ(authorization(headers),
              "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
              "SignedHeaders=" +
                  vector.signed_headers + ", Signature=" + vector.signature)
        << vector.name;
    EXPECT_EQ(header_of(headers, "X-Amz-Date"), "20150830T123600Z");
    EXPECT_EQ(header_of(headers, "X-Amz-Security-Token"), keys.session_token);
  }
}

Keys suite_keys(std::string token = "") {
  return {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", std::move(token)};
}

TEST(Signer, SortsAndEncodesAQueryAsThePublishedSuiteDoes) {
  const std::vector<Vector> vectors = {
      {"get-vanilla",
       {.method = "GET", .path = "/"},
       "host;x-amz-date",
       "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
      {"get-vanilla-empty-query-key",
       {.method = "GET", .path = "/", .query = "Param1=value1"},
       "host;x-amz-date",
       "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
      {"get-vanilla-query-order-key-case",
       {.method = "GET", .path = "/", .query = "Param2=value2&Param1=value1"},
       "host;x-amz-date",
       "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
      {"get-vanilla-query-order-key",
       {.method = "GET", .path = "/", .query = "Param1=value2&Param1=Value1"},
       "host;x-amz-date",
       "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1"},
      {"get-vanilla-query-order-value",
       {.method = "GET", .path = "/", .query = "Param1=value2&Param1=value1"},
       "host;x-amz-date",
       "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694"},
      {"get-vanilla-query-order-encoded",
       {.method = "GET", .path = "/", .query = "Param-3=Value3&Param=Value2&%E1%88%B4=Value1"},
       "host;x-amz-date",
       "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"},
      {"get-vanilla-query-unreserved",
       {.method = "GET",
        .path = "/",
        .query = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=-._~"
                 "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"},
       "host;x-amz-date",
       "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
      {"get-vanilla-utf8-query",
       {.method = "GET", .path = "/", .query = "\xe1\x88\xb4=bar"},
       "host;x-amz-date",
       "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
      {"post-vanilla",
       {.method = "POST", .path = "/"},
       "host;x-amz-date",
       "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
      {"post-vanilla-query",
       {.method = "POST", .path = "/", .query = "Param1=value1"},
       "host;x-amz-date",
       "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
  };
  expect_signed(vectors, suite_keys());
}

TEST(Signer, NormalisesAPathAsThePublishedSuiteDoes) {
  const std::vector<Vector> vectors = {
      {"get-unreserved",
       {.method = "GET",
        .path = "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"},
       "host;x-amz-date",
       "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
      {"get-utf8",
       {.method = "GET", .path = "/\xe1\x88\xb4"},
       "host;x-amz-date",
       "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
      {"get-relative",
       {.method = "GET", .path = "/example/.."},
       "host;x-amz-date",
       "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
      {"get-relative-relative",
       {.method = "GET", .path = "/example1/example2/../.."},
       "host;x-amz-date",
       "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
      {"get-slash",
       {.method = "GET", .path = "//"},
       "host;x-amz-date",
       "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
      {"get-slash-dot-slash",
       {.method = "GET", .path = "/./"},
       "host;x-amz-date",
       "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
      {"get-slash-pointless-dot",
       {.method = "GET", .path = "/./example"},
       "host;x-amz-date",
       "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5"},
      {"get-slashes",
       {.method = "GET", .path = "//example//"},
       "host;x-amz-date",
       "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"},
      {"get-space",
       {.method = "GET", .path = "/example space/"},
       "host;x-amz-date",
       "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
      {"get-special-character",
       {.method = "GET", .path = "/example/$delete"},
       "host;x-amz-date",
       "a853c9b21b528b19643d00910d35b83a10c366a10833ceefb45edd6c80e40f27"},
  };
  expect_signed(vectors, suite_keys());
}

TEST(Signer, FoldsHeadersAndHashesTheBodyAsThePublishedSuiteDoes) {
  const std::vector<Vector> vectors = {
      {"get-header-key-duplicate",
       {.method = "GET",
        .path = "/",
        .headers = {{"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}}},
       "host;my-header1;x-amz-date",
       "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
      {"get-header-value-multiline",
       {.method = "GET", .path = "/", .headers = {{"My-Header1", "value1\n  value2\n     value3"}}},
       "host;my-header1;x-amz-date",
       "cfd34249e4b1c8d6b91ef74165d41a32e5fab3306300901bb65a51a73575eefd"},
      {"get-header-value-order",
       {.method = "GET",
        .path = "/",
        .headers = {{"My-Header1", "value4"},
                    {"My-Header1", "value1"},
                    {"My-Header1", "value3"},
                    {"My-Header1", "value2"}}},
       "host;my-header1;x-amz-date",
       "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"},
      {"get-header-value-trim",
       {.method = "GET",
        .path = "/",
        .headers = {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}}},
       "host;my-header1;my-header2;x-amz-date",
       "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
      {"post-header-key-sort",
       {.method = "POST", .path = "/", .headers = {{"My-Header1", "value1"}}},
       "host;my-header1;x-amz-date",
       "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"},
      {"post-header-value-case",
       {.method = "POST", .path = "/", .headers = {{"My-Header1", "VALUE1"}}},
       "host;my-header1;x-amz-date",
       "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"},
      {"post-x-www-form-urlencoded",
       {.method = "POST",
        .path = "/",
        .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
        .body = "Param1=value1"},
       "content-type;host;x-amz-date",
       "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
      {"post-x-www-form-urlencoded-parameters",
       {.method = "POST",
        .path = "/",
        .headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf8"}},
        .body = "Param1=value1"},
       "content-type;host;x-amz-date",
       "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe"},
  };
  expect_signed(vectors, suite_keys());
}

TEST(Signer, SignsTheSessionTokenToo) {
  expect_signed({{"get-vanilla-with-session-token",
                  {.method = "GET", .path = "/"},
                  "host;x-amz-date;x-amz-security-token",
                  "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"}},
                suite_keys("6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"));
  expect_signed({{"post-sts-header-before",
                  {.method = "POST", .path = "/"},
                  "host;x-amz-date;x-amz-security-token",
                  "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"}},
                suite_keys("AQoDYXdzEPT//////////"
                           "wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSP"
                           "fIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/"
                           "kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75Y"
                           "U9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+"
                           "scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="));
}

TEST(Signer, SignsTheDocumentedRequestOfAnotherService) {
  const Request request{
      .method = "GET",
      .query = "Action=ListUsers&Version=2010-05-08",
      .headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}}};
  EXPECT_EQ(authorization(sign(request, "iam.amazonaws.com", suite_keys(),
                               {.region = "us-east-1", .service = "iam"}, kSuiteTime)),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
            "SignedHeaders=content-type;host;x-amz-date, "
            "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
}

TEST(Signer, SignsTheDocumentedRequestsOfS3) {
  const std::vector<Vector> vectors = {
      {"get object",
       {.method = "GET", .path = "/test.txt", .headers = {{"Range", "bytes=0-9"}}},
       "host;range;x-amz-content-sha256;x-amz-date",
       "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
      {"put object",
       {.method = "PUT",
        .path = "/test%24file.text",
        .headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"},
                    {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
        .body = "Welcome to Amazon S3."},
       "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
       "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
      {"get lifecycle",
       {.method = "GET", .query = "lifecycle"},
       "host;x-amz-content-sha256;x-amz-date",
       "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
      {"list objects",
       {.method = "GET", .query = "max-keys=2&prefix=J"},
       "host;x-amz-content-sha256;x-amz-date",
       "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"}};
  const Keys keys{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
  for (const Vector& vector : vectors) {
    EXPECT_EQ(
        authorization(sign(vector.request, "examplebucket.s3.amazonaws.com", keys,
                           {.region = "us-east-1", .service = "s3"}, kS3Time)),
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        "SignedHeaders=" +
            vector.signed_headers + ", Signature=" + vector.signature)
        << vector.name;
  }
}

TEST(Signer, AnEncodedPathIsEncodedOnceMoreExceptForS3) {
  const Request request{.method = "GET", .path = "/a%20b//c"};
  EXPECT_TRUE(canonical_request(request, {"r", "sqs"}).starts_with("GET\n/a%2520b/c\n"));
  EXPECT_TRUE(canonical_request(request, {"r", "s3"}).starts_with("GET\n/a%20b//c\n"));
}

}  // namespace
}  // namespace once::aws
