#include "testing/servers/ceph_s3.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <thread>
#include <utility>

namespace once::testing {
namespace {

constexpr std::array kPrograms = {"ceph",    "ceph-mon",      "ceph-osd", "monmaptool",
                                  "radosgw", "radosgw-admin", "timeout"};

// One node with one copy of everything, no keys among the servers, and short pauses.
constexpr const char* kSettings = R"(
mon initial members = a
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon warn on pool no redundancy = false
mon max pg per osd = 1000
mon data avail crit = 1
mon data avail warn = 1
mon osd min up ratio = 0
paxos propose interval = 0.02
paxos min wait = 0.01
osd objectstore = memstore
memstore device bytes = 2147483648
osd class load list = *
osd class default list = *
ms mon client mode = crc
admin socket =
log file =
log to stderr = false
setuser match path =
rgw dns name = s3.localhost
rgw run sync thread = false
rgw enable usage log = false
rgw gc max concurrent io = 1
rgw lc max worker = 1
rgw rados pool pg num min = 1
rgw override bucket index max shards = 1
rgw dynamic resharding = false
rgw thread pool size = 64
rgw init timeout = 60
)";

std::string new_id() {
  std::ifstream file("/proc/sys/kernel/random/uuid");
  std::string id;
  std::getline(file, id);
  return id;
}

bool comes_true(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < deadline) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

}  // namespace

std::optional<std::string> CephS3::missing() {
  for (const char* const program : kPrograms) {
    if (!installed(program)) {
      return "there is no " + std::string(program) + "; see scripts/install-deps servers";
    }
  }
  return std::nullopt;
}

CephS3::CephS3() {
  // Somebody may take a port before the servers do.
  for (int tries = 0; tries < 3; ++tries) {
    if (launch()) return;
  }
  std::fprintf(stderr, "Ceph does not start:\n%s\n", logs().c_str());
  std::abort();
}

bool CephS3::launch() {
  while (!daemons_.empty()) daemons_.pop_back();
  for (const char* const part : {"mon", "osd", "rgw"}) {
    std::filesystem::remove_all(directory_.path() / part);
    std::filesystem::create_directories(directory_.path() / part / "data");
  }
  return start_monitor() && start_objects() && start_gateway();
}

bool CephS3::start_monitor() {
  const std::string id = new_id();
  const std::uint16_t port = free_port();
  write_settings(id, port);
  const std::string map = (directory_.path() / "monmap").string();
  if (!run("monmaptool --create --clobber --addv a '[v2:127.0.0.1:" + std::to_string(port) +
           "]' --fsid " + id + " " + map) ||
      !run("ceph-mon --mkfs -i a --monmap " + map)) {
    return false;
  }
  daemons_.push_back(std::make_unique<Daemon>(
      "ceph-mon", std::vector<std::string>{"-i", "a", "-f", "--conf", "../ceph.conf"},
      directory_.path() / "mon"));
  return comes_true([this] { return !daemons_.back()->alive() || run("ceph -s").has_value(); }) &&
         daemons_.back()->alive();
}

bool CephS3::start_objects() {
  const std::string id = new_id();
  const std::optional<std::string> number = run("ceph osd new " + id);
  if (!number || !run("ceph-osd -i 0 --mkfs --osd-uuid " + id)) return false;
  daemons_.push_back(std::make_unique<Daemon>(
      "ceph-osd", std::vector<std::string>{"-i", "0", "-f", "--conf", "../ceph.conf"},
      directory_.path() / "osd"));
  return comes_true([this] {
           return !daemons_.back()->alive() ||
                  run("ceph osd stat").value_or("").find("1 up") != std::string::npos;
         }) &&
         daemons_.back()->alive();
}

bool CephS3::start_gateway() {
  port_ = free_port();
  daemons_.push_back(std::make_unique<Daemon>(
      "radosgw",
      std::vector<std::string>{
          "-n", "client.rgw", "-f", "--conf", "../ceph.conf",
          "--rgw-frontends=beast endpoint=127.0.0.1:" + std::to_string(port_) + " tcp_nodelay=1"},
      directory_.path() / "rgw"));
  const auto user = [this](const std::string& name, const std::string& key) {
    return run("radosgw-admin user create --uid=" + name + " --display-name=" + name +
               " --access-key=" + key + " --secret-key=" + kSecretKey)
        .has_value();
  };
  return comes_true([this] { return !daemons_.back()->alive() || answers_http(port_); }) &&
         daemons_.back()->alive() && user("test", kAccessKey) && user("stranger", kStrangersKey);
}

void CephS3::write_settings(const std::string& id, std::uint16_t monitor_port) const {
  const std::string at = directory_.path().string();
  std::ofstream(directory_.path() / "keyring").flush();
  std::ofstream(directory_.path() / "ceph.conf")
      << "[global]\nfsid = " << id << "\nmon host = [v2:127.0.0.1:" << monitor_port << "/0]\n"
      << "run dir = " << at << "\nkeyring = " << at << "/keyring\nmon data = " << at
      << "/mon/data\nosd data = " << at << "/osd/data\nrgw data = " << at << "/rgw/data\n"
      << kSettings;
}

std::optional<std::string> CephS3::run(const std::string& command) const {
  const std::string line = "cd " + directory_.path().string() +
                           " && CEPH_CONF=ceph.conf timeout 30 " + command + " 2>>log";
  std::string said;
  FILE* const out = ::popen(line.c_str(), "r");
  if (out == nullptr) std::abort();
  std::array<char, 4096> room{};
  while (std::fgets(room.data(), room.size(), out) != nullptr) said += room.data();
  return ::pclose(out) == 0 ? std::optional(said) : std::nullopt;
}

std::string CephS3::logs() const {
  std::ifstream file(directory_.path() / "log");
  std::string all{std::istreambuf_iterator<char>(file), {}};
  for (const auto& daemon : daemons_) all += daemon->log();
  return all;
}

}  // namespace once::testing
