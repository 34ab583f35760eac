-- A group is all contacts with the same consent, source, block, tags and lists. There are few groups however many contacts
-- there are, so the total of any filter by these is a sum over groups, exact at any size. Their counts are tallies too.
create table chat_group (
  business_id text collate "C" not null,
  key text collate "C" not null,
  optin boolean not null,
  source text not null,
  incoming_blocked boolean not null,
  tags text[] not null,
  list text[] not null,
  primary key (business_id, key)
);

create function chat_group_key(optin boolean, source text, incoming_blocked boolean, tags text[], list text[])
returns text language sql immutable parallel safe as $$
  select md5(concat_ws('|', optin, source, incoming_blocked,
    to_json(array(select tag from unnest(tags) tag order by tag collate "C")),
    to_json(array(select name from unnest(list) name order by name collate "C"))))
$$;

insert into chat_group (business_id, key, optin, source, incoming_blocked, tags, list)
select distinct on (business_id, key) business_id, key, optin, source, incoming_blocked, tags, list
from (select *, chat_group_key(optin, source, incoming_blocked, tags, list) as key from chat_contact) keyed;

insert into chat_tally (business_id, name, shard, count)
select business_id, 'group:' || chat_group_key(optin, source, incoming_blocked, tags, list), 0, count(*)
from chat_contact group by 1, 2;
