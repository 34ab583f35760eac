-- Everything a contact can be found by besides its name, as hashes in one index: runs of three digits of its number, tags,
-- lists, attributes with and without their value. The business is part of every hash, so that a search reads only what it
-- asks for; an index with the business in a column of its own reads an entry for each contact of the business too.
-- Only functions of PostgreSQL itself are called: a restore runs this without a search path.
create function chat_contact_keys(business_id text, mobile text, tags text[], list text[], attributes jsonb)
returns int[] language plpgsql immutable parallel safe as $$
declare
  keys int[] := '{}';
  name text;
begin
  for i in 1 .. length(mobile) - 2 loop
    keys := keys || hashtext(business_id || '#' || substr(mobile, i, 3));
  end loop;
  foreach name in array tags loop
    keys := keys || hashtext(business_id || 't' || name);
  end loop;
  foreach name in array list loop
    keys := keys || hashtext(business_id || 'l' || name);
  end loop;
  for i in 0 .. jsonb_array_length(attributes) - 1 loop
    name := attributes -> i ->> 'name';
    keys := keys || hashtext(business_id || 'a' || name) || hashtext(concat(business_id, 'v', name, '=', attributes -> i ->> 'value'));
  end loop;
  return keys;
end $$;

alter table chat_contact add column keys int[] not null
  generated always as (chat_contact_keys(business_id, mobile, tags, list, attributes)) stored;

-- Entries put off are read through by every search, so there are few of them.
create index chat_contact_keys on chat_contact using gin (keys) with (gin_pending_list_limit = 512);
alter index chat_contact_name_search set (gin_pending_list_limit = 512);

drop index chat_contact_mobile_search;
drop index chat_contact_tags;
drop index chat_contact_list;
drop index chat_contact_attributes;
