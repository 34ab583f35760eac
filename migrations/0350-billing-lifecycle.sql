-- Subscriptions, invoices, ledger, transactions: what a customer's life with a business leaves behind.
-- All amounts are minor units of the row's currency; all dates are local dates of the business's zone.

create table billing_subscription (
  business_id text collate "C" not null,
  id text collate "C" not null,
  customer_id text collate "C" not null,
  product_id text collate "C" not null,
  plan_id text collate "C" not null,
  status text not null check (status in ('pending', 'future', 'trial', 'trial_expired', 'live', 'non_renewing', 'dunning', 'unpaid', 'paused', 'canceled', 'expired')),
  currency text not null,
  quantity int not null,
  -- terms as they were agreed; the catalogue may change beside them
  plan_type text not null,
  unit_price_minor int8 not null,
  setup_fee_minor int8 not null default 0,
  period_unit text not null check (period_unit in ('d', 'w', 'm', 'y')),
  period_count int not null,
  -- periods still to be billed; null: no end
  cycles_left int,
  trial_days int not null default 0,
  -- boundary of period k = anchor_date + (k - anchor_period_no) periods; period 0 is the time before the first bill
  anchor_date date not null,
  anchor_period_no int not null default 1,
  period_no int not null default 0,
  period_start date,
  period_end date,
  -- when the next step of its life is due: start, trial end, renewal, expiry, cancellation; null: none
  next_billing_at timestamptz,
  -- when to tell that a renewal is near
  remind_at timestamptz,
  starts_at timestamptz not null,
  activation_at timestamptz,
  trial_start date,
  trial_expiry_at timestamptz,
  expiry_at timestamptz,
  last_billing_at timestamptz,
  canceled_at timestamptz,
  cancel_at_end boolean not null default false,
  cancel_reason text not null default '',
  gateway text not null,
  payment_method_id text collate "C",
  payment_term text not null default 'net0',
  custom_fields jsonb not null default '[]',
  coupon_id text collate "C",
  -- invoices the coupon still counts on; null: all
  coupon_left int,
  update_reason text not null default '',
  update_type text not null default '',
  -- the setup fee goes on the next invoice
  setup_fee_due boolean not null default false,
  -- of the request that made it, so that a repeat after a crash finds it
  idempotency_key text,
  -- billed and not yet earned
  deferred_minor int8 not null default 0,
  activated boolean not null default false,
  -- why the last try to renew failed; billing is tried again, never silently stopped
  parked_error text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (business_id, id)
) with (fillfactor = 80);
create index billing_subscription_due on billing_subscription (business_id, next_billing_at, id) where next_billing_at is not null;
create index billing_subscription_remind on billing_subscription (business_id, remind_at) where remind_at is not null;
create index billing_subscription_customer on billing_subscription (business_id, customer_id, id);
create index billing_subscription_plan on billing_subscription (business_id, plan_id) where status not in ('canceled', 'expired');

create unique index billing_subscription_key on billing_subscription (business_id, idempotency_key) where idempotency_key is not null;

create table billing_subscription_addon (
  business_id text collate "C" not null,
  subscription_id text collate "C" not null,
  addon_id text collate "C" not null,
  quantity int not null,
  unit_price_minor int8 not null,
  name text not null,
  billing_cycle text not null,
  period_unit text not null,
  period_count int not null,
  -- an add-on with another period than the plan's is billed in whole periods of its own, from its own anchor
  anchor_date date not null,
  paid_periods int not null default 0,
  -- what it cost on the last invoice
  adjusted_minor int8 not null default 0,
  primary key (business_id, subscription_id, addon_id),
  foreign key (business_id, subscription_id) references billing_subscription (business_id, id)
);
create index billing_subscription_addon_addon on billing_subscription_addon (business_id, addon_id);

-- Plan changes: scheduled for the end of the term, open while a card is charged, then applied or dropped.
create table billing_change (
  business_id text collate "C" not null,
  id text collate "C" not null,
  subscription_id text collate "C" not null,
  state text not null check (state in ('scheduled', 'open', 'applied', 'dropped')),
  update_type text not null,
  plan_id text collate "C" not null,
  -- what was asked, resolved: price, quantity, add-ons, coupon, terms
  terms jsonb not null,
  invoice_id text collate "C",
  transaction_id text collate "C",
  idempotency_key text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (business_id, id),
  foreign key (business_id, subscription_id) references billing_subscription (business_id, id)
);
create unique index billing_change_scheduled on billing_change (business_id, subscription_id) where state = 'scheduled';
create unique index billing_change_key on billing_change (business_id, subscription_id, idempotency_key) where idempotency_key is not null;
create unique index billing_change_open on billing_change (business_id, subscription_id) where state = 'open';

create table billing_invoice (
  business_id text collate "C" not null,
  id text collate "C" not null,
  -- taken at issue, so that a dropped draft leaves no gap
  number int8,
  kind text not null check (kind in ('purchase', 'renewal', 'change', 'resume')),
  status text not null check (status in ('pending', 'sent', 'paid', 'overdue', 'refunded', 'void')),
  subscription_id text collate "C" not null,
  customer_id text collate "C" not null,
  product_id text collate "C" not null,
  plan_id text collate "C" not null,
  -- the period this invoice opens; null for a change inside a period
  period_no int,
  period_start date,
  period_end date,
  currency text not null,
  quantity int not null,
  setup_fee_minor int8 not null default 0,
  net_minor int8 not null,
  tax_minor int8 not null,
  total_minor int8 not null,
  due_minor int8 not null check (due_minor >= 0),
  paid_minor int8 not null default 0,
  credit_applied_minor int8 not null default 0,
  -- taken off the due by credit notes
  offset_minor int8 not null default 0,
  written_off_minor int8 not null default 0,
  refunded_minor int8 not null default 0,
  payment_term text not null,
  due_at timestamptz not null,
  issued_at timestamptz,
  -- too small to be charged alone: collected with the next invoice
  carried boolean not null default false,
  -- when the card is tried next; null: not collected by itself
  charge_at timestamptz,
  dunning_step int not null default 0,
  -- the subscription as it was, without what its ids name
  subscription json not null,
  tax_apply json not null,
  credit_note json,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- No foreign key to the subscription: an invoice is only written under its lock, and a thousand checks a batch cost.
  primary key (business_id, id),
  check (due_minor = total_minor - paid_minor - credit_applied_minor - offset_minor - written_off_minor)
) with (fillfactor = 80);
create unique index billing_invoice_number on billing_invoice (business_id, number);
create unique index billing_invoice_renewal on billing_invoice (business_id, subscription_id, period_no) where kind = 'renewal';
create index billing_invoice_customer on billing_invoice (business_id, customer_id, id);
create index billing_invoice_subscription on billing_invoice (business_id, subscription_id, id);
create index billing_invoice_charge on billing_invoice (business_id, charge_at, id) where charge_at is not null;
create index billing_invoice_overdue on billing_invoice (business_id, due_at) where status = 'sent' and charge_at is null and not carried;

create table billing_invoice_line (
  business_id text collate "C" not null,
  subscription_id text collate "C" not null,
  invoice_id text collate "C" not null,
  line_no int not null,
  kind text not null check (kind in ('plan', 'addon', 'setup_fee')),
  -- plan or add-on
  item_id text collate "C" not null,
  description text not null,
  quantity int not null,
  unit_price_minor int8 not null,
  amount_minor int8 not null,
  discount_minor int8 not null,
  net_minor int8 not null,
  tax_minor int8 not null,
  -- the time it pays for, half-open; null: nothing that could be given back
  start_date date,
  end_date date,
  credited_net_minor int8 not null default 0,
  credited_tax_minor int8 not null default 0,
  primary key (business_id, subscription_id, invoice_id, line_no),
  check (credited_net_minor between 0 and net_minor and credited_tax_minor between 0 and tax_minor)
);

create table billing_credit_note (
  business_id text collate "C" not null,
  id text collate "C" not null,
  subscription_id text collate "C" not null,
  kind text not null check (kind in ('change', 'refund')),
  -- the change or refund it belongs to
  source_id text collate "C" not null,
  net_minor int8 not null,
  tax_minor int8 not null,
  -- which lines it credits: [{ invoiceId, lineNo, net, tax }], amounts in text
  lines jsonb not null,
  voided_at timestamptz,
  created_at timestamptz not null,
  primary key (business_id, id)
);
create unique index billing_credit_note_source on billing_credit_note (business_id, source_id);
create index billing_credit_note_subscription on billing_credit_note (business_id, subscription_id, id);

create table billing_credit_lot (
  business_id text collate "C" not null,
  id text collate "C" not null,
  subscription_id text collate "C" not null,
  customer_id text collate "C" not null,
  currency text not null,
  source_id text collate "C" not null,
  created_minor int8 not null,
  used_minor int8 not null default 0,
  -- held for a plan change whose card is being charged
  reserved_minor int8 not null default 0,
  created_at timestamptz not null,
  primary key (business_id, id),
  check (used_minor >= 0 and reserved_minor >= 0 and used_minor + reserved_minor <= created_minor)
);
create unique index billing_credit_lot_source on billing_credit_lot (business_id, source_id);
create index billing_credit_lot_open on billing_credit_lot (business_id, subscription_id, id) where used_minor < created_minor;
create index billing_credit_lot_customer on billing_credit_lot (business_id, customer_id) where used_minor < created_minor;

create table billing_credit_use (
  business_id text collate "C" not null,
  invoice_id text collate "C" not null,
  lot_id text collate "C" not null,
  amount_minor int8 not null check (amount_minor > 0),
  primary key (business_id, invoice_id, lot_id)
);

-- Payments (attempts included) and refunds. What moves money outside is written here before it is asked for.
create table billing_transaction (
  business_id text collate "C" not null,
  id text collate "C" not null,
  type text not null check (type in ('payment', 'refund')),
  state text not null check (state in ('created', 'pending', 'unknown', 'action_required', 'succeeded', 'failed', 'voided')),
  customer_id text collate "C" not null,
  subscription_id text collate "C" not null,
  product_id text collate "C" not null,
  plan_id text collate "C" not null,
  invoice_id text collate "C" not null,
  -- small invoices collected together with this one: [{ invoiceId, amount }]
  carried jsonb,
  gateway text not null,
  gateway_ref text,
  payment_method_id text collate "C",
  currency text not null,
  amount_minor int8 not null,
  refunded_minor int8 not null default 0,
  refund_pending_minor int8 not null default 0,
  -- of a refund: the payment, and where the money goes
  payment_id text collate "C",
  refund_type text,
  tax_minor int8 not null default 0,
  description text not null default '',
  -- what the caller said of it, such as a cheque number
  reference text not null default '',
  code text,
  action_url text,
  idempotency_key text,
  -- when to ask the gateway what became of it
  check_at timestamptz,
  checks int not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (business_id, id),
  check (refunded_minor >= 0 and refund_pending_minor >= 0 and refunded_minor + refund_pending_minor <= amount_minor)
) with (fillfactor = 80);
create unique index billing_transaction_open on billing_transaction (business_id, invoice_id)
  where type = 'payment' and state in ('created', 'pending', 'unknown', 'action_required');
create unique index billing_transaction_ref on billing_transaction (business_id, gateway, type, gateway_ref) where gateway_ref is not null;
create index billing_transaction_customer on billing_transaction (business_id, customer_id, id);
create index billing_transaction_invoice on billing_transaction (business_id, invoice_id);
create index billing_transaction_payment on billing_transaction (business_id, payment_id) where payment_id is not null;
create index billing_transaction_check on billing_transaction (business_id, check_at) where check_at is not null;
create unique index billing_transaction_key on billing_transaction (business_id, type, idempotency_key) where idempotency_key is not null;

-- One row is one business act: a column an account, debits positive, credits negative, always balanced. Never updated.
create table billing_ledger (
  business_id text collate "C" not null,
  source_key text collate "C" not null,
  at timestamptz not null,
  customer_id text collate "C" not null,
  subscription_id text collate "C" not null,
  currency text not null,
  gateway text,
  receivable int8 not null default 0,
  gateway_cash int8 not null default 0,
  offline_cash int8 not null default 0,
  deferred int8 not null default 0,
  revenue int8 not null default 0,
  tax int8 not null default 0,
  customer_credit int8 not null default 0,
  refund_clearing int8 not null default 0,
  write_off int8 not null default 0,
  primary key (business_id, source_key),
  check (receivable + gateway_cash + offline_cash + deferred + revenue + tax + customer_credit + refund_clearing + write_off = 0)
);

create table billing_invoice_counter (
  business_id text collate "C" not null,
  last_number int8 not null,
  primary key (business_id)
);

create table billing_payment_method (
  business_id text collate "C" not null,
  id text collate "C" not null,
  customer_id text collate "C" not null,
  gateway text not null,
  -- what the gateway calls it; never a card number
  gateway_method text not null,
  gateway_customer text not null default '',
  brand text not null,
  last4 text not null,
  exp_month int not null,
  exp_year int not null,
  deleted_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (business_id, id)
);
create index billing_payment_method_customer on billing_payment_method (business_id, customer_id, id) where deleted_at is null;

-- The books of the test gateway: it forgets nothing, like a real one, and is written outside our transactions.
create table billing_test_charge (
  business_id text collate "C" not null,
  key text collate "C" not null,
  ref text collate "C" not null,
  kind text not null check (kind in ('charge', 'refund')),
  state text not null check (state in ('succeeded', 'declined', 'action_required', 'canceled')),
  code text,
  currency text not null,
  amount_minor int8 not null,
  parent_ref text collate "C",
  created_at timestamptz not null default now(),
  primary key (business_id, key)
);
create unique index billing_test_charge_ref on billing_test_charge (business_id, ref);

create table billing_gateway_account (
  business_id text collate "C" not null,
  gateway text not null,
  -- sealed
  secret_key text not null,
  webhook_secret text not null,
  updated_at timestamptz not null default now(),
  primary key (business_id, gateway)
);

-- Webhooks in, each kept once.
create table billing_gateway_event (
  business_id text collate "C" not null,
  gateway text not null,
  event_id text collate "C" not null,
  type text not null,
  data jsonb not null,
  received_at timestamptz not null default now(),
  done_at timestamptz,
  error text,
  primary key (business_id, gateway, event_id)
);
create index billing_gateway_event_open on billing_gateway_event (business_id, received_at) where done_at is null;

-- Which businesses have work due, so that a worker need not look at all of them.
create table billing_due (
  business_id text collate "C" not null,
  due_at timestamptz not null,
  primary key (business_id)
);
create index billing_due_at on billing_due (due_at);
