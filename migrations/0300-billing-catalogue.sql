-- What a business sells and to whom. Amounts are whole minor units beside their currency; percentages are parts per
-- million, so 1 % is 10000. Deleted rows stay, hidden, because invoices and ended subscriptions still tell of them;
-- that is why the indexes that lists and uniqueness use leave them out.

create table billing_product (
  business_id text collate "C" not null,
  id text collate "C" not null,
  product_name text not null,
  description text,
  redirect_url text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (business_id, id)
);
create index billing_product_list on billing_product (business_id, id) where deleted_at is null;

create table billing_plan (
  business_id text collate "C" not null,
  id text collate "C" not null,
  product_id text collate "C" not null,
  plan_name text not null,
  plan_code text not null,
  plan_type text not null check (plan_type in ('flat_fee', 'per_unit', 'donation', 'variable')),
  plan_active boolean not null,
  price_minor bigint not null check (price_minor >= 0),
  currency_code text not null,
  billing_period text not null check (billing_period in ('d', 'w', 'm', 'y')),
  billing_period_num int not null check (billing_period_num > 0),
  billing_cycle text not null check (billing_cycle in ('lifetime', 'specific', 'onetime')),
  -- how many periods, for specific cycles only
  billing_cycle_num int check (billing_cycle_num > 0),
  trial_period int not null check (trial_period >= 0),
  trial_type text not null check (trial_type in ('day', 'week', 'month')),
  setup_fee_minor bigint not null check (setup_fee_minor >= 0),
  setup_fee_type text not null,
  -- days; 0: the payment term of the subscription holds
  custom_payment_term int not null,
  failed_payment_gateway text not null,
  failed_payment_gateway_array jsonb not null,
  funnel jsonb not null,
  is_metered boolean not null,
  plan_description text not null,
  meta_data jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (business_id, id),
  foreign key (business_id, product_id) references billing_product (business_id, id)
);
create index billing_plan_list on billing_plan (business_id, id) where deleted_at is null;
create index billing_plan_product on billing_plan (business_id, product_id, id) where deleted_at is null;
create unique index billing_plan_code on billing_plan (business_id, product_id, plan_code) where deleted_at is null;

create table billing_customer (
  business_id text collate "C" not null,
  id text collate "C" not null,
  first_name text not null,
  last_name text not null,
  email_id text not null,
  company_name text not null,
  phone text not null,
  website text not null,
  billing_address jsonb not null,
  shipping_address jsonb not null,
  tax_exempt boolean not null,
  tax_id text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (business_id, id)
);
create index billing_customer_list on billing_customer (business_id, id) where deleted_at is null;
create unique index billing_customer_email on billing_customer (business_id, lower(email_id)) where deleted_at is null;

create table billing_addon_category (
  business_id text collate "C" not null,
  id text collate "C" not null,
  product_id text collate "C" not null,
  name text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (business_id, id),
  foreign key (business_id, product_id) references billing_product (business_id, id)
);
create unique index billing_addon_category_name on billing_addon_category (business_id, product_id, lower(name));
create index billing_addon_category_list on billing_addon_category (business_id, product_id, id);

create table billing_addon (
  business_id text collate "C" not null,
  id text collate "C" not null,
  product_id text collate "C" not null,
  -- the account that owns the business
  user_id text collate "C" not null,
  name text not null,
  code text not null,
  price_minor bigint not null check (price_minor >= 0),
  currency_code text not null,
  billing_period text not null check (billing_period in ('m', 'y', 'w')),
  billing_period_num int not null check (billing_period_num > 0),
  billing_cycle text not null check (billing_cycle in ('lifetime', 'onetime')),
  status boolean not null,
  -- null: sold with every plan of the product
  plan_ids text[],
  category_array text[] not null,
  description text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (business_id, id),
  foreign key (business_id, product_id) references billing_product (business_id, id)
);
create index billing_addon_product on billing_addon (business_id, product_id, id) where deleted_at is null;
create unique index billing_addon_code on billing_addon (business_id, product_id, code) where deleted_at is null;

create table billing_multiplan (
  business_id text collate "C" not null,
  id text collate "C" not null,
  product_id text collate "C" not null,
  page_title text not null,
  multiplan_list text not null check (multiplan_list in ('radio', 'select')),
  -- in the order in which the page shows them
  plan_ids text[] not null,
  preferred_plan_id text collate "C",
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (business_id, id),
  foreign key (business_id, product_id) references billing_product (business_id, id)
);
create index billing_multiplan_list on billing_multiplan (business_id, id) where deleted_at is null;
create index billing_multiplan_product on billing_multiplan (business_id, product_id, id) where deleted_at is null;
create unique index billing_multiplan_title on billing_multiplan (business_id, product_id, page_title) where deleted_at is null;
-- A checkout page is opened by its address alone, before the business is known; so this index does not begin with it.
create index billing_multiplan_page on billing_multiplan (id);

create table billing_coupon (
  business_id text collate "C" not null,
  id text collate "C" not null,
  product_id text collate "C" not null,
  coupon_name text not null,
  coupon_code text not null,
  status text not null check (status in ('active', 'inactive')),
  apply_to text not null check (apply_to in ('total_amount', 'subscription_amount', 'addon_amount')),
  discount_type text not null check (discount_type in ('percent', 'flat')),
  -- one of the two, by discount_type
  discount_ppm int check (discount_ppm between 0 and 1000000),
  discount_minor bigint check (discount_minor >= 0),
  currency_code text not null,
  redemption_type text not null check (redemption_type in ('onetime', 'forever', 'number_time')),
  -- how many invoices it is taken off, for number_time
  redemption_cycle int not null,
  -- 0: as often as anyone likes
  maximum_redemption int not null check (maximum_redemption >= 0),
  used_redemption int not null default 0 check (used_redemption >= 0),
  -- null: for every plan of the product
  plan_ids text[],
  -- last day on which it can be used, in the business's time zone
  valid_upto date,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (business_id, id),
  foreign key (business_id, product_id) references billing_product (business_id, id),
  check ((discount_type = 'percent') = (discount_ppm is not null) and (discount_type = 'flat') = (discount_minor is not null)),
  check (maximum_redemption = 0 or used_redemption <= maximum_redemption)
);
create index billing_coupon_product on billing_coupon (business_id, product_id, id) where deleted_at is null;
-- People type codes by hand, so case does not tell them apart.
create unique index billing_coupon_code on billing_coupon (business_id, product_id, lower(coupon_code)) where deleted_at is null;

create table billing_tax (
  business_id text collate "C" not null,
  id text collate "C" not null,
  name text not null,
  -- ISO 3166 code of two letters
  country text not null,
  -- empty: the whole country
  state text not null,
  rate_ppm int not null check (rate_ppm between 0 and 1000000),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (business_id, id)
);
create index billing_tax_list on billing_tax (business_id, id) where deleted_at is null;
create unique index billing_tax_place on billing_tax (business_id, country, lower(state), lower(name)) where deleted_at is null;

create table billing_license (
  business_id text collate "C" not null,
  id text collate "C" not null,
  product_id text collate "C" not null,
  name text not null,
  method text not null check (method in ('list', 'auto')),
  -- for method auto: every X becomes a random letter or digit
  pattern text not null,
  status text not null check (status in ('active', 'inactive')),
  -- null: for every plan of the product
  plan_id text collate "C",
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (business_id, id),
  foreign key (business_id, product_id) references billing_product (business_id, id),
  foreign key (business_id, plan_id) references billing_plan (business_id, id)
);
create index billing_license_product on billing_license (business_id, product_id, id) where deleted_at is null;

create table billing_license_code (
  business_id text collate "C" not null,
  id text collate "C" not null,
  license_id text collate "C" not null,
  product_id text collate "C" not null,
  code text not null,
  -- null: not sold yet
  subscription_id text collate "C",
  assigned_at timestamptz,
  created_at timestamptz not null,
  primary key (business_id, id),
  foreign key (business_id, license_id) references billing_license (business_id, id),
  check ((subscription_id is null) = (assigned_at is null))
);
create unique index billing_license_code_code on billing_license_code (business_id, product_id, code);
create index billing_license_code_list on billing_license_code (business_id, license_id, id);
create index billing_license_code_free on billing_license_code (business_id, license_id, id) where subscription_id is null;
-- A subscription is given one code.
create unique index billing_license_code_subscription on billing_license_code (business_id, subscription_id)
  where subscription_id is not null;
