-- A subscription has at most one change of each kind that waits: one index says so for both, and finds both at once.
drop index billing_change_scheduled;
drop index billing_change_open;
create unique index billing_change_waiting on billing_change (business_id, subscription_id, state)
  where state in ('open', 'scheduled');

-- Written only under the lock of the subscription, as invoices are, and no subscription is ever deleted: checks would find nothing.
alter table billing_change drop constraint billing_change_business_id_subscription_id_fkey;
alter table billing_mrr_movement drop constraint billing_mrr_movement_business_id_subscription_id_fkey;
