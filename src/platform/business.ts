/** The tenant: everything belongs to a business, and every query of a request names it. */
export interface Business {
  id: string
  /** the account that owns it */
  userId: string
  name: string
  /** IANA zone, for local dates */
  timeZone: string
  /** ISO 4217, the business's own currency */
  currency: string
  /** made with its own clock that can be moved */
  testMode: boolean
}
