-- Pictures, films, sound and files: those we send, and those that people sent us.
create table chat_media (
  business_id text collate "C" not null,
  id text collate "C" not null,
  direction text not null check (direction in ('in', 'out')),
  kind text not null check (kind in ('image', 'video', 'audio', 'document', 'sticker')),
  -- uploading, waiting (to be fetched), stored, failed
  status text not null,
  mime_type text not null,
  filename text not null default '',
  size int not null default 0,
  -- hex
  sha256 text not null default '',
  -- incoming: the message it came with, and what the platform calls it
  message_id text collate "C",
  platform_id text,
  error text not null default '',
  attempt int not null default 0,
  -- waiting: not before this moment
  try_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (business_id, id)
);
create index chat_media_waiting on chat_media (business_id, try_at) where status = 'waiting';
create index chat_media_uploading on chat_media (business_id, created_at) where status = 'uploading';

-- The content, in pieces, so that a large file never has to be in memory as a whole.
create table chat_media_piece (
  business_id text collate "C" not null,
  media_id text collate "C" not null,
  number int not null,
  content bytea not null,
  primary key (business_id, media_id, number),
  foreign key (business_id, media_id) references chat_media (business_id, id) on delete cascade
);
alter table chat_media_piece alter column content set storage external;

-- What a number of the platform calls a file of ours; uploaded once, sent often.
create table chat_media_upload (
  business_id text collate "C" not null,
  media_id text collate "C" not null,
  phone_number_id text not null,
  platform_id text not null,
  expires_at timestamptz not null,
  primary key (business_id, media_id, phone_number_id),
  foreign key (business_id, media_id) references chat_media (business_id, id) on delete cascade
);

alter table chat_message add column media_id text collate "C";
