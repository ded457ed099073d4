#include "directory/directory.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <utility>

#include "base/backoff.h"
#include "base/mutex.h"
#include "local/local.h"
#include "remote/remote.h"

namespace once::directory {
namespace {

// Between two looks at a claim that another holds.
constexpr PauseBounds kPauses{
    .shortest = Duration(25), .first = Duration(50), .longest = Duration(1'000)};

// Finds who answers a call. Calls of several threads at a time share the store.
class Switch {
 public:
  Switch(DirectoryOptions options, Clock& clock, Entropy& entropy)
      : options_(std::move(options)), clock_(clock), entropy_(entropy) {}

  // Makes one call of a primitive: `make` is given the backend to call and the time it has left. A
  // server that went away before it was asked has done nothing, so the next owner is asked instead.
  template <class Make>
  std::invoke_result_t<const Make&, Backend&, Duration> call(Duration within, const Make& make) {
    const Deadline deadline(clock_, within);
    for (;;) {
      const Result<Use> use = begin(deadline);
      if (!use) return std::unexpected(use.error());
      auto answer = make(use->backend(), deadline.left());
      const bool refused = !answer && answer.error().code == ErrorCode::unavailable;
      if (!refused || deadline.over() || !use->is_gone()) return answer;
    }
  }

  Clock& clock() { return clock_; }
  Entropy& entropy() { return entropy_; }

 private:
  // The owner, for one call.
  class Use {
   public:
    Use(Switch& by, std::shared_ptr<Backend> server, std::string url)
        : by_(&by), server_(std::move(server)), url_(std::move(url)) {}
    Use(Switch& by, Backend& local) : by_(&by), local_(&local) {}
    Use(Use&& other) noexcept
        : by_(other.by_),
          server_(std::move(other.server_)),
          url_(std::move(other.url_)),
          local_(std::exchange(other.local_, nullptr)) {}
    Use& operator=(Use&&) = delete;
    ~Use() {
      if (local_ != nullptr) by_->end_local_call();
    }

    Backend& backend() const { return local_ != nullptr ? *local_ : *server_; }
    bool is_gone() const { return local_ == nullptr && !by_->is_owner(url_); }

   private:
    Switch* by_;
    std::shared_ptr<Backend> server_;
    std::string url_;
    Backend* local_ = nullptr;
  };

  bool is_owner(const std::string& url) const {
    const std::optional<ServerAddress> server = running_server(options_.directory, options_.own);
    return server && server->url == url;
  }

  // Waits until no other thread opens or closes the store; false if that takes too long.
  bool wait_until_settled(Lock& lock, const Deadline& deadline) ONCE_REQUIRES(mutex_) {
    while (changing_ && !deadline.over()) clock_.wait(settled_, lock.native(), deadline.until());
    return !changing_;
  }

  Result<Use> begin(const Deadline& deadline) {
    {
      Lock lock(mutex_);
      if (!wait_until_settled(lock, deadline)) {
        return failure(ErrorCode::unavailable, "the directory's store is being opened or closed");
      }
      if (local_ != nullptr) {
        ++local_calls_;
        return Use(*this, *local_);
      }
      changing_ = true;
    }
    Result<Owner> owner =
        find_owner(options_.directory, options_.open,
                   std::min(deadline.left(), options_.wait_for_turn), clock_, options_.own);
    const Lock lock(mutex_);
    changing_ = false;
    settled_.notify_all();
    if (!owner) return std::unexpected(std::move(owner.error()));
    if (const auto* server = std::get_if<ServerAddress>(&*owner)) return use_server(*server);
    auto& store = std::get<std::unique_ptr<Store>>(*owner);
    const std::string& named = options_.name_space;
    local_ = std::make_unique<Local>(std::move(store), named.empty() ? "default" : named, clock_,
                                     entropy_);
    local_calls_ = 1;
    return Use(*this, *local_);
  }

  // The connection of the last call is used again if it was to the same server.
  Result<Use> use_server(const ServerAddress& server) ONCE_REQUIRES(mutex_) {
    const std::string& url = server.url;
    if (server_ == nullptr || server.secret != server_secret_) {
      Result<std::unique_ptr<Backend>> connected = remote::connect(
          url, options_.token, options_.name_space, clock_, entropy_,
          [this, url] { return is_owner(url); }, options_.form,
          trust_of(options_.directory, server, options_.own));
      if (!connected) return std::unexpected(std::move(connected.error()));
      server_ = std::move(*connected);
      server_secret_ = server.secret;
    }
    return Use(*this, server_, url);
  }

  void end_local_call() {
    std::unique_ptr<Local> last;
    {
      const Lock lock(mutex_);
      if (--local_calls_ > 0) return;
      last = std::move(local_);
      changing_ = true;
    }
    last.reset();
    const Lock lock(mutex_);
    changing_ = false;
    settled_.notify_all();
  }

  const DirectoryOptions options_;
  Clock& clock_;
  Entropy& entropy_;

  Mutex mutex_;
  std::condition_variable settled_;
  bool changing_ ONCE_GUARDED_BY(mutex_) = false;  // A thread looks for the owner, or closes.
  std::unique_ptr<Local> local_ ONCE_GUARDED_BY(mutex_);
  int local_calls_ ONCE_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<Backend> server_ ONCE_GUARDED_BY(mutex_);
  std::string server_secret_ ONCE_GUARDED_BY(mutex_);
};

// One of the four nouns, as the owner of the directory has it.
template <class Noun, Noun& (Backend::*of)()>
class OwnersNoun : public Noun {
 public:
  explicit OwnersNoun(Switch& to) : to_(to) {}

 protected:
  // Calls the owner's `method` with these arguments, and with the time that is left as the last
  // one. The arguments stay as they are: the next owner may be called with them again.
  template <class Answer, class... Parameters, class... Arguments>
  Answer call(Duration within, Answer (Noun::*method)(Parameters...),
              const Arguments&... arguments) {
    return to_.call(within, [&](Backend& owner, Duration left) {
      return ((owner.*of)().*method)(arguments..., left);
    });
  }

  Switch& to_;
};

class DirectoryClaims final : public OwnersNoun<Claims, &Backend::claims> {
 public:
  using OwnersNoun::OwnersNoun;

  void set_if_store_down(IfStoreDown policy) override { if_store_down_ = policy; }

  // Comes back until `wait` is over, with the store closed in between.
  Result<ClaimOutcome> take(std::string_view name, const ClaimRequest& request, Duration wait,
                            Duration within) override {
    const Deadline waited(to_.clock(), wait);
    Backoff backoff(kPauses, to_.clock(), to_.entropy());
    for (;;) {
      Result<ClaimOutcome> outcome = call(within, &Claims::take, name, request, Duration::zero());
      const bool busy = outcome && std::holds_alternative<Busy>(*outcome);
      if (!busy || waited.over()) return claims::or_proceed(std::move(outcome), if_store_down_);
      to_.clock().sleep(std::min(backoff.next(), waited.left()));
    }
  }
  Result<RenewOutcome> renew(std::string_view name, const Ticket& ticket, Duration lease,
                             Duration within) override {
    return call(within, &Claims::renew, name, ticket, lease);
  }
  Result<SettleOutcome> complete(std::string_view name, const Ticket& ticket, Bytes result,
                                 Duration within) override {
    return call(within, &Claims::complete, name, ticket, result);
  }
  Result<SettleOutcome> release(std::string_view name, const Ticket& ticket, Bytes failure,
                                Release how, Duration within) override {
    return call(within, &Claims::release, name, ticket, failure, how);
  }
  Result<bool> forget(std::string_view name, Duration within) override {
    return call(within, &Claims::forget, name);
  }
  Result<std::optional<ClaimState>> show(std::string_view name, Duration within) override {
    return call(within, &Claims::show, name);
  }
  Result<claims::ClaimPage> list(const claims::ClaimFilter& filter, std::string cursor,
                                 std::size_t limit, Duration within) override {
    return call(within, &Claims::list, filter, cursor, limit);
  }
  Result<claims::BulkOutcome> forget_all(const claims::BulkRequest& request,
                                         Duration within) override {
    return call(within, &Claims::forget_all, request);
  }
  Result<claims::BulkOutcome> retry_all(const claims::BulkRequest& request,
                                        Duration within) override {
    return call(within, &Claims::retry_all, request);
  }
  Result<claims::BulkOutcome> release_all(const claims::BulkRequest& request,
                                          Duration within) override {
    return to_.call(within, [&](Backend& owner, Duration left) {
      return owner.claims().release_all(request, left);
    });
  }
  Result<claims::Seen> mark(std::span<const std::string> ids, Duration ttl, std::string request,
                            Duration within) override {
    Result<claims::Seen> seen = call(within, &Claims::mark, ids, ttl, request);
    return claims::or_proceed(std::move(seen), ids.size(), if_store_down_);
  }
  Result<std::optional<claims::SeenMark>> show_seen(std::string_view id, Duration within) override {
    return call(within, &Claims::show_seen, id);
  }
  Result<bool> forget_seen(std::string_view id, Duration within) override {
    return call(within, &Claims::forget_seen, id);
  }

 private:
  std::atomic<IfStoreDown> if_store_down_ = IfStoreDown::refuse;
};

class DirectoryLog final : public OwnersNoun<Log, &Backend::log> {
 public:
  using OwnersNoun::OwnersNoun;

  Result<AppendOutcome> append(std::string_view stream, std::vector<LogEvent> events,
                               const AppendRequest& request, Duration within) override {
    return call(within, &Log::append, stream, events, request);
  }
  Result<logs::EventsOutcome> append_events(std::string_view stream, std::vector<LogEvent> events,
                                            logs::EventIds ids, const AppendRequest& request,
                                            Duration within) override {
    return call(within, &Log::append_events, stream, events, ids, request);
  }
  Result<LogPage> read(std::string_view stream, const LogRead& request, Duration within) override {
    return call(within, &Log::read, stream, request);
  }
  Result<LogEnds> ends(std::string_view stream, Duration within) override {
    return call(within, &Log::ends, stream);
  }
  Result<LogEnds> trim(std::string_view stream, std::int64_t before, Duration within) override {
    return call(within, &Log::trim, stream, before);
  }
  Result<std::optional<LogEnds>> close(std::string_view stream, std::optional<Duration> ttl,
                                       Duration within) override {
    return call(within, &Log::close, stream, ttl);
  }
  Result<LogRemoval> remove(std::string_view stream, Duration within) override {
    return call(within, &Log::remove, stream);
  }
  Result<LogList> list(std::string_view prefix, std::string cursor, std::size_t limit,
                       Duration within) override {
    return call(within, &Log::list, prefix, cursor, limit);
  }
  Result<std::int64_t> heal(std::string_view stream, Duration grace, Duration within) override {
    return call(within, &Log::heal, stream, grace);
  }
};

class DirectoryDocuments final : public OwnersNoun<Documents, &Backend::documents> {
 public:
  using OwnersNoun::OwnersNoun;

  Result<std::optional<documents::Document>> get(std::string_view name, Duration within) override {
    return call(within, &Documents::get, name);
  }
  Result<documents::WriteOutcome> put(std::string_view name, documents::Content content,
                                      documents::Condition condition, documents::Identity identity,
                                      Duration within) override {
    return call(within, &Documents::put, name, content, condition, identity);
  }
  Result<documents::WriteOutcome> remove(std::string_view name, std::string etag,
                                         documents::Identity identity, Duration within) override {
    return call(within, &Documents::remove, name, etag, identity);
  }
  Result<documents::WriteOutcome> update_if(std::string_view name, std::string etag,
                                            documents::UpdateRequest request,
                                            Duration within) override {
    return call(within, &Documents::update_if, name, etag, request);
  }
  Result<documents::UpdateOutcome> update(std::string_view name, documents::UpdateRequest request,
                                          Duration within) override {
    return call(within, &Documents::update, name, request);
  }
  Result<documents::DocumentPage> list(const Listing& listing, Duration within) override {
    return call(within, &Documents::list, listing);
  }
  Result<BulkRemoved> remove_all(const Listing& listing, BulkRun run, Duration within) override {
    return call(within, &Documents::remove_all, listing, run);
  }
};

class DirectoryTallies final : public OwnersNoun<Tallies, &Backend::tallies> {
 public:
  using OwnersNoun::OwnersNoun;

  Result<TallyOutcome> merge(std::string_view name, const TallyRequest& request,
                             Duration within) override {
    return call(within, &Tallies::merge, name, request);
  }
  Result<std::optional<TallyReading>> read(std::string_view name, const TallyRange& range,
                                           std::shared_ptr<const Monoid> own,
                                           Duration within) override {
    return call(within, &Tallies::read, name, range, own);
  }
  Result<std::vector<std::optional<TallyReading>>> read_all(std::span<const std::string> names,
                                                            const TallyRange& range,
                                                            std::shared_ptr<const Monoid> own,
                                                            Duration within) override {
    return call(within, &Tallies::read_all, names, range, own);
  }
  Result<std::vector<std::optional<TallyReading>>> read_each(std::span<const TallyRead> reads,
                                                             std::shared_ptr<const Monoid> own,
                                                             Duration within) override {
    return call(within, &Tallies::read_each, reads, own);
  }
  Result<std::optional<TallySeries>> series(std::string_view name, const TallyRange& range,
                                            std::shared_ptr<const Monoid> own,
                                            Duration within) override {
    return call(within, &Tallies::series, name, range, own);
  }
  Result<bool> remove(std::string_view name, Duration within) override {
    return call(within, &Tallies::remove, name);
  }
  Result<TallyPage> list(const Listing& listing, Duration within) override {
    return call(within, &Tallies::list, listing);
  }
  Result<BulkRemoved> remove_all(const Listing& listing, BulkRun run, Duration within) override {
    return call(within, &Tallies::remove_all, listing, run);
  }
};

class Directory final : public Backend {
 public:
  Directory(DirectoryOptions options, Clock& clock, Entropy& entropy)
      : to_(std::move(options), clock, entropy) {}

  Claims& claims() override { return claims_; }
  Log& log() override { return log_; }
  Documents& documents() override { return documents_; }
  Tallies& tallies() override { return tallies_; }
  Result<effects::Outcome> commit(std::string id, std::optional<effects::ClaimPart> claim,
                                  Effects effects, Duration within) override {
    return to_.call(within, [&](Backend& owner, Duration left) {
      return owner.commit(id, claim, effects, left);
    });
  }
  Result<effects::PrepareOutcome> prepare(std::string id, std::optional<effects::ClaimPart> claim,
                                          Effects effects, Duration within) override {
    return to_.call(within, [&](Backend& owner, Duration left) {
      return owner.prepare(id, claim, effects, left);
    });
  }
  Store* store() override { return nullptr; }
  Clock& clock() override { return to_.clock(); }
  Time now() override { return to_.clock().now(); }

 private:
  Switch to_;
  DirectoryClaims claims_{to_};
  DirectoryLog log_{to_};
  DirectoryDocuments documents_{to_};
  DirectoryTallies tallies_{to_};
};

}  // namespace

std::unique_ptr<Backend> share_directory(DirectoryOptions options, Clock& clock, Entropy& entropy) {
  return std::make_unique<Directory>(std::move(options), clock, entropy);
}

}  // namespace once::directory
