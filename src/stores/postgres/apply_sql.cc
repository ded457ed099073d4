#include "stores/postgres/apply_sql.h"

namespace once::postgres {
namespace {

// A token is described in token.h. It is checked before anything of it is parsed.
constexpr std::string_view kApply = R"sql(
-- HMAC-SHA256 (RFC 2104), for keys of up to 64 bytes. PostgreSQL has it only in an extension.
create or replace function hmac(key bytea, message bytea) returns bytea
language plpgsql immutable strict as
$$
declare
  inside bytea := decode(repeat('36', 64), 'hex');
  outside bytea := decode(repeat('5c', 64), 'hex');
begin
  for i in 0 .. length(key) - 1 loop
    inside := set_byte(inside, i, get_byte(key, i) # 54);
    outside := set_byte(outside, i, get_byte(key, i) # 92);
  end loop;
  return sha256(outside || sha256(inside || message));
end
$$;

create or replace function from_base64url(text_ text) returns bytea language sql immutable strict as
$$
  select decode(rpad(translate(text_, '-_', '+/'), (length(text_) + 3) / 4 * 4, '='), 'base64')
$$;

create or replace function to_base64url(bytes_ bytea) returns text language sql immutable strict as
$$ select translate(encode(bytes_, 'base64'), E'+/=\n', '-_') $$;

-- The database and schema that tokens are for.
create or replace function token_place() returns text language sql stable
set search_path from current as
$$
  select to_base64url(sha256(
    convert_to(current_database(), 'UTF8') || '\x00'::bytea || convert_to(current_schema(), 'UTF8')))
$$;

-- What a server makes tokens with.
create or replace function token_secret() returns table (secret bytea, place text)
language sql stable security definer set search_path from current as
$$ select s.bytes, token_place() from secret s $$;

-- Makes what was prepared part of the caller's transaction. Whoever has a token may call it: all that
-- it does is in the token.
create or replace function apply(token text) returns void
language plpgsql security definer set search_path from current as
$$
declare
  mac_length constant integer := 43;
  payload constant text := left(token, -mac_length - 1);
  mac constant text := right(token, mac_length);
  head text[];
  patience integer;
  parts_ text[];
  places integer[];
  homes bytea[];
  parts bytea[];
  sorts bigint[];
  kinds integer[];
  guards integer[];
  sinces bigint[];
  numbers bigint[];
  contents bytea[];
  versions bigint[];
  expiries bigint[];
  failed record;
begin
  -- Hashes of the two are compared, so that the time it takes tells nothing of the right one.
  if token is null or octet_length(token) > 33554432 or sha256(convert_to(mac, 'UTF8')) is distinct from
    sha256(convert_to(to_base64url(hmac((select bytes from secret), convert_to(payload, 'UTF8'))), 'UTF8'))
  then
    raise exception 'this is no token of once for this schema' using errcode = 'ON401',
      hint = 'Ask for one with "prepare":true, at a server whose store is this database and schema.';
  end if;
  head := string_to_array(split_part(payload, '~', 1), '.');
  if head[1] <> 'o1' or head[2] <> token_place() then
    raise exception 'this token of once is for another database, schema or version' using errcode = 'ON401',
      hint = 'Ask for one with "prepare":true, at a server whose store is this database and schema.';
  end if;
  if head[3]::bigint <= server_time() then
    raise exception 'this token of once is more than a minute old' using errcode = 'ON410',
      hint = 'Roll back, and ask for a new one.';
  end if;

  -- In the order of keys, in which all lock them.
  select array_agg(w.part_), array_agg(w.place), array_agg(w.home), array_agg(w.part), array_agg(w.sort),
    array_agg(w.kind), array_agg(w.guard), array_agg(w.since), array_agg(w.number),
    array_agg(case when w.kind = 0 and w.number is null then w.bytes end),
    array_agg(w.version), array_agg(w.expiry)
  into parts_, places, homes, parts, sorts, kinds, guards, sinces, numbers, contents, versions, expiries
  from (
    select convert_from(from_base64url(r.f[1]), 'UTF8') as part_, (r.n - 2)::integer as place,
      from_base64url(r.f[2]) as home, from_base64url(r.f[3]) as part, r.f[4]::bigint as sort,
      r.f[5]::integer as kind, r.f[6]::integer as guard, r.f[7]::bigint as since,
      nullif(r.f[8], '')::bigint as number, from_base64url(r.f[9]) as bytes,
      r.f[10]::bigint as version, r.f[11]::bigint as expiry
    from (
      select string_to_array(t.row_, '.') as f, t.n
      from unnest(string_to_array(payload, '~')) with ordinality as t(row_, n)
      where t.n > 1) r
    order by 3, 4, 5) w;

  -- The caller's own bound on waiting for others, if it has one.
  patience := (extract(epoch from current_setting('lock_timeout')::interval) * 1000)::integer;
  if patience = 0 then patience := 10000; end if;
  for attempt_ in 1 .. 100 loop
    begin
      select a.* into failed
      from commit_apart(null, patience, cardinality(kinds) = 1, 1 = all(guards),
        array_fill(0, array[cardinality(kinds)]), places, homes, parts, sorts, kinds, guards, sinces,
        numbers, contents, versions, expiries) a
      where a.what > 1;
      exit;
    exception when sqlstate 'ON001' then
      -- Another wrote one of the keys meanwhile: now it is there to be looked at.
      if attempt_ = 100 then raise; end if;
    end;
  end loop;
  if failed.what is null then return; end if;
  if failed.what in (4, 5) then
    raise exception 'the tally cannot be added to: %',
      case failed.what when 4 then 'it would overflow' else 'it holds no number' end
      using errcode = '22003', detail = parts_[failed.place + 1];
  end if;
  if failed.what = 3 and failed.version = versions[failed.place + 1] then
    raise exception 'this token of once was applied already' using errcode = 'ON412',
      detail = parts_[failed.place + 1],
      hint = 'Roll back: what belongs to it has happened.';
  end if;
  raise exception 'a condition of the commit no longer holds: %', parts_[failed.place + 1]
    using errcode = 'ON412', detail = parts_[failed.place + 1],
    hint = 'Roll back, and ask for a new token.';
end
$$;
)sql";

}  // namespace

std::string_view apply_sql() { return kApply; }

}  // namespace once::postgres
