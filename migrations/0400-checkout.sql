-- One order that a visitor may place: a form that is sent twice, or from two tabs, names the same order.
create table checkout_order (
  business_id text collate "C" not null,
  id text collate "C" not null,
  multiplan_id text collate "C" not null,
  state text not null check (state in ('open', 'placing', 'confirming', 'placed')),
  -- grows with each card that was refused; part of the key under which billing knows the try
  attempt int not null default 0,
  -- who places it holds it until then; afterwards another may take over
  held_until timestamptz,
  subscription_id text collate "C",
  -- what was typed, never a card: shown again when a bank says no
  entry jsonb,
  language text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (business_id, id)
);
create unique index checkout_order_subscription on checkout_order (business_id, subscription_id) where subscription_id is not null;
create index checkout_order_unsettled on checkout_order (updated_at) where state = 'confirming';
create index checkout_order_created on checkout_order (created_at);

-- Tries that are limited: codes and cards that were refused, links that were asked for. `what` tells distinct ones apart.
create table page_try (
  business_id text collate "C" not null,
  kind text not null,
  subject text collate "C" not null,
  what text collate "C" not null,
  at timestamptz not null default now(),
  primary key (business_id, kind, subject, what)
);
create index page_try_at on page_try (at);
