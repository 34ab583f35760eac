-- Monthly recurring revenue, told by its movements: each row is one change of one subscription. `mrr_minor` is what it
-- comes to afterwards, so that the last row of a subscription says what it brings a month.
create table billing_mrr_movement (
  business_id text collate "C" not null,
  subscription_id text collate "C" not null,
  no int not null,
  customer_id text collate "C" not null,
  currency text not null,
  type text not null check (type in ('new', 'expansion', 'contraction', 'churn', 'reactivation')),
  amount_minor int8 not null check (amount_minor <> 0),
  mrr_minor int8 not null check (mrr_minor >= 0),
  created_at timestamptz not null,
  primary key (business_id, subscription_id, no),
  foreign key (business_id, subscription_id) references billing_subscription (business_id, id)
);
create index billing_mrr_movement_time on billing_mrr_movement (business_id, created_at desc);

-- Their sums by day of the business, so that a year of a million subscriptions is read from a few thousand rows.
create table billing_mrr_day (
  business_id text collate "C" not null,
  day date not null,
  currency text not null,
  type text not null,
  amount_minor int8 not null,
  movements int8 not null,
  primary key (business_id, day, currency, type)
) with (fillfactor = 70);

-- What was sold before counts as new on the day on which it began.
with present as (
  select subscription.business_id, subscription.id, subscription.customer_id, subscription.currency,
    coalesce(subscription.activation_at, subscription.created_at) as since, business.time_zone,
    (round((case subscription.plan_type when 'per_unit' then subscription.quantity else 1 end * subscription.unit_price_minor)
      * case subscription.period_unit when 'd' then 365 / 12.0 when 'w' then 365 / 84.0 when 'm' then 1.0 else 1 / 12.0 end
      / subscription.period_count)
    + coalesce((
      select sum(round(addon.quantity * addon.unit_price_minor
        * case addon.period_unit when 'd' then 365 / 12.0 when 'w' then 365 / 84.0 when 'm' then 1.0 else 1 / 12.0 end
        / addon.period_count))
      from billing_subscription_addon addon
      where addon.business_id = subscription.business_id and addon.subscription_id = subscription.id
        and addon.billing_cycle = 'lifetime'), 0))::int8 as minor
  from billing_subscription subscription
  join account_business business on business.id = subscription.business_id
  join billing_plan plan on plan.business_id = subscription.business_id and plan.id = subscription.plan_id
  where subscription.status in ('live', 'dunning', 'non_renewing') and plan.billing_cycle <> 'onetime'
), moved as (
  insert into billing_mrr_movement (business_id, subscription_id, no, customer_id, currency, type, amount_minor, mrr_minor, created_at)
  select business_id, id, 1, customer_id, currency, 'new', minor, minor, since from present where minor > 0
)
insert into billing_mrr_day (business_id, day, currency, type, amount_minor, movements)
select business_id, (since at time zone time_zone)::date, currency, 'new', sum(minor), count(*)
from present where minor > 0 group by 1, 2, 3;
