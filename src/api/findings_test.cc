#include "api/findings.h"

#include <algorithm>
#include <filesystem>

#include "api/service_fixture.h"
#include "testing/temp_dir.h"

namespace once::api {
namespace {

using namespace std::chrono_literals;
using Level = Finding::Level;

// The one finding that says this; nothing if none does.
std::optional<Finding> saying(const std::vector<Finding>& all, std::string_view text) {
  const auto found =
      std::ranges::find_if(all, [&](const Finding& one) { return one.detail.contains(text); });
  return found == all.end() ? std::nullopt : std::optional(*found);
}

class Doctor : public ServiceFixture {
 protected:
  explicit Doctor(ServiceOptions options = {.instance = "i",
                                            .store = "rocksdb /d, synced",
                                            .version = "1.2.3"})
      : ServiceFixture(std::move(options)) {}

  std::vector<Finding> findings() { return decode_findings(get("/v1/doctor").body).value(); }
  std::vector<Finding> of(Facts facts) {
    service_.set_facts([facts = std::move(facts)] { return facts; });
    return findings();
  }
};

TEST_F(Doctor, ASoundServerSaysWhatWasLookedAt) {
  const Response answer = get("/v1/doctor");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(field(answer, "version"), "1.2.3");
  EXPECT_EQ(field(answer, "time"), "2024-10-04T00:00:00.000Z") << answer.body;
  EXPECT_EQ(field(answer, "sound"), "true");
  EXPECT_TRUE(saying(findings(), "it answers and takes writes"));
  EXPECT_TRUE(saying(findings(), "the store's clock agrees with the server's"));
  EXPECT_EQ(saying(findings(), "rocksdb /d, synced")->level, Level::ok);
}

TEST_F(Doctor, EachFactThatIsWrongHasItsRemedy) {
  const std::vector<Finding> found = of({.directory = std::nullopt,
                                         .descriptors = Descriptors{.open = 90, .most = 100},
                                         .writes_stopped = true,
                                         .corrupt = 1,
                                         .abandoned = 3,
                                         .more = {}});
  EXPECT_EQ(saying(found, "90 of 100 descriptors")->level, Level::problem);
  EXPECT_EQ(saying(found, "the engine takes no writes")->level, Level::problem);
  EXPECT_EQ(saying(found, "failed their checks")->level, Level::problem);
  EXPECT_EQ(saying(found, "3 were abandoned")->remedy, "once claim list --state abandoned");
  EXPECT_EQ(field(get("/v1/doctor"), "sound"), "false");
  for (const Finding& one : found) EXPECT_EQ(one.level == Level::ok, one.remedy.empty());
}

TEST_F(Doctor, LooksAtTheDirectory) {
  const testing::TempDir directory;
  namespace fs = std::filesystem;
  fs::create_directories(directory.path() / "checkpoints" / "one");
  fs::permissions(directory.path(), fs::perms::owner_all);
  std::vector<Finding> found = of({.directory = directory.path()});
  EXPECT_EQ(saying(found, "1 are left")->level, Level::warning);
  EXPECT_TRUE(saying(found, "free where the store is"));
  EXPECT_EQ(saying(found, "for its owner alone")->level, Level::ok);
  fs::permissions(directory.path(), fs::perms::others_exec, fs::perm_options::add);
  EXPECT_EQ(saying(findings(), "others may enter")->remedy,
            "chmod 700 " + directory.path().string());
}

TEST_F(Doctor, ToldToThoseWhoMaySeeTheServer) {
  service_.tokens().add({tokens::id_of("reader"), {.read_only = true}});
  service_.tokens().add({tokens::id_of("bound"), {.name_space = "n"}});
  const auto asked_by = [&](const std::string& token) {
    return call("GET", "/v1/doctor", "", {{"Authorization", "Bearer " + token}});
  };
  EXPECT_EQ(asked_by("reader").status, 200);
  expect_problem(asked_by("bound"), 403, "forbidden");
  EXPECT_FALSE(asked_by("bound").body.contains("/d"));
  expect_problem(get("/v1/doctor"), 401, "unauthorized");
}

class DoctorOfAFullDisk : public Doctor {
 protected:
  DoctorOfAFullDisk()
      : Doctor({.store = "memory, forgotten when the process ends", .check_writable = [] {
                  return Result<void>(failure(ErrorCode::unavailable, "the disk is full"));
                }}) {}
};

TEST_F(DoctorOfAFullDisk, AStoreThatTakesNoWritesOrForgetsIsAProblem) {
  EXPECT_EQ(saying(findings(), "it is not ready: the disk is full")->level, Level::problem);
  EXPECT_EQ(saying(findings(), "memory, forgotten")->level, Level::problem);
  EXPECT_EQ(field(get("/v1/doctor"), "sound"), "false");
}

TEST(FindingsTest, DurabilityIsJudgedByWhatTheStoreSaysAndNotByItsPlace) {
  const auto level = [](std::string_view description) {
    Findings found;
    judge_durability(description, found);
    return found.all().front().level;
  };
  EXPECT_EQ(level("rocksdb /memory/relaxed, synced before every answer"), Level::ok);
  EXPECT_EQ(level("rocksdb /d, relaxed: synced once a second, power loss may lose the last second"),
            Level::warning);
  EXPECT_EQ(level("redis r:6379; MAY LOSE CLAIMS: appendonly is no"), Level::warning);
  EXPECT_EQ(level("memory, forgotten when the process ends"), Level::problem);
}

TEST(FindingsTest, ClocksThatDisagreeAreAProblemAndASlowAnswerIsNone) {
  const auto judged = [](Duration store, Duration before, Duration after) {
    Findings found;
    judge_store_clock({Time(store), Time(before), Time(after)}, "the server's", found);
    return found.all().front();
  };
  EXPECT_EQ(judged(100s, 99s, 101s).level, Level::ok);
  EXPECT_EQ(judged(100s, 90s, 110s).level, Level::ok);
  EXPECT_EQ(judged(100s, 105s, 106s).detail, "the store's clock is 5 s behind the server's");
  EXPECT_EQ(judged(110s, 100s, 101s).detail, "the store's clock is 9 s ahead of the server's");
}

TEST(FindingsTest, AnAnswerOfAnotherKindHasNoFindings) {
  EXPECT_FALSE(decode_findings("{}"));
  EXPECT_FALSE(decode_findings("<html>"));
}

}  // namespace
}  // namespace once::api
