-- Contacts in order within their group: a page of any filter by consent, source, block, tags and lists is put together from the
-- first of each group, however far they lie behind the newest contacts.

-- The same keys as before, but quick enough for every write. Only functions of PostgreSQL itself are called.
create or replace function chat_group_key(optin boolean, source text, incoming_blocked boolean, tags text[], list text[])
returns text language plpgsql immutable parallel safe as $$
begin
  if cardinality(tags) > 1 then
    tags := array(select tag from unnest(tags) tag order by tag collate "C");
  end if;
  if cardinality(list) > 1 then
    list := array(select name from unnest(list) name order by name collate "C");
  end if;
  return md5(concat_ws('|', optin, source, incoming_blocked, to_json(tags), to_json(list)));
end $$;

alter table chat_contact add column group_key uuid not null
  generated always as (chat_group_key(optin, source, incoming_blocked, tags, list)::uuid) stored;
create index chat_contact_group on chat_contact (business_id, group_key, created_at, id);

drop index chat_contact_opted_out;
drop index chat_contact_blocked;
drop index chat_contact_source;
