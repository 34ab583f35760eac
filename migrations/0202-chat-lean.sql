-- A message that is not accepted yet has no platform id; leaving it out keeps the write before every send small.
drop index chat_message_outgoing;
create index chat_message_outgoing on chat_message (business_id, platform_id) where direction = 'out' and platform_id is not null;
