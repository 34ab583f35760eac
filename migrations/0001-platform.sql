-- Accounts: a user owns businesses; a business is the tenant that everything else belongs to.
-- These three tables are small and read on every request; on a cluster they are reference tables.
create table account_user (
  id text collate "C" primary key,
  email text not null,
  -- the rest of what a person says of themself: names, address, phone, links, formats
  profile jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index account_user_email on account_user (lower(email));

create table account_business (
  id text collate "C" primary key,
  user_id text collate "C" not null references account_user (id),
  name text not null,
  time_zone text not null default 'UTC',
  currency text not null default 'USD',
  test_mode boolean not null default false,
  -- set only in test mode: the moment this business lives in until it is moved
  clock_now timestamptz,
  settings jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index account_business_user on account_business (user_id, id);

create table account_key (
  business_id text collate "C" not null references account_business (id),
  id text collate "C" not null,
  service text not null check (service in ('account', 'email', 'chat', 'billing')),
  name text not null default '',
  -- SHA-256 of what was shown once; the secret exists for billing keys only
  key_hash bytea not null,
  secret_hash bytea,
  -- enough of the key to recognise it in a list
  hint text not null,
  read_only boolean not null default false,
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  primary key (business_id, id)
);
-- Keys are found before the business is known, so this index alone does not begin with it.
create unique index account_key_hash on account_key (key_hash);

create table idempotency_key (
  business_id text collate "C" not null,
  method text not null,
  path text not null,
  key text not null,
  request_hash bytea not null,
  state text not null check (state in ('running', 'done')),
  running_until timestamptz not null,
  status int,
  content_type text,
  body text,
  created_at timestamptz not null default now(),
  primary key (business_id, method, path, key)
);
create index idempotency_key_created on idempotency_key (created_at);

-- The outbox: written in the transaction of the change it tells.
create table event (
  business_id text collate "C" not null,
  id text collate "C" not null,
  type text not null,
  source text not null,
  object_id text collate "C" not null,
  data jsonb not null,
  created_at timestamptz not null,
  primary key (business_id, id)
);

-- Facts about this installation, such as which master key its secrets were sealed with.
create table installation (
  name text primary key,
  value text not null
);
