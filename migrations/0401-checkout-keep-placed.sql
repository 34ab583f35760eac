-- A placed order is kept: it tells the language in which its customer is written to.
drop index checkout_order_created;
create index checkout_order_created on checkout_order (created_at) where state <> 'placed';
