-- Sends that still have somebody without a result, by lane: where workers look for blocks.
create index email_send_open on email_send (business_id, lane, id) where completed_at is null;
