#include "stores/redis/scripts.h"

#include "base/digest.h"

namespace once::redis {
namespace {

// Times fit a double exactly; integers are taken as two halves, and versions as bytes. Where one of
// the commit's own versions is there already, all of it is: a proxy sent it twice
// (docs/hazards.md#h33). What has expired is decided by the caller's time: the server's own may be
// wrong for a moment (docs/hazards.md#h36).
constexpr std::string_view kCommit = R"lua(
local t = redis.call('TIME')
local server = t[1] * 1000 + math.floor(t[2] / 1000)
local now = tonumber(ARGV[1])
local n = #KEYS
local zero = '0000000000000000'
local never = '\127\255\255\255\255\255\255\255'

local function ends(record)
  local high, low = struct.unpack('>I4I4', record, 10)
  return high * 4294967296 + low
end

local old, live, sent_before = {}, {}, false
for i = 1, n do
  local head, record = ARGV[2 * i], ARGV[2 * i + 1]
  local kind, guard, sort = head:sub(1, 1), head:sub(2, 2), head:sub(11)
  local found
  if sort ~= zero then
    found = redis.call('ZRANGEBYLEX', KEYS[i], '[' .. sort, '(' .. sort .. '\255', 'LIMIT', 0, 1)[1]
    found = found and found:sub(17)
  elseif guard ~= '*' or kind == 'a' or kind == 'r' then
    found = redis.call('GET', KEYS[i])
  end
  if found then
    if #found < 25 then return {4, server, i - 1} end
    old[i] = found
    if ends(found) > now then live[i] = found end
    if record ~= '' and found:sub(2, 9) == record:sub(2, 9) then sent_before = true end
  end
end

if sent_before then
  local answer = {0, server}
  for i = 1, n do
    local kind, record = ARGV[2 * i]:sub(1, 1), ARGV[2 * i + 1]
    local ours = old[i] and record ~= '' and old[i]:sub(2, 9) == record:sub(2, 9)
    answer[i + 2] = (kind == 'a' or kind == 'r') and ours and old[i]:sub(18) or ''
  end
  return answer
end

for i = 1, n do
  local head = ARGV[2 * i]
  local guard = head:sub(2, 2)
  if guard == 'a' and live[i]
     or guard == 'u' and (not live[i] or live[i]:sub(2, 9) ~= head:sub(3, 10))
     or guard == 'n' and (not live[i] or live[i]:sub(10, 17) ~= never) then
    return {1, server, i - 1, live[i] or false}
  end
end

local answer, new = {0, server}, {}
for i = 1, n do
  local kind, record = ARGV[2 * i]:sub(1, 1), ARGV[2 * i + 1]
  if kind == 'p' then
    new[i] = record
  elseif kind == 'a' or kind == 'r' then
    if not live[i] then
      new[i] = record
    else
      if live[i]:sub(1, 1) ~= 'I' then return {2, server, i - 1} end
      local high, low = struct.unpack('>i4I4', live[i], 18)
      local high2, low2 = struct.unpack('>i4I4', record, 18)
      if kind == 'a' then
        high, low = high + high2, low + low2
        if low >= 4294967296 then high, low = high + 1, low - 4294967296 end
        if high > 2147483647 or high < -2147483648 then return {3, server, i - 1} end
        new[i] = record:sub(1, 17) .. struct.pack('>i4I4', high, low)
      elseif high2 > high or high2 == high and low2 > low then
        new[i] = record
      end
    end
    for j = #answer - 1, i - 1 do answer[j + 2] = '' end
    answer[i + 2] = (new[i] or live[i]):sub(18)
  end
end

local sets, dead = {}, {}
for i = 1, n do
  local key = KEYS[i]
  if new[i] and ARGV[2 * i]:sub(11) ~= zero then
    local set = sets[key]
    if not set then
      local until_ = redis.call('PEXPIRETIME', key)
      set = {before = until_, after = until_ == -2 and 0 or until_}
      sets[key] = set
      if until_ >= 0 then
        for _, member in ipairs(redis.call('ZRANGE', key, 0, 1)) do
          if #member < 41 then return {4, server, i - 1} end
          if ends(member:sub(17, 33)) <= now then dead[#dead + 1] = {key, member} end
        end
      end
    end
    local at = ends(new[i])
    if at >= 4503599627370496 then set.after = -1 end
    if set.after ~= -1 and at > set.after then set.after = at end
  end
end

for i = 1, n do
  local key, head, record = KEYS[i], ARGV[2 * i], new[i]
  local sort = head:sub(11)
  if sort == zero then
    if record then
      local at = ends(record)
      if at < 4503599627370496 then
        redis.call('SET', key, record, 'PXAT', string.format('%.0f', at))
      else
        redis.call('SET', key, record)
      end
    elseif head:sub(1, 1) == 'e' then
      redis.call('DEL', key)
    end
  else
    if record then redis.call('ZADD', key, 0, sort .. record) end
    if old[i] and (record and record ~= old[i] or head:sub(1, 1) == 'e') then
      redis.call('ZREM', key, sort .. old[i])
    end
  end
end
for _, one in ipairs(dead) do redis.call('ZREM', one[1], one[2]) end
for key, set in pairs(sets) do
  if set.after == -1 then
    if set.before >= 0 then redis.call('PERSIST', key) end
  elseif set.after ~= set.before then
    redis.call('PEXPIREAT', key, string.format('%.0f', set.after))
  end
end
return answer
)lua";

// Members hold the values, and how large the next ones are is not known before they are read: so
// there are few at a time, and one where they are large. A script that has passed over much that
// has expired stops and says where, because the server serves no other client meanwhile. The second
// key is for sort 0 and is given only if that is asked for: while a slot is being moved, a script
// of one key works and one of two waits.
constexpr std::string_view kScan = R"lua(
local t = redis.call('TIME')
local server = t[1] * 1000 + math.floor(t[2] / 1000)
local now = tonumber(ARGV[1])
local first, last, limit, room = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local up = ARGV[6] == 'up'
local most_passed, most_passed_bytes = tonumber(ARGV[7]), tonumber(ARGV[8])
local zero = '0000000000000000'
local answer, bytes = {0, server, ''}, 0
local passed, passed_bytes = 0, 0

local function take(member)
  if #member >= 41 then
    local high, low = struct.unpack('>I4I4', member, 26)
    if high * 4294967296 + low <= now then
      passed, passed_bytes = passed + 1, passed_bytes + #member
      return true
    end
  end
  if #answer - 3 >= limit or bytes >= room and #answer > 3 then
    answer[1] = 1
    return false
  end
  answer[#answer + 1] = member
  bytes = bytes + #member - 41
  return true
end

local function take_zero()
  if first ~= zero then return true end
  local record = redis.call('GET', KEYS[2])
  return not record or take(zero .. record)
end

local function take_others()
  local from, to, some = '[' .. first, '(' .. last .. '\255', 1
  while true do
    local members
    if up then
      members = redis.call('ZRANGEBYLEX', KEYS[1], from, to, 'LIMIT', 0, some)
    else
      members = redis.call('ZREVRANGEBYLEX', KEYS[1], to, from, 'LIMIT', 0, some)
    end
    local size = 0
    for _, member in ipairs(members) do
      if not take(member) then return false end
      size = size + #member
    end
    if #members < some then return true end
    local reached = members[#members]:sub(1, 16)
    if passed >= most_passed or passed_bytes >= most_passed_bytes then
      answer[1], answer[3] = 2, reached
      return false
    end
    if up then from = '(' .. reached .. '\255' else to = '(' .. reached end
    some = size < 65536 and math.min(2 * some, 8) or 1
  end
end

if up then
  if take_zero() then take_others() end
else
  if take_others() then take_zero() end
end
return answer
)lua";

constexpr std::string_view kSweep = R"lua(
local now = tonumber(ARGV[1])
local limit, room = tonumber(ARGV[3]), tonumber(ARGV[4])
local from = ARGV[2] == '' and '-' or '(' .. ARGV[2] .. '\255'
local examined, removed, bytes, some, reached = 0, 0, 0, 1, ARGV[2]
while examined < limit and bytes < room do
  some = math.min(some, limit - examined)
  local members = redis.call('ZRANGEBYLEX', KEYS[1], from, '+', 'LIMIT', 0, some)
  local size = 0
  for _, member in ipairs(members) do
    size = size + #member
    if #member >= 41 then
      local high, low = struct.unpack('>I4I4', member, 26)
      if high * 4294967296 + low <= now then
        removed = removed + redis.call('ZREM', KEYS[1], member)
      end
    end
  end
  examined, bytes = examined + #members, bytes + size
  if #members < some then return {examined, removed, ''} end
  reached = members[#members]:sub(1, 16)
  from = '(' .. reached .. '\255'
  some = size < 65536 and math.min(2 * some, 8) or 1
end
return {examined, removed, reached}
)lua";

}  // namespace

const Script& commit_script() {
  static const Script script{kCommit, sha1_hex(kCommit)};
  return script;
}

const Script& scan_script() {
  static const Script script{kScan, sha1_hex(kScan)};
  return script;
}

const Script& sweep_script() {
  static const Script script{kSweep, sha1_hex(kSweep)};
  return script;
}

std::array<const Script*, 3> all_scripts() {
  return {&commit_script(), &scan_script(), &sweep_script()};
}

}  // namespace once::redis
