-- A broadcast may wait for its moment. Its audience is who is a contact when it begins.
alter table chat_broadcast add column scheduled_at timestamptz, add column started_at timestamptz;
update chat_broadcast set started_at = created_at;
create index chat_broadcast_scheduled on chat_broadcast (business_id, scheduled_at) where status = 'scheduled';
