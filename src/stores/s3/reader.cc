#include "stores/s3/reader.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "kernel/plain_form.h"
#include "stores/s3/limits.h"
#include "stores/s3/listing.h"
#include "stores/s3/names.h"
#include "stores/s3/plain_object.h"

namespace once::s3 {
namespace {

constexpr std::size_t kAtOnce = 256;  // Objects in flight, so that they take bounded room.

std::vector<std::string> names_of(std::span<const Listed> listed) {
  std::vector<std::string> names;
  names.reserve(listed.size());
  for (const Listed& one : listed) names.push_back(one.name);
  return names;
}

// As many of the first as fit into `room` bytes, but one at least.
std::size_t fitting(std::span<const Listed> listed, std::size_t room) {
  std::size_t count = 0;
  for (std::size_t bytes = 0; count < std::min(listed.size(), kAtOnce); ++count) {
    bytes += listed[count].size;
    if (count > 0 && bytes > room) break;
  }
  return count;
}

std::size_t size_of(const Value& value) {
  const Bytes* bytes = std::get_if<Bytes>(&value);
  return bytes == nullptr ? sizeof(std::int64_t) : bytes->size();
}

// The items of a scan as they are found, downwards.
class Scan {
 public:
  Scan(const ReadContext& context, const ScanRequest& request)
      : context_(context), request_(request), tree_(partition_name(request.partition)) {
    // Before the first name of the range, if that is not the first of all.
    if (request.last < std::numeric_limits<std::int64_t>::max()) {
      after_ = std::string(tree_).append(sort_name(request.last + 1));
    }
  }

  Result<ScanPage> run(aws::Pauses& pauses) {
    for (std::size_t asked = request_.limit; !ended_; asked = std::min(2 * asked, kNamesPerList)) {
      Result<NamePage> names =
          list_names(context_.bucket, tree_, after_, asked, context_.deadline, context_.operation);
      if (!names) return std::unexpected(std::move(names.error()));
      if (Result<void> kept = keep_range(*names); !kept) {
        return std::unexpected(std::move(kept.error()));
      }
      if (Result<void> taken = take_all(names->names, pauses); !taken) {
        return std::unexpected(std::move(taken.error()));
      }
      ended_ |= !names->more || names->names.empty();
      if (!names->names.empty()) after_ = names->names.back().name;
    }
    return std::move(page_);
  }

 private:
  Result<void> keep_range(NamePage& names) {
    for (std::size_t i = 0; i < names.names.size(); ++i) {
      const std::optional<std::int64_t> sort = sort_in(names.names[i].name);
      if (!sort || names.names[i].name.size() != tree_.size() + sort_name(0).size()) {
        return failure(ErrorCode::corrupt, "s3: a name that is none of Once's is in its way");
      }
      if (*sort >= request_.first) continue;
      names.names.resize(i);
      names.more = false;
      break;
    }
    return {};
  }

  Result<void> take_all(std::span<const Listed> listed, aws::Pauses& pauses) {
    while (!listed.empty() && !ended_) {
      const std::size_t count = fitting(listed, request_.max_bytes);
      const std::vector<std::string> names = names_of(listed.first(count));
      Result<std::vector<Found>> found = read_objects(context_, names, pauses);
      if (!found) return std::unexpected(std::move(found.error()));
      for (std::size_t i = 0; i < count && !ended_; ++i) {
        if (Result<void> taken = take(*sort_in(names[i]), std::move((*found)[i])); !taken) {
          return taken;
        }
      }
      listed = listed.subspan(count);
    }
    return {};
  }

  Result<void> take(std::int64_t sort, Found found) {
    if (!found.object) return {};  // Removed since it was listed.
    if (found.object->key != Key{request_.partition, sort}) {
      return failure(ErrorCode::corrupt, "s3: an object has another key's item");
    }
    if (!lives(*found.object, context_.now)) return {};
    Item& item = found.object->item;
    const bool full = page_.entries.size() == request_.limit;
    if (full || (!page_.entries.empty() && bytes_ + size_of(item.value) > request_.max_bytes)) {
      page_.more = ended_ = true;
      return {};
    }
    bytes_ += size_of(item.value);
    context_.hints.keep(found.object->key, {item.version, item.expiry, std::move(found.etag),
                                            std::move(found.object->before)});
    page_.entries.push_back({sort, std::move(item)});
    if (page_.entries.size() == request_.limit) page_.more = ended_ = true;
    return {};
  }

  const ReadContext& context_;
  const ScanRequest& request_;
  const std::string tree_;
  std::string after_;
  ScanPage page_;
  std::size_t bytes_ = 0;
  bool ended_ = false;
};

// Whether it can be the name of an object of ours, without the sort or with it.
bool is_name(std::string_view text) {
  if (text.starts_with(kBeforePlain)) return text.size() <= 1'024;
  const auto safe = [](char c) { return c > ' ' && c < 127; };
  return (text.starts_with(kPlainTree) || text.starts_with(kHashedTree)) &&
         std::ranges::all_of(text, safe) && text.size() <= 1'024;
}

}  // namespace

Result<std::vector<Found>> read_objects(const ReadContext& context,
                                        std::span<const std::string> names, aws::Pauses& pauses) {
  std::vector<Found> found(names.size());
  std::vector<std::size_t> wanted(names.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = i;
  while (!wanted.empty()) {
    std::vector<aws::Request> requests;
    for (const std::size_t place : wanted) requests.push_back(context.bucket.get(names[place]));
    const Responses responses = context.bucket.send(requests, context.deadline, context.operation);
    std::vector<std::size_t> left;
    std::optional<Error> last;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      Result<Found> one = read_found(names[wanted[i]], responses[i]);
      if (one) {
        found[wanted[i]] = std::move(*one);
        continue;
      }
      if (one.error().code != ErrorCode::unavailable)
        return std::unexpected(std::move(one.error()));
      last = std::move(one.error());
      left.push_back(wanted[i]);
    }
    if (!left.empty() && !pauses.pause()) return std::unexpected(std::move(*last));
    wanted = std::move(left);
  }
  return found;
}

Result<std::vector<std::optional<Item>>> read_items(const ReadContext& context,
                                                    std::span<const Key> keys, aws::Pauses pauses) {
  std::vector<std::string> names;
  names.reserve(keys.size());
  for (const Key& key : keys) names.push_back(context.bucket.name_of(key));
  Result<std::vector<Found>> found = read_objects(context, names, pauses);
  if (!found) return std::unexpected(std::move(found.error()));
  std::vector<std::optional<Item>> items(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    Found& one = (*found)[i];
    if (!one.object) continue;
    if (one.object->key != keys[i]) {
      return failure(ErrorCode::corrupt, "an object has another key's item: " + to_text(keys[i]));
    }
    if (!lives(*one.object, context.now)) continue;
    Item& item = one.object->item;
    context.hints.keep(
        keys[i], {item.version, item.expiry, std::move(one.etag), std::move(one.object->before)});
    items[i] = std::move(item);
  }
  return items;
}

Result<ScanPage> read_scan(const ReadContext& context, const ScanRequest& request,
                           aws::Pauses pauses) {
  if (request.first > request.last) return ScanPage{};
  return Scan(context, request).run(pauses);
}

namespace {

// The names of a page of a listing, and the cursor after it: the name that was read last. First
// come the plain names, then the hashed ones, then the documents that are plain objects.
struct Leaf {
  std::vector<Listed> names;
  std::string cursor;
};

// What the names of plain objects begin with whose home begins so; nothing if there are none.
std::optional<std::string> plain_prefix(const Bucket& bucket, std::string_view home_prefix) {
  if (!bucket.plain_documents()) return std::nullopt;
  const std::string all = plain_documents().key_of("").partition.home;
  if (std::string_view(all).starts_with(home_prefix)) return "";
  if (!home_prefix.starts_with(all)) return std::nullopt;
  return std::string(home_prefix.substr(all.size()));
}

Result<void> add_plain(const ReadContext& context, const ListRequest& request,
                       const std::string& cursor, Leaf& leaf) {
  const std::optional<std::string> prefix = plain_prefix(context.bucket, request.home_prefix);
  if (!prefix) return {};
  // At the beginning, after the store's own names.
  std::string after = cursor.substr(kBeforePlain.size());
  if (after.empty() && prefix->empty()) after = kBeforePlain;
  Result<NamePage> page = list_names(context.bucket, *prefix, after,
                                     request.limit - leaf.names.size(), context.deadline);
  if (!page) return std::unexpected(std::move(page.error()));
  if (page->more && !page->names.empty()) {
    leaf.cursor = std::string(kBeforePlain) + page->names.back().name;
  }
  for (Listed& listed : page->names) {
    if (is_plain_name(listed.name)) leaf.names.push_back(std::move(listed));
  }
  return {};
}

Result<Leaf> read_leaf(const ReadContext& context, const ListRequest& request) {
  Leaf leaf;
  std::string after = request.cursor;
  for (bool hashed = after.starts_with(kHashedTree); !after.starts_with(kBeforePlain);
       hashed = true) {
    const std::string tree =
        hashed ? std::string(kHashedTree) : home_prefix_name(request.home_prefix);
    const std::size_t left = request.limit - leaf.names.size();
    Result<NamePage> names =
        list_names(context.bucket, tree, after, left, context.deadline, context.operation);
    if (!names) return std::unexpected(std::move(names.error()));
    std::ranges::move(names->names, std::back_inserter(leaf.names));
    if (names->more && !leaf.names.empty()) {
      leaf.cursor = leaf.names.back().name;
      return leaf;
    }
    after = hashed ? kBeforePlain : kHashedTree;
    if (leaf.names.size() < request.limit) continue;
    const bool more = !hashed || plain_prefix(context.bucket, request.home_prefix);
    if (more) leaf.cursor = after;
    return leaf;
  }
  if (Result<void> ok = add_plain(context, request, after, leaf); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  return leaf;
}

// Larger than any document of ours: listed by its name, and nothing of it is read.
ListPage::Listed too_large(const Listed& listed) {
  Item item{Bytes(), {listed.size}};
  return {plain_documents().key_of(listed.name), std::move(item)};
}

}  // namespace

Result<ListPage> read_list(const ReadContext& context, const ListRequest& request,
                           aws::Pauses pauses) {
  if (!request.cursor.empty() && !is_name(request.cursor)) {
    return failure(ErrorCode::invalid, "not a cursor of this store");
  }
  const Result<Leaf> leaf = read_leaf(context, request);
  if (!leaf) return std::unexpected(leaf.error());
  ListPage page{.items = {}, .cursor = leaf->cursor};
  for (std::span<const Listed> listed = leaf->names; !listed.empty();) {
    if (is_plain_name(listed[0].name) && listed[0].size > kLimits.value_bytes) {
      page.items.push_back(too_large(listed[0]));
      listed = listed.subspan(1);
      continue;
    }
    const std::size_t count = fitting(listed, 4U << 20);
    const std::vector<std::string> some = names_of(listed.first(count));
    Result<std::vector<Found>> found = read_objects(context, some, pauses);
    if (!found) return std::unexpected(std::move(found.error()));
    for (Found& one : *found) {
      if (!one.object || !lives(*one.object, context.now)) continue;
      Object& object = *one.object;
      if (!object.key.partition.home.starts_with(request.home_prefix)) continue;
      page.items.push_back({std::move(object.key), std::move(object.item)});
    }
    listed = listed.subspan(count);
  }
  return page;
}

}  // namespace once::s3
