// Bytes of one kind that all connections of a server may hold together, with a share of them for
// each tenant. Safe to share between threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "api/tenants.h"
#include "base/shares.h"

namespace once::server {

class Budget {
 public:
  using HeldByTenant = std::atomic<std::size_t> api::Tenant::*;

  // A tenant may take `percent` of it, less while others hold some (base/shares.h).
  Budget(std::size_t most, unsigned percent, HeldByTenant held)
      : most_(most), percent_(percent), held_(held) {}

  // False, with nothing taken, if that is beyond the budget or the tenant's share. Callers that
  // have no tenant are one together.
  bool take(api::Tenant* tenant, std::size_t bytes) {
    std::atomic<std::size_t>& own = held_by(tenant);
    const std::size_t taken = taken_.fetch_add(bytes);
    const std::size_t held = own.fetch_add(bytes);
    if (within_share(held, bytes, taken, most_, percent_)) return true;
    give_back(tenant, bytes);
    refused_.fetch_add(1, std::memory_order_relaxed);
    if (tenant != nullptr) tenant->refused(api::QuotaRefusal::memory);
    return false;
  }

  // For what is held already, and only has to be counted.
  void count(api::Tenant* tenant, std::size_t bytes) {
    taken_ += bytes;
    held_by(tenant) += bytes;
  }

  void give_back(api::Tenant* tenant, std::size_t bytes) {
    held_by(tenant) -= bytes;
    taken_ -= bytes;
  }

  // What is held already beyond it stays.
  void set(std::size_t most, unsigned percent) {
    most_ = most;
    percent_ = percent;
  }

  std::size_t most() const { return most_; }
  std::size_t taken() const { return taken_.load(std::memory_order_relaxed); }
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t>& held_by(api::Tenant* tenant) {
    return tenant != nullptr ? tenant->*held_ : without_tenant_;
  }

  std::atomic<std::size_t> most_;
  std::atomic<unsigned> percent_;
  const HeldByTenant held_;
  std::atomic<std::size_t> taken_ = 0;
  std::atomic<std::size_t> without_tenant_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
};

// What one holder has of a budget, given back with it. Not safe to share between threads.
class Charge {
 public:
  using Tenant = std::shared_ptr<api::Tenant>;

  Charge() = default;  // Of nothing, and always 0.
  explicit Charge(Budget& budget) : budget_(&budget) {}
  ~Charge() { count(0); }
  Charge(Charge&& other) noexcept
      : budget_(other.budget_),
        tenant_(std::move(other.tenant_)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  Charge& operator=(Charge&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(tenant_, other.tenant_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  // From now on it is the tenant's.
  void move_to(const Tenant& tenant) {
    if (tenant == tenant_) return;
    if (bytes_ > 0) {
      budget_->give_back(tenant_.get(), bytes_);
      budget_->count(tenant.get(), bytes_);
    }
    tenant_ = tenant;
  }

  // False, with nothing changed, if there is no room. Less always fits.
  bool resize(std::size_t bytes) {
    if (budget_ == nullptr) return true;
    if (bytes > bytes_ && !budget_->take(tenant_.get(), bytes - bytes_)) return false;
    if (bytes < bytes_) budget_->give_back(tenant_.get(), bytes_ - bytes);
    bytes_ = bytes;
    return true;
  }

  // Whether or not there is room.
  void count(std::size_t bytes) {
    if (budget_ == nullptr) return;
    if (bytes > bytes_) budget_->count(tenant_.get(), bytes - bytes_);
    if (bytes < bytes_) budget_->give_back(tenant_.get(), bytes_ - bytes);
    bytes_ = bytes;
  }

  std::size_t bytes() const { return bytes_; }

 private:
  Budget* budget_ = nullptr;
  Tenant tenant_;
  std::size_t bytes_ = 0;
};

// Those of a server.
struct Budgets {
  Budget bodies;   // Large ones that are arriving, or whose requests are being worked on.
  Budget answers;  // That are ready, and that their peers have not taken.
};

}  // namespace once::server
