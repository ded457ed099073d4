// How a store keeps some items so that other programs can read and write them: as an object of the
// item's own bytes and type, under its own name, beside which lies what only Once needs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "once/error.h"
#include "once/item.h"
#include "once/key.h"

namespace once {

class PlainForm {
 public:
  PlainForm() = default;
  virtual ~PlainForm() = default;
  PlainForm(const PlainForm&) = delete;
  PlainForm& operator=(const PlainForm&) = delete;

  // The name of a plain item; nothing for all other keys.
  virtual std::optional<std::string_view> name_of(const Key& key) const = 0;
  virtual Key key_of(std::string_view name) const = 0;

  struct Parts {
    Bytes body;
    std::string type;
    Bytes rest;         // What only Once needs; empty if another program wrote the object.
    bool shown = true;  // Otherwise the item says that there is nothing, and has no body.
  };

  // `rest` takes at most so many bytes: what is oldest in it is left out.
  virtual Result<Parts> split(const Value& value, std::size_t rest_bytes) const = 0;
  virtual Result<Value> join(const Parts& parts, Version version) const = 0;
};

// The documents of namespace `default`: src/primitives/plain_documents.cc.
const PlainForm& plain_documents();

}  // namespace once
