-- The order of ids inside one moment is found by sorting: without the id the index is smaller, and no plan takes it for a
-- look-up by id.
drop index chat_message_thread;
create index chat_message_thread on chat_message (business_id, conversation_id, created_at);
