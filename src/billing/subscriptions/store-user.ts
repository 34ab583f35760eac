import { type Db, only } from '../../platform/database.ts'

export interface UserRow {
  id: string
  email: string
  profile: Record<string, unknown>
  createdAt: Date
  updatedAt: Date
}

/** Who owns the business, for answers that show it. */
export const ownerOf = (db: Db, userId: string) =>
  db<UserRow[]>`
  select id, email, profile, created_at as "createdAt", updated_at as "updatedAt" from account_user
  where id = ${userId}`.then(only)
