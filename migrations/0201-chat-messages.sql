create table chat_template (
  business_id text collate "C" not null,
  id text collate "C" not null,
  platform_id text not null default '',
  name text not null,
  language text not null,
  category text not null,
  status text not null,
  parameter_format text not null default 'POSITIONAL',
  components jsonb not null,
  quality text not null default 'UNKNOWN',
  rejected_reason text not null default '',
  -- counts changes of the definition; a message keeps the version it used
  version int not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (business_id, id)
);
create unique index chat_template_name on chat_template (business_id, name, language);

-- A conversation is the thread with one contact and carries the contact's id.
create table chat_conversation (
  business_id text collate "C" not null,
  id text collate "C" not null,
  last_message_at timestamptz not null,
  last_message_id text collate "C" not null,
  last_incoming_at timestamptz,
  -- the window an ad click opened, longer than the usual one
  free_entry_until timestamptz,
  unread_count int not null default 0,
  primary key (business_id, id),
  foreign key (business_id, id) references chat_contact (business_id, id)
);
create index chat_conversation_newest on chat_conversation (business_id, last_message_at, id);

create table chat_message (
  business_id text collate "C" not null,
  id text collate "C" not null,
  conversation_id text collate "C" not null,
  direction text not null check (direction in ('in', 'out')),
  kind text not null,
  status text not null,
  -- outgoing: digits sent to, or the platform's user id
  recipient text not null default '',
  idempotency_key text,
  -- outgoing: the body for the platform; incoming: the message as it came
  payload jsonb not null,
  platform_id text collate "C",
  platform_answer jsonb,
  error jsonb,
  pricing jsonb,
  attempt int not null default 0,
  -- sending: whoever holds it answers by then, or the outcome counts as unknown
  lease_until timestamptz,
  -- queued: not before this moment
  not_before timestamptz,
  category text not null default '',
  template_id text collate "C",
  template_version int,
  broadcast_id text collate "C",
  -- incoming of a blocked contact
  blocked boolean not null default false,
  seen boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  accepted_at timestamptz,
  sent_at timestamptz,
  delivered_at timestamptz,
  read_at timestamptz,
  failed_at timestamptz,
  primary key (business_id, id),
  foreign key (business_id, conversation_id) references chat_contact (business_id, id)
);
create unique index chat_message_idempotency on chat_message (business_id, idempotency_key) where idempotency_key is not null;
create index chat_message_thread on chat_message (business_id, conversation_id, created_at, id);
create unique index chat_message_incoming on chat_message (business_id, platform_id) where direction = 'in';
create index chat_message_outgoing on chat_message (business_id, platform_id) where direction = 'out';
create index chat_message_leased on chat_message (business_id, lease_until) where status = 'sending';
create index chat_message_broadcast on chat_message (business_id, broadcast_id, status, id) where broadcast_id is not null;
create index chat_message_unread on chat_message (business_id, conversation_id) where direction = 'in' and not seen;

-- What the platform told us, as it came. Kept after it was worked through.
create table chat_webhook (
  business_id text collate "C" not null,
  id text collate "C" not null,
  body bytea not null,
  received_at timestamptz not null,
  -- the sandbox lets its news arrive a moment later
  not_before timestamptz not null,
  processed_at timestamptz,
  -- elements that could not be worked through, with the reason
  problems jsonb,
  primary key (business_id, id)
);
create index chat_webhook_waiting on chat_webhook (business_id, not_before, id) where processed_at is null;
create index chat_webhook_received on chat_webhook (business_id, received_at);

-- Changes other than messages and statuses that were worked through already.
create table chat_webhook_seen (
  business_id text collate "C" not null,
  key text collate "C" not null,
  at timestamptz not null,
  primary key (business_id, key)
);

-- Statuses that came before the answer of their send.
create table chat_parked_status (
  business_id text collate "C" not null,
  platform_id text collate "C" not null,
  status text not null,
  element jsonb not null,
  at timestamptz not null,
  primary key (business_id, platform_id, status)
);

create table chat_broadcast (
  business_id text collate "C" not null,
  id text collate "C" not null,
  name text not null,
  template_id text collate "C" not null,
  -- the request: template, audience, parameters
  request jsonb not null,
  status text not null,
  -- the last contact whose message was written
  frozen_until text collate "C" not null default '',
  audience int not null default 0,
  skipped int not null default 0,
  pause_reason text not null default '',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  finished_at timestamptz,
  primary key (business_id, id)
);
create index chat_broadcast_newest on chat_broadcast (business_id, created_at, id);
create index chat_broadcast_active on chat_broadcast (business_id, id) where status in ('preparing', 'sending');
