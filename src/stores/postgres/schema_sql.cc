#include "stores/postgres/schema_sql.h"

#include <algorithm>
#include <utility>

#include "stores/postgres/apply_sql.h"

namespace once::postgres {
namespace {

// An integer is in `number`, bytes are in `bytes`, and the other one is null. Versions are the bits
// of an unsigned number. Times are milliseconds since 1970; what never expires has the largest.
// Nothing but the key and the expiry is indexed, so that most updates stay within their page.
constexpr std::string_view kTables = R"sql(
create table if not exists meta (
  one boolean primary key default true check (one),
  format integer not null
);
insert into meta (format) values (1) on conflict do nothing;
do $$ begin
  if exists (select 1 from meta where format > 1) then
    raise exception 'this schema was made by a newer version of Once' using errcode = 'ON002';
  end if;
end $$;

create table if not exists items (
  home bytea not null,
  part bytea not null,
  sort bigint not null,
  number bigint,
  bytes bytea,
  version bigint not null,
  expiry bigint not null,
  primary key (home, part, sort),
  check ((number is null) <> (bytes is null))
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.1);
create index if not exists items_by_expiry on items (expiry) where expiry < 9223372036854775807;

-- Homes for whose news a process waits, until when, and by which number it knows them. Of no worth
-- after a crash, and never part of what a commit promises.
create unlogged table if not exists watches (
  home bytea not null,
  number bigint not null,
  until bigint not null,
  primary key (home, number)
);

create table if not exists secret (
  one boolean primary key default true check (one),
  bytes bytea not null
);
insert into secret (bytes) values (sha256(
  uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())))
  on conflict do nothing;
)sql";

// Every answer is rows of one form. `what` says what a row is:
//   0  the first row: `number` is the server's time
//   1  an item, or the integer that a write left: of key or write `place`, counted from 0
//   2  the guard of write `place` did not hold, and its key is absent
//   3  the guard of write `place` did not hold, and the rest is the current item
//   4  write `place` is an add that overflows
//   5  write `place` is an add or a raise of bytes
// A commit without a row was made.
// Reads the items, with or without locking them, and decides each write by itself.
constexpr std::string_view kJudgement = R"sql(
  select array_agg(j.verdict), array_agg(j.action), array_agg(j.after), array_agg(j.before),
    array_agg(case when j.verdict = 3 then j.bytes end),
    array_agg(j.version), array_agg(j.expiry),
    count(*) filter (where j.verdict > 1), count(*) filter (where j.kind in (1, 2)),
    count(*) filter (where j.action = 1), count(*) filter (where j.action = 2),
    count(*) filter (where j.action = 3)
  into verdicts, actions, afters, befores, contents_before, versions_before, expiries_before,
    failures, arithmetic, inserts, updates, deletes
  from (
    select v.*,
      case when v.verdict > 1 or v.kind = 4 or v.kind = 2 and v.live and v.before >= v.number then 0
        when v.kind = 3 then case when v.stored then 3 else 0 end
        when v.stored then 2 else 1 end as action,
      case when v.verdict > 1 or v.kind = 0 or not v.live then v.number
        when v.kind = 1 then v.before + v.number
        when v.kind = 2 then greatest(v.before, v.number) end as after
    from (
      select l.*,
        case when l.guard = 1 and l.live then 3
          when l.guard in (2, 3) and not l.live then 2
          when l.guard = 2 and l.version <> l.since or l.guard = 3 and l.expiry <> never then 3
          when l.kind not in (1, 2) or not l.live then 1
          when l.before is null then 5
          when l.kind = 1 and (l.number > 0 and l.before > never - l.number
            or l.number < 0 and l.before < -never - 1 - l.number) then 4
          else 1 end as verdict
      from (
        select w.kind, w.guard, w.since, w.number, i.number as before, i.bytes, i.version, i.expiry,
          i.version is not null as stored, coalesce(i.expiry > now_, false) as live
        from unnest(homes, parts, sorts, kinds, guards, sinces, numbers)
          as w(home, part, sort, kind, guard, since, number)
        left join lateral (
          select r.number, r.bytes, r.version, r.expiry from items r
          where r.home = w.home and r.part = w.part and r.sort = w.sort
          @lock@) i on true) l) v) j;
)sql";

constexpr std::string_view kCommits = R"sql(
create or replace function server_time() returns bigint language sql as
$$ select floor(extract(epoch from clock_timestamp()) * 1000)::bigint $$;

-- Notifies the processes that wait for news of what was written. A transaction that notifies waits
-- for others that do until they are committed, so nothing is notified that nobody waits for. What is
-- not told is found all the same, a little later: so it is left out in a transaction that says so,
-- which may be one to be prepared for two phases, and while others leave the queue unread.
create or replace function tell_watchers(homes bytea[], actions integer[]) returns void
language plpgsql as
$$
declare
  most constant integer := 100;
  told bigint[];
begin
  if current_setting('once.notify', true) = 'off' or pg_notification_queue_usage() > 0.5 then
    return;
  end if;
  told := array(
    select distinct v.number from unnest(homes, actions) as w(home, action)
    join watches v on v.home = w.home
    where w.action > 0 and v.until > server_time()
    limit most + 1);
  if cardinality(told) > most then
    perform pg_notify('once_' || current_schema(), '*');
  else
    perform pg_notify('once_' || current_schema(), n::text) from unnest(told) n;
  end if;
end
$$;

-- Performs what was decided: 1 inserts, 2 updates, 3 deletes. The rows that are there are locked.
-- An insert that finds a row is a race that was lost after the decision: all of it is to be decided
-- again (ON001).
create or replace function write_items(
  inserts bigint, updates bigint, deletes bigint, homes bytea[], parts bytea[], sorts bigint[],
  actions integer[], numbers bigint[], contents bytea[], versions bigint[], expiries bigint[])
returns void language plpgsql as
$$
declare
  inserted bigint;
begin
  if updates > 0 then
    update items i set number = w.number, bytes = w.bytes, version = w.version, expiry = w.expiry
    from unnest(homes, parts, sorts, actions, numbers, contents, versions, expiries)
      as w(home, part, sort, action, number, bytes, version, expiry)
    where w.action = 2 and i.home = w.home and i.part = w.part and i.sort = w.sort;
  end if;
  if deletes > 0 then
    delete from items i using unnest(homes, parts, sorts, actions) as w(home, part, sort, action)
    where w.action = 3 and i.home = w.home and i.part = w.part and i.sort = w.sort;
  end if;
  if inserts > 0 then
    insert into items (home, part, sort, number, bytes, version, expiry)
    select w.home, w.part, w.sort, w.number, w.bytes, w.version, w.expiry
    from unnest(homes, parts, sorts, actions, numbers, contents, versions, expiries)
      as w(home, part, sort, action, number, bytes, version, expiry)
    where w.action = 1
    on conflict do nothing;
    get diagnostics inserted = row_count;
    if inserted < inserts then
      raise exception 'a key was written meanwhile' using errcode = 'ON001';
    end if;
  end if;
  if exists (select from watches) then
    perform tell_watchers(homes, actions);
  end if;
end
$$;

-- Commits whose keys are all different, in the order of their keys. `commits` says which commit a
-- write belongs to, and `places` which one it is in it. Guards: 0 anything, 1 absent, 2 unchanged, 3
-- permanent. Kinds: 0 put, 1 add, 2 raise, 3 erase, 4 check. `time` is the caller's, or null for the
-- server's. `patience` bounds each wait for a row that another transaction holds, in milliseconds.
-- `single`: each commit is one write. `claims`: all guards are absent.
create or replace function commit_apart(
  time_ bigint, patience integer, single boolean, claims boolean, commits integer[], places integer[],
  homes bytea[], parts bytea[], sorts bigint[], kinds integer[], guards integer[], sinces bigint[],
  numbers bigint[], contents bytea[], versions bigint[], expiries bigint[])
returns table (what integer, place integer, number bigint, bytes bytea, version bigint, expiry bigint)
language plpgsql security definer
set search_path from current set lock_timeout = 1000 set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as
$$
declare
  never constant bigint := 9223372036854775807;
  now_ constant bigint := coalesce(time_, server_time());
  verdicts integer[];
  actions integer[];
  afters bigint[];
  befores bigint[];
  contents_before bytea[];
  versions_before bigint[];
  expiries_before bigint[];
  failures bigint;
  arithmetic bigint;
  inserts bigint;
  updates bigint;
  deletes bigint;
begin
  perform set_config('lock_timeout', patience::text, true);
  -- Of a key that must be absent, an item that is there settles it, and needs no lock.
  if claims then
@judgement@
  end if;
  if not claims or updates > 0 then
@locked judgement@
  end if;

  -- A commit of several writes fails by its first one, and the others are not made.
  if failures > 0 and not single then
    select array_agg(case when f.first is null or f.first = f.place then f.verdict else 0 end order by f.at),
      array_agg(case when f.first is null then f.action else 0 end order by f.at)
    into verdicts, actions
    from (
      select w.*, min(w.place) filter (where w.verdict > 1) over (partition by w.commit_) as first
      from unnest(commits, places, verdicts, actions)
        with ordinality as w(commit_, place, verdict, action, at)) f;
    inserts := (select count(*) from unnest(actions) a where a = 1);
    updates := (select count(*) from unnest(actions) a where a = 2);
    deletes := (select count(*) from unnest(actions) a where a = 3);
  end if;

  perform write_items(inserts, updates, deletes, homes, parts, sorts, actions, afters, contents,
    versions, expiries);

  return query select 0, -1, server_time(), null::bytea, null::bigint, null::bigint;
  if failures > 0 or arithmetic > 0 then
    return query
    select w.verdict, (w.at - 1)::integer, case w.verdict when 1 then w.after else w.before end,
      w.bytes, w.version, w.expiry
    from unnest(verdicts, kinds, afters, befores, contents_before, versions_before, expiries_before)
      with ordinality as w(verdict, kind, after, before, bytes, version, expiry, at)
    where w.verdict > 1 or w.verdict = 1 and w.kind in (1, 2);
  end if;
end
$$;

-- Commits that share keys, one after the other. The keys are in their order and each is there once;
-- writes are in the order of their commits, and `keys` says which key is theirs, counted from 1.
create or replace function commit_in_turn(
  time_ bigint, patience integer, homes bytea[], parts bytea[], sorts bigint[],
  commits integer[], keys integer[], kinds integer[], guards integer[], sinces bigint[],
  numbers bigint[], contents bytea[], versions bigint[], expiries bigint[])
returns table (what integer, place integer, number bigint, bytes bytea, version bigint, expiry bigint)
language plpgsql security definer
set search_path from current set lock_timeout = 1000 set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as
$$
declare
  never constant bigint := 9223372036854775807;
  now_ constant bigint := coalesce(time_, server_time());
  stored boolean[];       -- Of each key: whether it has a row,
  live boolean[];         -- whether it has an item now, and which one;
  item_numbers bigint[];
  item_bytes bytea[];
  item_versions bigint[];
  item_expiries bigint[];
  changed boolean[];      -- whether some commit changed it.
  actions integer[];
  writes constant integer := cardinality(commits);
  first_ integer := 1;
  last_ integer;
  k integer;
  after_ bigint;
  afters bigint[] := array_fill(null::bigint, array[writes]);
begin
  perform set_config('lock_timeout', patience::text, true);
  select array_agg(i.version is not null), array_agg(coalesce(i.expiry > now_, false)),
    array_agg(i.number), array_agg(i.bytes), array_agg(i.version), array_agg(i.expiry),
    array_agg(false)
  into stored, live, item_numbers, item_bytes, item_versions, item_expiries, changed
  from unnest(homes, parts, sorts) as w(home, part, sort)
  left join lateral (
    select r.number, r.bytes, r.version, r.expiry from items r
    where r.home = w.home and r.part = w.part and r.sort = w.sort
    for update) i on true;

  return query select 0, -1, server_time(), null::bytea, null::bigint, null::bigint;
  while first_ <= writes loop
    last_ := first_;
    while last_ < writes and commits[last_ + 1] = commits[first_] loop last_ := last_ + 1; end loop;
    what := 1;
    for w in first_ .. last_ loop
      k := keys[w];
      if guards[w] = 1 and live[k]
        or guards[w] = 2 and (not live[k] or item_versions[k] <> sinces[w])
        or guards[w] = 3 and (not live[k] or item_expiries[k] <> never) then
        what := case when live[k] then 3 else 2 end;
      elsif kinds[w] in (1, 2) then
        if not live[k] then
          afters[w] := numbers[w];
        elsif item_numbers[k] is null then
          what := 5;
        elsif kinds[w] = 2 then
          afters[w] := greatest(item_numbers[k], numbers[w]);
        elsif numbers[w] > 0 and item_numbers[k] > never - numbers[w]
          or numbers[w] < 0 and item_numbers[k] < -never - 1 - numbers[w] then
          what := 4;
        else
          afters[w] := item_numbers[k] + numbers[w];
        end if;
      end if;
      if what > 1 then
        place := w - 1;
        number := item_numbers[k];
        bytes := item_bytes[k];
        version := item_versions[k];
        expiry := item_expiries[k];
        return next;
        exit;
      end if;
    end loop;
    if what = 1 then
      for w in first_ .. last_ loop
        k := keys[w];
        if kinds[w] in (1, 2) then
          place := w - 1;
          number := afters[w];
          bytes := null;
          version := null;
          expiry := null;
          return next;
        end if;
        if kinds[w] = 3 then
          changed[k] := true;
          live[k] := false;
        elsif kinds[w] < 2 or kinds[w] = 2 and (not live[k] or afters[w] > item_numbers[k]) then
          changed[k] := true;
          live[k] := expiries[w] > now_;
          item_numbers[k] := case when kinds[w] = 0 then numbers[w] else afters[w] end;
          item_bytes[k] := contents[w];
          item_versions[k] := versions[w];
          item_expiries[k] := expiries[w];
        end if;
      end loop;
    end if;
    first_ := last_ + 1;
  end loop;

  actions := array(
    select case when not c then 0 when l then case when s then 2 else 1 end when s then 3 else 0 end
    from unnest(changed, live, stored) as w(c, l, s));
  perform write_items(
    (select count(*) from unnest(actions) a where a = 1),
    (select count(*) from unnest(actions) a where a = 2),
    (select count(*) from unnest(actions) a where a = 3),
    homes, parts, sorts, actions, item_numbers, item_bytes, item_versions, item_expiries);
end
$$;
)sql";

constexpr std::string_view kReads = R"sql(
create or replace function get_items(time_ bigint, homes bytea[], parts bytea[], sorts bigint[])
returns table (what integer, place integer, number bigint, bytes bytea, version bigint, expiry bigint)
language plpgsql stable security definer
set search_path from current set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as
$$
begin
  return query select 0, -1, server_time(), null::bytea, null::bigint, null::bigint;
  return query
  select 1, (w.at - 1)::integer, i.number, i.bytes, i.version, i.expiry
  from unnest(homes, parts, sorts) with ordinality as w(home, part, sort, at)
  join items i on i.home = w.home and i.part = w.part and i.sort = w.sort
  where i.expiry > coalesce(time_, server_time());
end
$$;

-- `most` items, and about so many bytes of values. One more without its value says that there is
-- more (6).
create or replace function scan_items(
  time_ bigint, home_ bytea, part_ bytea, first_ bigint, last_ bigint, descending boolean,
  most bigint, most_bytes bigint)
returns table (what integer, sort bigint, number bigint, bytes bytea, version bigint, expiry bigint)
language plpgsql stable security definer
set search_path from current set plan_cache_mode = force_generic_plan set enable_seqscan = off
set enable_bitmapscan = off set jit = off as
$$
declare
  now_ constant bigint := coalesce(time_, server_time());
begin
  return query select 0, -1::bigint, server_time(), null::bytea, null::bigint, null::bigint;
  if descending then
@scan desc@
  else
@scan asc@
  end if;
end
$$;

-- Items from a key on, in the order of keys, with a bound on the bytes of their values. One that has
-- expired comes without its value (7), and so does one more that says that there is more (6).
create or replace function list_items(
  time_ bigint, from_home bytea, end_home bytea, after_home bytea, after_part bytea,
  after_sort bigint, most bigint, most_bytes bigint)
returns table (what integer, home bytea, part bytea, sort bigint, number bigint, bytes bytea,
  version bigint, expiry bigint)
language plpgsql stable security definer
set search_path from current set plan_cache_mode = force_generic_plan set enable_seqscan = off
set enable_bitmapscan = off set jit = off as
$$
declare
  now_ constant bigint := coalesce(time_, server_time());
begin
  return query select 0, null::bytea, null::bytea, null::bigint, server_time(), null::bytea,
    null::bigint, null::bigint;
  return query
  select case when s.place > most or s.before >= most_bytes then 6 when s.live then 1 else 7 end,
    s.home, s.part, s.sort, s.number,
    case when s.live and s.place <= most and (s.place = 1 or s.before < most_bytes) then s.bytes end,
    s.version, s.expiry
  from (
    select l.*, row_number() over w as place,
      sum(l.size) over (w rows between unbounded preceding and 1 preceding) as before,
      sum(l.size) over (w rows between unbounded preceding and 2 preceding) as before_last
    from (
      select r.*, r.expiry > now_ as live,
        case when r.expiry > now_ then coalesce(length(r.bytes), 8) else 0 end as size
      from items r
      where r.home >= from_home and (end_home is null or r.home < end_home)
        and (r.home, r.part, r.sort) > (after_home, after_part, after_sort)
      order by r.home, r.part, r.sort limit most + 1) l
    window w as (order by l.home, l.part, l.sort)) s
  where s.place <= 2 or s.before_last < most_bytes
  order by s.home, s.part, s.sort;
end
$$;

-- Removes up to `most` that have expired. What is locked is in use, and left for another time.
create or replace function sweep_items(time_ bigint, most bigint)
returns table (what integer, place integer, number bigint)
language plpgsql security definer
set search_path from current set plan_cache_mode = force_generic_plan set enable_seqscan = off
set enable_bitmapscan = off set jit = off as
$$
declare
  removed bigint;
begin
  delete from items where ctid = any(array(
    select i.ctid from items i
    where i.expiry <= coalesce(time_, server_time()) and i.expiry < 9223372036854775807
    order by i.expiry limit most for update skip locked));
  get diagnostics removed = row_count;
  return query select 0, -1, server_time();
  return query select 1, 0, removed;
end
$$;

-- Puts and removes rows of `watches`, for `life` milliseconds, and removes what has expired.
create or replace function watch_homes(
  life bigint, added bytea[], added_numbers bigint[], removed bytea[], removed_numbers bigint[])
returns void language plpgsql security definer
set search_path from current as
$$
begin
  delete from watches v using unnest(removed, removed_numbers) as w(home, number)
  where v.home = w.home and v.number = w.number;
  delete from watches where ctid = any(array(
    select ctid from watches where until <= server_time() limit 1000 for update skip locked));
  insert into watches (home, number, until)
  select w.home, w.number, server_time() + life from unnest(added, added_numbers) as w(home, number)
  on conflict (home, number) do update set until = excluded.until;
end
$$;

-- Which functions these are: a newer version of Once may have others.
create or replace function schema_revision() returns integer language sql immutable as
$$ select @revision@ $$;

create or replace function schema_format() returns integer
language sql stable security definer set search_path from current as
$$ select format from meta $$;
)sql";

constexpr std::string_view kScan = R"sql(
  return query
  select case when s.place <= most and (s.place = 1 or s.before < most_bytes) then 1 else 6 end,
    s.sort, s.number,
    case when s.place <= most and (s.place = 1 or s.before < most_bytes) then s.bytes end,
    s.version, s.expiry
  from (
    select i.*, row_number() over w as place,
      sum(coalesce(length(i.bytes), 8))
        over (w rows between unbounded preceding and 1 preceding) as before,
      sum(coalesce(length(i.bytes), 8))
        over (w rows between unbounded preceding and 2 preceding) as before_last
    from (
      select r.sort, r.number, r.bytes, r.version, r.expiry from items r
      where r.home = home_ and r.part = part_ and r.sort between first_ and last_
        and r.expiry > now_
      order by r.sort @direction@ limit most + 1) i
    window w as (order by i.sort @direction@)) s
  where s.place <= 2 or s.before_last < most_bytes
  order by s.sort @direction@;)sql";

// Only the owner has the tables; a role that may call the functions can do what Once does, and
// nothing else.
constexpr std::string_view kRights = R"sql(
revoke all on all tables in schema @schema@ from public;
revoke all on all functions in schema @schema@ from public;
-- All that it does is in a token, which only a server can make.
grant execute on function @schema@.apply(text) to public;
)sql";

constexpr std::string_view kGrants = R"sql(
grant usage on schema @schema@ to @role@;
grant execute on function
  @functions@
to @role@;
)sql";

constexpr std::string_view kFunctions =
    "commit_apart, commit_in_turn, get_items, scan_items, list_items, sweep_items, watch_homes, "
    "schema_format, schema_revision, token_secret";

// Puts `with` where `text` has `what`.
std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

std::string commits_sql() {
  const std::string judgement(kJudgement);
  std::string text =
      replaced(std::string(kCommits), "@judgement@", replaced(judgement, "@lock@", ""));
  return replaced(std::move(text), "@locked judgement@",
                  replaced(judgement, "@lock@", "for update"));
}

std::string reads_sql() {
  const std::string scan(kScan);
  std::string text =
      replaced(std::string(kReads), "@scan desc@", replaced(scan, "@direction@", "desc"));
  return replaced(std::move(text), "@scan asc@", replaced(scan, "@direction@", "asc"));
}

}  // namespace

bool is_schema_name(std::string_view name) {
  constexpr std::size_t kMost = 48;
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && name.size() <= kMost && !(name[0] >= '0' && name[0] <= '9') &&
         !name.starts_with("pg_") && std::ranges::all_of(name, fits);
}

std::string quoted_name(std::string_view name) {
  return '"' + replaced(std::string(name), "\"", "\"\"") + '"';
}

// Two that are made at the same time would meet each other's names.
std::string creation_sql(std::string_view schema, std::string_view role) {
  const std::string quoted = quoted_name(schema);
  std::string text = "select pg_advisory_xact_lock(hashtext('once schema " + std::string(schema) +
                     "'));\ncreate schema if not exists " + quoted +
                     ";\nset local search_path = " + quoted + ", pg_temp;\n";
  text.append(kTables).append(commits_sql()).append(reads_sql());
  text.append(apply_sql()).append(kRights);
  if (!role.empty()) text.append(replaced(std::string(kGrants), "@role@", quoted_name(role)));
  text = replaced(std::move(text), "@functions@", kFunctions);
  text = replaced(std::move(text), "@revision@", std::to_string(kRevision));
  return replaced(std::move(text), "@schema@", quoted);
}

std::string_view function_names() { return kFunctions; }

}  // namespace once::postgres
