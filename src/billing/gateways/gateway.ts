/** What every payment gateway can be asked, whatever its own API looks like. */

/**
 * What became of a request. `declined` and `not_sent` are certain: nothing was taken. `unknown` (timeout, reset, 5xx)
 * means that money may have moved: it is asked about later, and never sent again under another key.
 */
export type Outcome =
  | { kind: 'succeeded'; ref: string; amountMinor: bigint }
  | { kind: 'pending'; ref: string }
  | { kind: 'action_required'; ref: string; url: string }
  | { kind: 'declined'; ref?: string; code: string; message?: string; retryable: boolean }
  | { kind: 'not_sent'; reason: string }
  | { kind: 'unknown'; reason: string; ref?: string }

export interface ChargeInput {
  /** the same for every try of one decision to charge */
  key: string
  amountMinor: bigint
  currency: string
  method: { ref: string; customer: string }
  customerPresent: boolean
  returnUrl: string
  meta: Record<string, string>
  /** told as soon as the gateway names the payment, before it is confirmed, so that an early webhook finds it */
  onRef?: (ref: string) => Promise<void>
}

export interface SavedMethod {
  ref: string
  customer: string
  brand: string
  last4: string
  expMonth: number
  expYear: number
}

export interface MethodRequest {
  /** what the card is for; must be named again to get it */
  reference: string
  email: string
  currency: string
  /** {session} is replaced by the gateway's name of the visit */
  returnUrl: string
  cancelUrl: string
}

export interface Card {
  number: string
  exp_month: number
  exp_year: number
  cvc: string
}

/** A webhook in our words; `ref` names the payment or the refund. */
export interface GatewayEvent {
  id: string
  type: string
  about: 'payment' | 'refund'
  ref: string
  /** of a refund: the payment it gives back, so that one made at the gateway by hand is found */
  paymentRef?: string
  outcome: Outcome
}

export interface Gateway {
  readonly id: 'offline' | 'test' | 'stripe'
  readonly caps: { refund: boolean; webhooks: boolean; minCharge(currency: string): bigint }
  /** Keeps a card for later; `now` decides whether it has expired. */
  saveMethod(input: { card?: Card; token?: string; key: string; email: string; now: Date }): Promise<SavedMethod>
  /** A page of the gateway's own where a customer gives a card, so that no card number passes through us. */
  askForMethod?(input: MethodRequest): Promise<string>
  /** The token of the card that was given there for this reference; undefined when none was. */
  givenMethod?(session: string, reference: string): Promise<string | undefined>
  charge(input: ChargeInput): Promise<Outcome>
  /** Ends a payment that waits for its customer; certain that nothing will be taken afterwards. */
  cancel(input: { key: string; ref: string }): Promise<Outcome>
  refund(input: { key: string; ref: string; amountMinor: bigint; currency: string }): Promise<Outcome>
  /** What became of the request with this key; absent: it never arrived. */
  fetchState(input: {
    kind: 'payment' | 'refund'
    key: string
    ref: string | null
  }): Promise<Outcome | { kind: 'absent' }>
  /** Throws when the signature is not right. */
  readWebhook(raw: Buffer, headers: Record<string, string | string[] | undefined>): GatewayEvent[]
}
