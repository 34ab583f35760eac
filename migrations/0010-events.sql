-- Events get their place in the feed of their business after they are committed: `position`, without gaps.
-- `data` becomes json: it is handed on as it was written, and takes what jsonb refuses (a half of a surrogate pair).
alter table event
  alter column data type json,
  add column seq bigint generated always as identity,
  add column position bigint;
create index event_fresh on event (business_id, seq) where position is null;
create unique index event_position on event (business_id, position) where position is not null;
create index event_type on event (business_id, type, position) where position is not null;

-- One row a business: its lock makes placing events one at a time, `last_position` is the end of the feed.
create table event_stream (
  business_id text collate "C" not null,
  last_position bigint not null default 0,
  primary key (business_id)
);

create table account_webhook (
  business_id text collate "C" not null references account_business (id),
  id text collate "C" not null,
  url text not null,
  description text not null default '',
  -- event types, or '*' for all
  types text[] not null,
  -- sealed; while the overlap lasts, deliveries are signed with the previous secret too
  secret text not null,
  previous_secret text,
  previous_secret_until timestamptz,
  username text,
  -- sealed
  password text,
  state text not null default 'enabled' check (state in ('enabled', 'disabled')),
  disabled_reason text check (disabled_reason in ('owner', 'failing', 'gone')),
  disabled_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (business_id, id)
);

-- Which endpoints have deliveries due, and which process holds them. Small, and written often: so apart from the endpoint.
create table account_webhook_work (
  business_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  -- when the next delivery may be tried; null: nothing waits
  due_at timestamptz,
  -- failures without a success since, and when the first of them was
  failures int not null default 0,
  failing_since timestamptz,
  -- an endpoint that fails again and again is left alone until then
  paused_until timestamptz,
  last_success_at timestamptz,
  last_failure_at timestamptz,
  lease_id text,
  leased_until timestamptz,
  primary key (business_id, endpoint_id),
  foreign key (business_id, endpoint_id) references account_webhook (business_id, id) on delete cascade
);
-- Read across businesses, as it says which of them have work; claims then name the business.
create index account_webhook_work_due on account_webhook_work (due_at) where due_at is not null;

-- One row for each endpoint and event. No foreign keys: an endpoint is deleted at once, its history by the purge.
create table account_webhook_delivery (
  business_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  event_id text collate "C" not null,
  event_type text not null,
  -- place of the event in the feed; deliveries of one object follow it
  position bigint not null,
  object_id text collate "C" not null,
  state text not null default 'waiting' check (state in ('waiting', 'delivered', 'failed')),
  attempts int not null default 0,
  next_attempt_at timestamptz,
  first_attempt_at timestamptz,
  last_attempt_at timestamptz,
  last_status int,
  last_answer text,
  last_error text,
  last_duration_ms int,
  -- every attempt: [{ at, status, error, durationMs }]
  history jsonb not null default '[]',
  -- the body, for a test call, which has no event
  test_body text,
  created_at timestamptz not null,
  primary key (business_id, endpoint_id, event_id)
);
create index account_webhook_delivery_due on account_webhook_delivery (business_id, endpoint_id, next_attempt_at, position)
  where state = 'waiting';
create index account_webhook_delivery_object on account_webhook_delivery (business_id, endpoint_id, object_id, position)
  where state = 'waiting';
create index account_webhook_delivery_failed on account_webhook_delivery (business_id, endpoint_id, event_id)
  where state = 'failed';
