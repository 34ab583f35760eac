-- Substring search inside one business: the business leads the index, trigrams follow.
create extension if not exists pg_trgm;
create extension if not exists btree_gin;

-- One record a business: its chat settings, with the channel it sends through.
create table chat_setting (
  business_id text collate "C" not null,
  id text collate "C" not null,
  channel_type text not null default 'sandbox' check (channel_type in ('sandbox', 'cloud')),
  base_url text not null default '',
  phone_number_id text not null default '',
  business_account_id text not null default '',
  -- sealed
  access_token text,
  app_secret text,
  -- still accepted while the platform changes over
  previous_app_secret text,
  verify_token text,
  -- null: the channel's own default
  enforce_window boolean,
  messages_per_second int not null default 80,
  -- marketing templates go to the platform's marketing endpoint
  marketing_endpoint boolean not null default false,
  -- scope -> { code, title, at }: what the platform stopped, until the settings are saved again
  halted jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (business_id, id)
);
create unique index chat_setting_business on chat_setting (business_id);
-- Webhooks name the record before the business is known; the table is small and can be a reference table.
create index chat_setting_id on chat_setting (id);

create table chat_tag (
  business_id text collate "C" not null,
  name text not null,
  created_at timestamptz not null default now(),
  primary key (business_id, name)
);

create table chat_attribute (
  business_id text collate "C" not null,
  name text not null,
  created_at timestamptz not null default now(),
  primary key (business_id, name)
);

create table chat_list (
  business_id text collate "C" not null,
  id text collate "C" not null,
  name text not null,
  incoming_blocked boolean not null default false,
  tags text[] not null default '{}',
  optin boolean not null default true,
  attributes jsonb not null default '[]',
  created_at timestamptz not null default now(),
  primary key (business_id, id)
);
create unique index chat_list_name on chat_list (business_id, lower(name));

create table chat_contact (
  business_id text collate "C" not null,
  id text collate "C" not null,
  name text not null default '',
  country_code text not null default '',
  -- digits with dialing code; empty for a person known only by the platform's user id
  mobile text collate "C" not null default '',
  status text not null default 'active',
  source text not null default 'api',
  optin boolean not null default true,
  -- set when the person stopped marketing themself; only they can lift it
  stopped_at timestamptz,
  incoming_blocked boolean not null default false,
  attributes jsonb not null default '[]',
  list text[] not null default '{}',
  tags text[] not null default '{}',
  broadcast_ids text[] not null default '{}',
  revision int not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (business_id, id)
);
create unique index chat_contact_mobile on chat_contact (business_id, mobile) where mobile <> '';
create index chat_contact_newest on chat_contact (business_id, created_at, id);
create index chat_contact_name_search on chat_contact using gin (business_id, lower(name) gin_trgm_ops);
create index chat_contact_mobile_search on chat_contact using gin (business_id, mobile gin_trgm_ops);
create index chat_contact_tags on chat_contact using gin (business_id, tags);
create index chat_contact_list on chat_contact using gin (business_id, list);
create index chat_contact_attributes on chat_contact using gin (business_id, attributes jsonb_path_ops);

-- Further names of a contact on the channel: user ids, earlier numbers, numbers as the platform rewrites them.
create table chat_identity (
  business_id text collate "C" not null,
  kind text not null check (kind in ('phone', 'user')),
  value text collate "C" not null,
  contact_id text collate "C" not null,
  created_at timestamptz not null default now(),
  primary key (business_id, kind, value),
  foreign key (business_id, contact_id) references chat_contact (business_id, id) on delete cascade
);
create index chat_identity_contact on chat_identity (business_id, contact_id);

-- Every consent decision with its proof.
create table chat_consent (
  business_id text collate "C" not null,
  id text collate "C" not null,
  contact_id text collate "C" not null,
  decision text not null check (decision in ('stop', 'resume')),
  -- keyword, preference, platform_error, api
  source text not null,
  evidence text not null default '',
  at timestamptz not null,
  primary key (business_id, id)
);
create index chat_consent_contact on chat_consent (business_id, contact_id, id);

-- Running counts of contacts and conversations, so that totals stay exact and quick at any size. A count is spread
-- over shards, so that parallel writers do not wait for one another.
create table chat_tally (
  business_id text collate "C" not null,
  name text collate "C" not null,
  shard smallint not null,
  count bigint not null,
  primary key (business_id, name, shard)
);

-- The rare sides of the yes-or-no filters, and the sources, each in the order lists are shown.
create index chat_contact_opted_out on chat_contact (business_id, created_at, id) where not optin;
create index chat_contact_blocked on chat_contact (business_id, created_at, id) where incoming_blocked;
create index chat_contact_source on chat_contact (business_id, source, created_at, id);
