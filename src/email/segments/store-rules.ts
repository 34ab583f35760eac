import type { PendingQuery, Row } from 'postgres'
import type { Db } from '../../platform/database.ts'
import type { FieldDefinition } from '../custom-fields/custom-fields.ts'
import { type Condition, customKey, type FieldType, type Group, isGroup, startOf, typeOfField } from './rules.ts'

type Fragment = PendingQuery<Row[]>

export interface RuleContext {
  businessId: string
  customFields: readonly FieldDefinition[]
  now: Date
}

/** The tree as a condition on `s`, a row of email_subscriber. Every leaf is true or false, never null, so that `none` means none. */
export function ruleCondition(db: Db, context: RuleContext, rule: Condition | Group): Fragment {
  if (!isGroup(rule)) return db`coalesce(${leaf(db, context, rule)}, false)`
  const parts = rule.conditions.map(child => ruleCondition(db, context, child))
  const joined = parts.reduce((left, right) =>
    rule.match === 'all' ? db`${left} and ${right}` : db`${left} or ${right}`,
  )
  return rule.match === 'none' ? db`not (${joined})` : db`(${joined})`
}

/** A field whose definition was removed since is set for nobody. */
function leaf(db: Db, context: RuleContext, rule: Condition): Fragment {
  const type = typeOfField(rule.field, context.customFields)
  if (!type) return rule.operator === 'is_not_set' ? db`true` : db`false`
  if (type === 'set') return setLeaf(db, context, rule)
  const value = fieldValue(db, context, rule.field, type)
  if (rule.operator === 'is_set') return isKnown(db, rule.field, type, value)
  if (rule.operator === 'is_not_set') return db`not coalesce(${isKnown(db, rule.field, type, value)}, false)`
  if (rule.operator === 'not_equals')
    return db`not coalesce(${compare(db, context, type, value, { ...rule, operator: 'equals' })}, false)`
  if (rule.operator === 'not_in')
    return db`not coalesce(${compare(db, context, type, value, { ...rule, operator: 'in' })}, false)`
  return compare(db, context, type, value, rule)
}

/** Where nothing is known of a place it is shown, and compared, as the text "Not Specified", yet is not set. */
function isKnown(db: Db, field: string, type: FieldType, value: Fragment): Fragment {
  if (type !== 'text') return db`${value} is not null`
  return field === 'country' || field === 'city' ? db`${value} not in ('', 'Not Specified')` : db`${value} <> ''`
}

const activityColumns: Record<string, string> = {
  totalSent: 'total_sent',
  totalDelivered: 'total_delivered',
  totalOpens: 'total_opens',
  totalUniqueOpens: 'total_unique_opens',
  totalClicks: 'total_clicks',
  totalUniqueClick: 'total_unique_click',
  lastOpenAt: 'last_open_at',
  lastClickAt: 'last_click_at',
}
const rowColumns: Record<string, string> = {
  email: 'email',
  firstName: 'first_name',
  lastName: 'last_name',
  mobile: 'mobile',
  country: 'country',
  city: 'city',
  source: 'source',
  status: 'status',
  leadScore: 'lead_score',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
}

function fieldValue(db: Db, context: RuleContext, field: string, type: FieldType): Fragment {
  const key = customKey(field)
  if (key !== undefined) return customValue(db, key, type)
  if (field === 'dateOfBirth') return db`s.date_of_birth::timestamptz`
  if (field === 'isSuppressed')
    return db`exists (select 1 from email_suppression e where e.business_id = ${context.businessId} and e.address = lower(s.email))`
  const column = rowColumns[field]
  if (column) return db`s.${db(column)}`
  const value = db`(select a.${db(activityColumns[field]!)} from email_subscriber_activity a where a.business_id = s.business_id and a.subscriber_id = s.id)`
  return type === 'number' ? db`coalesce(${value}, 0)` : value
}

/** What is stored may be of an older definition's type; then it counts as not set instead of failing the statement. */
function customValue(db: Db, key: string, type: FieldType): Fragment {
  const json = db`(s.custom_fields -> ${key})`
  const text = db`(s.custom_fields ->> ${key})`
  switch (type) {
    case 'number':
      return db`case when jsonb_typeof${json} = 'number' then ${text}::numeric end`
    case 'boolean':
      return db`case when jsonb_typeof${json} = 'boolean' then ${text}::boolean end`
    case 'date':
      return db`case when ${text} ~ '^\\d{4}-\\d{2}-\\d{2}' then ${text}::timestamptz end`
    default:
      return text
  }
}

function compare(db: Db, context: RuleContext, type: FieldType, value: Fragment, rule: Condition): Fragment {
  switch (type) {
    case 'text':
      return compareText(db, value, rule)
    case 'date':
      return compareDate(db, context, value, rule)
    case 'boolean':
      return db`${value} = ${rule.value as boolean}::boolean`
    default:
      if (rule.operator === 'in')
        return db`${value}::numeric = any(${(rule.value as number[]).map(String)}::text[]::numeric[])`
      return db`${value}::numeric ${sign(db, rule.operator)} ${String(rule.value)}::text::numeric`
  }
}

function compareText(db: Db, value: Fragment, rule: Condition): Fragment {
  const text = String(rule.value)
  switch (rule.operator) {
    case 'contains':
      return db`position(lower(${text}) in lower(${value})) > 0`
    case 'starts_with':
      return db`starts_with(lower(${value}), lower(${text}))`
    case 'ends_with':
      return db`right(lower(${value}), length(${text}::text)) = lower(${text})`
    case 'in':
      return db`lower(${value}) in (select lower(x) from unnest(${rule.value as string[]}::text[]) x)`
    default:
      return db`lower(${value}) = lower(${text})`
  }
}

/** A date without a time means the whole day (UTC): `after` it begins the next day, `equals` is any moment of it. */
function compareDate(db: Db, { now }: RuleContext, value: Fragment, rule: Condition): Fragment {
  const dayMs = 86_400_000
  if (rule.operator === 'within_days') {
    const since = new Date(now.getTime() - Number(rule.value) * dayMs)
    return db`${value} between ${since}::timestamptz and ${now}::timestamptz`
  }
  const text = String(rule.value)
  const start = startOf(text)
  const end = new Date(start.getTime() + (text.length === 10 ? dayMs - 1 : 0))
  switch (rule.operator) {
    case 'before':
    case 'lt':
      return db`${value} < ${start}::timestamptz`
    case 'lte':
      return db`date_trunc('milliseconds', ${value}) <= ${end}::timestamptz`
    case 'after':
    case 'gt':
      return db`date_trunc('milliseconds', ${value}) > ${end}::timestamptz`
    case 'gte':
      return db`${value} >= ${start}::timestamptz`
    default:
      return db`date_trunc('milliseconds', ${value}) between ${start}::timestamptz and ${end}::timestamptz`
  }
}

const sign = (db: Db, operator: string): Fragment => {
  const signs: Record<string, Fragment> = { gt: db`>`, gte: db`>=`, lt: db`<`, lte: db`<=` }
  return signs[operator] ?? db`=`
}

/** Tags and lists by name, lists also by id. A name that does not exist has no members. */
function setLeaf(db: Db, context: RuleContext, rule: Condition): Fragment {
  const numbers = rule.field === 'tags' ? db`s.tag_numbers` : db`s.list_numbers`
  if (rule.operator === 'is_set') return db`cardinality(${numbers}) > 0`
  if (rule.operator === 'is_not_set') return db`cardinality(${numbers}) = 0`
  const names = [rule.value].flat().map(String)
  const wanted =
    rule.field === 'tags'
      ? db`array(select t.number from email_tag t where t.business_id = ${context.businessId} and t.name = any(${names}::text[]))`
      : db`array(select l.number from email_list l where l.business_id = ${context.businessId}
          and (lower(l.name) in (select lower(x) from unnest(${names}::text[]) x) or l.id = any(${names}::text[])))`
  const member = db`${numbers} && ${wanted}`
  return rule.operator === 'not_equals' || rule.operator === 'not_in' ? db`not (${member})` : member
}
