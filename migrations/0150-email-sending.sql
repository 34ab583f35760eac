-- Sending: what is sent, to whom it still must go, and what became of it.

-- What a campaign said when it was sent, kept once however often the same is sent. The id is a hash of the rest.
create table email_content (
  business_id text collate "C" not null,
  id text collate "C" not null,
  builder_type text not null,
  source text not null,
  preheader text not null,
  -- adds the unsubscribe link where the template has none
  footer boolean not null,
  -- targets of the tracked links by number; filled when it is compiled first
  links jsonb,
  created_at timestamptz not null,
  primary key (business_id, id)
);

-- One launch of a campaign. Ids end in eight zeros, where its deliveries have their place in the audience.
create table email_send (
  business_id text collate "C" not null,
  id text collate "C" not null,
  campaign_id text collate "C" not null,
  campaign_name text not null,
  content_id text collate "C" not null,
  -- 0 individual, 1 campaign: the lower lane never waits behind the higher
  lane smallint not null,
  subject text not null,
  from_name text not null,
  -- empty: the server's
  sender_email text not null,
  -- named by the caller: then no other server may take over
  delivery_server_id text collate "C",
  state text not null default 'sending' check (state in ('sending', 'paused', 'cancelled', 'complete')),
  pause_reason text not null default '',
  -- off once a person resumed in spite of the rates
  automatic_pause boolean not null default true,
  total int not null,
  queued int not null,
  sent int not null default 0,
  delivered int not null default 0,
  bounced int not null default 0,
  suppressed int not null default 0,
  failed int not null default 0,
  unknown int not null default 0,
  cancelled int not null default 0,
  -- bounces that were the recipient's fault, also those that came back later
  hard_bounces int not null default 0,
  complaints int not null default 0,
  unsubscribes int not null default 0,
  opens int not null default 0,
  unique_opens int not null default 0,
  machine_opens int not null default 0,
  clicks int not null default 0,
  unique_clicks int not null default 0,
  machine_clicks int not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  completed_at timestamptz,
  primary key (business_id, id)
) with (fillfactor = 50);
create index email_send_campaign on email_send (business_id, campaign_id, id);

create table email_send_attachment (
  business_id text collate "C" not null,
  send_id text collate "C" not null,
  position int not null,
  filename text not null,
  content_type text not null,
  content bytea not null,
  primary key (business_id, send_id, position),
  foreign key (business_id, send_id) references email_send (business_id, id)
);

-- The frozen audience, in blocks that a worker takes as a whole. Work left = a block's people without a result.
create table email_block (
  business_id text collate "C" not null,
  send_id text collate "C" not null,
  -- place of the first of them; the others follow
  first int not null,
  lane smallint not null,
  -- empty where the address is no subscriber's
  subscriber_ids text[] not null,
  emails text[] not null,
  done boolean not null default false,
  claimed_by text,
  claimed_until timestamptz,
  primary key (business_id, send_id, first),
  foreign key (business_id, send_id) references email_send (business_id, id)
);
create index email_block_open on email_block (business_id, lane, send_id, first) where not done;

-- The log: one row a recipient, written once, when the result is known.
create table email_delivery (
  business_id text collate "C" not null,
  -- the send's id with the place in its audience as the last eight digits
  id text collate "C" not null,
  subscriber_id text collate "C",
  email text not null,
  state text not null check (state in ('sent', 'bounced', 'suppressed', 'failed', 'unknown', 'cancelled')),
  -- hard, soft, block, policy, content, rate, network; empty when sent
  class text not null default '',
  code smallint not null default 0,
  reply text not null default '',
  server_id text collate "C",
  -- came to its end after being deferred; such rows are counted one by one, the others with their block
  retried boolean not null default false,
  at timestamptz not null,
  primary key (business_id, id)
);

-- Recipients whose server said "later"; most never come here.
create table email_deferral (
  business_id text collate "C" not null,
  delivery_id text collate "C" not null,
  subscriber_id text collate "C",
  email text not null,
  lane smallint not null,
  attempts int not null,
  next_at timestamptz not null,
  expires_at timestamptz not null,
  class text not null,
  code smallint not null,
  reply text not null,
  claimed_by text,
  claimed_until timestamptz,
  primary key (business_id, delivery_id)
);
create index email_deferral_next on email_deferral (business_id, next_at);

-- Every try that did not end it, with the full reply.
create table email_attempt (
  business_id text collate "C" not null,
  delivery_id text collate "C" not null,
  attempt int not null,
  at timestamptz not null,
  class text not null,
  code smallint not null,
  reply text not null,
  server_id text collate "C",
  primary key (business_id, delivery_id, attempt)
);

-- Which businesses have something to send; small, and read by every worker. A new version means new work.
create table email_due (
  business_id text collate "C" not null,
  version bigint not null default 1,
  primary key (business_id)
);

-- Pace of a server towards one receiving provider ('' for the server as a whole), kept here because many processes send.
create table email_pace (
  business_id text collate "C" not null,
  server_id text collate "C" not null,
  provider text collate "C" not null,
  -- the moment from which the next message may go
  next_at timestamptz not null,
  -- slowed down by replies: messages a minute, until then nothing before suspended_until
  per_minute int,
  slow_until timestamptz,
  reason text not null default '',
  primary key (business_id, server_id, provider)
) with (fillfactor = 50);

-- The circuit breaker of a server.
create table email_server_health (
  business_id text collate "C" not null,
  server_id text collate "C" not null,
  failures int not null default 0,
  open_until timestamptz,
  last_error text not null default '',
  updated_at timestamptz not null,
  primary key (business_id, server_id)
);

-- Everything that came back: opens, clicks, bounces, complaints. Raw, machine or not; the id makes a repeat harmless.
create table email_event (
  business_id text collate "C" not null,
  id text collate "C" not null,
  delivery_id text collate "C" not null,
  kind text not null,
  at timestamptz not null,
  link int,
  is_machine boolean not null default false,
  -- why it is taken for a machine, or what a bounce said
  reason text not null default '',
  ip text not null default '',
  user_agent text not null default '',
  primary key (business_id, id)
);
create index email_event_delivery on email_event (business_id, delivery_id, at);

-- What has been counted of a delivery, so that "first" and "once" are exact.
create table email_delivery_activity (
  business_id text collate "C" not null,
  delivery_id text collate "C" not null,
  delivered_at timestamptz,
  opened_at timestamptz,
  clicked_at timestamptz,
  bounced_at timestamptz,
  complained_at timestamptz,
  unsubscribed_at timestamptz,
  -- last hit by something that was no human, and the last click with its link: scanners follow all links within seconds
  machine_at timestamptz,
  last_click_at timestamptz,
  last_click_link int,
  primary key (business_id, delivery_id)
) with (fillfactor = 70);

-- Mail of businesses without a delivery server: captured, never sent.
create table email_outbox (
  business_id text collate "C" not null,
  delivery_id text collate "C" not null,
  envelope_from text not null,
  email text not null,
  subject text not null,
  message bytea not null,
  at timestamptz not null,
  primary key (business_id, delivery_id)
);
create index email_outbox_newest on email_outbox (business_id, at desc, delivery_id desc);

-- What only the sending engine knows of a delivery server.
create table email_server_signing (
  business_id text collate "C" not null,
  server_id text collate "C" not null,
  dkim_domain text not null,
  dkim_selector text not null,
  -- sealed with the context email_dkim:<business id>:<server id>
  sealed_key text not null,
  public_key text not null,
  created_at timestamptz not null,
  primary key (business_id, server_id),
  foreign key (business_id, server_id) references email_delivery_server (business_id, id) on delete cascade
);

create table email_server_webhook (
  business_id text collate "C" not null,
  server_id text collate "C" not null,
  provider text not null check (provider in ('ses', 'sendgrid', 'postmark', 'mailgun')),
  -- sealed with the context email_webhook:<business id>:<server id>
  sealed_secret text not null,
  created_at timestamptz not null,
  primary key (business_id, server_id),
  foreign key (business_id, server_id) references email_delivery_server (business_id, id) on delete cascade
);
