-- Events that parts of the program itself act on (mails to customers, for one): which types, and which of them still wait.
create table event_reaction_type (
  type text primary key
);
create table event_reaction (
  business_id text collate "C" not null,
  position bigint not null,
  event_id text collate "C" not null,
  primary key (business_id, position)
);
