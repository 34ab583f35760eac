-- Numbers that were taken for a batch of invoices which is still being written. The batch deletes its row in its own
-- transaction: a row that stays belongs to a batch that failed, and the next one uses its numbers, so that none is missing.
create table billing_number_reserve (
  business_id text collate "C" not null,
  first_number int8 not null,
  last_number int8 not null,
  primary key (business_id, first_number),
  check (first_number <= last_number)
);

-- That a period is billed once is kept by the ledger, whose key names the period.
drop index billing_invoice_renewal;
