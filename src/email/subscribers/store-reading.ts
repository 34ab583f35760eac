import { type Db, only } from '../../platform/database.ts'
import type { FieldDefinition } from '../custom-fields/custom-fields.ts'
import type { SegmentRule } from '../segments/store.ts'

/** What a business has defined, in one trip: nearly every request about subscribers begins with it. */
export const definitions = (db: Db, businessId: string) =>
  db<{ customFields: FieldDefinition[]; segments: SegmentRule[] }[]>`
  select (select coalesce(jsonb_agg(jsonb_build_object('key', key, 'type', type) order by id), '[]')
      from email_custom_field where business_id = ${businessId}) as "customFields",
    (select coalesce(jsonb_agg(jsonb_build_object('id', id, 'name', name, 'rules', rules) order by id), '[]')
      from email_segment where business_id = ${businessId}) as segments`.then(only)
