-- Opens and clicks as they came in, until they are counted. Asking for the picture waits for this row and for nothing
-- else; many of them share a commit.
create table email_hit (
  business_id text collate "C" not null,
  id text collate "C" not null,
  delivery_id text collate "C" not null,
  kind text not null,
  at timestamptz not null,
  -- of a click
  link int,
  method text not null,
  ip text not null,
  user_agent text not null,
  primary key (business_id, id)
);
