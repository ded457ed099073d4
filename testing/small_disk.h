// A file system of its own and of a few megabytes, which only this process and its children see.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "testing/temp_dir.h"

namespace once::testing {

class SmallDisk {
 public:
  explicit SmallDisk(std::size_t mib) {
    const std::string size = "size=" + std::to_string(mib) + "m";
    mounted_ = apart() && ::mount("once-test", path().c_str(), "tmpfs", 0, size.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path().c_str(), MNT_DETACH);
  }

  // False where the system does not let this user mount anything.
  bool mounted() const { return mounted_; }
  const std::filesystem::path& path() const { return dir_.path(); }

  std::size_t free_bytes() const {
    struct statvfs now{};
    return ::statvfs(path().c_str(), &now) == 0 ? now.f_bavail * now.f_frsize : 0;
  }

  // Takes all but so much of what is free.
  bool fill(std::size_t leaving) {
    const std::size_t now = free_bytes();
    if (now <= leaving) return true;
    const int file = ::open(ballast().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    const auto end = ::lseek(file, 0, SEEK_END);
    const bool filled = ::posix_fallocate(file, end, static_cast<off_t>(now - leaving)) == 0;
    ::close(file);
    return filled;
  }
  void free() { std::filesystem::remove(ballast()); }

 private:
  std::string ballast() const { return path() / "ballast"; }

  static void write(const char* path, const std::string& text) { std::ofstream(path) << text; }

  // Without root this needs a user namespace of its own, and so a process with one thread.
  static bool apart() {
    static const bool done = [] {
      const uid_t user = ::geteuid();
      const gid_t group = ::getegid();
      if (::unshare(user == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) return false;
      if (user != 0) {
        write("/proc/self/setgroups", "deny");
        write("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
        write("/proc/self/gid_map", "0 " + std::to_string(group) + " 1");
      }
      return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    }();
    return done;
  }

  TempDir dir_;
  bool mounted_ = false;
};

}  // namespace once::testing
