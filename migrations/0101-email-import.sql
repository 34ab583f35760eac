-- Imports: the file is stored whole before the answer, in chunks that end where a record ends; a job merges chunk by
-- chunk and marks its progress in the transaction of the merge, so that it can be killed anywhere and goes on.
create table email_import (
  business_id text collate "C" not null,
  id text collate "C" not null,
  -- uploading, then queued and running, then done, cancelled or failed
  status text not null check (status in ('uploading', 'queued', 'running', 'done', 'cancelled', 'failed')),
  -- what every row gets besides its own: lists and tags by number; the columns of the file; its separator
  settings jsonb not null,
  total_bytes bigint not null default 0,
  done_bytes bigint not null default 0,
  next_chunk int not null default 0,
  -- lines of the file before the next chunk
  lines int not null default 0,
  rows int not null default 0,
  created int not null default 0,
  updated int not null default 0,
  refused int not null default 0,
  error text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  finished_at timestamptz,
  primary key (business_id, id)
);

create table email_import_chunk (
  business_id text collate "C" not null,
  import_id text collate "C" not null,
  number int not null,
  content bytea not null,
  primary key (business_id, import_id, number),
  foreign key (business_id, import_id) references email_import (business_id, id) on delete cascade
);
-- Text of people hardly shrinks by what the database would do to it, and it is read once.
alter table email_import_chunk alter column content set storage external;

create table email_import_refusal (
  business_id text collate "C" not null,
  import_id text collate "C" not null,
  line int not null,
  email text not null,
  reason text not null,
  primary key (business_id, import_id, line),
  foreign key (business_id, import_id) references email_import (business_id, id) on delete cascade
);

-- A cell of a CSV file. What a spreadsheet would run as a formula is led by an apostrophe, which imports take off again.
create function email_csv(value text) returns text language sql immutable parallel safe as $$
  select case
    when left(value, 1) in ('=', '+', '-', '@', chr(9), chr(13)) then '"''' || replace(value, '"', '""') || '"'
    when translate(value, '",' || chr(10) || chr(13), '') = value then value
    else '"' || replace(value, '"', '""') || '"' end
$$;
