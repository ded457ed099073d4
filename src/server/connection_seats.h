// How many connections are open, in all and from each address. Safe to share between threads.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/ip/address.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "base/mutex.h"

namespace once::server {

// Why a connection was not served.
enum class ConnectionRefusal : std::uint8_t { all, address, handshake };
inline constexpr std::array<std::string_view, 3> kConnectionRefusals = {"all", "address",
                                                                        "handshake"};

class ConnectionSeats {
 public:
  // A number for who connects, never 0. Addresses of one IPv6 network of 64 bits are one: a machine
  // has all of them.
  using Machine = std::uint64_t;
  static Machine machine_of(const boost::asio::ip::address& address);

  // A connection, for as long as it is open. The ConnectionSeats must outlive it.
  class Seat {
   public:
    Seat() = default;
    Seat(ConnectionSeats& seats, Machine machine) : seats_(&seats), machine_(machine) {}
    Seat(Seat&& other) noexcept
        : seats_(std::exchange(other.seats_, nullptr)), machine_(other.machine_) {}
    Seat& operator=(Seat&& other) noexcept {
      std::swap(seats_, other.seats_);
      std::swap(machine_, other.machine_);
      return *this;
    }
    ~Seat() { leave(); }

    void leave() {
      if (seats_ != nullptr) std::exchange(seats_, nullptr)->leave(machine_);
    }

    Machine machine() const { return machine_; }  // 0 if it is none.

   private:
    ConnectionSeats* seats_ = nullptr;
    Machine machine_ = 0;
  };

  // Counts it, also if it is above a limit: then it is only to be told so.
  Seat enter(const boost::asio::ip::address& address);
  std::size_t all() const { return all_; }
  std::size_t from(const boost::asio::ip::address& address) const;

  void refused(ConnectionRefusal why) { ++refusals_[static_cast<std::size_t>(why)]; }
  std::uint64_t refusals(ConnectionRefusal why) const {
    return refusals_[static_cast<std::size_t>(why)];
  }

 private:
  void leave(Machine machine);

  std::atomic<std::size_t> all_ = 0;
  std::array<std::atomic<std::uint64_t>, kConnectionRefusals.size()> refusals_{};

  mutable Mutex mutex_;
  std::map<Machine, std::size_t> machines_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once::server
