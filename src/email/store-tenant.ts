import type { Db } from '../platform/database.ts'

/**
 * The business, as a value that the planner can't look at. Of a business that it has no statistics of yet it expects a single row behind every
 * index that begins with business_id, so it takes any of them and reads all people to find one. Not knowing which business, it expects
 * as many as one has on average, and takes the index that finds the row.
 */
export const tenant = (db: Db, businessId: string) => db`(select ${businessId}::text collate "C")`
