-- Which processes send from a number right now, and how much each asked for in its last second: they share the number's
-- rate by it. Need not outlive a crash.
create unlogged table chat_pace (
  business_id text collate "C" not null,
  setting_id text collate "C" not null,
  process_id text collate "C" not null,
  wanted int not null,
  until timestamptz not null,
  primary key (business_id, setting_id, process_id)
);
