-- Email marketing: people, lists, segments, campaigns and what is counted about them.

-- A subscriber. What filters and statistics look at (status, score, lists, tags, engagement) stands in this one row, so
-- that a change of it is atomic without further locks. Lists and tags are held by their numbers.
create table email_subscriber (
  business_id text collate "C" not null,
  id text collate "C" not null,
  -- a small whole number, dense within the business: its place in the bitmaps
  slot int not null,
  email text not null,
  first_name text not null default '',
  last_name text not null default '',
  mobile text not null default '',
  country text not null default 'Not Specified',
  city text not null default 'Not Specified',
  date_of_birth date,
  lead_score int not null default 0,
  status text not null default 'subscribed' check (status in ('subscribed', 'unsubscribed', 'bounced', 'complaint')),
  list_numbers int[] not null default '{}',
  tag_numbers int[] not null default '{}',
  source text not null default 'api',
  custom_fields jsonb not null default '{}',
  -- last open or click by a human
  engaged_at timestamptz,
  -- set when deleted: from then on no read shows it, and after this moment it is erased
  delete_after timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (business_id, id)
);
create unique index email_subscriber_email on email_subscriber (business_id, lower(email)) where delete_after is null;
create unique index email_subscriber_slot on email_subscriber (business_id, slot);
create index email_subscriber_newest on email_subscriber (business_id, created_at desc, id desc) where delete_after is null;
create index email_subscriber_engaged on email_subscriber (business_id, engaged_at) where engaged_at is not null and delete_after is null;
create index email_subscriber_erase on email_subscriber (business_id, delete_after) where delete_after is not null;

-- What mail did to a subscriber: narrow and often written, so apart from the wide row. Made at the first activity.
create table email_subscriber_activity (
  business_id text collate "C" not null,
  subscriber_id text collate "C" not null,
  total_sent int not null default 0,
  total_delivered int not null default 0,
  total_opens int not null default 0,
  total_unique_opens int not null default 0,
  total_clicks int not null default 0,
  total_unique_click int not null default 0,
  -- human ones only
  last_open_at timestamptz,
  last_click_at timestamptz,
  -- newest first, the oldest fall off
  activity jsonb not null default '[]',
  -- campaigns mailed to this person, newest first, the oldest fall off
  campaigns jsonb not null default '[]',
  primary key (business_id, subscriber_id)
) with (fillfactor = 70);

-- Where the next free slots begin; processes take ranges, so that inserts never wait for one another here.
create table email_slot (
  business_id text collate "C" not null,
  next int not null,
  primary key (business_id)
);

-- Every change of what is counted, appended in the transaction of the change and soon folded into the tables below.
-- A total is what is folded plus what is still here: exact at every moment, and no writer waits for another.
create table email_change (
  business_id text collate "C" not null,
  id bigint generated always as identity,
  slot int not null,
  at timestamptz not null,
  -- null for a subscriber that came into being with this change
  old_status text,
  old_score int,
  old_lists int[],
  old_tags int[],
  old_engaged timestamptz,
  -- null for a subscriber that was deleted with this change
  new_status text,
  new_score int,
  new_lists int[],
  new_tags int[],
  new_engaged timestamptz,
  -- email or names changed: the search index must follow
  text_changed boolean not null,
  primary key (business_id, id)
);

-- Folded totals of the whole business ('all'), each list and each tag. Written by one folding at a time.
create table email_count (
  business_id text collate "C" not null,
  kind text collate "C" not null check (kind in ('all', 'list', 'tag')),
  number int not null,
  total int not null default 0,
  subscribed int not null default 0,
  unsubscribed int not null default 0,
  bounced int not null default 0,
  complaint int not null default 0,
  score_sum bigint not null default 0,
  hot int not null default 0,
  cold int not null default 0,
  engaged int not null default 0,
  updated_at timestamptz not null,
  primary key (business_id, kind, number)
) with (fillfactor = 70);

-- Folded sets of slots, 8192 to a block: 'a' everyone, 's…' by status, 'l…' by list, 't…' by tag, 'b…' by bit of the score.
create table email_bitmap (
  business_id text collate "C" not null,
  key text collate "C" not null,
  block int not null,
  bits bit(8192) not null,
  primary key (business_id, key, block)
) with (fillfactor = 60);
alter table email_bitmap alter column bits set storage plain;

-- One row a business: its lock lets one folding run at a time.
create table email_fold (
  business_id text collate "C" not null,
  -- 'engaged' of email_count is right as of this moment
  engaged_as_of timestamptz not null,
  primary key (business_id)
);

-- Text to search, one line a subscriber; fields are joined by a character that no term may contain.
create table email_search (
  business_id text collate "C" not null,
  slot int not null,
  text text not null,
  primary key (business_id, slot)
);
-- Slots whose text is not in email_search yet, or no longer right there.
create table email_search_todo (
  business_id text collate "C" not null,
  slot int not null,
  primary key (business_id, slot)
);
do $$
begin
  create extension if not exists pg_trgm;
  create extension if not exists btree_gin;
  create index email_search_text on email_search using gin (business_id, text gin_trgm_ops);
exception when insufficient_privilege or undefined_file or feature_not_supported then
  raise warning 'pg_trgm or btree_gin is not available: searching subscribers will read all of them';
end $$;

-- Lists and segments share one space of names, so that a filter by name means one thing.
create table email_name (
  business_id text collate "C" not null,
  name text not null, -- lower case
  kind text not null check (kind in ('list', 'segment')),
  object_id text collate "C" not null,
  primary key (business_id, name)
);

create sequence email_number as int;

create table email_list (
  business_id text collate "C" not null,
  id text collate "C" not null,
  number int not null default nextval('email_number'),
  name text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (business_id, id)
);
create unique index email_list_number on email_list (business_id, number);

create table email_segment (
  business_id text collate "C" not null,
  id text collate "C" not null,
  name text not null,
  rules jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (business_id, id)
);

create table email_tag (
  business_id text collate "C" not null,
  number int not null default nextval('email_number'),
  name text not null,
  created_at timestamptz not null,
  primary key (business_id, number)
);
create unique index email_tag_name on email_tag (business_id, name);

create table email_custom_field (
  business_id text collate "C" not null,
  id text collate "C" not null,
  name text not null,
  key text not null,
  type text not null check (type in ('text', 'number', 'boolean', 'date', 'url')),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (business_id, id)
);
create unique index email_custom_field_key on email_custom_field (business_id, key);

create table email_template (
  business_id text collate "C" not null,
  id text collate "C" not null,
  name text not null,
  builder_type text not null check (builder_type in ('HTML', 'MJML', 'RICH_TEXT', 'DRAG_AND_DROP')),
  -- as the author wrote it
  content text not null,
  -- what is mailed: the same as content except for MJML
  html_content text not null,
  -- made for one campaign from the content given with it; not offered to others
  campaign_id text collate "C",
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (business_id, id)
);

create table email_delivery_server (
  business_id text collate "C" not null,
  id text collate "C" not null,
  name text not null,
  host text not null,
  port int not null,
  -- 'none', 'starttls' (required) or 'tls' (from the first byte)
  security text not null check (security in ('none', 'starttls', 'tls')),
  username text not null default '',
  -- sealed with the context email_delivery_server:<business id>:<id>; empty: no login
  sealed_password text not null default '',
  sender_email text not null default '',
  sender_name text not null default '',
  -- used where a send names none; at most one a business
  is_default boolean not null default false,
  max_connections int not null default 10,
  -- 0: no limit
  max_per_second int not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (business_id, id)
);
create unique index email_delivery_server_default on email_delivery_server (business_id) where is_default;

create table email_campaign (
  business_id text collate "C" not null,
  id text collate "C" not null,
  name text not null,
  campaign_type text not null check (campaign_type in ('Regular', 'API / Workflow Campaign')),
  subject text not null,
  sender_name text not null default '',
  preheader_text text not null default '',
  status text not null check (status in ('draft', 'scheduled', 'live')),
  template_id text collate "C" not null,
  -- of a scheduled campaign: when, to whom and how it goes out
  scheduled_at timestamptz,
  audience jsonb,
  delivery_server_id text collate "C",
  sender_email text not null default '',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (business_id, id),
  foreign key (business_id, template_id) references email_template (business_id, id)
);
create unique index email_campaign_name on email_campaign (business_id, lower(name));
create index email_campaign_newest on email_campaign (business_id, created_at desc, id desc);
create index email_campaign_due on email_campaign (business_id, scheduled_at) where status = 'scheduled';

-- Addresses that are not mailed, whether they are subscribers or not.
create table email_suppression (
  business_id text collate "C" not null,
  -- lower case
  address text not null,
  email text not null,
  type text not null check (type in ('unsubscribed', 'bounced', 'complaint', 'manual')),
  reason text not null default '',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (business_id, address)
);
create index email_suppression_newest on email_suppression (business_id, created_at desc, address);

-- What events add to the lead score. A business without a row lives by the defaults.
create table email_lead_score (
  business_id text collate "C" not null,
  settings jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (business_id)
);
