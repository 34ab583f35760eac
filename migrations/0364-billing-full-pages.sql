-- What happens to an invoice changes its status or its next charge, which are indexed: room kept in its page was not used.
alter table billing_invoice set (fillfactor = 100);
