-- How a business wants its billing done, where it may choose. No row: as it is for everyone.
create table billing_settings (
  business_id text collate "C" not null,
  restart_on_change boolean not null,
  end_trial_on_change boolean not null,
  missed_periods text not null check (missed_periods in ('bill_all', 'bill_current_only')),
  updated_at timestamptz not null,
  primary key (business_id)
);
