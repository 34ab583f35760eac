-- The oldest free code of a pool must come from the index of free codes alone. Ordered by id, the primary key gave the
-- same order, and a sale then read past every code that was sold before it.
alter table billing_license_code drop constraint billing_license_code_pkey;
drop index billing_license_code_list;
drop index billing_license_code_free;
alter table billing_license_code add primary key (business_id, license_id, id);
create index billing_license_code_free on billing_license_code (business_id, license_id, created_at, id)
  where subscription_id is null;
