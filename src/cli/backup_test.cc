// Backups: made under load, restored, pruned, and damaged on purpose.
#include <cstdio>

#include "cli/cli_fixture.h"
#include "testing/servers/needs.h"
#include "testing/servers/s3_buckets.h"

namespace once::cli {
namespace {

namespace fs = std::filesystem;

class Backup : public Cli {
 protected:
  // A store with something of each kind.
  void fill() const {
    const Outcome filled = shell(
        "once seen a b c && once log append l 1 2 3 --batch x && once log append l 4 && "
        "once doc put d --create '{\"n\":1}' && once tally add t 5 --id i && once tally top w a b "
        "&& "
        "once run job -- echo hi && once claim take held --lease 1h && once claim take f && "
        "once claim forget f && once log append m 1 2 && once log trim m --before 2");
    ASSERT_EQ(filled.exit_code, 0) << filled.err;
  }

  static void flip(const fs::path& path, std::uintmax_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 0x10));
    ASSERT_TRUE(file.good());
  }

  std::vector<fs::path> files_in(const fs::path& directory) const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(directory)) {
      if (entry.is_regular_file() && entry.file_size() > 0) files.push_back(entry.path());
    }
    return files;
  }
};

TEST_F(Backup, OfAServerUnderLoadHasAllThatWasAnsweredBeforeAndIsSound) {
  const Outcome outcome = shell(
      "once serve --listen 127.0.0.1:0 > ready & pid=$!\n"
      "until [ -s ready ] || ! kill -0 $pid; do :; done\n"
      "(while [ ! -e stop ]; do once log append l x >/dev/null || exit 1; echo >> answered; done) "
      "& "
      "load=$!\n"
      "until [ \"$(wc -l < answered 2>/dev/null || echo 0)\" -ge 3 ]; do :; done\n"
      "before=$(wc -l < answered)\n"
      "once backup saved >&2 || echo failed\n"
      "once verify saved >&2 || echo damaged\n"
      "once restore saved --store restored >&2 || echo not restored\n"
      "next=$(once log read l --store restored --limit 10000 --field next)\n"
      "[ \"$next\" -gt \"$before\" ] && echo has all of $before > told\n"
      "once verify restored > verified; echo $?\n"
      "touch stop; wait $load; kill $pid; wait $pid\n"
      "ls store/checkpoints | wc -l; ls -d restored.* 2>/dev/null | wc -l");
  EXPECT_EQ(outcome.out, "0\n0\n0\n") << outcome.err;
  EXPECT_TRUE(holds(content_of(dir() / "told"), "has all of")) << outcome.err;
  EXPECT_TRUE(holds(content_of(dir() / "verified"), "sound")) << outcome.err;
}

TEST_F(Backup, AnyFlippedByteIsFoundAndNotRestored) {
  fill();
  ASSERT_EQ(once("backup saved").exit_code, 0);
  EXPECT_EQ(once("verify saved").exit_code, 0);
  fs::path backup;
  for (const auto& entry : fs::directory_iterator(dir() / "saved")) backup = entry.path();
  for (const fs::path& file : files_in(backup)) {
    const std::uintmax_t at = fs::file_size(file) / 2;
    flip(file, at);
    const Outcome verified = once("verify saved");
    EXPECT_EQ(verified.exit_code, 1) << file << verified.out << verified.err;
    EXPECT_EQ(once("restore saved --store restored").exit_code, 1) << file;
    EXPECT_FALSE(fs::exists(dir() / "restored"));
    flip(file, at);
  }
  EXPECT_EQ(once("verify saved").exit_code, 0);
  fs::remove(backup / "CURRENT");
  EXPECT_EQ(once("verify saved").exit_code, 1);
}

// Without a manifest the checksums of engine and records are what there is.
TEST_F(Backup, AFlippedByteOfAStoreIsFoundOrHarmless) {
  fill();
  ASSERT_EQ(shell("copy=$(once checkpoint) && mv $copy saved").exit_code, 0);
  const std::string whole =
      shell("cp -r saved copy && once export --store copy | grep -v time").out;
  ASSERT_FALSE(whole.empty());
  int found = 0;
  for (const fs::path& file : files_in(dir() / "saved")) {
    for (const std::uintmax_t at : {fs::file_size(file) / 7, fs::file_size(file) / 2}) {
      flip(file, at);
      const Outcome verified = shell("rm -rf copy && cp -r saved copy && once verify copy");
      if (verified.exit_code == 0) {
        EXPECT_EQ(shell("once export --store copy | grep -v time").out, whole) << file << " " << at;
      } else {
        EXPECT_EQ(verified.exit_code, 1) << verified.err;
        ++found;
      }
      flip(file, at);
    }
  }
  EXPECT_GT(found, 0);
}

TEST_F(Backup, KeepRemovesTheOldestAndOnlyThose) {
  fill();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(once("backup saved --keep 2").exit_code, 0);
  EXPECT_EQ(shell("ls saved | wc -l").out, "2\n");
  const std::string newest = shell("ls saved | tail -1").out;
  EXPECT_EQ(shell("once backup saved --keep 1 --json >&2; ls saved | wc -l").out, "1\n");
  EXPECT_GT(shell("ls saved | tail -1").out, newest);
  EXPECT_EQ(once("backup saved --keep 0").exit_code, 64);
}

TEST_F(Backup, WhatHasNoManifestIsNoBackup) {
  fill();
  ASSERT_EQ(once("backup saved").exit_code, 0);
  EXPECT_EQ(shell("mv saved/*/manifest . && once restore saved --store r; echo $?").out, "1\n");
  EXPECT_EQ(once("verify saved").exit_code, 1);
}

TEST_F(Backup, AStoreThatIsThereIsNeverOverwritten) {
  fill();
  ASSERT_EQ(once("backup saved").exit_code, 0);
  const Outcome refused = once("restore saved");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(holds(refused.err, "in use or not empty")) << refused.err;
  EXPECT_EQ(shell("mkdir empty && once restore saved --store empty >&2 && "
                  "once log read l --store empty --field next")
                .out,
            "5\n");
  EXPECT_EQ(shell("once claim show held --store empty --field state").out, "busy\n");
  EXPECT_EQ(shell("once audit --store empty | wc -l").out, "2\n");
}

TEST_F(Backup, ToABucketIsRestoredFromItAndDamageIsFound) {
  ONCE_NEEDS_SERVER(testing::CephS3);
  fill();
  const testing::S3Place place;
  const std::string keys = std::string("export AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=") +
                           testing::CephS3::kAccessKey +
                           " AWS_SECRET_ACCESS_KEY=" + testing::CephS3::kSecretKey + "\n";
  const std::string where = "'" + place.address() + "'";
  const Outcome made = shell(keys + "once backup " + where + " --keep 1 && once backup " + where +
                             " --keep 1 --json && once verify " + where);
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_TRUE(holds(made.out, "\"removed\":1")) << made.out;
  const Outcome restored = shell(keys + "once restore " + where +
                                 " --store back >&2 && once log read l --store back --field next");
  EXPECT_EQ(restored.out, "5\n") << restored.err;
  // An object in place of another one.
  const auto client = testing::s3_client();
  const aws::Response listed =
      testing::s3_request(*client, {.method = "GET",
                                    .path = "/bucket",
                                    .query = "list-type=2&prefix=" + place.options().prefix});
  const std::size_t at = listed.body.find("<Key>", listed.body.find("CURRENT") - 60);
  const std::string key = listed.body.substr(at + 5, listed.body.find("</Key>", at) - at - 5);
  testing::s3_request(*client,
                      {.method = "PUT", .path = "/bucket/" + key, .body = "MANIFEST-000001\n"});
  EXPECT_EQ(shell(keys + "once verify " + where).exit_code, 1);
  EXPECT_EQ(shell(keys + "once restore " + where + " --store other").exit_code, 1);
}

TEST_F(Backup, AStoreThatIsNoDirectoryIsTold) {
  const Outcome refused = once("backup saved --store memory:");
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_TRUE(holds(refused.err, "only a store that is a directory")) << refused.err;
  EXPECT_EQ(once("verify nowhere").exit_code, 69);
}

}  // namespace
}  // namespace once::cli
