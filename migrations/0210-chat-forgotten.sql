-- What became of messages to people who were deleted since, by status: a report stays what happened.
alter table chat_broadcast add column forgotten jsonb not null default '{}';
